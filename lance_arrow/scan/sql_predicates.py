"""`parse_sql`: turn SQL conditions and values into pyarrow expressions; needs sqlglot.

    a > 3 AND s IN ('x', 'y') OR st.b BETWEEN 0.5 AND 1 AND NOT name LIKE 'abc%'

Operators: comparisons, ``AND OR NOT``, ``IN`` (a list), ``BETWEEN``, ``IS [NOT] NULL | TRUE | FALSE``, ``LIKE``,
``ILIKE``, arithmetic ``+ - * / %``, ``||``. Functions: ``CAST``, ``CASE``, ``coalesce``, ``abs``, ``upper``, ``lower``,
``length``, ``isnan``, ``starts_with``. Operands: literals, names in double quotes, and fields of structs (``a.b``).
Null is neither true nor false, as in all SQL. The quotient of integers is an integer.
"""

from __future__ import annotations

import contextlib
import datetime
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lance_arrow.arrays.plain_numbers import as_scalar
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.predicate_builder import NULL, Binary, InexpressibleError, Operand, joined, natural
from lance_arrow.scan.predicates import type_at
from lance_arrow.scan.sql_lists import Values, without_lists

_KINDS = exp.DataType.Type
_TYPES: Mapping[object, pa.DataType] = {
    _KINDS.BOOLEAN: pa.bool_(), _KINDS.FLOAT: pa.float32(), _KINDS.DOUBLE: pa.float64(),
    _KINDS.TINYINT: pa.int8(), _KINDS.SMALLINT: pa.int16(), _KINDS.INT: pa.int32(), _KINDS.BIGINT: pa.int64(),
    _KINDS.UTINYINT: pa.uint8(), _KINDS.USMALLINT: pa.uint16(), _KINDS.UINT: pa.uint32(), _KINDS.UBIGINT: pa.uint64(),
    _KINDS.CHAR: pa.string(), _KINDS.VARCHAR: pa.string(), _KINDS.TEXT: pa.string(),
    _KINDS.BINARY: pa.binary(), _KINDS.VARBINARY: pa.binary(), _KINDS.DATE: pa.date32(), _KINDS.TIME: pa.time64("us"),
    _KINDS.TIMESTAMP: pa.timestamp("us"), _KINDS.DATETIME: pa.timestamp("us"),
    _KINDS.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}  # fmt: skip
_COMPARISONS: Mapping[type[exp.Expression], Binary] = {
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt,
    exp.GTE: operator.ge,
}  # fmt: skip
_ARITHMETIC: Mapping[type[exp.Expression], Binary] = {
    exp.Add: operator.add, exp.Sub: operator.sub, exp.Mul: operator.mul, exp.Div: operator.truediv,
}  # fmt: skip


def parse_sql(text: str, schema: pa.Schema | None = None) -> pc.Expression:
    """Turn a condition in SQL into an expression.

    Parameters
    ----------
    text
        One condition, without ``WHERE``.
    schema
        Schema of the columns. With it, literals compared with decimals are decimals, and strings compared with dates
        and times are dates and times. Without it, numbers are 64-bit integers and floats, and dates need a type:
        ``DATE '2020-01-31'``.

    Raises
    ------
    InvalidArgumentError
        The text is not a condition, or a part of it is not supported; the message has that part.
    """
    shorter, lists = without_lists(text)
    if lists:
        # Lists rejected here are parsed value by value below, which accepts them or names the value.
        with contextlib.suppress(InvalidArgumentError):
            return _translated(shorter, lambda node: _Translation(text, schema, lists).condition(node))
    return _translated(text, lambda node: _Translation(text, schema).condition(node))


def parse_sql_value(text: str, type_: pa.DataType | None = None, schema: pa.Schema | None = None) -> pc.Expression:
    """Turn a value in SQL into an expression.

    Parameters
    ----------
    text
        What may stand after ``SELECT`` or ``SET x =``.
    type_
        What the value is to be; numbers are decimals, and strings dates or times, accordingly.
    schema
        As for `parse_sql`.

    Raises
    ------
    InvalidArgumentError
        As `parse_sql`.
    """
    return _translated(text, lambda node: _Translation(text, schema).value(node, type_))


def _translated(text: str, translate: Callable[[Any], pc.Expression]) -> pc.Expression:
    try:
        statements = sqlglot.parse(text)
        if len(statements) != 1 or statements[0] is None:
            raise InvalidArgumentError(f"the filter {text!r} is not one condition in SQL", detail=text)
        return translate(statements[0])
    except SqlglotError as error:
        told = getattr(error, "errors", None)
        reason = f"{told[0]['description']} at column {told[0]['col']}" if told else str(error)
        raise InvalidArgumentError(f"the filter {text!r} is not SQL: {reason}", detail=text) from error
    except RecursionError as error:
        raise InvalidArgumentError("the filter is nested too deeply", detail=text) from error


