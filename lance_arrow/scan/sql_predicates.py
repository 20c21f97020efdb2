"""`parse_sql`: a condition, or a value, in SQL as a pyarrow expression; needs sqlglot, which reads the text.

    a > 3 AND s IN ('x', 'y') OR st.b BETWEEN 0.5 AND 1 AND NOT name LIKE 'abc%'

Understood are comparisons, ``AND OR NOT``, ``IN`` (a list), ``BETWEEN``, ``IS [NOT] NULL | TRUE | FALSE``, ``LIKE``,
``ILIKE``, arithmetic ``+ - * / %``, ``||``, ``CAST``, ``CASE``, ``coalesce``, ``abs``, ``upper``, ``lower``,
``length``, ``isnan``, ``starts_with``, literals, names in double quotes, and fields of structs (``a.b``). Null is
neither true nor false, as everywhere in SQL. Integers divided give integers.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lance_arrow.errors import InvalidArgumentError

_Binary: TypeAlias = Callable[[Any, Any], pc.Expression]

_NULL = pc.scalar(pa.scalar(None, pa.bool_()))
# Longer lists are looked up; shorter ones are compared one by one, whatever their types.
_COMPARED_MEMBERS = 16
_KINDS = exp.DataType.Type
_TYPES: Mapping[exp.DataType.Type, pa.DataType] = {
    _KINDS.BOOLEAN: pa.bool_(),
    _KINDS.TINYINT: pa.int8(),
    _KINDS.SMALLINT: pa.int16(),
    _KINDS.INT: pa.int32(),
    _KINDS.BIGINT: pa.int64(),
    _KINDS.UTINYINT: pa.uint8(),
    _KINDS.USMALLINT: pa.uint16(),
    _KINDS.UINT: pa.uint32(),
    _KINDS.UBIGINT: pa.uint64(),
    _KINDS.FLOAT: pa.float32(),
    _KINDS.DOUBLE: pa.float64(),
    _KINDS.CHAR: pa.string(),
    _KINDS.VARCHAR: pa.string(),
    _KINDS.TEXT: pa.string(),
    _KINDS.BINARY: pa.binary(),
    _KINDS.VARBINARY: pa.binary(),
    _KINDS.DATE: pa.date32(),
    _KINDS.TIME: pa.time64("us"),
    _KINDS.TIMESTAMP: pa.timestamp("us"),
    _KINDS.DATETIME: pa.timestamp("us"),
    _KINDS.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}
_COMPARISONS: Mapping[type[exp.Expression], _Binary] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_ARITHMETIC: Mapping[type[exp.Expression], _Binary] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}


def parse_sql(text: str, schema: pa.Schema | None = None) -> pc.Expression:
    """Turn a condition in SQL into an expression.

    Parameters
    ----------
    text
        One condition: what stands after ``WHERE``.
    schema
        Columns it is about. Literals compared with decimals are then decimals, and strings compared with dates and
        times are read as such; without, numbers are 64-bit integers and floats, and ``DATE '2020-01-31'`` must be said.

    Raises
    ------
    InvalidArgumentError
        It is no condition, or holds something that is not understood; that piece is named.
    """
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
    temporal = type_ if type_ is not None and pa.types.is_temporal(type_) else None
    of = _Operands(type_ is not None and pa.types.is_decimal(type_), temporal)
    return _translated(text, lambda node: _Translation(text, schema).value(node, of))


def _translated(text: str, translate: Callable[[exp.Expression], pc.Expression]) -> pc.Expression:
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
    """One condition, piece by piece; `of_decimals` is whether numbers beside a piece are decimals."""

    def __init__(self, text: str, schema: pa.Schema | None) -> None:
        self._text = text
        self._schema = schema

    def condition(self, node: exp.Expression) -> pc.Expression:
        """Translate what is true, false or null."""
        found = _CONDITIONS.get(type(node))
        if found is not None:
            return found(self, node)
        if isinstance(node, exp.Column | exp.Dot) or type(node) is exp.Cast:
            return self.value(node)
        raise self.refusal(node)

    def value(self, node: exp.Expression, of: _Operands | None = None) -> pc.Expression:
        """Translate what stands beside an operator."""
        of = of if of is not None else _Operands()
        if isinstance(node, exp.Paren):
            return self.value(node.this, of)
        if isinstance(node, exp.Column | exp.Dot):
            return pc.field(*self._names(node))
        if type(node) is exp.Cast:
            return self._cast(node, of)
        if isinstance(node, exp.Literal | exp.Boolean | exp.Null) or _is_negative_number(node):
            return pc.scalar(self._literal(node, of))
        if isinstance(node, exp.Neg):
            return pc.negate_checked(self.value(node.this, of))
        if isinstance(node, exp.DPipe):
            joined = [self.text(one) for one in (node.this, node.expression)]
            return pc.binary_join_element_wise(*joined, "")
        call = _CALLS.get(type(node))
        if call is not None:
            return call(self, node, of)
        compute = _ARITHMETIC.get(type(node))
        if compute is not None:
            return compute(self.value(node.this, of), self.value(node.expression, of))
        return self.condition(node)

    def operands(self, nodes: Sequence[exp.Expression]) -> list[pc.Expression]:
        """Translate what is compared with each other."""
        types = [self._type_of(one) for one in nodes]
        of = _Operands(
            decimal=any(self._mentions_decimals(one) for one in nodes),
            temporal=next((one for one in types if one is not None and pa.types.is_temporal(one)), None),
        )
        return [self.value(one, of) for one in nodes]

    def refusal(self, node: exp.Expression, why: str = "is not understood") -> InvalidArgumentError:
        return InvalidArgumentError(f"{node.sql()!r} {why}, in the filter {self._text!r}", detail=node.sql())

    # --- conditions, each translates one kind of node

    def connected(self, node: exp.Expression, join: _Binary) -> pc.Expression:
        return _balanced(join, [self.condition(part.unnest()) for part in node.flatten()])

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
            raise self.refusal(node, "is no list of values")
        value, *wanted = self.operands([node.this, *members])
        if len(members) <= _COMPARED_MEMBERS or not all(_is_literal(one) for one in members):
            return _balanced(operator.or_, [value == one for one in wanted])
        decimal = self._mentions_decimals(node.this)
        of = _Operands(decimal, self._type_of(node.this))
        values = [self._literal(one, of) for one in members]
        known = [one for one in values if one.is_valid]
        if not _are_looked_up(known, self._type_of(node.this)):
            return _balanced(operator.or_, [value == one for one in wanted])
        try:
            array = pa.array([one.as_py() for one in known], None if decimal or not known else known[0].type)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise self.refusal(node, f"holds values of several types: {error}") from error
        found = pc.if_else(value.is_valid(), value.isin(array), _NULL)
        return found if len(known) == len(values) else found | _NULL

    def tested(self, node: exp.Expression) -> pc.Expression:
        """``IS NULL``, ``IS TRUE``, ``IS FALSE``."""
        if isinstance(node.expression, exp.Null):
            return self.value(node.this).is_null()
        if isinstance(node.expression, exp.Boolean):
            value = self.value(node.this)
            return value.is_valid() & (value if node.expression.this else ~value)
        raise self.refusal(node)

    def matched(self, node: exp.Expression, escape: str | None = None) -> pc.Expression:
        if not _is_text(node.expression):
            raise self.refusal(node, "has no string for a pattern")
        found = _like(self.text(node.this), node.expression.this, escape, isinstance(node, exp.ILike))
        if found is None:
            raise self.refusal(node, "ends with its escape character")
        return ~found if node.args.get("negate") else found

    def escaped(self, node: exp.Expression) -> pc.Expression:
        escape = node.expression
        if not isinstance(node.this, exp.Like | exp.ILike) or not _is_text(escape) or len(escape.this) != 1:
            raise self.refusal(node)
        return self.matched(node.this, escape.this)

    def prefixed(self, node: exp.Expression) -> pc.Expression:
        if not _is_text(node.expression):
            raise self.refusal(node, "has no string for a prefix")
        return pc.starts_with(self.text(node.this), node.expression.this)

    # --- values

    def chosen(self, node: exp.Expression, of: _Operands) -> pc.Expression:
        """``CASE``, with an operand or without."""
        operand, found = node.args.get("this"), node.args.get("default")
        value = pc.scalar(None) if found is None else self.value(found, of)
        for branch in reversed(node.args["ifs"]):
            if operand is None:
                condition = self.condition(branch.this)
            else:
                condition = operator.eq(*self.operands([operand, branch.this]))
            met = condition.is_valid() & condition
            value = pc.if_else(met, self.value(branch.args["true"], of), value)
        return value

    def first_known(self, node: exp.Expression, of: _Operands) -> pc.Expression:
        return pc.coalesce(*(self.value(one, of) for one in (node.this, *node.expressions)))

    def text(self, node: exp.Expression) -> pc.Expression:
        """What functions of text are given: they know no dictionaries."""
        type_ = self._type_of(node)
        found = self.value(node)
        return found.cast(type_.value_type) if isinstance(type_, pa.DictionaryType) else found

    def remainder(self, node: exp.Expression, of: _Operands) -> pc.Expression:
        """``%``, which has the sign of what is divided."""
        left, right = self.value(node.this, of), self.value(node.expression, of)
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

    def _names(self, node: exp.Expression) -> list[str]:
        parts = node.parts
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise self.refusal(node)
        return [part.name for part in parts]

    def _literal(self, node: exp.Expression, of: _Operands) -> pa.Scalar:
        if isinstance(node, exp.Null):
            return pa.scalar(None)
        if isinstance(node, exp.Boolean):
            return pa.scalar(bool(node.this))
        if isinstance(node, exp.Neg):
            return self._number(node, "-" + node.this.this, of)
        if not node.is_string:
            return self._number(node, node.this, of)
        return pa.scalar(node.this) if of.temporal is None else self._read_as(node, node.this, of.temporal)

    def _number(self, node: exp.Expression, digits: str, of: _Operands) -> pa.Scalar:
        try:
            if of.decimal:
                return pa.scalar(Decimal(digits))
            if digits.lstrip("-").isdecimal():
                value = int(digits)
                return pa.scalar(value, pa.uint64()) if value >= 1 << 63 else pa.scalar(value, pa.int64())
            return pa.scalar(float(digits))
        except (ArithmeticError, ValueError) as error:
            raise self.refusal(node, "is no number that Arrow has") from error

    def _read_as(self, node: exp.Expression, text: str, type_: pa.DataType) -> pa.Scalar:
        try:
            if pa.types.is_time(type_):
                return pa.scalar(datetime.time.fromisoformat(text), type_)
            if pa.types.is_timestamp(type_):
                return _timestamp(text, type_)
            return pa.scalar(text).cast(type_)
        except (ValueError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self.refusal(node, f"is no {type_}: {str(error).splitlines()[0]}") from error

    def _cast(self, node: exp.Expression, of: _Operands) -> pc.Expression:
        type_ = self._arrow_type(node.args["to"])
        inner = node.this
        if _is_text(inner):
            found = self._read_as(node, inner.this, type_)
            if of.zone is not None and (pa.types.is_timestamp(type_) or pa.types.is_date(type_)):
                # Arrow compares no time in a zone with a day, or with a time in another zone or in none.
                beside = pa.timestamp("us", of.zone)
                if getattr(type_, "tz", None) is not None:
                    found = found.cast(beside)
                else:
                    found = self._read_as(node, str(found.cast(pa.timestamp("us"))), beside)
            return pc.scalar(found)
        of = _Operands(decimal=pa.types.is_decimal(type_))
        if not _is_literal(inner):
            return self.value(inner, of).cast(type_)
        try:
            return pc.scalar(self._literal(inner, of).cast(type_))
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
        raise self.refusal(node, "is no type that is understood")

    def _type_of(self, node: exp.Expression) -> pa.DataType | None:
        """Type of a column, where the schema is known."""
        if isinstance(node, exp.Paren):
            return self._type_of(node.this)
        if self._schema is None or not isinstance(node, exp.Column | exp.Dot):
            return None
        fields: pa.Schema | pa.StructType = self._schema
        type_: pa.DataType | None = None
        for name in self._names(node):
            place = fields.get_field_index(name) if isinstance(fields, pa.Schema | pa.StructType) else -1
            if place < 0:
                return None
            type_ = fields = fields.field(place).type
        return type_

    def _mentions_decimals(self, node: exp.Expression) -> bool:
        if isinstance(node, exp.Cast):
            return node.args["to"].this is _KINDS.DECIMAL
        if isinstance(node, exp.Column | exp.Dot):
            type_ = self._type_of(node)
            return type_ is not None and pa.types.is_decimal(type_)
        return any(self._mentions_decimals(one) for one in node.iter_expressions())


def _timestamp(text: str, type_: pa.TimestampType) -> pa.Scalar:
    """Read a timestamp: where the type has a zone and the text says none, a local time of that zone."""
    if type_.tz is None:
        return pa.scalar(text).cast(type_)
    try:
        return pa.scalar(text).cast(type_)
    except pa.ArrowInvalid:
        local = pa.scalar(text).cast(pa.timestamp(type_.unit))
    try:
        return pc.assume_timezone(local, type_.tz)
    except pa.ArrowInvalid as error:
        raise ValueError("clocks change then, so the local time is skipped or comes twice: add an offset") from error


def _are_looked_up(values: Sequence[pa.Scalar], column: pa.DataType | None) -> bool:
    """Whether Arrow's lookup finds what comparing finds: it wants one type, and tells the two zeros apart."""
    numbers = {one.type for one in values if pa.types.is_integer(one.type) or pa.types.is_floating(one.type)}
    if len(numbers) > 1 or any(pa.types.is_floating(one) for one in numbers):
        return False
    may_be_float = column is None or pa.types.is_floating(column)
    return not (may_be_float and any(one.as_py() == 0 for one in values))


