"""Types of Lance as types of Spark, and back: each one mapped, or rejected by name; docs/spark.md has the table."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_type

from lance_arrow.errors import UnsupportedError

_MAX_PRECISION = 38
# Batches have timestamps in UTC. Since 4.2 the zone is an argument, in 4.1 UTC is the default.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}

_PLAIN: tuple[tuple[pa.DataType, st.DataType], ...] = (
    (pa.null(), st.NullType()),
    (pa.bool_(), st.BooleanType()),
    (pa.int8(), st.ByteType()),
    (pa.int16(), st.ShortType()),
    (pa.int32(), st.IntegerType()),
    (pa.int64(), st.LongType()),
    (pa.uint8(), st.ShortType()),
    (pa.uint16(), st.IntegerType()),
    (pa.uint32(), st.LongType()),
    (pa.uint64(), st.DecimalType(20, 0)),
    (pa.float16(), st.FloatType()),
    (pa.float32(), st.FloatType()),
    (pa.float64(), st.DoubleType()),
    (pa.string(), st.StringType()),
    (pa.large_string(), st.StringType()),
    (pa.string_view(), st.StringType()),
    (pa.binary(), st.BinaryType()),
    (pa.large_binary(), st.BinaryType()),
    (pa.binary_view(), st.BinaryType()),
    (pa.date32(), st.DateType()),
    (pa.date64(), st.DateType()),
)
_SPARK_OF = dict(_PLAIN)
_OF_ROWS = ("_rowid", "_rowaddr", "_row_created_at_version", "_row_last_updated_at_version")
_NOT_STORED = (
    "VariantType", "GeometryType", "GeographyType", "CalendarIntervalType", "YearMonthIntervalType", "UserDefinedType",
)  # fmt: skip


def spark_schema(schema: pa.Schema) -> st.StructType:
    """Return the schema that Spark sees.

    Parameters
    ----------
    schema
        Of the rows that are read; numbers of rows (``_rowid`` ...) become longs.

    Raises
    ------
    UnsupportedError
        Spark cannot hold a type; column and type are named.
    """
    fields = []
    for field in schema:
        is_row_number = field.name in _OF_ROWS and pa.types.is_uint64(field.type)
        type_ = st.LongType() if is_row_number else spark_type(field.type, field.name)
        fields.append(st.StructField(field.name, type_, field.nullable))
    return st.StructType(fields)


def spark_type(type_: pa.DataType, column: str) -> st.DataType:
    """Return the type of Spark for a type of Arrow; `column` is for the error, which is as for `spark_schema`."""
    found = _SPARK_OF.get(type_)
    if found is not None:
        return found
    if isinstance(type_, pa.BaseExtensionType):
        return spark_type(type_.storage_type, column)
    if isinstance(type_, pa.DictionaryType):
        return spark_type(type_.value_type, column)
    if isinstance(type_, pa.FixedSizeBinaryType):
        if pa.types.is_decimal(type_):
            return _decimal(type_, column)
        return st.BinaryType()
    if isinstance(type_, pa.TimestampType):
        return st.TimestampNTZType() if type_.tz is None else st.TimestampType()
    if isinstance(type_, pa.DurationType):
        return st.DayTimeIntervalType()
    if pa.types.is_time(type_):
        return _time(type_, column)
    return _nested(type_, column)


def _nested(type_: pa.DataType, column: str) -> st.DataType:
    if isinstance(type_, pa.StructType):
        children = [type_.field(at) for at in range(type_.num_fields)]
        return st.StructType(
            [
                st.StructField(child.name, spark_type(child.type, f"{column}.{child.name}"), child.nullable)
                for child in children
            ]
        )
    if isinstance(type_, pa.MapType):
        key = spark_type(type_.key_type, f"{column}.key")
        value = spark_type(type_.item_type, f"{column}.value")
        return st.MapType(key, value, type_.item_field.nullable)
    if isinstance(type_, (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)):
        return st.ArrayType(spark_type(type_.value_type, f"{column}.element"), type_.value_field.nullable)
    raise _refused(type_, column)


def _decimal(type_: pa.DataType, column: str) -> st.DataType:
    if type_.precision > _MAX_PRECISION or not 0 <= type_.scale <= type_.precision:
        raise _refused(type_, column, f"its decimals have at most {_MAX_PRECISION} digits, and a scale within them")
    return st.DecimalType(type_.precision, type_.scale)


def _time(type_: pa.DataType, column: str) -> st.DataType:
    # Since 4.1; only where the server was told so are they of use, which is for Spark to say.
    time_type = getattr(st, "TimeType", None)
    if time_type is None:
        raise _refused(type_, column, "this release has no times of day")
    return time_type(6)


def _refused(
    type_: pa.DataType, column: str, why: str = "cast it, or leave the column out by option 'columns'"
) -> UnsupportedError:
    return UnsupportedError(f"Spark has no type for {type_}: {why}", column=column, detail=str(type_))


def batch_schema(schema: st.StructType) -> pa.Schema:
    """Return the Arrow schema of batches that Spark takes for a schema of its own."""
    return pa.schema(
        [pa.field(one.name, to_arrow_type(one.dataType, **_IN_UTC), nullable=one.nullable) for one in schema]
    )


def stored_schema(schema: st.StructType) -> pa.Schema:
    """Return the schema of a table made of rows of Spark: all columns may be null, as in Spark's own files.

    Raises
    ------
    UnsupportedError
        A type cannot be stored; column and type are named.
    """
    for one in schema:
        _check_stored(one.dataType, one.name)
    return pa.schema([pa.field(one.name, _nullable(one.type)) for one in batch_schema(schema)])


def _nullable(type_: pa.DataType) -> pa.DataType:
    """Allow nulls wherever they can be, and forget what Spark noted on fields."""
    if isinstance(type_, pa.StructType):
        children = [type_.field(at) for at in range(type_.num_fields)]
        return pa.struct([pa.field(child.name, _nullable(child.type)) for child in children])
    if isinstance(type_, pa.MapType):
        return pa.map_(_nullable(type_.key_type), _nullable(type_.item_type))
    if isinstance(type_, pa.ListType):
        return pa.list_(_nullable(type_.value_type))
    return type_


def _check_stored(type_: st.DataType, column: str) -> None:
    for kind in type(type_).__mro__:
        if kind.__name__ in _NOT_STORED:
            raise UnsupportedError(
                f"Spark's {type_.simpleString()} cannot be stored: cast the column", column=column, detail=str(type_)
            )
    if isinstance(type_, st.StructType):
        for one in type_:
            _check_stored(one.dataType, f"{column}.{one.name}")
    elif isinstance(type_, st.ArrayType):
        _check_stored(type_.elementType, f"{column}.element")
    elif isinstance(type_, st.MapType):
        _check_stored(type_.keyType, f"{column}.key")
        _check_stored(type_.valueType, f"{column}.value")
