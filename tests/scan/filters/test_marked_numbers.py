"""Conditions on numbers that are marked where they are decoded: the rows that Arrow finds, by each door."""

from __future__ import annotations

import datetime
import functools
import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lance_arrow
from lance_arrow import LanceFile
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.number_ranges import number_ranges
from lance_arrow.scan.filters.row_filter import RowFilter

ROWS = 6000
TYPES = {
    "int8": pa.int8(),
    "uint8": pa.uint8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date32": pa.date32(),
    "time64": pa.time64("us"),
    "timestamp": pa.timestamp("ms"),
    "duration": pa.duration("s"),
}


def stored_as(type_: pa.DataType) -> np.dtype[Any]:
    if pa.types.is_temporal(type_):
        return np.dtype(f"i{type_.bit_width // 8}")
    return np.dtype(type_.to_pandas_dtype())


def numbers_of(type_: pa.DataType, spread: str, generator: np.random.Generator) -> np.ndarray:
    """Numbers of a kind that a codec of its own stores: few bits, all bits, runs, one number."""
    dtype = stored_as(type_)
    if dtype.kind == "f":
        edges = [math.nan, math.inf, -math.inf, 0.0, -0.0, float(np.finfo(dtype).max)]
        values = generator.normal(size=ROWS).round(1).astype(dtype)
        if spread == "all":
            values[generator.integers(0, ROWS, 400)] = generator.choice(np.array(edges, dtype), 400)
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if pa.types.is_time64(type_):
            low, high = 0, 86_399_999_999
        most = min(100, high)
        values = generator.integers(0, most, ROWS).astype(dtype)
        if spread == "all":
            values = generator.integers(low, high, ROWS, dtype, endpoint=True)
    if spread == "runs":
        values = np.repeat(values[: ROWS // 50], 50)
    if spread == "one":
        values[:] = values[0]
    return values


def array_of(type_: pa.DataType, values: np.ndarray, nulls: np.ndarray | None) -> pa.Array:
    valid = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [valid, pa.py_buffer(values)])


@functools.cache
def written(folder: Path, kind: str, spread: str, has_nulls: bool) -> tuple[pa.Table, str]:
    type_ = TYPES[kind]
    generator = np.random.default_rng(abs(hash((kind, spread))) % (1 << 31))
    values = numbers_of(type_, spread, generator)
    nulls = generator.random(ROWS) < 0.1 if has_nulls else None
    table = pa.table({"x": array_of(type_, values, nulls), "row": pa.array(np.arange(ROWS))})
    path = str(folder / f"{kind}-{spread}-{has_nulls}.lance")
    lance_arrow.write_table(table, path)
    return table, path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numbers")


def scalars(table: pa.Table) -> st.SearchStrategy[pa.Scalar]:
    """Literals of the type of the column: numbers in it, and others."""
    column = table["x"].combine_chunks().drop_null()
    some = [column[place] for place in range(0, min(len(column), 40))]
    dtype = stored_as(column.type)
    if dtype.kind == "f":
        others = [math.inf, -math.inf, 0.0, -0.0, math.nan, 0.35]
    elif pa.types.is_time64(column.type):
        others = [0, 86_399_999_999]
    else:
        others = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), 0, 50]
    made = pa.Array.from_buffers(column.type, len(others), [None, pa.py_buffer(np.array(others, dtype))])
    return st.sampled_from([*some, *(made[place] for place in range(len(others)))])


@st.composite
def conditions(draw: st.DrawFn, table: pa.Table, depth: int = 2) -> pc.Expression:
    x = pc.field("x")
    if depth and draw(st.booleans()):
        joined = draw(st.sampled_from([operator.and_, operator.or_]))
        return joined(draw(conditions(table, depth - 1)), draw(conditions(table, depth - 1)))
    choice = draw(st.integers(0, 8))
    if choice == 0:
        return x.isin(pa.array([draw(scalars(table)) for _ in range(draw(st.integers(1, 4)))], table["x"].type))
    if choice == 3:
        # More than codecs are asked for; some are in the column.
        column = table["x"].combine_chunks()
        step = draw(st.sampled_from([1, 7, 40, 300]))
        many = pa.concat_arrays(
            [column[draw(st.integers(0, 50)) :: step], pa.nulls(draw(st.integers(0, 1)), column.type)]
        )
        return ~x.isin(many) if draw(st.booleans()) else x.isin(many)
    if choice == 1:
        return x.is_null()
    if choice == 2:
        return ~(x < draw(scalars(table)))
    compare = draw(st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]))
    return compare(x, draw(scalars(table)))


