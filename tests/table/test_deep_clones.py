"""Deep clones: tables that share no file with their source, over filesystems, from shallow clones and branches."""

from __future__ import annotations

import shutil
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest
from witness import Witness

import lance_arrow
from lance_arrow import LanceTable, errors
from lance_arrow.spi import ReadReport

ROWS = pa.table({"id": range(200), "s": [f"text {n % 7}" for n in range(200)]})


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    table = LanceTable.create(tmp_path / "source", ROWS, max_rows_per_file=60, enable_stable_row_ids=True)
    table.create_zone_map("id")
    table.delete("id = 7")
    table.update({"s": "'new'"}, where="id > 190")
    return table


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_clone_outlives_its_source(table: LanceTable, tmp_path: Path) -> None:
    names = ["id", "s", "_rowid", "_rowaddr"]
    expected = table.to_table(names)
    clone = table.deep_clone(tmp_path / "clone", message="copied")
    held = {path for path in files_of(tmp_path / "clone") if path.startswith(("data", "_del", "_ind"))}
    assert held < files_of(tmp_path / "source")
    assert clone.version == table.version
    shutil.rmtree(tmp_path / "source")
    again = LanceTable.open(tmp_path / "clone")
    assert again.to_table(names).equals(expected)
    (only,) = again.history()
    assert (only.operation, only.message, only.version) == ("clone", "copied", table.version)
    again.append(ROWS.slice(0, 3))
    again.compact()
    assert again.count_rows() == expected.num_rows + 3


def test_indices_are_copied(table: LanceTable, tmp_path: Path) -> None:
    without = LanceTable.create(tmp_path / "plain", ROWS, max_rows_per_file=60, rows_per_zone=None)
    without.create_zone_map("id")
    clone = without.deep_clone(tmp_path / "clone")
    shutil.rmtree(tmp_path / "plain")
    with lance_arrow.receipts() as found:
        assert clone.to_table(filter="id = 199").num_rows == 1
    assert ReadReport.total(found).decoded_rows["id"] <= 60


def test_older_versions_tags_and_branches(table: LanceTable, tmp_path: Path) -> None:
    table.tags.create("first", 1)
    assert table.deep_clone(tmp_path / "a", version="first").to_table().equals(ROWS)
    assert table.deep_clone(tmp_path / "b", version=1).version == 1
    table.branches.create("work", 1)
    branch = LanceTable.open(tmp_path / "source", branch="work")
    branch.append(ROWS.slice(0, 5))
    clone = branch.deep_clone(tmp_path / "c")
    assert (clone.branch, clone.count_rows()) == (None, 205)
    shutil.rmtree(tmp_path / "source")
    assert LanceTable.open(tmp_path / "c").count_rows() == 205


def test_a_shallow_clone_becomes_whole(table: LanceTable, tmp_path: Path) -> None:
    shallow = table.shallow_clone(tmp_path / "shallow")
    shallow.append(ROWS.slice(0, 2))
    expected = shallow.to_table()
    LanceTable.open(tmp_path / "shallow").deep_clone(tmp_path / "deep")
    for name in ("source", "shallow"):
        shutil.rmtree(tmp_path / name)
    assert LanceTable.open(tmp_path / "deep").to_table().equals(expected)


def test_external_files_are_copied_on_request_only(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    table = LanceTable.create(tmp_path / "one" / "t", ROWS)
    table.shallow_clone(tmp_path / "two" / "t")
    with pytest.raises(errors.UnsupportedError, match="allow_external_bases"):
        LanceTable.open(tmp_path / "two" / "t").deep_clone(tmp_path / "two" / "deep")
    assert not (tmp_path / "two" / "deep").exists()
    opened = LanceTable.open(tmp_path / "two" / "t", allow_external_bases=True)
    assert opened.deep_clone(tmp_path / "two" / "deep").to_table().equals(ROWS)


def test_to_another_filesystem_and_back(table: LanceTable, tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    far = table.deep_clone("/deep-clones/t", filesystem=memory, unsafe_single_writer=True)
    assert far.to_table().equals(table.to_table())
    near = far.deep_clone(tmp_path / "near")
    assert near.to_table(["id", "_rowid"]).equals(table.to_table(["id", "_rowid"]))
    memory.rm("/deep-clones", recursive=True)


@pytest.mark.parametrize("harm", ["gone", "cut"])
def test_a_damaged_source_leaves_nothing_behind(table: LanceTable, tmp_path: Path, harm: str) -> None:
    data = sorted((tmp_path / "source" / "data").iterdir())[-1]
    if harm == "gone":
        data.unlink()
    else:
        data.write_bytes(data.read_bytes()[:-1])
    kind = errors.MissingFileError if harm == "gone" else errors.CorruptManifestError
    with pytest.raises(kind):
        table.deep_clone(tmp_path / "clone")
    assert not files_of(tmp_path / "clone")


def test_an_existing_table_stays(table: LanceTable, tmp_path: Path) -> None:
    other = LanceTable.create(tmp_path / "other", ROWS.slice(0, 1))
    with pytest.raises(errors.TableExistsError):
        table.deep_clone(tmp_path / "other")
    with pytest.raises(errors.TableExistsError):
        table.deep_clone(tmp_path / "source")
    assert other.to_table().num_rows == 1


@pytest.mark.interop
def test_the_reference_reads_a_clone(witness: Witness, table: LanceTable, tmp_path: Path) -> None:
    table.deep_clone(tmp_path / "clone")
    found = witness.read_version(tmp_path / "clone", with_row_id=True)
    assert table.to_table(found.column_names).equals(found)
    witness.change_table(tmp_path / "clone", {"do": "append", "rows": ROWS.slice(0, 4)})
    assert LanceTable.open(tmp_path / "clone").count_rows() == table.count_rows() + 4


@pytest.mark.interop
def test_a_clone_of_a_table_of_the_reference(witness: Witness, tmp_path: Path) -> None:
    witness.write_directory(ROWS, tmp_path / "theirs", "2.1", max_rows_per_file=50)
    witness.make_indices(tmp_path / "theirs", [("s", "BITMAP", {})])
    clone = LanceTable.open(tmp_path / "theirs").deep_clone(tmp_path / "clone")
    shutil.rmtree(tmp_path / "theirs")
    assert clone.to_table().equals(ROWS)
    assert witness.index_names(tmp_path / "clone", clone.version)
    assert witness.read_version(tmp_path / "clone").equals(ROWS)