class _Operands:
    """What literals are compared with: decimals, or a date or time."""

    def __init__(self, decimal: bool = False, temporal: pa.DataType | None = None) -> None:
        self.decimal = decimal
        self.temporal = temporal if temporal is not None and pa.types.is_temporal(temporal) else None

    @property
    def zone(self) -> str | None:
        """Zone of the times beside; None without."""
        temporal = self.temporal
        return temporal.tz if temporal is not None and pa.types.is_timestamp(temporal) else None


_CONDITIONS: Mapping[type[exp.Expression], Callable[[_Translation, exp.Expression], pc.Expression]] = {
    exp.And: partial(_Translation.connected, join=operator.and_),
    exp.Or: partial(_Translation.connected, join=operator.or_),
    exp.Not: lambda self, node: ~self.condition(node.this),
    exp.Paren: lambda self, node: self.condition(node.this),
    exp.Boolean: lambda self, node: pc.scalar(bool(node.this)),
    exp.Null: lambda self, node: _NULL,
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


_CALLS: Mapping[type[exp.Expression], Callable[[_Translation, exp.Expression, _Operands], pc.Expression]] = {
    exp.Case: _Translation.chosen,
    exp.Coalesce: _Translation.first_known,
    exp.Mod: _Translation.remainder,
    exp.Abs: lambda self, node, of: pc.abs_checked(self.value(node.this, of)),
    exp.Upper: lambda self, node, of: pc.utf8_upper(self.text(node.this)),
    exp.Lower: lambda self, node, of: pc.utf8_lower(self.text(node.this)),
    exp.Length: lambda self, node, of: pc.utf8_length(self.text(node.this)),
}


def _balanced(join: _Binary, parts: Sequence[pc.Expression]) -> pc.Expression:
    """Join many parts into a tree of little depth."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(_balanced(join, parts[:middle]), _balanced(join, parts[middle:]))


def _is_text(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _is_negative_number(node: exp.Expression) -> bool:
    return isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string


def _is_literal(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null) or _is_negative_number(node)


def _like(value: pc.Expression, pattern: str, escape: str | None, ignore_case: bool) -> pc.Expression | None:
    """Match a pattern; None when it ends with its escape character.

    What is only a prefix, a suffix or a part goes to the function for it: Arrow's own shortcut takes escapes for text.
    """
    pieces: list[tuple[str, bool]] = []
    characters = iter(pattern)
    for character in characters:
        is_escape = character == escape
        following = next(characters, None) if is_escape else character
        if following is None:
            return None
        pieces.append((following, not is_escape and following in "%_"))
    wild = [place for place, (_, is_wild) in enumerate(pieces) if is_wild]
    plain = "".join(character for character, is_wild in pieces if not is_wild)
    last = len(pieces) - 1
    if all(pieces[place][0] == "%" for place in wild):
        if wild == [last]:
            return pc.starts_with(value, plain, ignore_case=ignore_case)
        if wild == [0]:
            return pc.ends_with(value, plain, ignore_case=ignore_case)
        if wild == [0, last]:
            return pc.match_substring(value, plain, ignore_case=ignore_case)
    if not wild and not ignore_case:
        return value == plain
    spelled = (character if is_wild or character not in "%_\\" else "\\" + character for character, is_wild in pieces)
    return pc.match_like(value, "".join(spelled), ignore_case=ignore_case)
