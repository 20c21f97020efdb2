"""Partial reads: ranges of rows, batches across page borders, columns in any order, paths into lists and maps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from witness import Witness

from lance_arrow import LanceFile, read_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

ROWS = 2000
POINT = pa.struct([("x", pa.int32()), ("y", pa.string()), ("item", pa.int8())])


def point(i: int) -> dict[str, Any] | None:
    return None if i % 13 == 0 else {"x": i, "y": f"y{i}", "item": i % 100}


def some(i: int, make: Callable[[int], Any]) -> list[Any] | None:
    return None if i % 7 == 0 else [make(i + k) for k in range(i % 4)]


def part(start: int, stop: int) -> pa.Table:
    rows = range(start, stop)
    deep = pa.struct([("tags", pa.list_(POINT)), ("n", pa.int64())])
    return pa.table(
        {
            "id": pa.array(rows),
            "items": pa.array([some(i, point) for i in rows], pa.list_(POINT)),
            "large": pa.array([some(i, point) for i in rows], pa.large_list(POINT)),
            "nested": pa.array([some(i, lambda k: some(k, point)) for i in rows], pa.list_(pa.list_(POINT))),
            "map": pa.array([some(i, lambda k: (f"k{k}", point(k))) for i in rows], pa.map_(pa.string(), POINT)),
            "pair": pa.array([None if i % 5 == 0 else [point(i), point(i + 1)] for i in rows], pa.list_(POINT, 2)),
            "deep": pa.array([None if i % 11 == 0 else {"tags": some(i, point), "n": i} for i in rows], deep),
            "small": pa.array(rows, pa.int16()),
        }
    )


# The witness panics on slices of some of these: pages come from tables of their own.
TABLE = pa.concat_tables([part(start, min(start + 300, ROWS)) for start in range(0, ROWS, 300)])


@pytest.fixture(scope="module")
def path(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several pages per column, whose borders differ from those of batches."""
    place = tmp_path_factory.mktemp("partial") / "file.lance"
    return witness.write(TABLE, place, "2.2", data_cache_bytes=1)


def keep(value: Any, wanted: Any) -> Any:
    """What is left of a Python value: `wanted` is a dict of fields, a tuple around what to keep of items, or None."""
    if value is None or wanted is None:
        return value
    if isinstance(wanted, tuple):
        return [keep(item, wanted[0]) for item in value]
    if isinstance(value, tuple):
        value = {"key": value[0], "value": value[1]}
    return {name: keep(value[name], below) for name, below in wanted.items()}


X, XY = {"x": None}, {"x": None, "y": None}
PATHS: dict[str, tuple[list[str], list[tuple[str, str, Any, str]], set[str]]] = {
    # columns, then for each result: its name, its column, what is kept of it, its type; then the leaves read
    "short": (["items.x"], [("items", "items", (X,), "list<item: struct<x: int32>>")], {"items.item.x"}),
    "own name": (["items.item.x"], [("items", "items", (X,), "list<item: struct<x: int32>>")], {"items.item.x"}),
    "parquet's": (
        ["items.list.element.x"],
        [("items", "items", (X,), "list<item: struct<x: int32>>")],
        {"items.item.x"},
    ),
    "two of one list": (
        ["items.y", "id", "items.x"],
        [("items", "items", (XY,), "list<item: struct<x: int32, y: string>>"), ("id", "id", None, "int64")],
        {"items.item.x", "items.item.y", "id"},
    ),
    "large": (["large.x"], [("large", "large", (X,), "large_list<item: struct<x: int32>>")], {"large.item.x"}),
    "list of lists": (
        ["nested.x"],
        [("nested", "nested", ((X,),), "list<item: list<item: struct<x: int32>>>")],
        {"nested.item.item.x"},
    ),
    "fixed-size list": (
        ["pair.x"],
        [("pair", "pair", (X,), "fixed_size_list<item: struct<x: int32>>[2]")],
        {"pair.item.x"},
    ),
    "list in a struct": (
        ["deep.tags.x", "deep.n"],
        [("tags", "deep", {"tags": (X,)}, "list<item: struct<x: int32>>"), ("n", "deep", {"n": None}, "int64")],
        {"deep.tags.item.x", "deep.n"},
    ),
    "map values": (
        ["map.key", "map.value.x"],
        [("map", "map", ({"key": None, "value": X},), "map<string, struct<x: int32>>")],
        {"map.entries.key", "map.entries.value.x"},
    ),
    "map keys": (
        ["map.key_value.key"],
        [("map", "map", ({"key": None},), "list<entries: struct<key: string not null> not null>")],
        {"map.entries.key"},
    ),
    "map values alone": (
        ["map.value.y"],
        [("map", "map", ({"value": {"y": None}},), "list<entries: struct<value: struct<y: string>> not null>")],
        {"map.entries.value.y"},
    ),
    "item or field item": (
        ["items.item.item"],
        [("items", "items", ({"item": None},), "list<item: struct<item: int8>>")],
        {"items.item.item"},
    ),
    "the whole item": (
        ["items.item"],
        [("items", "items", None, "list<item: struct<x: int32, y: string, item: int8>>")],
        {"items.item.x", "items.item.y", "items.item.item"},
    ),
    "whole and part": (
        ["items", "items.x"],
        [("items", "items", None, "list<item: struct<x: int32, y: string, item: int8>>")],
        {"items.item.x", "items.item.y", "items.item.item"},
    ),
    "duplicates": (
        ["id", "small", "id"],
        [("id", "id", None, "int64"), ("small", "small", None, "int16"), ("id", "id", None, "int64")],
        {"id", "small"},
    ),
}