@settings(
    max_examples=4 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_rows_are_those_of_arrow(folder: Path, data: st.DataObject) -> None:
    kind, spread = data.draw(st.sampled_from(sorted(TYPES))), data.draw(st.sampled_from(["few", "all", "runs", "one"]))
    table, path = written(folder, kind, spread, data.draw(st.booleans()))
    condition = data.draw(conditions(table))
    if data.draw(st.booleans()):
        condition &= pc.field("row") > data.draw(st.integers(0, ROWS))
    expected = table.filter(condition)
    dataset = lance_arrow.dataset(path)
    assert dataset.to_table(columns=["row"], filter=condition) == expected.select(["row"])
    assert dataset.to_table(filter=condition)["row"] == expected["row"]
    assert dataset.count_rows(filter=condition) == len(expected)
    with LanceFile(path) as file:
        assert file.read(columns=["row"], filter=condition) == expected.select(["row"])


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_ranges_hold_the_numbers_that_arrow_finds(folder: Path, kind: str) -> None:
    table, _ = written(folder, kind, "few", False)
    some = table["x"][7]
    condition = (pc.field("x") > some) | (pc.field("x") == table["x"][8])
    ranges = number_ranges(native_expressions, table.schema, "x", native_expressions.bind(condition, table.schema))
    assert ranges is not None
    _, lows, highs, nan = ranges
    dtype = stored_as(TYPES[kind])
    stored = table["x"].combine_chunks().view(pa.from_numpy_dtype(dtype)).to_numpy()
    low, high = (np.array(bits, np.uint64).astype(f"u{dtype.itemsize}").view(dtype) for bits in (lows, highs))
    found = ((stored[:, np.newaxis] >= low) & (stored[:, np.newaxis] <= high)).any(axis=1)
    bound = native_expressions.bind(condition, table.schema)
    mask = native_expressions.evaluate(bound, table.schema, table.to_batches()[0], None)
    assert found.tolist() == mask.fill_null(False).to_pylist()
    assert not nan


@pytest.mark.parametrize(
    "condition",
    [
        pc.field("x") + 1 < 5,
        pc.field("x") < pc.field("row"),
        pc.field("x").cast(pa.float64()) < 2.5,
        pc.field("x").isin(pa.array(range(0, 200_000, 2), pa.int32())),
    ],
    ids=["arithmetic", "two columns", "cast", "many numbers"],
)
def test_other_conditions_are_no_ranges(condition: pc.Expression) -> None:
    schema = pa.schema({"x": pa.int32(), "row": pa.int64()})
    assert number_ranges(native_expressions, schema, "x", native_expressions.bind(condition, schema)) is None


@pytest.mark.parametrize("count", [9, 1000, 30_000])
@pytest.mark.parametrize("kind", ["int16", "uint64", "float32", "float64", "timestamp"])
def test_many_numbers_are_looked_up(tmp_path: Path, kind: str, count: int) -> None:
    generator = np.random.default_rng(count)
    type_, dtype = TYPES[kind], stored_as(TYPES[kind])
    if dtype.kind == "f":
        numbers = generator.normal(size=60_000).astype(dtype)
        numbers[:4] = [math.nan, math.inf, -math.inf, -0.0]
    else:
        numbers = generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 60_000, dtype, endpoint=True)
        numbers[20_000:40_000] = np.sort(numbers[20_000:40_000])
    column = array_of(type_, numbers, None)
    table = pa.table({"x": column, "row": pa.array(np.arange(len(numbers)))})
    lance_arrow.write_table(table, tmp_path / "many.lance")
    some = array_of(type_, np.append(generator.choice(numbers, count), numbers[:4]), None)
    chain = functools.reduce(operator.or_, [pc.field("x") == one for one in some[:900]])
    dataset = lance_arrow.dataset(tmp_path / "many.lance")
    for condition in (pc.field("x").isin(some), ~pc.field("x").isin(some), chain):
        expected = table.filter(condition)
        assert dataset.count_rows(filter=condition) == len(expected)
        assert dataset.to_table(filter=condition)["row"] == expected["row"]
        assert dataset.to_table(columns=["x"], filter=condition).num_rows == len(expected)


def test_wanted_numbers_are_marked_where_many_are_looked_up(folder: Path) -> None:
    table, path = written(folder, "int32", "all", False)
    for count, is_judged in ((8, False), (9, True)):
        plan = FilterPlan(pc.field("x").isin(pa.array(range(0, 5 * count, 5), pa.int32())), table.schema)
        with LanceFile(path) as file:
            filter = RowFilter(plan, file._opened, file._rows.roots[:1])
            assert [node.judge is not None for node in filter.nodes] == [is_judged]


def test_columns_of_a_filter_alone_are_judged(folder: Path) -> None:
    table, path = written(folder, "int32", "few", True)
    condition = (pc.field("x") < 50) & (pc.field("row") >= 10)
    plan = FilterPlan(condition, table.schema)
    with LanceFile(path) as file:
        roots = file._rows.roots
    judged = {node.field.name: node.judge is not None for node in plan.judging_nodes(roots, ["row"])}
    assert judged == {"x": True, "row": False}


def test_a_day_is_compared_as_it_is_stored(tmp_path: Path) -> None:
    days = [datetime.date(1969, 12, 30) + datetime.timedelta(days=one) for one in range(3000)]
    table = pa.table({"x": pa.array(days, pa.date32()), "row": pa.array(range(3000))})
    path = str(tmp_path / "days.lance")
    lance_arrow.write_table(table, path)
    condition = (pc.field("x") >= datetime.date(1970, 1, 1)) & (pc.field("x") < datetime.date(1970, 2, 1))
    assert lance_arrow.dataset(path).count_rows(filter=condition) == 31


def test_what_fails_for_a_row_beside_flags_is_told(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 0] * 500, "y": [4.0] * 1500, "s": ["a", "b", "c"] * 500, "row": range(1500)})
    path = str(tmp_path / "a.lance")
    lance_arrow.write_table(table, path)
    dataset = lance_arrow.dataset(path)
    quotient = pc.divide(pc.field("row"), pc.field("x"))
    with pytest.raises(lance_arrow.errors.InvalidArgumentError, match="divide by zero"):
        dataset.to_table(columns=["s"], filter=(pc.field("y") > 3) & (quotient > 5))
    nothing = pa.scalar(None, pa.bool_())
    assert dataset.count_rows(filter=(pc.field("y") > 3) & ((pc.field("s") == "a") | nothing)) == 500
