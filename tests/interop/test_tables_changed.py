"""Updates and merges: done by us and by the reference, read by the other, and the same rows whoever did them."""

from __future__ import annotations

import datetime
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from witness import Witness, WitnessRefused

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.scan.sql_predicates import parse_sql

pytestmark = pytest.mark.interop

NESTED = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])


def rows_of(start: int, stop: int) -> pa.Table:
    ids = np.arange(start, stop)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in ids.tolist()], pa.string()),
            "n": pa.array([{"x": i, "tags": ["a"] * (i % 3)} if i % 5 else None for i in ids.tolist()], NESTED),
            "v": pa.array(ids * 0.5, pa.float32()),
        }
    )


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


def assert_agree(witness: Witness, path: Path, branch: str | None = None) -> None:
    """All versions: rows, and where they lie."""
    for version in LanceTable.open(path, branch=branch).history():
        theirs = witness.read_version(path, version.version, branch, with_row_id=True, with_row_address=True)
        ours = LanceTable.open(path, version=version.version, branch=branch)
        assert ours.to_table(columns=theirs.column_names).equals(theirs)
        assert version.num_rows == theirs.num_rows


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable-row-ids"])
@pytest.mark.parametrize("file_version", ["2.1", "2.2", "2.3"])
def test_updates(witness: Witness, tmp_path: Path, file_version: str, stable: bool) -> None:
    ours, theirs = tmp_path / "ours.lance", tmp_path / "theirs.lance"
    for path in (ours, theirs):
        LanceTable.create(
            path, rows_of(0, 40), file_version=file_version, max_rows_per_file=16, enable_stable_row_ids=stable
        )
    steps: list[tuple[dict[str, str], str | None]] = [
        ({"s": "'new'", "v": "v * 2 + id"}, "id % 3 = 1"),
        ({"id": "id + 1000"}, "id < 16"),
        ({"s": "upper(s)"}, None),
        ({"v": "NULL"}, "id = 12345"),
    ]
    for values, where in steps:
        LanceTable.open(ours).update(values, where)
        witness.change_table(theirs, {"do": "update", "updates": values, **({"where": where} if where else {})})
        assert ordered(LanceTable.open(ours).to_table()) == ordered(witness.read_version(theirs))
    assert_agree(witness, ours)
    witness.change_table(ours, {"do": "validate"})
    if stable:
        names = ["id", "_rowid", "_row_created_at_version"]
        tables = [LanceTable.open(path).to_table(columns=names) for path in (ours, theirs)]
        assert ordered(tables[0]) == ordered(tables[1])
    if file_version != "2.3":
        witness.change_table(
            ours,
            {"do": "update", "updates": {"v": "1"}, "where": "id % 2 = 0"},
            {"do": "delete", "predicate": "id = 1001"},
            {"do": "compact", "target_rows_per_fragment": 1000},
        )
        assert_agree(witness, ours)
        LanceTable.open(ours).update({"v": "v + 1"}, "id = 1002")
        assert_agree(witness, ours)


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable-row-ids"])
def test_merges(witness: Witness, tmp_path: Path, stable: bool, whole_run: bool) -> None:
    """Every mixture of clauses, by one key and two, gives the same rows."""
    source = pa.concat_tables([rows_of(10, 20), rows_of(90, 95)])
    source = source.set_column(3, "v", pa.array(np.full(15, -1.0), pa.float32()))
    null_key = pa.table({name: pa.nulls(1, source.schema.field(name).type) for name in source.column_names})
    source = pa.concat_tables([source, null_key]).combine_chunks()
    table = pa.concat_tables([rows_of(0, 30), null_key]).combine_chunks()
    choices = itertools.product(
        ["", "when_matched_update_all", "when_matched_delete"],
        [False, True],
        ["", "all", "some"],
    )
    for number, (matched, insert, others) in enumerate(choices):
        clauses: list[tuple[str, str | None]] = []
        if matched:
            is_some = matched == "when_matched_update_all" and number % 2
            clauses.append((matched, "source.v < target.v AND target.id > 13" if is_some else None))
        if insert:
            clauses.append(("when_not_matched_insert_all", None))
        if others:
            clauses.append(("when_not_matched_by_source_delete", "id > 20" if others == "some" else None))
        # Every day, each mixture has one of the two kinds of row ids.
        if not clauses or not (whole_run or number // 2 % 2 == stable):
            continue
        paths = [tmp_path / f"{who}{number}.lance" for who in ("ours", "theirs")]
        for path in paths:
            LanceTable.create(path, table, max_rows_per_file=8, enable_stable_row_ids=stable)
        on = ["id"] if number % 3 else ["id", "s"]
        merge = LanceTable.open(paths[0]).merge(source, on=on)
        for name, condition in clauses:
            merge = getattr(merge, name)(*([] if condition is None else [condition]))
        merge.execute()
        if matched == "when_matched_delete" and others and not insert:
            # Its own bug report to itself; by hand in `tests/table/test_merging.py`.
            with pytest.raises(WitnessRefused, match="Internal error"):
                witness.change_table(paths[1], {"do": "merge_clauses", "on": on, "rows": source, "clauses": clauses})
            assert_agree(witness, paths[0])
            continue
        witness.change_table(paths[1], {"do": "merge_clauses", "on": on, "rows": source, "clauses": clauses})
        assert ordered(LanceTable.open(paths[0]).to_table()) == ordered(witness.read_version(paths[1])), clauses
        assert_agree(witness, paths[0])
        assert_agree(witness, paths[1])
        if stable:
            names = ["id", "_rowid"]
            kept = [
                {row["id"]: row["_rowid"] for row in LanceTable.open(path).to_table(columns=names).to_pylist()}
                for path in paths
            ]
            assert {key: kept[0][key] for key in kept[0] if key is not None and key < 90} == {
                key: kept[1][key] for key in kept[1] if key is not None and key < 90
            }


def test_what_both_refuse(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 5))
    update, insert = ("when_matched_update_all", None), ("when_not_matched_insert_all", None)
    twice = pa.concat_tables([rows_of(1, 2), rows_of(1, 2)])
    for rows, clauses in (
        (twice, [update]),
        (rows_of(1, 2), [("when_matched_fail", None), insert]),
    ):
        merge = table.merge(rows, on="id")
        for name, _ in clauses:
            merge = getattr(merge, name)()
        with pytest.raises(InvalidArgumentError):
            merge.execute()
        with pytest.raises(WitnessRefused):
            witness.change_table(path, {"do": "merge_clauses", "on": ["id"], "rows": rows, "clauses": clauses})