def expected_of(column: str, wanted: Any, name: str, rows: slice = slice(None)) -> list[Any]:
    values = [keep(value, wanted) for value in TABLE[column].to_pylist()[rows]]
    if isinstance(wanted, dict) and name != column:
        values = [None if value is None else value[name] for value in values]
    return values


def as_lists(column: pa.ChunkedArray) -> list[Any]:
    """Values with maps as lists of entries."""
    is_map = pa.types.is_map(column.type)
    values = column.to_pylist()
    return [v and [{"key": k, "value": w} for k, w in v] if is_map else v for v in values]


@pytest.mark.parametrize("case", PATHS)
def test_paths_reach_into_what_repeats(path: Path, receipts: list[ReadReport], case: str) -> None:
    columns, results, leaves = PATHS[case]
    with LanceFile(path) as file:
        got = file.read(columns)
        assert set(receipts[-1].columns) == leaves, "only the named leaves are read"
        got.validate(full=True)
        assert got.column_names == [name for name, *_ in results]
        for number, (name, column, wanted, type_) in enumerate(results):
            assert str(got.schema.field(number).type).replace(" ('", " '") == type_
            values = as_lists(got.column(number))
            assert values == expected_of(column, wanted, name)
        picks = [ROWS - 1, 3, 3, 700]
        taken = file.take(picks, columns)
        assert taken.schema == got.schema
        for number, column in enumerate(got.columns):
            values = column.to_pylist()
            assert taken.column(number).to_pylist() == [values[i] for i in picks]
        batches = list(file.to_batches(columns, batch_size=333, rows=(100, 1500)))
        assert pa.Table.from_batches(batches) == got.slice(100, 1400)


@pytest.mark.parametrize("case", PATHS)
def test_filters_may_read_more_of_a_list_than_is_wanted(path: Path, case: str) -> None:
    """The filter's columns are read wider than the projection's: outputs are cut out of them."""
    columns, _, _ = PATHS[case]
    valid = pc.field("id") > 100
    for name in ("items", "large", "map", "nested", "pair"):
        valid = valid & pc.field(name).is_valid()
    mask = np.array([all(TABLE[name][i].is_valid for name in ("items", "map", "pair")) for i in range(ROWS)])
    mask &= np.arange(ROWS) > 100
    with LanceFile(path) as file:
        whole = file.read(columns)
        got = file.read(columns, filter=valid)
        assert got.schema == whole.schema
        got.validate(full=True)
        kept = np.flatnonzero(mask).tolist()
        for column, filtered in zip(whole.columns, got.columns, strict=True):
            values = column.to_pylist()
            assert filtered.to_pylist() == [values[i] for i in kept]


