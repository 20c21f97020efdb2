"""Building blocks of predicates: every syntax but pyarrow's own makes its expressions of these.

    SQL ─────────┐
    Polars ──────┼─► Operand, literals of its type ─► comparison, membership, text match ─► pyarrow expression
    Spark ───────┘

Translators read a syntax. How literals are typed, when Arrow looks values up, and what null, the two zeros and
dictionaries need is decided here. SQL refuses conditions without an expression; engines apply these themselves.
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.plain_numbers import as_scalar
from lance_arrow.scan.predicates import type_at

Binary: TypeAlias = Callable[[Any, Any], pc.Expression]

# `pa.scalar` would import pandas.
NULL = pc.scalar(pa.nulls(1, pa.bool_())[0])
"""A condition that is neither true nor false."""
_COMPARED_MEMBERS, _COMPARED_TEXTS = 16, 2
"""More members are looked up: a lookup takes as long as so many comparisons, of numbers and of strings."""
_WILDCARDS = ("%", "_")
_UNFIT = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OverflowError)


class InexpressibleError(ValueError):
    """Part of a predicate has no expression that means the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A value that a condition is about.

    Parameters
    ----------
    expression
        A column, a field of a struct, or something computed.
    type
        Its type; None where it is not known.
    """

    expression: pc.Expression
    type: pa.DataType | None = None

    @classmethod
    def at(cls, path: Sequence[str], schema: pa.Schema) -> Operand:
        """Look up a column, or a field of structs; raises `InexpressibleError` where there is none."""
        type_ = type_at(schema, path)
        if type_ is None:
            raise InexpressibleError(f"there is no column {'.'.join(path)!r}")
        return cls(pc.field(*path), type_)

    def compared(self, compare: Binary, value: Any) -> pc.Expression:
        """Compare with a literal; raises as `exact`."""
        return compare(self.expression, pc.scalar(self.exact(value)))

    def member(self, values: Iterable[Any]) -> pc.Expression:
        """Look for a value among literals; raises as `exact`, and where there are none: engines differ in that."""
        members = [self.exact(one) for one in values]
        if not members:
            raise InexpressibleError("there are no members")
        return self.among(members)

    def matched(self, match: Callable[[pc.Expression, str], pc.Expression], value: Any) -> pc.Expression:
        """Match text with a literal by a function such as `pyarrow.compute.starts_with`; raises as `exact`."""
        return match(self.text(), self.exact(value).as_py())

    def among(self, members: Sequence[pa.Scalar | Operand]) -> pc.Expression:
        """Look for it among other values, as ``IN`` does.

        Parameters
        ----------
        members
            At least one. Null is no member; with a null among them, other values are neither members nor not.

        Raises
        ------
        InexpressibleError
            Literals are of several types, and not all numbers.
        """
        literals = [self.nearest(one) for one in members if isinstance(one, pa.Scalar)]
        known = [one for one in literals if one.is_valid]
        types = {one.type for one in known}
        if len(types) > 1 and not all(_kind(one) in ("integer", "float", "decimal") for one in types):
            raise InexpressibleError("holds values of several types")
        value = self.comparable()
        if len(literals) < len(members) or len(types) != 1 or not _is_looked_up(self.type, known):
            others = [one.comparable() for one in members if isinstance(one, Operand)]
            return joined(operator.or_, [value == one for one in (*map(pc.scalar, literals), *others)])
        found = self._looked_up(pa.array(known, known[0].type))
        return found if len(known) == len(members) else found | NULL

    def among_all(self, values: Sequence[int] | Sequence[str]) -> pc.Expression:
        """Look for it among many plain literals, as `among` would, at once.

        Raises
        ------
        InexpressibleError
            They are not all values of this type; `among` may know what to do.
        """
        kind = None if self.type is None else _kind(self.type)
        if kind != ("text" if isinstance(values[0], str) else "integer"):
            raise InexpressibleError(f"they are no {self.type}")
        try:
            members = pa.array(values, self.type)
        except _UNFIT as error:
            raise InexpressibleError(f"they are no {self.type}: {error}") from error
        return self._looked_up(members)

    def _looked_up(self, members: pa.Array) -> pc.Expression:
        """Look for it among several values, none of them null."""
        # A lookup of null finds nothing; a comparison gives null. Zone maps and file pruner know both functions.
        value = self.comparable()
        return value.isin(members) | (value == pc.scalar(members[0]))

    def like(self, pattern: str, escape: str | None, ignore_case: bool) -> pc.Expression:
        """Match a pattern of SQL.

        A prefix, a suffix or a part goes to the function for it: Arrow's own shortcut takes escapes for text.

        Raises
        ------
        InexpressibleError
            The pattern ends with its escape character.
        """
        value = self.text()
        tokens = re.findall(f"{re.escape(escape)}.?|." if escape else ".", pattern, re.DOTALL)
        if escape in tokens:
            raise InexpressibleError("ends with its escape character")
        wild = [place for place, token in enumerate(tokens) if token in _WILDCARDS]
        plain = "".join(token[-1] for token in tokens if token not in _WILDCARDS)
        last = len(tokens) - 1
        if all(tokens[place] == "%" for place in wild):
            if wild == [last]:
                return pc.starts_with(value, plain, ignore_case=ignore_case)
            if wild == [0]:
                return pc.ends_with(value, plain, ignore_case=ignore_case)
            if wild == [0, last]:
                return pc.match_substring(value, plain, ignore_case=ignore_case)
        if not wild and not ignore_case:
            return value == plain
        spelled = (token if token in _WILDCARDS else re.sub(r"[%_\\]", r"\\\g<0>", token[-1]) for token in tokens)
        return pc.match_like(value, "".join(spelled), ignore_case=ignore_case)

    def text(self) -> pc.Expression:
        """Return what functions of text are given: they have no dictionaries."""
        type_ = self.type
        return self.expression.cast(type_.value_type) if isinstance(type_, pa.DictionaryType) else self.expression

    def comparable(self) -> pc.Expression:
        """Return what comparisons are given: they have no half floats."""
        is_half = self.type is not None and pa.types.is_float16(self.type)
        return self.expression.cast(pa.float32()) if is_half else self.expression

    def exact(self, value: Any) -> pa.Scalar:
        """Return a literal as a value of this type, or of the items of a dictionary.

        Raises
        ------
        InexpressibleError
            It is null, NaN, of another kind, or there is no such value; or this type is nested.
        """
        type_ = self.type.value_type if isinstance(self.type, pa.DictionaryType) else self.type
        try:
            found = value if isinstance(value, pa.Scalar) else natural(value)
            kind = None if type_ is None else _kind(type_)
            if found.is_valid and kind is not None and kind == _kind(found.type):
                if found.type == type_:
                    typed = found
                else:
                    typed = pa.scalar(found.as_py(), type_) if kind == "integer" else found.cast(type_)
                # Casts round floats, of all kinds; NaN equals nothing.
                if kind != "float" or typed.cast(found.type).equals(found):
                    return typed
        except _UNFIT:
            pass
        raise InexpressibleError(f"{value!r} is no {self.type}")

    def nearest(self, value: pa.Scalar) -> pa.Scalar:
        """Return a literal as a value of this type where there is one, or what Arrow compares with this type."""
        if pa.types.is_integer(value.type) and self.type is not None and pa.types.is_floating(self.type):
            # Arrow casts no large integer to the column's floats, rounded or not.
            as_float = as_scalar(float(value.as_py()))
            value = as_float if int(as_float.as_py()) == value.as_py() else value
        with contextlib.suppress(InexpressibleError):
            return self.exact(value)
        integers = [one for one in (self.type, value.type) if one is not None and pa.types.is_integer(one)]
        # Arrow makes 64-bit signed integers of both, which fails for large ones.
        return pa.scalar(Decimal(value.as_py())) if len(integers) == 2 and pa.uint64() in integers else value


def natural(value: Any) -> pa.Scalar:
    """Return a Python value as a scalar of the type that Arrow has for it; raises `OverflowError` beyond 64 bits."""
    return pa.scalar(value, pa.uint64()) if type(value) is int and value >= 1 << 63 else as_scalar(value)


def joined(join: Binary, parts: Sequence[pc.Expression]) -> pc.Expression:
    """Join one part or many into a tree of little depth."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(joined(join, parts[:middle]), joined(join, parts[middle:]))


