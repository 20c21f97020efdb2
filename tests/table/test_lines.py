"""Branches, clones, configuration and replaced columns: what they share, and what not."""

from __future__ import annotations

import datetime
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.errors import (
    CommitConflictError,
    InvalidArgumentError,
    TableExistsError,
    UnsupportedError,
    VersionNotFoundError,
)


def rows_of(start: int, stop: int) -> pa.Table:
    return pa.table({"id": np.arange(start, stop), "s": [f"t{i}" for i in range(start, stop)]})


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    made = LanceTable.create(tmp_path / "t.lance", rows_of(0, 20), max_rows_per_file=8, enable_stable_row_ids=True)
    made.delete(pc.field("id") == 3)
    return made


def test_branches(table: LanceTable) -> None:
    table.append(rows_of(20, 22))
    table.tags.create("two", 2)
    table.branches.create("side/a", 2, message="try")
    table.branches.create("by-tag", "two")
    assert sorted(table.branches) == ["by-tag", "side/a"]
    side = LanceTable.open(table.uri, branch="side/a")
    assert (side.version, side.count_rows(), side.history()[0].message) == (2, 19, "try")
    side.append(rows_of(50, 55))
    side.delete(pc.field("id") == 4)
    side.update({"s": "'x'"}, "id = 5 OR id = 50")
    assert (side.version, table.version, LanceTable.open(table.uri).version) == (5, 3, 3)
    assert set(side.to_table()["id"].to_pylist()) == {*range(20), *range(50, 55)} - {3, 4}
    assert table.to_table(filter=pc.field("id") == 5)["s"].to_pylist() == ["t5"]
    side.branches.create("of-side")
    assert table.branches["of-side"].parent_branch == "side/a"
    below = LanceTable.open(table.uri, branch="of-side")
    below.compact()
    assert sorted(below.to_table()["id"].to_pylist()) == sorted(side.to_table()["id"].to_pylist())
    for call, message in (
        (lambda: table.branches.create("side/a"), "already"),
        (lambda: table.branches.create("main"), "a branch cannot"),
        (lambda: table.branches.create("a..b"), "not a valid branch name"),
        (lambda: table.branches.create("x.lock"), "a branch cannot"),
        (lambda: table.branches.delete("side/a"), "begins with branch 'side/a'"),
        (lambda: table.branches.delete("main"), "main branch"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            call()
    with pytest.raises(VersionNotFoundError):
        table.branches.create("other", 77)
    with pytest.raises(VersionNotFoundError):
        table.branches.delete("other")
    table.branches.delete("of-side")
    table.branches.delete("side/a")
    assert list(table.branches) == ["by-tag"]
    with pytest.raises(VersionNotFoundError):
        LanceTable.open(table.uri, branch="side/a")
    table.branches.create("side/a")
    assert LanceTable.open(table.uri, branch="side/a").version == 3
    assert table.to_table().num_rows == 21


def test_what_is_left_of_a_branch(table: LanceTable) -> None:
    table.branches.create("b")
    (Path(table.uri) / "_refs/branches/b.json").unlink()
    with pytest.raises(InvalidArgumentError, match="files of a deleted one"):
        table.branches.create("b")
    table.branches.delete("b")
    table.branches.create("b")


def test_cleanup_of_lines(table: LanceTable) -> None:
    table.branches.create("b", 1)
    table.overwrite(rows_of(0, 2))
    side = LanceTable.open(table.uri, branch="b")
    expected = side.to_table()
    side.append(rows_of(90, 91))
    assert table.cleanup(older_than=datetime.timedelta(), dry_run=False).versions == (2,)
    assert LanceTable.open(table.uri, branch="b", version=1).to_table().equals(expected)
    table.branches.delete("b")
    assert table.cleanup(older_than=datetime.timedelta(), dry_run=False).versions == (1,)
    assert len(list((Path(table.uri) / "data").iterdir())) == 1
    assert table.to_table().num_rows == 2


def test_clones(table: LanceTable, tmp_path: Path) -> None:
    path = tmp_path / "clone.lance"
    clone = table.shallow_clone(path, message="mine")
    assert (clone.version, clone.to_table().equals(table.to_table())) == (2, True)
    assert not (path / "data").exists()
    clone.append(rows_of(30, 33))
    clone.delete(pc.field("id") < 2)
    twice = clone.shallow_clone(tmp_path / "twice.lance", 3)
    twice.update({"s": "'x'"}, "id = 1 OR id = 31")
    assert sorted(twice.to_table()["id"].to_pylist()) == [i for i in [*range(20), 30, 31, 32] if i != 3]
    assert sorted(clone.to_table()["id"].to_pylist()) == [i for i in [*range(2, 20), 30, 31, 32] if i != 3]
    assert table.count_rows() == 19
    assert clone.cleanup(older_than=datetime.timedelta(), dry_run=False).versions == (2, 3)
    assert table.to_table().num_rows == 19
    clone.compact()
    assert len(list((path / "data").iterdir())) == 2
    with pytest.raises(TableExistsError):
        table.shallow_clone(path)
    with pytest.raises(InvalidArgumentError, match="itself"):
        table.shallow_clone(table.uri)
    with pytest.raises(UnsupportedError, match="filesystem of its source"):
        table.shallow_clone("memory://clone.lance")


def test_clones_in_memory() -> None:
    store = fsspec.filesystem("memory")
    store.rm("/lines", recursive=True) if store.exists("/lines") else None
    table = LanceTable.create("memory://lines/t.lance", rows_of(0, 5))
    clone = table.shallow_clone("memory://lines/c.lance")
    table.branches.create("b")
    clone.append(rows_of(5, 6))
    assert LanceTable.open("memory://lines/c.lance").count_rows() == 6
    assert LanceTable.open("memory://lines/t.lance", branch="b").count_rows() == 5
    assert LanceTable.open("memory://lines/c.lance").to_table()["id"].to_pylist() == [0, 1, 2, 3, 4, 5]


def test_a_clone_without_files_is_a_dataset(table: LanceTable, tmp_path: Path) -> None:
    """The folder has no file that pyarrow could find: it gives the rows or says what does, and is never empty."""
    clone = table.shallow_clone(tmp_path / "clone.lance")
    assert lance_arrow.dataset(clone.uri).count_rows() == 19
    with pytest.raises(UnsupportedError, match=r"lance_arrow\.dataset"):
        ds.dataset(clone.uri, format=LanceFormat()).count_rows()
    clone.append(rows_of(40, 41))
    with pytest.raises(UnsupportedError, match=r"lance_arrow\.dataset"):
        ds.dataset(clone.uri, format=LanceFormat()).count_rows()


def test_configuration(table: LanceTable) -> None:
    stale = LanceTable.open(table.uri)
    table.update_config({"a": "1", "b": "2"})
    table.update_config({"b": None, "c": "3"}, message="more")
    assert (dict(table.config), table.history()[0].message) == ({"a": "1", "c": "3"}, "more")
    table.update_config({"z": "9"}, replace=True)
    table.update_metadata({"owner": "me"})
    table.update_schema_metadata({"k": "v"})
    table.update_field_metadata({"s": {"unit": "none"}})
    assert (dict(table.config), dict(table.metadata)) == ({"z": "9"}, {"owner": "me"})
    assert table.schema.metadata == {b"k": b"v"}
    assert table.schema.field("s").metadata == {b"unit": b"none"}
    assert table.version == 8
    with pytest.raises(CommitConflictError, match="both set the configuration key 'b'"):
        stale.update_config({"b": "other"})
    LanceTable.open(table.uri, version=5).update_config({"y": "8"})
    assert dict(LanceTable.open(table.uri).config) == {"z": "9", "y": "8"}
    for call, message in (
        (lambda: table.update_config({"a": 1}), "expected texts"),  # type: ignore[dict-item]
        (lambda: table.update_config(["a"]), "expected keys"),  # type: ignore[arg-type]
        (lambda: table.update_field_metadata({"x": {"a": "b"}}), "no column 'x'"),
        (lambda: table.update_field_metadata({"s": {"lance-encoding:blob": "true"}}), "how values are stored"),
        (lambda: table.update_field_metadata({}), "expected metadata"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            call()


def test_replaced_columns(table: LanceTable) -> None:
    table.add_columns({"x": "id * 2", "y": "id"})
    table.add_columns([pa.field("z", pa.string())])
    before = table.to_table(columns=["id", "s", "_rowid"])
    table.replace_columns({"x": "id * 3 + x", "y": 7})
    assert table.history()[0].operation == "data_replacement"
    assert table.to_table()["x"].to_pylist() == [i * 5 for i in before["id"].to_pylist()]
    assert set(table.to_table()["y"].to_pylist()) == {7}
    table.replace_columns(lambda batch: {"z": pc.utf8_upper(batch["s"])}, read_columns=["s"])
    table.replace_columns(pa.table({"z": [f"z{i}" for i in range(19)]}))
    assert table.to_table()["z"].to_pylist() == [f"z{i}" for i in range(19)]
    assert table.to_table(columns=["id", "s", "_rowid"]).equals(before)
    for values, message in (
        ({"x": 1}, "one file with others"),
        ({"id": 1}, "one file with others"),
        ({"nope": 1}, "no column 'nope'"),
        ({}, "no column is given"),
        (pa.table({"z": [1] * 19}), "values are int64"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            table.replace_columns(values)


def test_rows_by_id(table: LanceTable, tmp_path: Path) -> None:
    """Stable ids find rows wherever they have moved; addresses where they lie."""
    table.append(rows_of(20, 40), max_rows_per_file=7)
    table.update({"s": "'x'"}, "id = 5 OR id = 25")
    table.compact(target_rows_per_fragment=16)
    found = table.take_row_ids([25, 5, 0, 39, 5], columns=["id", "s", "_rowid"])
    assert found.to_pylist() == [
        {"id": number, "s": text, "_rowid": number}
        for number, text in ((25, "x"), (5, "x"), (0, "t0"), (39, "t39"), (5, "x"))
    ]
    assert table.take_row_ids([], columns=["id"]).num_rows == 0
    assert table.take_row_ids(pa.array([7, 8]), columns=[]).num_rows == 2
    for ids, message in (([3], "no row has the id 3"), ([0, 40], "id 40"), ([-1], "no row id -1"), ([1.5], "1.5")):
        with pytest.raises(InvalidArgumentError, match=message):
            table.take_row_ids(ids)
    plain = LanceTable.create(tmp_path / "plain.lance", rows_of(0, 20), max_rows_per_file=8)
    plain.delete("id = 9")
    assert plain.take_row_ids([(2 << 32) + 1, 3], columns=["id"])["id"].to_pylist() == [17, 3]
    for wrong in ((1 << 32) + 1, (2 << 32) + 4, 5 << 32):
        with pytest.raises(InvalidArgumentError, match=f"id {wrong}"):
            plain.take_row_ids([wrong])


def test_main_is_the_name_of_the_main_line(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    LanceTable.create(path, pa.table({"id": [1, 2]})).branches.create("side")
    plain, named = LanceTable.open(path), LanceTable.open(path, branch="main")
    assert plain.branch is None
    assert named.branch is None
    assert repr(named) == repr(plain)
    named.append(pa.table({"id": [3]}))
    named.tags.create("now", named.version)
    named.branches.create("other")
    assert named.tags["now"].branch is None
    assert named.branches["other"].parent_branch is None
    assert [one.branch for one in named.history()] == [None, None]
    assert named.manifest.branch is None
    assert LanceTable.open(path, tag="now", branch="main").version == 2
    assert named.checkout("now").branch is None
    report = named.cleanup(older_than=datetime.timedelta(), retain_versions=1)
    assert report.versions == LanceTable.open(path).cleanup(older_than=datetime.timedelta(), retain_versions=1).versions
    assert lance_arrow.dataset(path, branch="main").to_table() == lance_arrow.dataset(path).to_table()
    single = tmp_path / "single.lance"
    lance_arrow.write_table(pa.table({"id": [1]}), single)
    assert lance_arrow.dataset(single, branch="main").count_rows() == 1
