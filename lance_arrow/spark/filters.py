"""Filters that Spark pushes, as expressions of Arrow: never fewer rows than Spark wants, which filters them again.

No reader pushes filters yet: the releases of Spark up to 4.3 give wrong rows then, see docs/decisions/0012.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as sd

from lance_arrow.scan.predicate_builder import InexpressibleError, Operand, expressible

_CONDITIONS: Mapping[type[sd.Filter], Callable[[Operand, Any], pc.Expression]] = {
    sd.EqualTo: lambda column, value: column.compared(operator.eq, value),
    sd.EqualNullSafe: lambda column, value: column.expression.is_valid() & column.compared(operator.eq, value),
    sd.GreaterThan: lambda column, value: column.compared(operator.gt, value),
    sd.GreaterThanOrEqual: lambda column, value: column.compared(operator.ge, value),
    sd.LessThan: lambda column, value: column.compared(operator.lt, value),
    sd.LessThanOrEqual: lambda column, value: column.compared(operator.le, value),
    sd.In: Operand.member,
    sd.IsNull: lambda column, _: column.expression.is_null(),
    sd.IsNotNull: lambda column, _: column.expression.is_valid(),
    sd.StringStartsWith: lambda column, value: column.matched(pc.starts_with, value),
    sd.StringEndsWith: lambda column, value: column.matched(pc.ends_with, value),
    sd.StringContains: lambda column, value: column.matched(pc.match_substring, value),
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
    return expressible(filters, lambda filter: _expression(filter, schema))


def _expression(filter: sd.Filter, schema: pa.Schema) -> pc.Expression:
    if isinstance(filter, sd.Not):
        return ~_expression(filter.child, schema)
    translate = _CONDITIONS.get(type(filter))
    if translate is None:
        raise InexpressibleError(f"{filter} is not understood")
    column = Operand.at(getattr(filter, "attribute", ()), schema)
    value = getattr(filter, "value", None)
    if isinstance(filter, sd.In):
        return translate(column, [_literal(one, column) for one in filter.value])
    return translate(column, _literal(value, column))


def _literal(value: Any, column: Operand) -> Any:
    """Return a value that means the same here.

    Spark has NaN equal to itself and above all numbers, and means the session's time zone where none is given: floats
    and points in time are left to it. Decimals are its large integers.
    """
    if isinstance(value, Decimal) and pa.types.is_integer(column.type) and value == int(value):
        return int(value)
    if isinstance(value, float | datetime.datetime):
        raise InexpressibleError(f"Spark means something else by {value!r}")
    return value
