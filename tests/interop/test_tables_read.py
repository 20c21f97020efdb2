"""Tables that the reference package writes now: every version, by number, tag, branch and clone, reads as it does."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from pyarrow import fs as arrow_fs
from same import assert_same, taken
from witness import Witness

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.errors import VersionNotFoundError

pytestmark = pytest.mark.interop

NESTED = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])


def rows_of(start: int, stop: int) -> pa.Table:
    ids = np.arange(start, stop)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in ids.tolist()]),
            "v": pa.array(ids * 0.5, pa.float32()),
            "n": pa.array([{"x": i, "tags": ["a"] * (i % 3)} if i % 5 else None for i in ids.tolist()], NESTED),
        }
    )


def flags_of(names: list[str]) -> dict[str, bool]:
    return {"with_row_id": "_rowid" in names, "with_row_address": "_rowaddr" in names}


def assert_reads(witness: Witness, path: Path, version: int | str | None = None, branch: str | None = None) -> None:
    """Compare one version by every door."""
    expected = witness.read_version(path, version, branch, with_row_id=True, with_row_address=True)
    choice: dict[str, Any] = {"tag": version} if isinstance(version, str) else {"version": version}
    table = LanceTable.open(path, branch=branch, **choice)
    names = expected.column_names
    plain = expected.drop_columns(["_rowid", "_rowaddr"])
    assert_same(expected, table.to_table(columns=names))
    assert table.schema.equals(plain.schema, check_metadata=True)
    assert table.count_rows() == expected.num_rows
    dataset = lance_arrow.dataset(path, branch=branch, **choice)
    assert_same(expected, dataset.to_table(columns=names))
    assert_same(plain, pickle.loads(pickle.dumps(dataset)).to_table())
    assert dataset.count_rows() == expected.num_rows
    if expected.num_rows:
        picks = np.random.default_rng(len(plain)).integers(0, expected.num_rows, 17)
        assert_same(taken(expected, picks), table.take(picks, columns=names))
        assert_same(taken(plain, picks), dataset.take(picks))
    if "id" in names and pa.types.is_integer(expected["id"].type):
        keep = pc.field("id") > 20
        wanted = expected.filter(keep)
        assert_same(wanted, table.to_table(columns=names, filter=keep))
        assert_same(wanted.drop_columns(["_rowid", "_rowaddr"]), dataset.to_table(filter=keep))
        assert table.count_rows(filter=keep) == dataset.count_rows(filter=keep) == wanted.num_rows


def assert_all_versions(witness: Witness, path: Path, versions: list[int]) -> None:
    for version in versions:
        assert_reads(witness, path, version)
    assert [found.version for found in LanceTable.open(path).history()] == sorted(versions, reverse=True)


HISTORY = [
    {"do": "append", "rows": rows_of(40, 70)},
    {"do": "delete", "predicate": "id % 4 = 1"},
    {"do": "update", "updates": {"s": "'new'"}, "where": "id > 60"},
    {"do": "merge", "on": "id", "rows": rows_of(30, 45)},
    {"do": "add_columns", "transforms": {"twice": "id * 2"}},
    {"do": "null_columns", "later": "int64"},
    {"do": "append", "rows": rows_of(100, 110)},
    {"do": "alter", "path": "s", "name": "text"},
    {"do": "cast", "path": "v", "type": "float64"},
    {"do": "drop_columns", "columns": ["twice"]},
    {"do": "delete", "predicate": "id = 100 or id < 10"},
    {"do": "add_columns", "transforms": {"twice": "id + 1"}},
    {"do": "compact", "target_rows_per_fragment": 1000},
    {"do": "drop_columns", "columns": ["n.x"]},
    {"do": "delete", "predicate": "id >= 30 and id <= 40"},
    {"do": "restore", "version": 3},
]


@pytest.mark.parametrize(
    ("file_version", "options"),
    [
        pytest.param("2.1", {}, id="plain"),
        pytest.param("2.2", {"enable_stable_row_ids": True}, id="stable-row-ids"),
        pytest.param("2.2", {"enable_v2_manifest_paths": False}, id="v1-names", marks=pytest.mark.whole),
    ],
)
def test_every_version_of_a_history(
    witness: Witness, tmp_path: Path, file_version: str, options: dict[str, bool]
) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 40), path, file_version, max_rows_per_file=25, **options)
    steps = [step for step in HISTORY if file_version == "2.2" or step.get("columns") != ["n.x"]]
    versions = witness.change_table(path, *steps)
    assert len(versions) >= len(steps)
    assert_all_versions(witness, path, versions)
    operations = {found.operation for found in LanceTable.open(path).history()}
    assert {"append", "delete", "update", "merge", "project", "rewrite", "restore", "overwrite"} <= operations


def test_pyarrow_reads_the_current_rows(witness: Witness, tmp_path: Path) -> None:
    """One format object serves datasets made before and after a change, each exact for its own version."""
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 40), path, "2.2", max_rows_per_file=15)
    file_format = LanceFormat()
    before = pads.dataset(str(path), format=file_format)
    witness.change_table(path, {"do": "delete", "predicate": "id < 20"}, {"do": "append", "rows": rows_of(90, 95)})
    after = pads.dataset(str(path), format=file_format)
    again = pickle.loads(pickle.dumps(before))
    first, last = witness.read_version(path, 1), witness.read_version(path)
    for dataset, expected in ((before, first), (after, last), (again, first)):
        assert dataset.count_rows() == expected.num_rows
        assert_same(expected, dataset.to_table().sort_by("id"))
        assert dataset.to_table(filter=pc.field("id") > 20).num_rows == expected.filter(pc.field("id") > 20).num_rows
    moment = LanceTable.open(path, version=2).manifest.timestamp
    assert pads.dataset(str(path), format=LanceFormat(as_of=moment)).count_rows() == 20
    assert pads.dataset(str(path / "data"), format=LanceFormat(version=1)).count_rows() == 40


def test_tags_branches_and_clones(witness: Witness, tmp_path: Path) -> None:
    path, clone = tmp_path / "t.lance", tmp_path / "clone.lance"
    witness.write_directory(rows_of(0, 30), path, "2.2")
    witness.change_table(
        path,
        {"do": "delete", "predicate": "id < 5"},
        {"do": "tag", "name": "first", "version": 1},
        {"do": "branch", "name": "side/one", "version": 2},
        {"do": "append", "rows": rows_of(50, 60)},
        {"do": "clone", "target": str(clone), "version": 3},
    )
    witness.change_table(path, {"do": "delete", "predicate": "id > 25"}, branch="side/one")
    witness.change_table(clone, {"do": "delete", "predicate": "id = 7"}, {"do": "append", "rows": rows_of(7, 9)})
    assert_reads(witness, path, "first")
    assert_reads(witness, path)
    assert_reads(witness, clone)
    expected = witness.read_version(path, None, "side/one")
    branch = LanceTable.open(path, branch="side/one")
    assert branch.branch == "side/one"
    assert_same(expected, branch.to_table())
    assert_same(expected, lance_arrow.dataset(path, branch="side/one").to_table())
    assert list(branch.branches) == ["side/one"]
    assert {found.version for found in branch.history()} == {2, 3}
    with pytest.raises(VersionNotFoundError, match="side/one"):
        LanceTable.open(path, branch="side")
    with pytest.raises(VersionNotFoundError, match="first"):
        LanceTable.open(path, tag="second")


def test_large_deletions_are_bitmaps(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = pa.table({"id": pa.array(np.arange(20_000)), "s": pa.array([f"{i:05}" for i in range(20_000)])})
    witness.write_directory(table, path, "2.2")
    witness.change_table(path, {"do": "delete", "predicate": "id % 3 = 0 or (id > 9000 and id < 11000)"})
    (fragment,) = LanceTable.open(path).manifest.fragments
    assert fragment.deletion is not None
    assert fragment.deletion.is_bitmap
    assert_reads(witness, path)


def test_time_travel(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 10), path, "2.2")
    witness.change_table(path, {"do": "append", "rows": rows_of(10, 20)}, {"do": "delete", "predicate": "id = 3"})
    for found in LanceTable.open(path).history():
        assert found.timestamp is not None
        assert LanceTable.open(path, as_of=found.timestamp).version == found.version
        local = found.timestamp.astimezone().replace(tzinfo=None)
        assert LanceTable.open(path, as_of=local.isoformat()).version == found.version
    with pytest.raises(VersionNotFoundError, match="as of"):
        LanceTable.open(path, as_of=datetime.date(2001, 1, 1))
    with pytest.raises(VersionNotFoundError, match="no version 9"):
        LanceTable.open(path, version=9)


def test_row_versions(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 20), path, "2.2", enable_stable_row_ids=True)
    witness.change_table(
        path,
        {"do": "append", "rows": rows_of(20, 30)},
        {"do": "update", "updates": {"s": "'u'"}, "where": "id % 6 = 0"},
        {"do": "compact", "target_rows_per_fragment": 100},
    )
    names = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
    rows = LanceTable.open(path).to_table(columns=names).to_pydict()
    created = {i: 1 if i < 20 else 2 for i in range(30)}
    updated = {i: 3 if i % 6 == 0 else created[i] for i in range(30)}
    assert dict(zip(rows["id"], rows[names[1]], strict=True)) == created
    assert dict(zip(rows["id"], rows[names[2]], strict=True)) == updated


def test_columns_in_a_file_of_their_own(witness: Witness, tmp_path: Path) -> None:
    """Columns joined from another table lie in further files; a struct's fields may be chosen singly."""
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 40), path, "2.2", max_rows_per_file=16)
    extra = pa.table({"id": np.arange(0, 40, 2), "w": [f"w{i}" for i in range(0, 40, 2)]})
    witness.change_table(path, {"do": "join", "rows": extra, "left_on": "id"}, {"do": "delete", "predicate": "id = 17"})
    assert_reads(witness, path)
    expected = witness.read_version(path)
    got = LanceTable.open(path).to_table(columns=["n.x", "w", "id"])
    assert got.column_names == ["x", "w", "id"]
    assert got["x"].to_pylist() == [None if n is None else n["x"] for n in expected["n"].to_pylist()]
    assert got["w"].to_pylist() == expected["w"].to_pylist()


