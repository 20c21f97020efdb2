"""Filters that Spark pushes, as expressions of Arrow: never fewer rows than Spark wants, which filters them again."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as sd

from lance_arrow.scan.predicates import all_of, type_at

_COMPARISONS = {
    sd.EqualTo: operator.eq,
    sd.GreaterThan: operator.gt,
    sd.GreaterThanOrEqual: operator.ge,
    sd.LessThan: operator.lt,
    sd.LessThanOrEqual: operator.le,
}
_TEXTS = {
    sd.StringStartsWith: pc.starts_with,
    sd.StringEndsWith: pc.ends_with,
    sd.StringContains: pc.match_substring,
}


def expression_of(filters: Iterable[sd.Filter], schema: pa.Schema) -> pc.Expression | None:
    """Return what all those of some filters say together that mean the same here; None where there is none.

    Parameters
    ----------
    filters
        All of which must hold.
    schema
        Columns of the table.
    """
    return all_of(_expression(filter, schema) for filter in filters)


def _expression(filter: sd.Filter, schema: pa.Schema) -> pc.Expression | None:
    if isinstance(filter, sd.Not):
        inner = _expression(filter.child, schema)
        return None if inner is None else ~inner
    path = getattr(filter, "attribute", ())
    type_ = type_at(schema, path)
    if type_ is None:
        return None
    field = pc.field(*path)
    if isinstance(filter, sd.IsNull):
        return field.is_null()
    if isinstance(filter, sd.IsNotNull):
        return field.is_valid()
    if isinstance(filter, sd.In):
        values = [_scalar(value, type_) for value in filter.value]
        if not values or any(value is None for value in values):
            return None
        return field.isin([value.as_py() for value in values if value is not None])
    return _compared(filter, field, type_)


def _compared(filter: sd.Filter, field: pc.Expression, type_: pa.DataType) -> pc.Expression | None:
    value = _scalar(getattr(filter, "value", None), type_)
    if value is None:
        return None
    if isinstance(filter, sd.EqualNullSafe):
        return field.is_valid() & (field == value)
    if type(filter) in _TEXTS and pa.types.is_string(type_):
        return _TEXTS[type(filter)](field, value.as_py())
    compare = _COMPARISONS.get(type(filter))
    return None if compare is None else compare(field, value)


def _scalar(value: Any, type_: pa.DataType) -> pa.Scalar | None:
    """Return a value as one of a column's type; None where that would compare otherwise than in Spark, or cannot be.

    Spark has NaN equal to itself and above all numbers, and means the session's time zone where none is given: floats
    and points in time are left to it.
    """
    if value is None:
        return None
    if pa.types.is_integer(type_) and isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        wanted: Any = int(value) if value == int(value) else None
    elif pa.types.is_string(type_) or pa.types.is_large_string(type_):
        wanted = value if isinstance(value, str) else None
    elif pa.types.is_boolean(type_):
        wanted = value if isinstance(value, bool) else None
    elif pa.types.is_date32(type_):
        is_date = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
        wanted = value if is_date else None
    else:
        return None
    if wanted is None:
        return None
    try:
        return pa.scalar(wanted, type_)
    except (pa.ArrowInvalid, OverflowError):
        return None