def _is_looked_up(column: pa.DataType | None, values: Sequence[pa.Scalar]) -> bool:
    """Whether Arrow's lookup is worth it, and finds what comparing finds: it tells the two zeros apart."""
    type_ = values[0].type
    is_text = type_ == column and _kind(type_) in ("text", "binary")
    if len(values) <= (_COMPARED_TEXTS if is_text else _COMPARED_MEMBERS) or pa.types.is_floating(type_):
        return False
    plain = column.value_type if isinstance(column, pa.DictionaryType) else column
    may_be_float = plain is None or pa.types.is_floating(plain)
    return not (may_be_float and any(one.as_py() == 0 for one in values))


def _kind(type_: pa.DataType) -> str | None:
    """Name types within one of which casts keep values, or fail; None for those that have no literals."""
    types = pa.types
    if types.is_nested(type_) or types.is_dictionary(type_):
        return None
    if types.is_integer(type_):
        return "integer"
    if types.is_floating(type_):
        return "float" if type_.bit_width >= 32 else "half"
    if types.is_string(type_) or types.is_large_string(type_):
        return "text"
    if types.is_binary(type_) or types.is_large_binary(type_):
        return "binary"
    if types.is_timestamp(type_):
        return f"timestamp {type_.tz}"
    return "decimal" if types.is_decimal(type_) else str(type_)