def wide_rows() -> pa.Table:
    rows = range(50)
    blobs = pa.array([None if i % 5 == 0 else b"x" * i * 10 for i in rows], pa.large_binary())
    fields = [
        pa.field("id", pa.int64()),
        pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
        pa.field("d", pa.dictionary(pa.int32(), pa.string())),
        pa.field("ls", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
        pa.field("f", pa.list_(pa.float32(), 2)),
    ]
    arrays = [
        pa.array(rows, pa.int64()),
        blobs,
        pa.array([f"k{i % 4}" for i in rows]).dictionary_encode(),
        pa.array([[{"x": j, "y": str(j)} for j in range(i % 4)] if i % 6 else None for i in rows], fields[3].type),
        pa.array([[i, i / 2] for i in rows], fields[4].type),
    ]
    return pa.table(arrays, schema=pa.schema(fields))


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
def test_blobs_and_dictionaries(witness: Witness, tmp_path: Path, file_version: str) -> None:
    """Manifests have blobs of the second kind as a struct of two fields, files as one column of descriptors."""
    path = tmp_path / "t.lance"
    witness.write_directory(wide_rows(), path, file_version, max_rows_per_file=20)
    witness.change_table(path, {"do": "delete", "predicate": "id % 7 = 2"})
    expected = witness.read_directory(path)
    table = LanceTable.open(path)
    for got in (table.to_table(), lance_arrow.dataset(path).to_table(), table.take(range(len(table)))):
        assert got.to_pylist() == expected.to_pylist()
    assert sum(blob is not None for blob in expected["blob"].to_pylist()) > 20
    places = LanceTable.open(path, blobs="descriptors").to_table(columns=["blob"])
    assert pa.types.is_struct(places.schema.field("blob").type)
    decoded = LanceTable.open(path, dictionaries="decode")
    assert decoded.schema.field("d").type == pa.string()
    assert decoded.to_table(columns=["d"]).to_pylist() == expected.select(["d"]).to_pylist()
    inner = table.to_table(columns=["ls.x"], filter=[("id", ">", 20)])["ls"].to_pylist()
    wanted = [row["ls"] for row in expected.to_pylist() if row["id"] > 20]
    assert inner == [items and [{"x": item["x"]} for item in items] for items in wanted]


def test_other_filesystems(witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 40), path, "2.2", max_rows_per_file=16)
    witness.change_table(path, {"do": "delete", "predicate": "id % 5 = 2"})
    expected = witness.read_version(path)
    memory = fsspec.filesystem("memory")
    memory.put(str(path), "/tables/t.lance", recursive=True)
    under = arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem())
    monkeypatch.chdir(tmp_path)
    places: list[tuple[str, Any]] = [
        ("memory://tables/t.lance", None),
        ("/tables/t.lance", memory),
        ("/tables/t.lance", arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(memory))),
        ("t.lance", under),
        ("t.lance", None),
        (f"file://{path}", None),
    ]
    for uri, filesystem in places:
        assert_same(expected, LanceTable.open(uri, filesystem=filesystem).to_table())
        dataset = lance_arrow.dataset(uri, filesystem=filesystem)
        assert_same(expected, dataset.to_table())
        assert_same(expected, pickle.loads(pickle.dumps(dataset)).to_table())
        if filesystem is not None:
            found = pads.dataset(uri, filesystem=filesystem, format=LanceFormat(version=2))
            assert_same(expected, found.to_table().sort_by("id"))
    memory.rm("/tables", recursive=True)