def test_indices_stay_right(witness: Witness, tmp_path: Path) -> None:
    """An index that the reference made finds updated and merged rows where they are now."""
    for stable in (False, True):
        path = tmp_path / f"{stable}.lance"
        witness.write_directory(rows_of(0, 40), path, "2.2", max_rows_per_file=20, enable_stable_row_ids=stable)
        for column, kind in (("id", "BTREE"), ("v", "ZONEMAP"), ("s", "BITMAP")):
            witness.change_table(path, {"do": "create_scalar_index", "column": column, "index_type": kind})
        table = LanceTable.open(path)
        table.update({"v": 1000}, "id IN (3, 25)")
        table.merge(rows_of(38, 43), on="id").when_matched_update_all().when_not_matched_insert_all().execute()
        for text, found in (
            ("id = 3", [3]),
            ("v = 1000", [3, 25]),
            ("id >= 38", [38, 39, 40, 41, 42]),
            ("v = 1.5", []),
            ("s = 'text 3'", [3, 16, 29]),
        ):
            got = witness.read_version(path, None, None, filter=text)
            assert sorted(got["id"].to_pylist()) == found, text
        assert_agree(witness, path)


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable-row-ids"])
@pytest.mark.parametrize("file_version", ["2.1", "2.2", "2.3"])
def test_columns(witness: Witness, tmp_path: Path, file_version: str, stable: bool) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(
        path, rows_of(0, 40), file_version=file_version, max_rows_per_file=16, enable_stable_row_ids=stable
    )
    table.delete("id = 0 OR id = 9 OR id = 39")
    table.add_columns({"twice": "id * 2", "half": "v / 2"})
    table.add_columns(lambda batch: {"list": pa.array([[i, i] for i in batch["id"].to_pylist()])})
    table.add_columns([pa.field("nothing", pa.string()), pa.field("deep", NESTED)])
    assert_agree(witness, path)
    table.alter_columns({"path": "id", "data_type": pa.int32()}, {"path": "n.x", "name": "xx"})
    table.alter_columns({"path": "half", "data_type": pa.float64(), "name": "h"})
    table.drop_columns(["twice", "s"])
    table.append(pa.table({"id": pa.array([77], pa.int32()), "h": [0.25]}))
    table.update({"nothing": "'x'", "h": "h + 1"}, "id > 30")
    assert_agree(witness, path)
    witness.change_table(path, {"do": "validate"})
    if file_version == "2.3":
        return
    witness.change_table(
        path,
        {"do": "add_columns", "transforms": {"again": "h * 2"}},
        {"do": "update", "updates": {"again": "1"}, "where": "id < 5"},
        {"do": "drop_columns", "columns": ["list"]},
        {"do": "compact", "target_rows_per_fragment": 1000},
    )
    assert_agree(witness, path)
    LanceTable.open(path).add_columns({"last": "again + 1"})
    assert_agree(witness, path)


