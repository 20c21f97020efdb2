"""Updates: the rows a predicate names, exactly, in one version; ids of rows stay where they are stable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError, UnsupportedError

INNER = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])


def rows_of(start: int, stop: int) -> pa.Table:
    ids = np.arange(start, stop)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in ids.tolist()], pa.string()),
            "d": pa.array([f"k{i % 3}" for i in ids.tolist()], pa.string()).dictionary_encode(),
            "n": pa.array([{"x": i, "tags": ["a"] * (i % 3)} if i % 5 else None for i in ids.tolist()], INNER),
            "v": pa.array(ids * 0.5, pa.float32()),
        }
    )


def by_id(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["id"])


@pytest.mark.parametrize("stable", [False, True])
def test_values_of_every_kind(tmp_path: Path, stable: bool) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 40), max_rows_per_file=16, enable_stable_row_ids=stable)
    before = by_id(table.to_table(columns=["id", "_rowid"]))
    table.update(
        {"s": "'new ' || s", "v": pc.field("v") * 2, "d": "upper(d)", "n": {"x": 7, "tags": ["b"]}},
        where="id >= 10 AND id < 25",
        message="some",
    )
    assert (table.version, table.history()[0].operation, table.history()[0].message) == (2, "update", "some")
    expected = by_id(rows_of(0, 40))
    for row in expected[10:25]:
        row["s"] = None if row["s"] is None else "new " + row["s"]
        row["v"] *= 2
        row["d"] = row["d"].upper()
        row["n"] = {"x": 7, "tags": ["b"]}
    assert by_id(table.to_table()) == expected
    assert table.schema.equals(rows_of(0, 40).schema)
    after = by_id(table.to_table(columns=["id", "_rowid"]))
    if stable:
        assert after == before
    table.update({"v": 1})
    assert set(table.to_table()["v"].to_pylist()) == {1.0}
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [40]
    table.update({"v": None}, where=[("id", "in", [3, 4])])
    table.update({"v": pc.scalar(2.5)}, where=pc.field("id") < 0)
    assert [row["id"] for row in by_id(table.to_table()) if row["v"] is None] == [3, 4]
    assert table.version == 5
    if stable:
        assert by_id(table.to_table(columns=["id", "_rowid"])) == before


def test_row_versions(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 6), enable_stable_row_ids=True)
    table.append(rows_of(6, 9))
    table.update({"v": 0}, where="id IN (1, 7)")
    names = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
    found = [tuple(row.values()) for row in by_id(table.to_table(columns=names))]
    assert found[1] == (1, 1, 3)
    assert found[7] == (7, 2, 3)
    assert found[0] == (0, 1, 1)
    assert found[8] == (8, 2, 2)


def test_sql_values(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 10))
    table.update({"id": "CASE WHEN id % 3 = 0 THEN id + 100 WHEN id = 4 THEN -id ELSE id END"})
    found = sorted(table.to_table()["id"].to_pylist())
    assert found == sorted([100, 1, 2, 103, -4, 5, 106, 7, 8, 109])
    table.update({"s": "coalesce(lower(s), 'none')", "v": "CAST(abs(id) AS FLOAT)"}, where="id < 3")
    assert sorted(table.to_table(filter=pc.field("id") < 3)["v"].to_pylist()) == [1.0, 2.0, 4.0]
    assert table.count_rows(pc.field("s") == "none") == 0


def test_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    table = LanceTable.create(path, pa.table({"id": [1, 2], "s": ["a", "b"]}, schema=schema))
    files = sorted(path.rglob("*.*"))
    for values, where, message in (
        ({"x": 1}, None, "no column 'x'"),
        ({}, None, "expected columns"),
        ({"id": None}, None, "null"),
        ({"id": "s"}, None, "cannot be cast"),
        ({"id": "nope + 1"}, None, "does not fit"),
        ({"id": "id +"}, None, "not SQL"),
        ({"id": [1]}, None, "cannot be"),
        ({"id": 1}, "nope = 1", "nope"),
        ({"id": "id / 0"}, None, "cannot be computed"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            table.update(values, where)
    assert table.version == 1
    assert sorted(path.rglob("*.*")) == files
    hidden = LanceTable.create(tmp_path / "h.lance", pa.table({"_rowaddr": pa.array([1], pa.uint64())}))
    with pytest.raises(UnsupportedError, match="hides"):
        hidden.update({"_rowaddr": 2})


def test_after_others(tmp_path: Path) -> None:
    """Others changed the same rows, others, and added some: as if ours came last."""
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 30), max_rows_per_file=10, enable_stable_row_ids=True)
    stale = LanceTable.open(path)
    table.update({"v": "v + 100"}, where="id = 3 OR id = 15")
    table.delete("id = 4")
    table.append(rows_of(30, 35))
    stale.update({"v": "v + 1000"}, where="id < 6")
    assert stale.version == 5
    values = {row["id"]: row["v"] for row in stale.to_table().to_pylist()}
    assert (values[3], values[15], values[5], values[31]) == (1101.5, 107.5, 1002.5, 15.5)
    assert 4 not in values
    assert len(values) == 34
