"""`merge_insert`: a merge that is described before its rows are known; `refresh`: the versions of others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lance_arrow import LanceTable, errors


def declared(*keys: tuple[str, bytes]) -> pa.Schema:
    named = dict(keys)
    fields = []
    for name in ("a", "b", "v"):
        position = named.get(name)
        metadata = {"lance-schema:unenforced-primary-key": "true"} if position is not None else None
        if position:
            metadata = {"lance-schema:unenforced-primary-key:position": position}
        fields.append(pa.field(name, pa.int64(), nullable=position is None, metadata=metadata))
    return pa.schema(fields)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [([("a", b"")], ("a",)), ([("a", b"2"), ("b", b"1")], ("b", "a")), ([("b", b""), ("a", b"")], ("a", "b"))],
)
def test_the_declared_key_is_the_default(tmp_path: Path, keys: list[tuple[str, bytes]], expected: tuple[str]) -> None:
    schema = declared(*keys)
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1, 2], "b": [1, 1], "v": [0, 0]}, schema=schema))
    merge = table.merge_insert().when_matched_update_all().when_not_matched_insert_all()
    assert f"on={expected}" in repr(merge)
    rows = pa.table({"a": [2, 3], "b": [1, 1], "v": [5, 5]}, schema=schema)
    if expected == ("a",) or len(expected) == 2:
        assert merge.execute(rows) == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
        assert sorted(table.to_table()["v"].to_pylist()) == [0, 5, 5]


def test_a_table_without_key_needs_names(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    with pytest.raises(errors.InvalidArgumentError, match="declares no primary key"):
        table.merge_insert()
    with pytest.raises(errors.InvalidArgumentError, match="expected names of key columns"):
        table.merge_insert([])
    with pytest.raises(errors.InvalidArgumentError, match="change no rows"):
        table.merge_insert("a").execute(pa.table({"a": [1]}))
    assert table.version == 1


def test_a_merge_can_be_run_again(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    merge = table.merge_insert("a").when_not_matched_insert_all()
    assert merge.execute(pa.table({"a": [1, 2]}))["num_inserted_rows"] == 1
    batches = iter(pa.table({"a": [2, 3]}).to_batches())
    counts = merge.execute(batches, schema=pa.schema([("a", pa.int64())]), message="again")
    assert counts["num_inserted_rows"] == 1
    assert table.version == 3
    assert table.history()[0].message == "again"


def test_refresh_sees_versions_of_others(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    other = LanceTable.open(tmp_path / "t")
    assert not table.refresh()
    other.append(pa.table({"a": [2]}))
    other.append(pa.table({"a": [3]}))
    assert table.to_table()["a"].to_pylist() == [1]
    assert table.refresh()
    assert (table.version, table.to_table()["a"].to_pylist()) == (3, [1, 2, 3])
    assert not table.refresh()


def test_refresh_of_an_older_version_and_of_a_branch(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    table.append(pa.table({"a": [2]}))
    table.branches.create("work", 1)
    old = table.checkout(1)
    assert old.refresh()
    assert old.version == 2
    branch = LanceTable.open(tmp_path / "t", branch="work")
    LanceTable.open(tmp_path / "t", branch="work").append(pa.table({"a": [7]}))
    assert branch.refresh()
    assert (branch.branch, branch.to_table()["a"].to_pylist()) == ("work", [1, 7])


def test_refresh_of_a_replaced_table(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
    LanceTable.open(tmp_path / "t").overwrite(pa.table({"b": ["x"]}))
    assert table.refresh()
    assert table.to_table().to_pydict() == {"b": ["x"]}