def test_columns_as_the_reference_has_them(witness: Witness, tmp_path: Path) -> None:
    """Ids of fields and lists of files, whoever changed the columns."""
    ours, theirs = tmp_path / "ours.lance", tmp_path / "theirs.lance"
    for path in (ours, theirs):
        LanceTable.create(path, rows_of(0, 20), max_rows_per_file=8)
    table = LanceTable.open(ours)
    table.add_columns({"a": "id * 2"})
    table.drop_columns(["s"])
    table.alter_columns({"path": "v", "name": "w"})
    table.alter_columns({"path": "id", "data_type": pa.int32()})
    table.drop_columns(["a"])
    witness.change_table(
        theirs,
        {"do": "add_columns", "transforms": {"a": "id * 2"}},
        {"do": "drop_columns", "columns": ["s"]},
        {"do": "alter", "path": "v", "name": "w"},
        {"do": "cast", "path": "id", "type": "int32"},
        {"do": "drop_columns", "columns": ["a"]},
    )
    for version in range(2, 7):
        made = [LanceTable.open(path, version=version).manifest for path in (ours, theirs)]
        fields = [[(one.name, one.id, one.logical_type) for one in manifest.fields] for manifest in made]
        assert fields[0] == fields[1], version
        files = [[[file.fields for file in one.files] for one in manifest.fragments] for manifest in made]
        assert files[0] == files[1], version


def test_indices_of_changed_columns(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 40), path, "2.2", max_rows_per_file=20)
    for column in ("id", "v"):
        witness.change_table(path, {"do": "create_scalar_index", "column": column, "index_type": "BTREE"})
    table = LanceTable.open(path)
    table.add_columns({"a": "id"})
    table.alter_columns({"path": "v", "name": "w"})
    assert witness.index_names(path, table.version) == ["id_idx", "v_idx"]
    assert witness.read_version(path, None, None, filter="w = 4.5")["id"].to_pylist() == [9]
    table.alter_columns({"path": "w", "data_type": pa.float64()})
    assert witness.index_names(path, table.version) == ["id_idx"]
    table.drop_columns(["id"])
    assert witness.index_names(path, table.version) == []
    assert_agree(witness, path)


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable-row-ids"])
@pytest.mark.parametrize("file_version", ["2.1", "2.2", "2.3"])
def test_compaction(witness: Witness, tmp_path: Path, file_version: str, stable: bool) -> None:
    """With indices that the reference made, which find the same rows afterwards, and which it can bring up to date."""
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 60), path, file_version, max_rows_per_file=10, enable_stable_row_ids=stable)
    for column, kind in (("id", "BTREE"), ("v", "ZONEMAP"), ("s", "BITMAP")):
        witness.change_table(path, {"do": "create_scalar_index", "column": column, "index_type": kind})
    table = LanceTable.open(path)
    table.append(rows_of(60, 100))
    table.delete("id IN (3, 16, 17, 42, 43, 44, 45, 46, 47)")
    questions = [
        ("id = 45", []),
        ("id = 44", []),
        ("id = 5", [5]),
        ("id >= 95", [95, 96, 97, 98, 99]),
        ("v = 20.5", [41]),
        ("s = 'text 3'", [29, 55, 68, 81, 94]),
    ]
    for target in (25, 1000):
        before = LanceTable.open(path).to_table()
        table.compact(target_rows_per_fragment=target)
        assert ordered(LanceTable.open(path).to_table()) == ordered(before)
        assert_agree(witness, path)
        for text, found in questions:
            assert sorted(witness.read_version(path, None, None, filter=text)["id"].to_pylist()) == found, text
    witness.change_table(path, {"do": "validate"})
    if file_version == "2.3":
        return
    witness.change_table(
        path,
        {"do": "append", "rows": rows_of(100, 110)},
        {"do": "optimize_indices"},
        {"do": "compact", "target_rows_per_fragment": 1000},
    )
    for text, found in [*questions, ("id = 104", [104])]:
        got = sorted(witness.read_version(path, None, None, filter=text)["id"].to_pylist())
        assert [one for one in got if one < 100 or text == "id = 104"] == found, text
    assert_agree(witness, path)


