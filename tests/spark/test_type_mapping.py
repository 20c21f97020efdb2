"""Types: each of Lance's mapped or refused by name; batches in exactly the schema Spark takes."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.type_mapping import _IN_UTC, batch_schema, spark_schema, stored_schema

MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
CASES: list[tuple[pa.DataType, object, st.DataType, object]] = [
    (pa.null(), None, st.NullType(), None),
    (pa.bool_(), True, st.BooleanType(), True),
    (pa.int8(), -5, st.ByteType(), -5),
    (pa.int64(), -5, st.LongType(), -5),
    (pa.uint8(), 255, st.ShortType(), 255),
    (pa.uint16(), 65535, st.IntegerType(), 65535),
    (pa.uint32(), (1 << 32) - 1, st.LongType(), (1 << 32) - 1),
    (pa.uint64(), (1 << 64) - 1, st.DecimalType(20, 0), Decimal((1 << 64) - 1)),
    (pa.float16(), 1.5, st.FloatType(), 1.5),
    (pa.float64(), 0.1, st.DoubleType(), 0.1),
    (pa.large_string(), "ä", st.StringType(), "ä"),
    (pa.string_view(), "ä", st.StringType(), "ä"),
    (pa.large_binary(), b"x", st.BinaryType(), b"x"),
    (pa.binary(3), b"abc", st.BinaryType(), b"abc"),
    (pa.decimal128(10, 2), Decimal("1.20"), st.DecimalType(10, 2), Decimal("1.20")),
    (pa.decimal256(38, 0), Decimal(7), st.DecimalType(38, 0), Decimal(7)),
    (pa.date32(), datetime.date(2024, 2, 29), st.DateType(), datetime.date(2024, 2, 29)),
    (pa.date64(), datetime.date(2024, 2, 29), st.DateType(), datetime.date(2024, 2, 29)),
    (pa.timestamp("us"), MOMENT, st.TimestampNTZType(), MOMENT),
    (pa.timestamp("ns"), MOMENT, st.TimestampNTZType(), MOMENT),
    (
        pa.timestamp("ms", "Asia/Tokyo"),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        st.TimestampType(),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    ),
    (pa.time32("s"), datetime.time(1, 2, 3), st.TimeType(6), datetime.time(1, 2, 3)),
    (pa.time64("ns"), datetime.time(1, 2, 3, 4), st.TimeType(6), datetime.time(1, 2, 3, 4)),
    (pa.duration("s"), datetime.timedelta(3), st.DayTimeIntervalType(), datetime.timedelta(3)),
    (pa.dictionary(pa.int8(), pa.string()), "a", st.StringType(), "a"),
    (pa.list_(pa.float16(), 2), [1.0, None], st.ArrayType(st.FloatType()), [1.0, None]),
    (pa.large_list(pa.uint8()), [1, None], st.ArrayType(st.ShortType()), [1, None]),
    (
        pa.struct([("u", pa.uint32()), ("n", pa.struct([("d", pa.dictionary(pa.int8(), pa.string()))]))]),
        {"u": 1, "n": {"d": "x"}},
        st.StructType([
            st.StructField("u", st.LongType()),
            st.StructField("n", st.StructType([st.StructField("d", st.StringType())])),
        ]),
        {"u": 1, "n": {"d": "x"}},
    ),
    (pa.map_(pa.string(), pa.uint64()), [("k", 1)], st.MapType(st.StringType(), st.DecimalType(20, 0)), [("k", 1)]),
    (
        pa.list_(pa.list_(pa.timestamp("s"), 2)),
        [[MOMENT.replace(microsecond=0), None], None],
        st.ArrayType(st.ArrayType(st.TimestampNTZType())),
        [[MOMENT.replace(microsecond=0), None], None],
    ),
]  # fmt: skip


def array_of(type_: pa.DataType, values: list[object]) -> pa.Array:
    try:
        return pa.array(values, type_)
    except pa.ArrowNotImplementedError:
        return pa.array(values).cast(type_)


@pytest.mark.parametrize(("type_", "value", "expected", "seen"), CASES, ids=[str(case[0]) for case in CASES])
def test_each_type_reads_as_the_documented_one(
    type_: pa.DataType, value: object, expected: st.DataType, seen: object
) -> None:
    # Sliced, so that offsets of arrays are not all 0.
    column = array_of(type_, [None, value, None, value]).slice(1)
    batch = pa.record_batch([column], ["c"])
    mapped = spark_schema(batch.schema)
    assert mapped == st.StructType([st.StructField("c", expected)])
    wanted = batch_schema(mapped)
    assert wanted.equals(to_arrow_schema(mapped, **_IN_UTC))
    found = BatchFitting(wanted).batch(batch)
    found.validate(full=True)
    assert wanted.equals(found.schema)
    assert found.column(0).to_pylist() == [seen, None, seen]


@pytest.mark.parametrize(("type_", "value", "expected", "seen"), CASES, ids=[str(case[0]) for case in CASES])
def test_each_type_goes_back_into_the_tables_own(
    type_: pa.DataType, value: object, expected: st.DataType, seen: object
) -> None:
    given = pa.record_batch([array_of(type_, [None, value, value])], ["c"])
    of_spark = BatchFitting(batch_schema(spark_schema(given.schema))).batch(given)
    fitting = BatchFitting(given.schema)
    fitting.check(of_spark.schema)
    back = fitting.batch(of_spark)
    assert back.schema.equals(given.schema)
    assert back.column(0).to_pylist() == given.column(0).to_pylist()


@pytest.mark.parametrize(
    ("type_", "column"),
    [
        (pa.decimal256(50, 2), "c"),
        (pa.decimal128(10, -2), "c"),
        (pa.month_day_nano_interval(), "c"),
        (pa.struct([("x", pa.list_(pa.decimal256(50, 2)))]), "c.x.element"),
        (pa.map_(pa.string(), pa.decimal256(60, 1)), "c.value"),
        (pa.dense_union([pa.field("a", pa.int8())]), "c"),
    ],
)
def test_what_spark_cannot_hold_is_refused_by_name(type_: pa.DataType, column: str) -> None:
    with pytest.raises(UnsupportedError, match="Spark has no type for") as caught:
        spark_schema(pa.schema([("c", type_)]))
    assert caught.value.column == column


def test_nanoseconds_are_refused_or_cut_off() -> None:
    batch = pa.record_batch([pa.array([1_000, 1_001], pa.timestamp("ns"))], ["c"])
    wanted = batch_schema(spark_schema(batch.schema))
    with pytest.raises(InvalidArgumentError, match="timestamps = truncate") as caught:
        BatchFitting(wanted).batch(batch)
    assert caught.value.column == "c"
    assert BatchFitting(wanted, truncates_times=True).batch(batch).column(0).cast(pa.int64()).to_pylist() == [1, 1]


@pytest.mark.parametrize(
    "type_",
    [
        pa.time64("ns"),
        pa.list_(pa.time64("ns")),
        pa.struct([("x", pa.int8()), ("t", pa.time64("ns"))]),
        pa.map_(pa.string(), pa.time64("ns")),
        pa.list_(pa.time64("ns"), 1),
    ],
)
def test_nanoseconds_of_the_day_are_refused_at_any_depth(type_: pa.DataType) -> None:
    assert _times_of(type_, 1_000).num_rows == 1
    with pytest.raises(InvalidArgumentError, match="timestamps = truncate"):
        _times_of(type_, 1_001)


def _times_of(type_: pa.DataType, nanoseconds: int) -> pa.RecordBatch:
    time = pa.array([nanoseconds], pa.int64()).cast(pa.time64("ns"))
    if pa.types.is_struct(type_):
        column = pa.StructArray.from_arrays([pa.array([1], pa.int8()), time], fields=list(type_))
    elif pa.types.is_map(type_):
        column = pa.MapArray.from_arrays([0, 1], pa.array(["k"]), time)
    elif pa.types.is_fixed_size_list(type_):
        column = pa.FixedSizeListArray.from_arrays(time, 1)
    else:
        column = time if pa.types.is_time(type_) else pa.ListArray.from_arrays([0, 1], time)
    batch = pa.record_batch([column], ["c"])
    return BatchFitting(batch_schema(spark_schema(batch.schema))).batch(batch)


def test_values_that_do_not_fit_are_errors_even_where_times_are_cut() -> None:
    batch = pa.record_batch([pa.array([300], pa.int64())], ["c"])
    with pytest.raises(InvalidArgumentError, match="cannot be held exactly") as caught:
        BatchFitting(pa.schema([("c", pa.uint8())]), truncates_times=True).batch(batch)
    assert caught.value.column == "c"


def test_stored_columns_may_be_null_and_carry_no_notes() -> None:
    given = st.StructType([
        st.StructField("a", st.LongType(), False),
        st.StructField("t", st.TimeType(6), False),
        st.StructField("l", st.ArrayType(st.StructType([st.StructField("x", st.ByteType(), False)]), False), False),
    ])  # fmt: skip
    expected = pa.schema([("a", pa.int64()), ("t", pa.time64("ns")), ("l", pa.list_(pa.struct([("x", pa.int8())])))])
    found = stored_schema(given)
    assert found.equals(expected)
    assert all(field.nullable and not field.metadata for field in found)
    assert found.field("l").type.value_field.nullable


@pytest.mark.parametrize("type_", [st.VariantType(), st.YearMonthIntervalType(), st.ArrayType(st.VariantType())])
def test_types_of_spark_that_cannot_be_stored(type_: st.DataType) -> None:
    with pytest.raises(UnsupportedError, match="cannot be stored: cast the column") as caught:
        stored_schema(st.StructType([st.StructField("v", type_)]))
    assert caught.value.column is not None
    assert caught.value.column.startswith("v")


def test_numbers_of_rows_are_longs() -> None:
    assert spark_schema(pa.schema([("_rowid", pa.uint64())]))["_rowid"].dataType == st.LongType()
