"""Columns added, dropped, renamed and cast: the same rows otherwise, deleted rows none of anybody's business."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError, InvalidArgumentError, UnsupportedError

INNER = pa.struct([("x", pa.int32()), ("y", pa.string()), ("l", pa.list_(pa.int16()))])


def rows_of(start: int, stop: int) -> pa.Table:
    ids = range(start, stop)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "s": [f"t{i}" for i in ids],
            "n": pa.array([{"x": i, "y": f"y{i}", "l": [i] * (i % 3)} if i % 4 else None for i in ids], INNER),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    """Three fragments, of which rows are deleted at the start, in the middle, and at the end."""
    made = LanceTable.create(tmp_path / "t.lance", rows_of(0, 50), max_rows_per_file=20)
    made.delete(pc.field("id").isin([0, 1, 5, 19, 25, 48, 49]))
    return made


def files_of(path: Path) -> set[str]:
    return {str(found.relative_to(path)) for found in path.rglob("*") if found.is_file()}


def test_values(table: LanceTable) -> None:
    before = table.to_table()
    table.add_columns({"twice": "id * 2", "one": 1, "z": pc.field("n", "x"), "inverse": "100 / (id - 5)"}, message="m")
    assert (table.version, table.history()[0].operation) == (3, "merge")
    ids = before["id"].to_pylist()
    assert table.to_table()["twice"].to_pylist() == [i * 2 for i in ids]
    assert table.to_table()["z"].to_pylist() == [i if i % 4 else None for i in ids]
    assert set(table.to_table()["one"].to_pylist()) == {1}
    assert table.to_table().select(before.column_names).equals(before)
    assert table.schema.names == ["id", "s", "n", "twice", "one", "z", "inverse"]
    # The row that was deleted divides by zero.
    assert table.to_table()["inverse"].to_pylist()[0] == -33


def test_function(table: LanceTable) -> None:
    calls: list[int] = []

    def lengths(batch: pa.RecordBatch) -> dict[str, Any]:
        calls.append(batch.num_rows)
        assert batch.schema.names == ["s", "id"]
        return {"length": pc.utf8_length(batch["s"]), "list": pa.array([[i] for i in batch["id"].to_pylist()])}

    table.add_columns(lengths, read_columns=["s", "id"], batch_size=7)
    assert sum(calls) == 43
    assert max(calls) <= 7
    assert table.to_table()["list"].to_pylist() == [[i] for i in table.to_table()["id"].to_pylist()]
    empty = LanceTable.create(Path(table.uri) / "../e.lance", rows_of(0, 0))
    empty.add_columns(lambda batch: pa.record_batch({"x": pa.array(np.arange(batch.num_rows))}))
    assert empty.schema.names == ["id", "s", "n", "x"]
    for function, message in (
        (lambda batch: batch.select(["id"]), "already"),
        (lambda batch: 3, "returned int"),
        (lambda batch: {"x": [1]}, "1 rows for"),
        (lambda batch: {"x": [str(batch["id"][0])] * len(batch)} if batch["id"][0].as_py() < 9 else
         {"x": [1] * len(batch)}, "before"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgumentError, match=message):
            table.add_columns(function)


def test_another_table(table: LanceTable) -> None:
    ids = table.to_table()["id"].to_pylist()
    table.add_columns(pa.table({"w": pa.array([f"w{i}" for i in ids], pa.string_view())}))
    assert table.to_table()["w"].to_pylist() == [f"w{i}" for i in ids]
    other = pa.table({"k": ["a", "b", "c"], "id": pa.array([40, 2, 999], pa.int64()), "st": [{"q": 1}, None, {"q": 3}]})
    table.add_columns(iter(other.to_batches()), on="id")
    found = {row["id"]: (row["k"], row["st"]) for row in table.to_table().to_pylist()}
    assert (found[40], found[2], found[3]) == (("a", {"q": 1}), ("b", None), (None, None))
    for rows, on, message in (
        (pa.table({"q": [1, 2]}), None, "those of the table are more"),
        (pa.table({"q": [1] * 44}), None, "those of the table are 43"),
        (pa.table({"q": [1], "nope": [1]}), "nope", "not in both"),
        (pa.table({"q": [1], "id": ["x"]}), "id", "keys are string"),
        (pa.table({"q": [1, 2], "id": [1, 1]}), "id", "several rows"),
        (pa.table({"id": [1] * 43}), None, "already"),
        ({"bad.name": 1}, None, "dot"),
        (7, None, "cannot"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            table.add_columns(rows, on=on)
    assert table.version == 4


def test_columns_of_nulls(table: LanceTable) -> None:
    before = files_of(Path(table.uri))
    table.add_columns([pa.field("a", pa.int32()), pa.field("b", INNER)])
    assert {name for name in files_of(Path(table.uri)) - before if name.startswith("data")} == set()
    assert table.to_table()["b"].null_count == 43
    table.append(rows_of(50, 52))
    table.update({"a": "id"}, "id = 3 OR id = 51")
    assert sorted(table.to_table()["a"].drop_null().to_pylist()) == [3, 51]
    with pytest.raises(InvalidArgumentError, match="allow nulls"):
        table.add_columns(pa.field("c", pa.int32(), nullable=False))


def test_drop(table: LanceTable) -> None:
    before = table.to_table()
    table.drop_columns(["s", "n.y"])
    assert (table.history()[0].operation, table.schema.names) == ("project", ["id", "n"])
    assert table.to_table(columns=["n.x", "n.l"]).equals(
        pa.table({"x": pc.struct_field(before["n"], "x"), "l": pc.struct_field(before["n"], "l")})
    )
    table.add_columns({"s": "id + 1"})
    assert table.to_table()["s"].to_pylist() == [i + 1 for i in before["id"].to_pylist()]
    table.append(pa.table({"id": pa.array([100], pa.int64()), "s": pa.array([7], pa.int64())}))
    assert table.to_table()["s"].to_pylist()[-1] == 7
    for columns, message in (
        (["nope"], "no column 'nope'"),
        (["id", "n", "s"], "no columns left"),
        ("id", "a list"),
        (["n.x", "n.l"], "no columns left"),
        ([], "a list"),
        ([3], "expected its name"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            table.drop_columns(columns)  # type: ignore[arg-type]


def test_alter(table: LanceTable) -> None:
    before = table.to_table()
    table.alter_columns({"path": "s", "name": "t"}, {"path": "n.x", "name": "xx"})
    assert table.history()[0].operation == "project"
    assert table.schema.field("n").type.names == ["xx", "y", "l"]
    assert table.to_table()["t"].equals(before["s"])
    table.alter_columns(
        {"path": "id", "data_type": pa.int32(), "name": "key"},
        {"path": "n.xx", "data_type": pa.float64()},
        {"path": "t", "data_type": pa.dictionary(pa.int8(), pa.string())},
    )
    assert (table.history()[0].operation, table.version) == ("merge", 4)
    found = table.to_table()
    assert found["key"].type == pa.int32()
    assert found["key"].to_pylist() == before["id"].to_pylist()
    assert found["t"].to_pylist() == before["s"].to_pylist()
    expected = [
        None if row is None else {"xx": float(row["x"]), "y": row["y"], "l": row["l"]}
        for row in before["n"].to_pylist()
    ]
    assert sorted(map(repr, (sorted(row.items()) if row else row for row in found["n"].to_pylist()))) == sorted(
        map(repr, (sorted(row.items()) if row else row for row in expected))
    )
    table.alter_columns({"path": "key", "nullable": False})
    assert not table.schema.field("key").nullable
    with pytest.raises(InvalidArgumentError, match="null"):
        table.append(pa.table({"t": ["x"]}))
    table.alter_columns({"path": "key", "nullable": True})
    table.append(pa.table({"t": pa.array(["x"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))}))


def test_alter_refused(table: LanceTable) -> None:
    path = Path(table.uri)
    files = files_of(path)
    for alteration, message in (
        ({"path": "id", "name": "s"}, "two columns"),
        ({"path": "nope", "name": "x"}, "no column"),
        ({"path": "id"}, "an alteration is"),
        ({"path": "id", "nam": "x"}, "an alteration is"),
        ({"path": "id", "name": "a.b"}, "cannot have the name"),
        ({"path": "n", "nullable": False}, "there are nulls"),
        ({"path": "s", "data_type": pa.int32()}, "cannot be cast"),
        ({"path": "id", "data_type": pa.int8(), "name": "s"}, "two columns"),
        ({"path": "id", "data_type": "int8"}, "expected an Arrow type"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            table.alter_columns(alteration)
    with pytest.raises(InvalidArgumentError, match="no alteration"):
        table.alter_columns()
    assert (table.version, files_of(path)) == (2, files)


def test_after_others(table: LanceTable) -> None:
    path = Path(table.uri)
    first, second, third = (LanceTable.open(path) for _ in range(3))
    table.append(rows_of(60, 70))
    first.add_columns({"a": "id"})
    assert first.to_table()["a"].to_pylist() == first.to_table()["id"].to_pylist()
    second.add_columns({"b": "id"})
    assert second.schema.names == ["id", "s", "n", "a", "b"]
    with pytest.raises(InvalidArgumentError, match="already"):
        third.add_columns({"a": "id"})
    third.overwrite(rows_of(0, 1))
    with pytest.raises(CommitConflictError, match="overwrite"):
        second.drop_columns(["a"])


def test_lists_are_not_cast_into(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 5))
    with pytest.raises((UnsupportedError, InvalidArgumentError)):
        table.alter_columns({"path": "n.l.item", "data_type": pa.int32()})
