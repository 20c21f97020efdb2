"""`cast=True` of appends, creations and merges: values arrive as they are, or an error names one that would change."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.arrays.lossless_casts import cast_losslessly
from lance_arrow.errors import InvalidArgumentError

DAY = datetime.datetime(2026, 3, 1)
MOMENT = datetime.datetime(2026, 3, 1, 7, 30, tzinfo=datetime.UTC)
F32 = float(np.float32(0.1))
FIT: list[tuple[Any, pa.DataType, pa.DataType, Any]] = [
    ([1, None, -7], pa.int64(), pa.int8(), None),
    ([1, 2], pa.uint8(), pa.int64(), None),
    ([1.0, None, 3.0], pa.float64(), pa.int32(), [1, None, 3]),
    ([1 << 53], pa.int64(), pa.float64(), [float(1 << 53)]),
    ([0.5, None, float("inf")], pa.float64(), pa.float32(), None),
    ([F32], pa.float64(), pa.float32(), None),
    ([0.5], pa.float64(), pa.float16(), None),
    ([0.5], pa.float16(), pa.float64(), None),
    ([Decimal("1.50")], pa.decimal128(9, 2), pa.decimal128(20, 4), [Decimal("1.5000")]),
    ([7], pa.int32(), pa.decimal128(10, 2), [Decimal("7.00")]),
    (["x", None], pa.string(), pa.large_string(), None),
    (["x", "ä"], pa.string_view(), pa.string(), None),
    (["a", "b", "a"], pa.dictionary(pa.int8(), pa.string()), pa.string(), None),
    (["a", "b"], pa.string(), pa.dictionary(pa.int32(), pa.string()), None),
    ([b"ab"], pa.binary(), pa.binary(2), None),
    ([DAY], pa.timestamp("us"), pa.timestamp("ns"), None),
    ([DAY], pa.timestamp("us"), pa.date32(), [DAY.date()]),
    ([DAY.date()], pa.date32(), pa.timestamp("ms"), [DAY]),
    ([MOMENT], pa.timestamp("us", "UTC"), pa.timestamp("s", "Europe/Berlin"), [MOMENT]),
    ([datetime.timedelta(seconds=3)], pa.duration("ms"), pa.duration("s"), None),
    ([datetime.time(1, 2, 3)], pa.time64("us"), pa.time32("s"), None),
    ([[1, 2], None, []], pa.list_(pa.int64()), pa.large_list(pa.int8()), None),
    ([[1, 2]], pa.list_(pa.int64()), pa.list_(pa.float32(), 2), [[1.0, 2.0]]),
    (
        [{"a": 1}, None],
        pa.struct({"a": pa.int64()}),
        pa.struct({"b": pa.string(), "a": pa.int8()}),
        [{"b": None, "a": 1}, None],
    ),
    ([None, None], pa.null(), pa.int8(), None),
]
CHANGE: list[tuple[Any, pa.DataType, pa.DataType, str]] = [
    ([1, 128], pa.int64(), pa.int8(), "128"),
    ([1, -1], pa.int64(), pa.uint8(), "-1"),
    ([1.0, 1.5], pa.float64(), pa.int32(), "1.5"),
    ([float("nan")], pa.float64(), pa.int32(), "nan"),
    ([(1 << 53) + 1], pa.int64(), pa.float64(), str((1 << 53) + 1)),
    ([0.5, 0.1], pa.float64(), pa.float32(), "0.1"),
    ([1e300], pa.float64(), pa.float32(), "1e"),
    ([Decimal("1.55")], pa.decimal128(9, 2), pa.decimal128(9, 1), "1.55"),
    ([0.125], pa.float64(), pa.decimal128(9, 2), "0.125"),
    ([b"abc"], pa.binary(), pa.binary(2), "abc"),
    ([DAY, DAY.replace(hour=2)], pa.timestamp("us"), pa.date32(), "2, 0"),
    ([MOMENT.replace(microsecond=5)], pa.timestamp("us", "UTC"), pa.timestamp("s", "UTC"), "microsecond|5"),
    ([[1], [300]], pa.list_(pa.int64()), pa.list_(pa.int8()), "300"),
    ([{"a": 1}, {"a": 300}], pa.struct({"a": pa.int64()}), pa.struct({"a": pa.int8()}), "300"),
    ([[1, 2, 3]], pa.list_(pa.int64()), pa.list_(pa.int64(), 2), "cannot be cast"),
]
STRANGERS = [
    (pa.string(), pa.int64()),
    (pa.int64(), pa.string()),
    (pa.bool_(), pa.int8()),
    (pa.binary(), pa.string()),
    (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    (pa.list_(pa.string()), pa.list_(pa.int8())),
    (pa.list_(pa.int8()), pa.int8()),
    (pa.dictionary(pa.int8(), pa.string()), pa.int8()),
]


@pytest.mark.parametrize(("values", "given", "wanted", "expected"), FIT, ids=lambda one: str(one)[:30])
def test_values_that_fit(tmp_path: Path, values: Any, given: pa.DataType, wanted: pa.DataType, expected: Any) -> None:
    array = pa.array(
        [None if one is None else np.float16(one) for one in values] if given == pa.float16() else values, given
    )
    table = LanceTable.create(tmp_path / "t", pa.table({"c": pa.nulls(1, wanted)}))
    table.append(pa.table({"c": array}), cast=True)
    found = table.to_table()["c"]
    assert found.type == wanted
    assert found.to_pylist()[1:] == (array.to_pylist() if expected is None else expected)


@pytest.mark.parametrize(("values", "given", "wanted", "words"), CHANGE, ids=lambda one: str(one)[:30])
def test_values_that_would_change(
    tmp_path: Path, values: Any, given: pa.DataType, wanted: pa.DataType, words: str
) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"c": pa.nulls(1, wanted)}))
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        table.append(pa.table({"c": pa.array(values, given)}), cast=True)
    assert caught.value.column.split(".")[0] == "c"
    assert (table.version, sorted(tmp_path.rglob("*"))) == (1, files)


@pytest.mark.parametrize(("given", "wanted"), STRANGERS, ids=str)
def test_types_of_different_families(tmp_path: Path, given: pa.DataType, wanted: pa.DataType) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"c": pa.nulls(1, wanted)}))
    with pytest.raises(InvalidArgumentError, match="without loss"):
        table.append(pa.table({"c": pa.nulls(1, given)}), cast=True)


def test_without_cast_types_differ(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"c": pa.array([1], pa.int32())}))
    with pytest.raises(InvalidArgumentError, match="cast them"):
        table.append(pa.table({"c": pa.array([1], pa.int64())}))


def test_later_batches_are_checked_and_nothing_stays(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"a": pa.array([1], pa.int8()), "b": ["x"]}))
    batches = [pa.record_batch({"a": [n], "b": ["y"]}) for n in (5, 6, 999)]
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidArgumentError, match="999"):
        table.append(batches, cast=True, max_rows_per_file=1)
    assert sorted(tmp_path.rglob("*")) == files
    table.append(batches[:2], cast=True)
    assert table.to_table()["a"].to_pylist() == [1, 5, 6]


def test_fields_that_the_table_lacks_are_not_dropped(tmp_path: Path) -> None:
    wanted = pa.struct({"a": pa.int8()})
    table = LanceTable.create(tmp_path / "t", pa.table({"c": pa.nulls(1, wanted)}))
    with pytest.raises(InvalidArgumentError, match="no field 'z'"):
        table.append(pa.table({"c": [{"a": 1, "z": 2}]}), cast=True)


def test_missing_fields_that_allow_no_null_are_named(tmp_path: Path) -> None:
    wanted = pa.struct([pa.field("a", pa.int8()), pa.field("b", pa.int8(), nullable=False)])
    table = LanceTable.create(tmp_path / "t", pa.table({"c": pa.array([{"a": 1, "b": 1}], wanted)}))
    with pytest.raises(InvalidArgumentError, match=r"c\.b"):
        table.append(pa.table({"c": [{"a": 1}]}), cast=True)


def test_new_tables_are_cast_to_the_schema_that_is_given(tmp_path: Path) -> None:
    rows = pa.table({"b": [[1, 2]], "a": [7.0]})
    schema = pa.schema([("a", pa.int8()), ("b", pa.list_(pa.int16())), ("c", pa.string())], {"k": "v"})
    wanted = pa.table({"a": [7], "b": [[1, 2]], "c": [None]}, schema=schema)
    table = LanceTable.create(tmp_path / "t", rows, schema=schema, cast=True)
    assert (table.schema, table.schema.metadata, table.to_table()) == (schema, {b"k": b"v"}, wanted)
    again = pa.schema([("a", pa.float32())])
    assert table.overwrite(rows.select(["a"]), schema=again, cast=True) == {"num_inserted_rows": 1}
    assert table.to_table().equals(pa.table({"a": [7.0]}, schema=again))
    for mode in ("append", "overwrite"):
        LanceTable.create(tmp_path / "t", rows.select(["a"]), mode=mode, schema=again, cast=True)
    assert LanceTable.open(tmp_path / "t").version == 4
    made = lance_arrow.write_fragments(rows, tmp_path / "u", mode="create", schema=schema, cast=True)
    assert lance_arrow.commit_fragments(tmp_path / "u", [made]).to_table().equals(wanted)


def test_new_tables_whose_rows_do_not_fit(tmp_path: Path) -> None:
    rows = pa.table({"a": [7, 300]})
    needed = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
    for schema, words in (
        (None, "as schema="),
        (pa.schema([("a", pa.int8())]), "300"),
        (pa.schema([("b", pa.int64())]), "no column 'a'"),
        (needed, "may not be null"),
        (pa.schema([("a", pa.string())]), "without loss"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            LanceTable.create(tmp_path / "t", rows, schema=schema, cast=True)
    assert not list(tmp_path.rglob("*.lance"))


def test_merged_rows_are_cast(tmp_path: Path) -> None:
    small = pa.schema([("id", pa.int16()), ("v", pa.float32()), ("s", pa.struct([("x", pa.int8()), ("y", pa.int8())]))])
    first = pa.table({"id": [1, 2], "v": [0.5, 1.5], "s": [{"x": 1, "y": 2}] * 2}, schema=small)
    table = LanceTable.create(tmp_path / "t", first)
    source = pa.table({"id": [2, 3], "v": [9, 8], "s": [{"y": 5, "x": 4}] * 2})
    with pytest.raises(InvalidArgumentError, match="cast them"):
        table.merge(source, on="id").when_matched_update_all().execute()
    made = (
        table.merge(source, on="id", cast=True).when_matched_update_all().when_not_matched_insert_all().execute(),
        table.merge_insert("id").when_matched_update_all().execute(source.select(["id", "v"]), cast=True),
    )
    assert [one["num_updated_rows"] for one in made] == [1, 2]
    wanted = {"id": [1, 2, 3], "v": [0.5, 9.0, 8.0], "s": [{"x": 1, "y": 2}, *[{"x": 4, "y": 5}] * 2]}
    assert table.to_table().sort_by("id").equals(pa.table(wanted, schema=small))
    files = sorted(tmp_path.rglob("*"))
    for rows, words in (
        (pa.table({"id": [2], "v": [0.1]}), "0.1"),
        (pa.table({"id": [70_000], "v": [1]}), "70000"),
        (pa.table({"id": ["2"], "v": [1]}), "without loss"),
        (pa.table({"id": [2], "s": [{"x": 1}]}), "a merge cannot keep its values"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            table.merge(rows, on="id", cast=True).when_matched_update_all().execute()
    assert sorted(tmp_path.rglob("*")) == files


@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63), 1 << 62, (1 << 62) + 1, 3 << 61, 0, -1])
def test_integers_at_the_border(number: int) -> None:
    array = pa.array([number if number < 1 << 63 else 0], pa.int64())
    if Decimal(float(number)) == number:
        assert cast_losslessly(array, pa.float64(), "c").to_pylist() == [number]
    else:
        with pytest.raises(InvalidArgumentError, match=str(number)):
            cast_losslessly(array, pa.float64(), "c")


@pytest.mark.parametrize("number", [2.0**63, 2.0**64, -(2.0**63), float(1 << 62), -1.0])
def test_floats_at_the_border(number: float) -> None:
    for type_, low, high in ((pa.int64(), -(1 << 63), 1 << 63), (pa.uint64(), 0, 1 << 64)):
        if low <= number < high:
            assert cast_losslessly(pa.array([number]), type_, "c").to_pylist() == [int(number)]
        else:
            with pytest.raises(InvalidArgumentError):
                cast_losslessly(pa.array([number]), type_, "c")


def test_random_numbers_change_only_where_numpy_says_so() -> None:
    random = np.random.default_rng(3)
    kinds = [np.int8, np.uint16, np.int32, np.uint64, np.int64, np.float32, np.float64]
    for _ in range(500):
        given, wanted = (kinds[number] for number in random.choice(len(kinds), 2))
        number = int(random.integers(0, 1 << int(random.integers(1, 63)))) * (1 if random.random() < 0.5 else 3)
        values = [given(number % (1 << 7)), given(float(number % (1 << 7)))]
        if issubclass(given, np.floating):
            values.append(given(number / 2))
        elif number <= np.iinfo(given).max:
            values.append(given(number))
        exact = all(_holds(wanted, Decimal(value.item())) for value in values)
        array = pa.array([value.item() for value in values], pa.from_numpy_dtype(given))
        if exact:
            found = cast_losslessly(array, pa.from_numpy_dtype(wanted), "c").to_pylist()
            assert [Decimal(one) for one in found] == [Decimal(value.item()) for value in values]
        else:
            with pytest.raises(InvalidArgumentError):
                cast_losslessly(array, pa.from_numpy_dtype(wanted), "c")


def _holds(kind: Any, value: Decimal) -> bool:
    if issubclass(kind, np.floating):
        return Decimal(float(kind(float(value)))) == value
    return value == int(value) and np.iinfo(kind).min <= value <= np.iinfo(kind).max
