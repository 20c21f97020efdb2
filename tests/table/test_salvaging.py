"""Salvage of tables: saved rows are rows of the version, and the report has the fragments of the others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import (
    CorruptManifestError,
    InvalidArgumentError,
    LanceError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lance_arrow.table.salvaging.table_salvage import TableSalvage

ROWS = 500


def rows(first: int) -> pa.Table:
    numbers = range(first, first + ROWS)
    return pa.table({"key": list(numbers), "text": [f"text {number}" for number in numbers]})


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    """Two fragments; the first has deleted rows."""
    made = LanceTable.create(tmp_path / "table", rows(0))
    made.append(rows(ROWS))
    made.delete("key % 10 = 3 and key < 400")
    return made


def files(table: LanceTable, folder: str) -> list[Path]:
    return sorted((Path(table.uri) / folder).iterdir(), key=lambda path: path.stat().st_mtime_ns)


def data_file(table: LanceTable, fragment: int, number: int = 0) -> Path:
    meta = table.manifest.fragments[fragment]
    return Path(table.manifest.facts.data_path(meta.files[number]))


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x55
    path.write_bytes(content)


def test_nothing_is_lost_of_a_sound_table(table):
    found = TableSalvage(table.uri)
    assert found.read().equals(table.to_table())
    report = found.report
    assert (report.ok, report.is_proven, report.num_rows, report.rows_saved) == (True, True, 960, 960)
    assert [one.rows_saved for one in report.fragments] == [460, 500]
    assert report.fragments[0].deleted[:2] == [(3, 4), (13, 14)]


def test_a_fragment_without_its_data_file_is_left_out(table):
    expected = table.to_table().slice(0, 460)
    data_file(table, 1).unlink()
    with pytest.raises(LanceError):
        LanceTable.open(table.uri).to_table()
    found = TableSalvage(table.uri)
    assert found.read().equals(expected)
    assert found.report.fragments[1].left_out == [(0, ROWS)]
    assert {(one.fragment, one.type) for one in found.report.lost} == {(1, "MissingFileError")}
    assert not found.report.ok


def test_a_column_without_its_file_is_null_or_left_out(table):
    table.add_columns({"twice": "key * 2"})
    expected = table.to_table()
    data_file(table, 0, 1).unlink()
    found = TableSalvage(table.uri)
    saved = found.read()
    assert saved.drop(["twice"]).equals(expected.drop(["twice"]))
    assert saved["twice"].slice(0, 460).null_count == 460
    assert saved["twice"].slice(460).equals(expected["twice"].slice(460))
    assert found.report.rows_with_nulls == 460
    assert TableSalvage(table.uri, lost="skip").read().equals(expected.slice(460))
    data_file(table, 1, 1).unlink()
    found = TableSalvage(table.uri, lost="skip")
    assert found.read().equals(expected.drop(["twice"]))
    assert found.report.columns_left_out == ["twice"]


def test_deleted_rows_stay_deleted_without_their_file(table):
    (deletions,) = files(table, "_deletions")
    whole = table.to_table()
    deletions.unlink()
    found = TableSalvage(table.uri)
    assert found.read().equals(whole.slice(460))
    assert found.report.fragments[0].deleted is None
    (lost,) = found.report.lost
    assert (lost.fragment, lost.column, lost.rows, lost.type) == (0, None, (0, ROWS), "MissingFileError")
    found = TableSalvage(table.uri, with_deleted=True)
    assert found.read().equals(pa.concat_tables([rows(0), rows(ROWS)]))
    assert not found.report.is_proven


def test_a_damaged_deletion_file_is_not_used(table):
    (deletions,) = files(table, "_deletions")
    flip(deletions, deletions.stat().st_size // 2)
    found = TableSalvage(table.uri)
    assert found.read().num_rows == ROWS
    assert found.report.lost[0].path == str(deletions)


def test_the_newest_readable_version_is_used(table):
    before = LanceTable.open(table.uri, version=2).to_table()
    newest = files(table, "_versions")[-1]
    flip(newest, newest.stat().st_size // 2)
    with pytest.raises(CorruptManifestError):
        LanceTable.open(table.uri)
    found = TableSalvage(table.uri)
    assert found.read().equals(before)
    assert found.report.version == 2
    assert [one.version for one in found.report.unreadable] == [3]
    assert not found.report.ok
    for manifest in files(table, "_versions"):
        manifest.write_bytes(b"")
    with pytest.raises(LanceError) as caught:
        TableSalvage(table.uri)
    assert "none of 3 versions can be read" in caught.value.__notes__


def test_the_end_of_a_data_file_is_rebuilt(table):
    path = data_file(table, 0)
    expected = table.to_table()
    path.write_bytes(path.read_bytes()[:-30])
    found = TableSalvage(table.uri)
    assert found.read().equals(expected)
    assert found.report.ok
    assert len(found.report.repaired) == 1
    assert str(path) in found.report.repaired[0]


def test_damaged_rows_are_null_and_deleted_ones_are_not_lost(table):
    path = data_file(table, 0)
    with lance_arrow.LanceFile(path) as file:
        (meta,) = file._file.columns([1])
    expected = table.to_table()
    flip(path, int(meta.pages[0].buffer_offsets[-1]))
    found = TableSalvage(table.uri)
    saved = found.read()
    assert saved["key"].equals(expected["key"])
    assert saved["text"].null_count == found.report.rows_with_nulls > 0
    sound = saved["text"].is_valid()
    assert saved.filter(sound).equals(expected.filter(sound))


def test_data_files_without_checksums_are_lost(tmp_path: Path):
    made = LanceTable.create(tmp_path / "ours", rows(0), checksums=False)
    found = TableSalvage(made.uri)
    assert found.read().num_rows == 0
    assert {one.type for one in found.report.lost} == {"InvalidArgumentError"}
    found = TableSalvage(made.uri, allow_unchecked=True)
    assert found.read().equals(rows(0))
    assert not found.report.is_proven


def test_manifests_without_a_checksum_prove_nothing(table):
    newest = files(table, "_versions")[-1]
    content = newest.read_bytes()
    # Without the records at both ends of its sections: other writers write none.
    position = int.from_bytes(content[-16:-8], "little")
    newest.write_bytes(bytes(16) + content[16 : position - 16] + bytes(16) + content[position:])
    with pytest.raises(InvalidArgumentError, match="manifest has no checksum"):
        TableSalvage(table.uri)
    found = TableSalvage(table.uri, allow_unchecked=True)
    assert found.read().equals(table.to_table())
    assert not found.report.is_proven


def test_a_version_and_a_branch_are_salvaged(table):
    assert TableSalvage(table.uri, version=1).read().equals(rows(0))
    with pytest.raises(VersionNotFoundError):
        TableSalvage(table.uri, version=9)
    table.branches.create("side", 1)
    LanceTable.open(table.uri, branch="side").append(rows(5000))
    found = TableSalvage(table.uri, branch="side")
    assert found.read().equals(pa.concat_tables([rows(0), rows(5000)]))


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(TableNotFoundError):
        TableSalvage(tmp_path)
    with pytest.raises(InvalidArgumentError):
        TableSalvage(tmp_path, lost="both")


def test_reads_of_a_table_go_on_after_damage(table):
    whole = table.to_table(["key", "text", "_rowaddr"])
    opened = LanceTable.open(table.uri)
    assert opened.to_table(["key", "text", "_rowaddr"], on_corruption="null").equals(whole)
    assert opened.lost == ()
    path = data_file(table, 0)
    with lance_arrow.LanceFile(path) as file:
        (meta,) = file._file.columns([1])
    flip(path, int(meta.pages[0].buffer_offsets[-1]))
    with pytest.raises(LanceError):
        LanceTable.open(table.uri).to_table()
    opened = LanceTable.open(table.uri)
    found = opened.to_table(["key", "text", "_rowaddr"], on_corruption="null")
    assert found.drop(["text"]).equals(whole.drop(["text"]))
    assert {(one.fragment, one.column, one.path) for one in opened.lost} == {(0, "text", str(path))}
    sound = found["text"].is_valid()
    assert found.filter(sound).equals(whole.filter(sound))
    assert opened.to_table(on_corruption="skip").equals(whole.filter(sound).drop(["_rowaddr"]))
    batches = list(opened.to_batches(["text"], batch_size=100, on_corruption="skip"))
    assert max(batch.num_rows for batch in batches) <= 100
    assert pa.Table.from_batches(batches).equals(whole.filter(sound).select(["text"]))
    path.unlink()
    assert LanceTable.open(table.uri).to_table(on_corruption="null").equals(whole.slice(460).drop(["_rowaddr"]))
    with pytest.raises(InvalidArgumentError, match="filter what on_corruption returns"):
        opened.to_table(filter="key > 3", on_corruption="null")
    with pytest.raises(InvalidArgumentError, match="did you mean 'null'"):
        opened.to_table(on_corruption="nulls")