def test_cleanup(witness: Witness, tmp_path: Path) -> None:
    """What the reference wrote, with tags, a branch and indices: all that stays can still be read by both."""
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 60), path, "2.2", max_rows_per_file=20, enable_stable_row_ids=True)
    steps: list[dict[str, Any]] = [
        {"do": "create_scalar_index", "column": "id", "index_type": "BTREE"},
        {"do": "delete", "predicate": "id % 4 = 0"},
        {"do": "branch", "name": "side/a", "version": 2},
        {"do": "update", "updates": {"s": "'new'"}, "where": "id > 30"},
        {"do": "append", "rows": rows_of(60, 70)},
        {"do": "compact", "target_rows_per_fragment": 1000},
        {"do": "tag", "name": "good", "version": 4},
        {"do": "delete", "predicate": "id = 1"},
    ]
    witness.change_table(path, *steps)
    witness.change_table(path, {"do": "append", "rows": rows_of(70, 75)}, branch="side/a")
    before = {branch: LanceTable.open(path, branch=branch).to_table() for branch in (None, "side/a")}
    tagged = LanceTable.open(path, tag="good").to_table()
    report = LanceTable.open(path).cleanup(older_than=datetime.timedelta(), dry_run=False)
    assert report.versions == (1, 3, 5, 6, 7)
    assert report.kept[2] == "branch 'side/a' begins here"
    for branch, rows in before.items():
        assert LanceTable.open(path, branch=branch).to_table().equals(rows)
        assert_agree(witness, path, branch)
    assert LanceTable.open(path, tag="good").to_table().equals(tagged)
    assert witness.read_version(path, None, None, filter="id = 33")["s"].to_pylist() == ["new"]
    report = LanceTable.open(path, branch="side/a").cleanup(older_than=datetime.timedelta(), dry_run=False)
    assert report.versions == (2,)
    assert_agree(witness, path, "side/a")
    assert_agree(witness, path)


@pytest.mark.parametrize(
    "stable",
    [pytest.param(False, id="addresses", marks=pytest.mark.whole), pytest.param(True, id="stable-row-ids")],
)
def test_lines(witness: Witness, tmp_path: Path, stable: bool) -> None:
    """Branches, clones, configuration and replaced columns, ours in their hands and theirs in ours."""
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 30), max_rows_per_file=12, enable_stable_row_ids=stable)
    table.delete("id = 3 OR id = 29")
    witness.change_table(path, {"do": "create_scalar_index", "column": "id", "index_type": "BTREE"})
    table = LanceTable.open(path)
    table.branches.create("ours/a", 3)
    witness.change_table(path, {"do": "branch", "name": "theirs", "version": 2})
    for branch in ("ours/a", "theirs"):
        witness.change_table(path, {"do": "append", "rows": rows_of(40, 45)}, branch=branch)
        assert_agree(witness, path, branch)
        side = LanceTable.open(path, branch=branch)
        side.update({"s": "'x'"}, "id = 5 OR id = 41")
        side.compact()
        assert_agree(witness, path, branch)
        found = witness.read_version(path, None, branch, filter="id = 41")
        assert found["s"].to_pylist() == ["x"]
    witness.change_table(path, {"do": "tag_of_branch", "name": "t", "branch": "ours/a", "version": 4})
    assert LanceTable.open(path, tag="t").branch == "ours/a"
    clone, theirs = tmp_path / "clone.lance", tmp_path / "theirs.lance"
    table.shallow_clone(clone)
    witness.change_table(path, {"do": "clone", "target": str(theirs), "version": 3})
    for one in (clone, theirs):
        assert_agree(witness, one)
        witness.change_table(one, {"do": "append", "rows": rows_of(50, 52)}, {"do": "delete", "predicate": "id = 7"})
        moved = LanceTable.open(one)
        moved.delete("id = 8 OR id = 51")
        moved.merge(rows_of(9, 10), on="id").when_matched_update_all().execute()
        assert_agree(witness, one)
        assert witness.read_version(one, None, None, filter="id < 11")["id"].to_pylist().count(8) == 0
        moved.compact()
        assert_agree(witness, one)
    table.update_config({"a": "1"})
    witness.change_table(path, {"do": "update_config", "values": {"b": "2"}})
    table = LanceTable.open(path)
    table.update_schema_metadata({"k": "v"})
    table.update_field_metadata({"n.x": {"unit": "m"}})
    table.update_metadata({"t": "m"})
    assert witness.describe_table(path) == {
        "config": {"a": "1", "b": "2"},
        "metadata": {"t": "m"},
        "schema_metadata": {"k": "v"},
    }
    table.add_columns({"w": "id * 2"})
    table.replace_columns({"w": "w + 1"})
    assert_agree(witness, path)
    witness.change_table(path, {"do": "update", "updates": {"w": "0"}, "where": "id < 4"})
    assert_agree(witness, path)