class _Translation:
    """One condition, piece by piece; `beside` is the type of what a piece is compared with, or is to be."""

    def __init__(self, text: str, schema: pa.Schema | None, lists: Mapping[str, Values] | None = None) -> None:
        self._text = text
        self._lists = lists or {}
        self._schema = schema

    def condition(self, node: exp.Expression) -> pc.Expression:
        """Translate what is true, false or null."""
        translate = _CONDITIONS.get(type(node))
        if translate is not None:
            try:
                return translate(self, node)
            except InexpressibleError as error:
                raise self.refusal(node, str(error)) from error
        if type(node) not in (exp.Column, exp.Dot, exp.Cast):
            raise self.refusal(node)
        return self.value(node)

    def value(self, node: exp.Expression, beside: pa.DataType | None = None) -> pc.Expression:
        """Translate what stands beside an operator."""
        if _is_literal(node):
            return pc.scalar(self._literal(node, beside))
        translate = _VALUES.get(type(node))
        return self.condition(node) if translate is None else translate(self, node, beside)

    def operands(self, nodes: Sequence[exp.Expression]) -> list[pc.Expression]:
        """Translate what is compared with each other."""
        beside = Operand(NULL, self._beside(nodes))
        pieces = [self._piece(one, beside.type) for one in nodes]
        return [pc.scalar(beside.nearest(one)) if isinstance(one, pa.Scalar) else one.comparable() for one in pieces]

    def _piece(self, node: exp.Expression, beside: pa.DataType | None) -> pa.Scalar | Operand:
        return self._literal(node, beside) if _is_literal(node) else self.operand(node, beside)

    def operand(self, node: exp.Expression, beside: pa.DataType | None = None) -> Operand:
        return Operand(self.value(node, beside), self._type_of(node))

    def refusal(self, node: exp.Expression, why: str = "is not understood") -> InvalidArgumentError:
        return InvalidArgumentError(f"{node.sql()!r} {why}, in the filter {self._text!r}", detail=node.sql())

    # --- conditions, each translates one kind of node

    def connected(self, node: exp.Expression, join: Binary) -> pc.Expression:
        parts: list[Any] = [part.unnest() for part in node.flatten()]
        return joined(join, [self.condition(part) for part in parts])

    def compared(self, node: exp.Expression) -> pc.Expression:
        return _COMPARISONS[type(node)](*self.operands([node.this, node.expression]))

    def between(self, node: exp.Expression) -> pc.Expression:
        if node.args.get("symmetric"):
            raise self.refusal(node)
        value, low, high = self.operands([node.this, node.args["low"], node.args["high"]])
        return (value >= low) & (value <= high)

    def member(self, node: exp.Expression) -> pc.Expression:
        members: list[exp.Expression] = node.args.get("expressions") or []
        if not members or any(node.args.get(name) for name in ("query", "unnest", "field")):
            raise self.refusal(node, "is not a list of values")
        if len(members) == 1 and isinstance(members[0], exp.Placeholder) and members[0].name in self._lists:
            return self.operand(node.this).among_all(self._lists[members[0].name])
        beside = self._beside([node.this, *members])
        return self.operand(node.this, beside).among([self._piece(one, beside) for one in members])

    def tested(self, node: exp.Expression) -> pc.Expression:
        """``IS NULL``, ``IS TRUE``, ``IS FALSE``."""
        value = self.value(node.this)
        if isinstance(node.expression, exp.Null):
            return value.is_null()
        if isinstance(node.expression, exp.Boolean):
            return value.is_valid() & (value if node.expression.this else ~value)
        raise self.refusal(node)

    def matched(self, node: exp.Expression, escape: str | None = None) -> pc.Expression:
        if not _is_text(node.expression):
            raise self.refusal(node, "has no string for a pattern")
        found = self.operand(node.this).like(node.expression.this, escape, isinstance(node, exp.ILike))
        return ~found if node.args.get("negate") else found

    def escaped(self, node: exp.Expression) -> pc.Expression:
        escape = node.expression
        if not isinstance(node.this, exp.Like | exp.ILike) or not _is_text(escape) or len(escape.this) != 1:
            raise self.refusal(node)
        return self.matched(node.this, escape.this)

    def prefixed(self, node: exp.Expression) -> pc.Expression:
        if not _is_text(node.expression):
            raise self.refusal(node, "has no string for a prefix")
        return pc.starts_with(self.operand(node.this).text(), node.expression.this)

    # --- values

    def computed(self, node: exp.Expression, beside: pa.DataType | None) -> pc.Expression:
        return _ARITHMETIC[type(node)](self.value(node.this, beside), self.value(node.expression, beside))

    def chosen(self, node: exp.Expression, beside: pa.DataType | None) -> pc.Expression:
        """``CASE``, with an operand or without."""
        operand, found = node.args.get("this"), node.args.get("default")
        value = pc.scalar(None) if found is None else self.value(found, beside)
        for branch in reversed(node.args["ifs"]):
            if operand is None:
                condition = self.condition(branch.this)
            else:
                condition = operator.eq(*self.operands([operand, branch.this]))
            met = condition.is_valid() & condition
            value = pc.if_else(met, self.value(branch.args["true"], beside), value)
        return value

    def remainder(self, node: exp.Expression, beside: pa.DataType | None) -> pc.Expression:
        """``%``, which has the sign of what is divided."""
        left, right = self.value(node.this, beside), self.value(node.expression, beside)
        # Quotients of integers are whole already; to truncate them is to make floats of them, of 53 bits.
        is_whole = all(self._is_integer(one) for one in (node.this, node.expression))
        return left - (left / right if is_whole else pc.trunc(left / right)) * right

    def _is_integer(self, node: exp.Expression) -> bool:
        """Whether values are known to be integers."""
        if isinstance(node, exp.Paren | exp.Neg):
            return self._is_integer(node.this)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod):
            return self._is_integer(node.this) and self._is_integer(node.expression)
        if isinstance(node, exp.Literal):
            return not node.is_string and node.this.isdecimal()
        type_ = self._type_of(node)
        return type_ is not None and pa.types.is_integer(type_)

    def _names(self, node: Any) -> list[str]:
        parts = node.parts
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise self.refusal(node)
        return [part.name for part in parts]

    def _literal(self, node: exp.Expression, beside: pa.DataType | None) -> pa.Scalar:
        if isinstance(node, exp.Null | exp.Boolean):
            return as_scalar(bool(node.this) if isinstance(node, exp.Boolean) else None)
        if _is_text(node):
            is_time = beside is not None and pa.types.is_temporal(beside)
            return self._read_as(node, node.this, beside) if is_time else as_scalar(node.this)
        digits = "-" + node.this.this if isinstance(node, exp.Neg) else node.this
        try:
            if beside is not None and pa.types.is_decimal(beside):
                return pa.scalar(Decimal(digits))
            return natural(int(digits)) if digits.lstrip("-").isdecimal() else as_scalar(float(digits))
        except (ArithmeticError, ValueError) as error:
            raise self.refusal(node, "is not a number that Arrow can hold") from error

    def _read_as(self, node: exp.Expression, text: str, type_: pa.DataType) -> pa.Scalar:
        try:
            if pa.types.is_time(type_):
                return pa.scalar(datetime.time.fromisoformat(text), type_)
            if pa.types.is_timestamp(type_):
                return _timestamp(text, type_)
            return as_scalar(text).cast(type_)
        except (ValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self.refusal(node, f"is no {type_}: {str(error).splitlines()[0]}") from error

    def _cast(self, node: exp.Expression, beside: pa.DataType | None) -> pc.Expression:
        type_ = self._arrow_type(node.args["to"])
        inner, zone = node.this, getattr(beside, "tz", None)
        if _is_text(inner):
            found = self._read_as(node, inner.this, type_)
            if zone is not None and (pa.types.is_timestamp(type_) or pa.types.is_date(type_)):
                # Arrow compares no time in a zone with a day, or with a time in another zone or in none.
                in_zone = pa.timestamp("us", zone)
                if getattr(type_, "tz", None) is not None:
                    found = found.cast(in_zone)
                else:
                    found = self._read_as(node, str(found.cast(pa.timestamp("us"))), in_zone)
            return pc.scalar(found)
        wanted = type_ if pa.types.is_decimal(type_) else None
        if not _is_literal(inner):
            return self.value(inner, wanted).cast(type_)
        try:
            return pc.scalar(self._literal(inner, wanted).cast(type_))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self.refusal(node, f"cannot be cast: {error}") from error

    def _arrow_type(self, node: exp.DataType) -> pa.DataType:
        found = _TYPES.get(node.this)
        if found is not None and not node.expressions:
            return found
        sizes = [one.name for one in node.expressions]
        if node.this is _KINDS.DECIMAL and len(sizes) == 2 and all(size.isdecimal() for size in sizes):
            precision, scale = map(int, sizes)
            if 1 <= precision <= 76 and scale <= precision:
                return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        raise self.refusal(node, "is not a type that is supported")

    def _type_of(self, node: exp.Expression) -> pa.DataType | None:
        """Type of a column, where the schema is known."""
        if isinstance(node, exp.Paren):
            return self._type_of(node.this)
        is_column = self._schema is not None and isinstance(node, exp.Column | exp.Dot)
        return type_at(self._schema, self._names(node)) if is_column else None

    def _decimal_in(self, node: exp.Expression) -> pa.DataType | None:
        """Type of a decimal that a value is made of."""
        if isinstance(node, exp.Cast):
            type_ = self._arrow_type(node.args["to"])
        elif isinstance(node, exp.Column | exp.Dot):
            type_ = self._type_of(node)
        else:
            return next(filter(None, map(self._decimal_in, node.iter_expressions())), None)
        return type_ if type_ is not None and pa.types.is_decimal(type_) else None

    def _beside(self, nodes: Sequence[exp.Expression]) -> pa.DataType | None:
        """Type that literals get among what is compared: that of a decimal, a time, or another column."""
        types = [one for one in map(self._type_of, nodes) if one is not None]
        decimals = filter(None, map(self._decimal_in, nodes))
        return next(iter((*decimals, *filter(pa.types.is_temporal, types), *types)), None)


def _timestamp(text: str, type_: pa.TimestampType) -> pa.Scalar:
    """Read a timestamp: where the type has a zone and the text says none, a local time of that zone."""
    try:
        return as_scalar(text).cast(type_)
    except pa.ArrowInvalid:
        if type_.tz is None:
            raise
        local = as_scalar(text).cast(pa.timestamp(type_.unit))
    try:
        return pc.assume_timezone(local, type_.tz)
    except pa.ArrowInvalid as error:
        raise ValueError("clocks change then, so the local time is skipped or comes twice: add an offset") from error


_CONDITIONS: Mapping[type[exp.Expression], Callable[[_Translation, exp.Expression], pc.Expression]] = {
    exp.And: partial(_Translation.connected, join=operator.and_),
    exp.Or: partial(_Translation.connected, join=operator.or_),
    exp.Not: lambda self, node: ~self.condition(node.this),
    exp.Paren: lambda self, node: self.condition(node.this),
    exp.Boolean: lambda self, node: pc.scalar(as_scalar(bool(node.this))),
    exp.Null: lambda self, node: NULL,
    **dict.fromkeys(_COMPARISONS, _Translation.compared),
    exp.Between: _Translation.between,
    exp.In: _Translation.member,
    exp.Is: _Translation.tested,
    exp.Like: _Translation.matched,
    exp.ILike: _Translation.matched,
    exp.Escape: _Translation.escaped,
    exp.IsNan: lambda self, node: pc.is_nan(self.value(node.this)),
    exp.StartsWith: _Translation.prefixed,
}


_VALUES: Mapping[type[exp.Expression], Callable[[_Translation, exp.Expression, pa.DataType | None], pc.Expression]] = {
    exp.Paren: lambda self, node, beside: self.value(node.this, beside),
    **dict.fromkeys((exp.Column, exp.Dot), lambda self, node, beside: pc.field(*self._names(node))),
    exp.Cast: _Translation._cast,
    exp.Neg: lambda self, node, beside: pc.negate_checked(self.value(node.this, beside)),
    exp.DPipe: lambda self, node, beside: pc.binary_join_element_wise(
        self.operand(node.this).text(), self.operand(node.expression).text(), ""
    ),
    **dict.fromkeys(_ARITHMETIC, _Translation.computed),
    exp.Case: _Translation.chosen,
    exp.Coalesce: lambda self, node, beside: pc.coalesce(
        *(self.value(one, beside) for one in (node.this, *node.expressions))
    ),
    exp.Mod: _Translation.remainder,
    exp.Abs: lambda self, node, beside: pc.abs_checked(self.value(node.this, beside)),
    exp.Upper: lambda self, node, beside: pc.utf8_upper(self.operand(node.this).text()),
    exp.Lower: lambda self, node, beside: pc.utf8_lower(self.operand(node.this).text()),
    exp.Length: lambda self, node, beside: pc.utf8_length(self.operand(node.this).text()),
}


def _is_text(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _is_literal(node: exp.Expression) -> bool:
    number = node.this if isinstance(node, exp.Neg) else None
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null) or (
        isinstance(number, exp.Literal) and not _is_text(number)
    )
