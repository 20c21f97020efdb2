"""Takes from many fragments: the rows that scans find, read together where files are small, blamed one by one."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from same import assert_same

from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import (
    CorruptFileError,
    CorruptManifestError,
    InvalidArgumentError,
    LanceError,
    MissingFileError,
)
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments import table_taking
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments

ALL = ["_rowid", "_rowaddr"]


def rows_of(start: int, stop: int) -> pa.Table:
    rows = range(start, stop)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "s": pa.array([None if i % 3 == 0 else f"row {i}" for i in rows]),
            "f": pa.array([i * 0.5 for i in rows], pa.float32()),
            "l": pa.array([[i] * (i % 4) if i % 7 else None for i in rows], pa.list_(pa.int32())),
            "st": pa.array([{"x": i, "y": [f"{i}"]} if i % 5 else None for i in rows]),
            "fixed": pa.array([[i, -i] for i in rows], pa.list_(pa.int16(), 2)),
            "d": pa.array([f"kind {i % 4}" for i in rows]).dictionary_encode(),
            "b": pa.array([i % 3 == 1 for i in rows]),
        }
    )


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many fragments each read of joined ones was of."""
    counts: list[int] = []
    read = JoinedFragments.read

    def counted(self, members, offsets, reading):
        counts.append(len(np.unique(members)))
        return read(self, members, offsets, reading)

    monkeypatch.setattr(JoinedFragments, "read", counted)
    return counts


def check(table: LanceTable, columns: list[str] | None = None) -> None:
    """Compare takes, twice since the second finds things at hand, with a scan."""
    names = [*(columns or table.schema.names), *ALL]
    everything = table.to_table(columns=names)
    random = np.random.default_rng(0)
    for wanted in (random.integers(0, everything.num_rows, 300), np.arange(everything.num_rows), [5, 5, 0, 1, 2] * 9):
        expected = everything.take(pa.array(wanted))
        for _ in range(2):
            assert_same(expected, table.take(wanted, columns=names))
            assert_same(expected, table.take_row_ids(expected["_rowid"], columns=names))


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_rows_are_those_of_scans(tmp_path: Path, stable: bool, version: str, joined: list[int]) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(
        path, rows_of(0, 400), max_rows_per_file=17, enable_stable_row_ids=stable, file_version=version
    )
    check(table)
    assert max(joined) == 24
    table.delete(pc.field("id").isin([0, 3, *range(100, 120), 399]))
    table.update({"f": "f + 1"}, "id % 11 = 3")
    table.append(rows_of(400, 500), max_rows_per_file=9)
    joined.clear()
    check(LanceTable.open(path))
    assert max(joined) > 20


def test_fragments_of_several_files_and_other_fields(tmp_path: Path, joined: list[int]) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 200), max_rows_per_file=10, enable_stable_row_ids=True)
    table.add_columns({"twice": "id * 2"})
    table.append(rows_of(200, 300), max_rows_per_file=10)
    table.alter_columns({"path": "f", "data_type": pa.float64()}, {"path": "s", "name": "text"})
    table.drop_columns(["b"])
    table = LanceTable.open(path)
    check(table)
    check(table, ["twice"])
    check(table, ["st.x", "text", "_row_created_at_version", "_row_last_updated_at_version"])
    check(table, ["l"])
    assert max(joined) >= 10
    assert table.take([1, 5, 250] * 5, columns=[]).num_rows == 15
    names = ["_rowid", "_rowaddr"]
    assert table.take([299, 0, 17], columns=names).equals(table.to_table(columns=names).take([299, 0, 17]))


def test_ids_of_no_row(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 100), max_rows_per_file=7, enable_stable_row_ids=True)
    table.delete("id = 50")
    for wrong in (50, 100, 1 << 62):
        with pytest.raises(InvalidArgumentError, match=f"no row has the id {wrong}"):
            table.take_row_ids(np.array([3, wrong, 99], np.uint64))
    plain = LanceTable.create(tmp_path / "p.lance", rows_of(0, 100), max_rows_per_file=7)
    plain.delete("id = 50")
    for wrong in ((7 << 32) + 1, 7, 15 << 32, (1 << 63) - 1):
        with pytest.raises(InvalidArgumentError, match=f"no row has the id {wrong}"):
            plain.take_row_ids(np.array([3, wrong], np.uint64))
    assert plain.take_row_ids([(7 << 32)], columns=["id"])["id"].to_pylist() == [49]


