"""Files of ZONEMAP indices that are damaged, contradict themselves or are gone: reads give the right rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import MissingFileError
from lance_arrow.watching import receipts

WANTED = pc.field("key") >= 150


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # Files without zone maps: the index alone prunes.
    rows = pa.table({"key": range(200), "text": [f"text {number}" for number in range(200)]})
    table = LanceTable.create(tmp_path / "t", rows, max_rows_per_file=100, rows_per_zone=None)
    table.create_zone_map("key", rows_per_zone=50)
    return tmp_path / "t"


def index_file(path: Path) -> Path:
    (found,) = path.glob("_indices/*/zonemap.lance")
    return found


def found(path: Path, door: Any) -> tuple[pa.Table, int]:
    """Return rows, and how many zones were pruned for them."""
    with receipts() as told:
        rows = door(path).to_table(filter=WANTED)
    return rows, told.total.zones_pruned


@pytest.mark.parametrize("door", [LanceTable.open, lance_arrow.dataset])
def test_no_changed_byte_hides_a_row(door: Any, path: Path) -> None:
    file = index_file(path)
    whole, not_believed, places = file.read_bytes(), 0, 0
    rows, pruned = found(path, door)
    assert rows.num_rows == 50
    assert pruned > 0
    for at in range(0, len(whole), 7):
        for changed in (whole[at] ^ 1, 0xFF - whole[at]):
            file.write_bytes(whole[:at] + bytes([changed]) + whole[at + 1 :])
            same, pruned = found(path, door)
            assert same.equals(rows), at
            not_believed += pruned == 0
            places += 1
    # Some bytes fill space between others.
    assert not_believed > places / 2


def test_verify_reads_indices(path: Path) -> None:
    file = index_file(path)
    report = lance_arrow.verify(path)
    assert (report.ok, report.has_checksums, report.checked.files, report.checked.rows) == (True, True, 3, 200)
    whole = file.read_bytes()
    file.write_bytes(whole[:64] + bytes([whole[64] ^ 1]) + whole[65:])
    report = lance_arrow.verify(path)
    assert not report.ok
    assert all("zonemap.lance" in str(finding) for finding in report.errors)
    file.unlink()
    (finding,) = lance_arrow.verify(path).errors
    assert "the file of the index 'key_idx' is not there" in str(finding)
    assert found(path, LanceTable.open)[0].num_rows == 50


@pytest.mark.parametrize(
    ("column", "values"),
    [
        # All but the last are right, or too low: one in the wrong order makes the others doubtful, too.
        ("max", [49, 99, 120, 3]),
        ("null_count", [0, 0, 0, 51]),
        ("nan_count", [60, 0, 0, 0]),
    ],
)
def test_an_index_that_contradicts_itself_is_not_believed(column: str, values: list[int], path: Path) -> None:
    """Those of other writers have no checksums."""
    file = index_file(path)
    rows = lance_arrow.read_table(file)
    at = rows.schema.get_field_index(column)
    wrong = rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))
    lance_arrow.write_table(wrong, file, file_version="2.1", rows_per_zone=None, checksums=False)
    for door in (LanceTable.open, lance_arrow.dataset):
        rows, pruned = found(path, door)
        assert rows["key"].to_pylist() == list(range(150, 200))
        assert pruned == 0


def test_a_version_that_was_removed_has_no_indices_to_show(path: Path) -> None:
    table = LanceTable.open(path)
    assert table.indices == {"key_idx": ("key",)}
    for manifest in (path / "_versions").iterdir():
        manifest.unlink()
    with pytest.raises(MissingFileError, match="the manifest of version 2 is gone"):
        _ = table.indices