def test_a_clone_of_the_reference_is_no_empty_dataset(witness: Witness, tmp_path: Path) -> None:
    path, clone = tmp_path / "t.lance", tmp_path / "clone.lance"
    witness.write_directory(rows_of(0, 30), path, "2.2")
    witness.change_table(path, {"do": "clone", "target": str(clone), "version": 1})
    assert lance_arrow.dataset(clone).count_rows() == 30
    for source, filesystem in ((clone, None), (str(clone), pa.fs.LocalFileSystem()), (clone.as_uri(), None)):
        with pytest.raises(UnsupportedError, match=r"lance_arrow\.dataset"):
            pads.dataset(source, format=LanceFormat(), filesystem=filesystem)
    assert pads.dataset(path, format=LanceFormat()).count_rows() == 30


def test_indices_of_replaced_columns(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 40), max_rows_per_file=20)
    table.add_columns({"w": "id * 2"})
    witness.change_table(path, {"do": "create_scalar_index", "column": "w", "index_type": "BTREE"})
    table = LanceTable.open(path)
    table.replace_columns({"w": "w + 1"})
    assert witness.read_version(path, None, None, filter="w = 11")["id"].to_pylist() == [5]
    assert witness.read_version(path, None, None, filter="w = 10")["id"].to_pylist() == []
    # The index stays, without coverage, so that the reference can bring it up to date.
    assert witness.index_coverage(path) == {"w_idx": []}


def test_zone_map_indices(witness: Witness, tmp_path: Path, whole_run: bool) -> None:
    """Ours is used by the reference and brought up to date by it; theirs is used by us."""
    for stable in (False, True) if whole_run else (True,):
        ours, theirs = tmp_path / f"ours{stable}.lance", tmp_path / f"theirs{stable}.lance"
        for path in (ours, theirs):
            witness.write_directory(rows_of(0, 500), path, "2.2", max_rows_per_file=150, enable_stable_row_ids=stable)
            witness.change_table(path, {"do": "delete", "predicate": "id % 10 = 4"})
        for column in ("id", "v", "s"):
            LanceTable.open(ours).create_zone_map(column, rows_per_zone=32)
            witness.change_table(theirs, {"do": "create_scalar_index", "column": column, "index_type": "ZONEMAP"})
        for path in (ours, theirs):
            assert "ScalarIndexQuery" in witness.explain(path, "id = 77")
            questions = ["id = 77", "id = 74", "v > 240", "v = 0", "s = 'text 4'", "s IS NULL", "id IN (3, 499, 600)"]
            for step in (
                [],
                [{"do": "delete", "predicate": "id = 77"}, {"do": "append", "rows": rows_of(500, 610)}],
                [{"do": "optimize_indices"}],
                [{"do": "update", "updates": {"v": "0"}, "where": "id = 300"}],
                [{"do": "compact", "target_rows_per_fragment": 1000}],
            ):
                witness.change_table(path, *step)
                table = LanceTable.open(path)
                everything = table.to_table()
                for text in questions:
                    got = table.to_table(filter=text)
                    assert ordered(got) == ordered(witness.read_version(path, None, None, filter=text)), text
                    assert ordered(got) == ordered(everything.filter(parse_sql(text, everything.schema))), text


def test_zone_map_indices_prune(witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    witness.write_directory(rows_of(0, 20_000), path, "2.2", max_rows_per_file=10_000)
    reader = LanceTable.open(path)._reader
    condition = reader.filter(pc.field("id") == 12_345)
    assert sum(reader.fragment(at).prune(condition.predicate).rows.num_rows for at in range(2)) == 20_000
    witness.change_table(path, {"do": "create_scalar_index", "column": "id", "index_type": "ZONEMAP"})
    reader = LanceTable.open(path)._reader
    condition = reader.filter(pc.field("id") == 12_345)
    left = [reader.fragment(at).prune(condition.predicate).rows.num_rows for at in range(2)]
    assert left[0] == 0
    assert 0 < left[1] <= 8192