def test_rows_that_moved_are_found_where_they_are(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 100), max_rows_per_file=7, enable_stable_row_ids=True)
    for number in range(5):
        table.update({"s": f"'{number}'"}, f"id % 7 = {number}")
    table.compact(target_rows_per_fragment=20)
    table.update({"s": "'again'"}, "id >= 30 AND id < 40")
    found = LanceTable.open(tmp_path / "t.lance").take_row_ids(range(100), columns=["id", "s"]).to_pylist()
    assert [row["id"] for row in found] == list(range(100))
    assert [row["s"] for row in found[30:40]] == ["again"] * 10
    assert found[77]["s"] == "0"


@pytest.mark.parametrize("damage", ["absent", "cut", "longer", "flipped", "other"])
def test_damage_is_blamed_on_its_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 200), max_rows_per_file=10)
    names = [table.manifest.fragments[number].files[0].path for number in (3, 4)]
    place, other = (path / "data" / name for name in names)
    content = place.read_bytes()
    if damage == "absent":
        place.unlink()
        expected: type[Exception] = MissingFileError
    elif damage == "other":
        # As long as it should be, and of other rows.
        place.write_bytes(other.read_bytes())
        expected = LanceError if len(content) != other.stat().st_size else CorruptManifestError
    elif damage in ("cut", "longer"):
        place.write_bytes(content[:-1] if damage == "cut" else content + b"\0")
        expected = LanceError
    else:
        place.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        expected = CorruptFileError
    opened = LanceTable.open(path)
    if damage == "other" and len(content) == other.stat().st_size:
        assert opened.take([35], columns=["id"])["id"].to_pylist() == [45]
        return
    with pytest.raises(expected) as caught:
        opened.take(np.arange(200))
    assert names[0] in str(caught.value)
    assert opened.take([*range(30), *range(40, 200)], columns=["id"])["id"].to_pylist()[-1] == 199


def test_flipped_values_are_noticed_among_joined_files(tmp_path: Path, joined: list[int]) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 200), max_rows_per_file=10, rows_per_zone=None)
    place = path / "data" / table.manifest.fragments[3].files[0].path
    content = bytearray(place.read_bytes())
    noticed = 0
    for at in range(0, 1500, 61):
        damaged = bytearray(content)
        damaged[at] ^= 0x10
        place.write_bytes(damaged)
        opened = LanceTable.open(path)
        try:
            LanceFile(place).read()
        except CorruptFileError:
            with pytest.raises(CorruptFileError, match=re.escape(place.name)):
                opened.take(np.arange(200))
            noticed += 1
        else:
            assert_same(rows_of(0, 200), opened.take(np.arange(200)))
    assert noticed > 5
    assert joined


def test_a_call_for_each_file_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = MemoryFileSystem()
    LanceTable.create("/taking/t.lance", rows_of(0, 300), max_rows_per_file=10, filesystem=filesystem)
    table = LanceTable.open("/taking/t.lance", filesystem=filesystem)
    calls: list[int] = []
    cat_ranges = filesystem.cat_ranges

    def counted(paths, starts, ends, **more):
        calls.append(len(paths))
        return cat_ranges(paths, starts, ends, **more)

    monkeypatch.setattr(filesystem, "cat_ranges", counted)
    assert_same(rows_of(0, 300), table.take(np.arange(300)))
    assert calls == [30]
    table.take([7, 3, 250] * 3)
    table.take(np.arange(0, 300, 9), columns=["s"])
    assert calls == [30]
    filesystem.rm("/taking", recursive=True)


def test_few_fragments_and_large_files_go_one_by_one(
    tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 200), max_rows_per_file=10)
    assert table.take(np.arange(0, 60, 10))["id"].to_pylist() == list(range(0, 60, 10))
    assert joined == []
    monkeypatch.setattr(table_taking, "SMALL_FILE_BYTES", 100)
    assert_same(rows_of(0, 200), table.take(np.arange(200)))
    assert joined == []


def test_what_is_kept_goes_with_its_table(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "t.lance", rows_of(0, 400), max_rows_per_file=10)
    gc.disable()
    try:
        table = LanceTable.open(tmp_path / "t.lance")
        table.take([1, 300])
        table.take(np.arange(400))
        reader = table._reader
        (held,) = reader._taking._held.values()
        seen = [weakref.ref(one) for one in (reader, reader._taking, held, held.group)]
        del table, reader, held
        assert [one() for one in seen] == [None] * 4
    finally:
        gc.enable()


def test_what_is_kept_has_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 400), max_rows_per_file=10)
    monkeypatch.setattr(table_taking, "_GROUP_BYTES", 150_000)
    taking = table._reader._taking
    assert taking._budget_bytes == default_runtime().indices.budget_bytes
    monkeypatch.setattr(taking, "_budget_bytes", 400_000)
    for _ in range(2):
        assert_same(rows_of(0, 400), table.take(np.arange(400)))
    held = sum(one.group.nbytes for one in taking._held.values())
    assert 0 < held <= 400_000
    assert len(taking._held) < 4