@pytest.mark.parametrize(
    "wrong", ["items.z", "items.item.item.item", "map.z", "deep.tags.z", "id.x", "nested.item.item.item.z", "zz", ""]
)
def test_paths_that_lead_nowhere_are_named(path: Path, wrong: str) -> None:
    with LanceFile(path) as file, pytest.raises(InvalidArgumentError, match="there is no column") as caught:
        file.read([wrong])
    assert repr(wrong) in str(caught.value)


def test_a_wrong_step_is_told_what_there_is(path: Path) -> None:
    with LanceFile(path) as file, pytest.raises(InvalidArgumentError, match=r"expected one of items\.item, items\.x, "):
        file.read(["items.z"])


ranges = st.lists(st.integers(0, ROWS), max_size=8).map(sorted).map(lambda b: list(zip(b[::2], b[1::2], strict=False)))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), ranges, st.integers(1, 2500))
def test_ranges_of_rows_in_batches_of_exactly_one_size(path: Path, data: st.DataObject, wanted: Any, size: int) -> None:
    columns = data.draw(st.permutations(["id", "items", "deep"]))
    kept = [row for start, stop in wanted for row in range(start, stop)]
    with LanceFile(path) as file:
        got = file.read(columns, rows=wanted)
        batches = list(file.to_batches(columns, size, rows=wanted))
    values = {name: TABLE[name].to_pylist() for name in columns}
    assert got.column_names == columns
    assert got.to_pydict() == {name: [values[name][row] for row in kept] for name in columns}
    assert pa.Table.from_batches(batches, got.schema) == got
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert len(batches) == -(-len(kept) // size)


@pytest.mark.parametrize("rows", [slice(5, 900), slice(-10, None), slice(900, 5), (5, 900), (7, 7), [(1, 2), (2, 5)]])
def test_rows_however_they_are_named(path: Path, rows: Any) -> None:
    parts = [range(ROWS)[rows]] if isinstance(rows, slice) else [range(*pair) for pair in np.reshape(rows, (-1, 2))]
    with LanceFile(path) as file:
        assert file.read(["id"], rows=rows)["id"].to_pylist() == [row for part in parts for row in part]
    odd = read_table(path, columns=["id"], filters=pc.field("id") > 10)
    assert odd.num_rows == ROWS - 11


@pytest.mark.parametrize(
    ("rows", "detail"),
    [
        ((0, ROWS + 1), (0, ROWS + 1)),
        ((-1, 5), (-1, 5)),
        ((9, 5), (9, 5)),
        ([(0, 10), (5, 20)], (5, 20)),
        ([(0, 2**70)], (0, 2**70)),
        ([(0, 1.5)], (0, 1.5)),
        ([(False, True)], (False, True)),
        ([1, 2, 3], 1),
        ([(1, 2, 3)], (1, 2, 3)),
        ("ab", "ab"),
        (7, 7),
        (slice(0, 9, 2), 2),
        (slice(0.5, 3), slice(0.5, 3)),
    ],
)
def test_rows_that_make_no_sense_are_named(path: Path, rows: Any, detail: Any) -> None:
    with LanceFile(path) as file:
        for read in (file.read, file.to_batches):
            with pytest.raises(InvalidArgumentError) as caught:
                read(["id"], rows=rows)
            assert caught.value.detail == detail


def test_only_the_pages_of_the_rows_are_read(path: Path, receipts: list[ReadReport]) -> None:
    with LanceFile(path) as file:
        file.read(["id"])
        assert receipts[-1].pages == 7
        file.read(["id"], rows=(310, 590))
        assert (receipts[-1].pages, receipts[-1].rows) == (1, 280)
        assert [b.num_rows for b in file.to_batches(["id"], rows=[(0, 10), (1990, ROWS)])] == [20]
        assert (receipts[-1].pages, receipts[-1].rows) == (2, 20)


def test_filters_see_the_chosen_rows_only(path: Path) -> None:
    wanted = pc.field("small") < 150
    with LanceFile(path) as file:
        got = file.read(["id"], filter=wanted, rows=(100, 200))
        batches = list(file.to_batches(["id"], 10, filter=wanted, rows=(100, 200)))
    assert got["id"].to_pylist() == list(range(100, 150))
    assert pa.Table.from_batches(batches) == got
    assert max(batch.num_rows for batch in batches) <= 10
