"""Tables that we write: the reference reads every version as we do, goes on from there, and we read that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from same import assert_same
from table_histories import History
from witness import Witness

from lance_arrow import LanceTable
from lance_arrow.container.fields import fields_from_messages
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.io import open_source
from lance_arrow.manifests.names import NamingScheme
from lance_arrow.manifests.versions import list_manifests, table_location

pytestmark = pytest.mark.interop

NESTED = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])


def rows_of(start: int, stop: int) -> pa.Table:
    ids = np.arange(start, stop)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in ids.tolist()], pa.string()),
            "d": pa.array([f"k{i % 3}" for i in ids.tolist()], pa.string()).dictionary_encode(),
            "f": pa.array([[i, i + 1, i + 2] for i in ids.tolist()], pa.list_(pa.float32(), 3)),
            "n": pa.array([{"x": i, "tags": ["a"] * (i % 3)} if i % 5 else None for i in ids.tolist()], NESTED),
        },
        metadata={"made by": "hand"},
    )


def assert_agree(witness: Witness, path: Path) -> None:
    """Compare all versions, rows and where they lie."""
    for version in LanceTable.open(path).history():
        theirs = witness.read_version(path, version.version, with_row_id=True, with_row_address=True)
        ours = LanceTable.open(path, version=version.version)
        assert_same(theirs, ours.to_table(columns=theirs.column_names))
        assert ours.schema.equals(theirs.drop_columns(["_rowid", "_rowaddr"]).schema, check_metadata=True)
        assert version.num_rows == theirs.num_rows


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable-row-ids"])
@pytest.mark.parametrize("file_version", ["2.1", "2.2", "2.3"])
def test_each_operation(witness: Witness, tmp_path: Path, file_version: str, stable: bool) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(
        path, rows_of(0, 40), file_version=file_version, max_rows_per_file=16, enable_stable_row_ids=stable
    )
    assert_same(rows_of(0, 40), witness.read_version(path))
    table.append(rows_of(40, 60))
    table.append(rows_of(60, 65).select(["n", "id"]))
    table.delete(pc.field("id").isin([3, 4, 20, 62]))
    table.delete(pc.field("id") < 16)
    table.delete(pc.field("id") == 1000)
    table.append(rows_of(0, 0))
    table.restore(4)
    table.overwrite(rows_of(7, 9).select(["s", "id"]))
    table.append(rows_of(9, 12).select(["id"]))
    table.restore(6)
    assert table.version == 11
    assert table.to_table()["id"].to_pylist() == [i for i in range(16, 65) if i not in (20, 62)]
    assert_agree(witness, path)
    witness.change_table(path, {"do": "validate"})
    if file_version == "2.3":
        return
    steps: list[dict[str, Any]] = [
        {"do": "append", "rows": rows_of(70, 90)},
        {"do": "delete", "predicate": "id % 2 = 0"},
        {"do": "update", "updates": {"s": "'new'"}, "where": "id > 60"},
        {"do": "add_columns", "transforms": {"twice": "id * 2"}},
        {"do": "compact", "target_rows_per_fragment": 1000},
        {"do": "drop_columns", "columns": ["f"]},
    ]
    witness.change_table(path, *steps)
    assert_agree(witness, path)
    moved = LanceTable.open(path)
    moved.append(rows_of(90, 95).select(["id", "d"]))
    moved.delete(pc.field("id") == 91)
    assert moved.schema.names == ["id", "s", "d", "n", "twice"]
    assert_agree(witness, path)


def test_empty_tables(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 0))
    assert witness.read_version(path).num_rows == 0
    table.append(rows_of(0, 3))
    table.delete(pc.field("id") >= 0)
    assert_agree(witness, path)
    witness.change_table(path, {"do": "append", "rows": rows_of(3, 6)})
    assert_agree(witness, path)
    assert [fragment.id for fragment in LanceTable.open(path).manifest.fragments] == [1]


@pytest.mark.parametrize("count", [4999, 5000, 12_000])
def test_forms_of_deletion_files(witness: Witness, tmp_path: Path, count: int) -> None:
    ours, theirs = tmp_path / "ours.lance", tmp_path / "theirs.lance"
    table = pa.table({"id": pa.array(np.random.default_rng(count).permutation(20_000))})
    LanceTable.create(ours, table).delete(pc.field("id") < count)
    witness.write_directory(table, theirs, "2.2")
    witness.change_table(theirs, {"do": "delete", "predicate": f"id < {count}"})
    deletions = [LanceTable.open(path).manifest.fragments[0].deletion for path in (ours, theirs)]
    assert [deletion.is_bitmap for deletion in deletions if deletion] == [count >= 5000] * 2
    assert [deletion.num_deleted_rows for deletion in deletions if deletion] == [count] * 2
    assert_agree(witness, ours)
    assert_same(witness.read_version(theirs), LanceTable.open(ours).to_table())


@pytest.mark.parametrize("v2_names", [False, True])
def test_names_of_manifests_are_kept(witness: Witness, tmp_path: Path, v2_names: bool) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 5), path, "2.2", enable_v2_manifest_paths=v2_names)
    LanceTable.open(path).append(rows_of(5, 7))
    scheme = NamingScheme.V2 if v2_names else NamingScheme.V1
    assert [manifest.name.scheme for manifest in list_manifests(table_location(path))] == [scheme] * 2
    witness.change_table(path, {"do": "append", "rows": rows_of(7, 9)})
    assert_agree(witness, path)


def test_manifests_say_what_the_reference_says(witness: Witness, tmp_path: Path) -> None:
    """Field by field, but for names, sizes, times and versions of libraries."""
    ours, theirs = tmp_path / "ours.lance", tmp_path / "theirs.lance"
    table = LanceTable.create(ours, rows_of(0, 40), max_rows_per_file=16, enable_stable_row_ids=True)
    table.append(rows_of(40, 60))
    table.delete(pc.field("id").isin([3, 4, 20]))
    table.restore(2)
    witness.write_directory(rows_of(0, 40), theirs, "2.2", max_rows_per_file=16, enable_stable_row_ids=True)
    steps: list[dict[str, Any]] = [
        {"do": "append", "rows": rows_of(40, 60)},
        {"do": "delete", "predicate": "id in (3, 4, 20)"},
        {"do": "restore", "version": 2},
    ]
    witness.change_table(theirs, *steps)
    paths = [sorted((root / "_versions").glob("*.manifest")) for root in (ours, theirs)]
    for mine, other in zip(*paths, strict=True):
        pair = [manifests.message_of(mine), manifests.message_of(other)]
        for message in pair:
            for fragment in message.fragments:
                assert all(file.file_size_bytes > 0 for file in fragment.files)
                for file in fragment.files:
                    file.path, file.file_size_bytes = "", 0
                if fragment.HasField("deletion_file"):
                    fragment.deletion_file.id = 0
            for field in message.fields:
                # An empty message, of which only files of version 0.1 have content.
                field.ClearField("dictionary")
            assert message.transaction_file.endswith(".txn")
            message.transaction_file = ""
            message.ClearField("timestamp")
            message.ClearField("writer_version")
            message.ClearField("transaction_section")
        assert str(pair[0]).splitlines() == str(pair[1]).splitlines()


def test_files_bear_the_ids_of_the_table(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 5), path, "2.2")
    steps = [
        {"do": "drop_columns", "columns": ["s"]},
        {"do": "add_columns", "transforms": {"s": "id * 3"}},
        {"do": "alter", "path": "id", "name": "key"},
    ]
    witness.change_table(path, *steps)
    table = LanceTable.open(path)
    added = pa.table({"s": pa.array([1, 2], pa.int64()), "key": pa.array([8, 9], pa.int64())})
    table.append(added)
    file = table.manifest.fragments[-1].files[0]
    wanted = {field.name: field.id for field in table.manifest.fields}
    assert set(file.fields) == {wanted["key"], wanted["s"]}
    reader = LanceFileReader(open_source(path / "data" / file.path))
    assert {field.name: field.id for field in reader.fields} == {name: wanted[name] for name in ("key", "s")}
    assert_agree(witness, path)
    assert fields_from_messages(manifests.message_of(manifests.newest(path)).fields) == table.manifest.fields


def test_branches(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    LanceTable.create(path, rows_of(0, 30), max_rows_per_file=20)
    witness.change_table(path, {"do": "branch", "name": "side", "version": 1})
    branch = LanceTable.open(path, branch="side")
    branch.append(rows_of(30, 33))
    branch.delete(pc.field("id") < 2)
    expected = witness.read_version(path, None, "side")
    assert expected["id"].to_pylist() == list(range(2, 33))
    assert_same(expected, branch.to_table())
    assert LanceTable.open(path).version == 1
    assert_same(rows_of(0, 30), witness.read_version(path))
    witness.change_table(path, {"do": "delete", "predicate": "id = 31"}, branch="side")
    assert LanceTable.open(path, branch="side").count_rows() == 30


def test_indices_are_kept(witness: Witness, tmp_path: Path) -> None:
    """An index stays and stays right: rows added later are not covered, rows deleted are not found."""
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 40), path, "2.2", max_rows_per_file=20)
    witness.change_table(path, {"do": "create_scalar_index", "column": "id", "index_type": "BTREE"})
    table = LanceTable.open(path)
    table.append(rows_of(40, 50))
    table.delete(pc.field("id") == 7)
    for number, names in ((2, ["id_idx"]), (3, ["id_idx"]), (4, ["id_idx"])):
        assert witness.index_names(path, number) == names
    for value, found in ((7, []), (8, [8]), (45, [45])):
        got = witness.read_version(path, None, None, filter=f"id = {value}")
        assert got["id"].to_pylist() == found
    witness.change_table(path, {"do": "append", "rows": rows_of(50, 52)})
    table = LanceTable.open(path)
    table.restore(1)
    assert witness.index_names(path, 6) == []
    table.restore(4)
    assert witness.index_names(path, 7) == ["id_idx"]
    table.overwrite(rows_of(0, 5))
    assert witness.index_names(path, 8) == []
    assert_agree(witness, path)


def test_configuration_is_kept(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    LanceTable.create(path, rows_of(0, 5))
    witness.change_table(path, {"do": "update_config", "values": {"a.b": "c"}})
    table = LanceTable.open(path)
    table.append(rows_of(5, 6))
    table.overwrite(rows_of(0, 3))
    assert dict(table.manifest.config) == {"a.b": "c"}
    assert table.manifest.writer_flags == 8
    assert_agree(witness, path)


def test_clones(witness: Witness, tmp_path: Path) -> None:
    """What is changed in a shallow clone lies in the clone; the source stays as it was."""
    source, clone = tmp_path / "source.lance", tmp_path / "clone.lance"
    LanceTable.create(source, rows_of(0, 30), max_rows_per_file=20).tags.create("base", 1)
    witness.change_table(source, {"do": "clone", "target": str(clone), "version": 1})
    before = {found for found in source.rglob("*") if found.is_file()}
    table = LanceTable.open(clone)
    table.delete(pc.field("id").isin([1, 25]))
    table.append(rows_of(30, 33))
    assert table.manifest.reader_flags == table.manifest.writer_flags == 1 | 16
    assert_agree(witness, clone)
    assert table.to_table()["id"].to_pylist() == [i for i in range(33) if i not in (1, 25)]
    witness.change_table(clone, {"do": "delete", "predicate": "id in (2, 31)"})
    assert_agree(witness, clone)
    assert {found for found in source.rglob("*") if found.is_file()} == before
    assert len(list((clone / "_deletions").iterdir())) == 4


def test_tags(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 5))
    table.append(rows_of(5, 6))
    table.tags.create("ours", 1)
    assert witness.read_version(path, "ours").num_rows == 5
    table.tags.update("ours", 2)
    assert witness.read_version(path, "ours").num_rows == 6
    assert witness.tags(path) == {"ours": 2}
    witness.change_table(path, {"do": "tag", "name": "theirs", "version": 1})
    table.tags.update("theirs", 2)
    table.tags.delete("ours")
    assert witness.tags(path) == {"theirs": 2}


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(2, 6))])
def test_histories_by_turns(witness: Witness, tmp_path: Path, seed: int) -> None:
    History(witness, tmp_path / "t.lance", seed).run(10)
