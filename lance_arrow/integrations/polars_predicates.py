"""`arrow_filter`: translate the parts of a Polars predicate that have the same meaning in Arrow.

Conjuncts are translated one by one; Polars applies those without an expression. The two differ in NaN. In Polars it is
the largest number, and equal to itself. In Arrow it is neither equal to, nor less or greater than, any value.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.view_arrays import without_views
from lance_arrow.scan.filters.kept_by_schema import KeptBySchema
from lance_arrow.scan.predicate_builder import Binary, InexpressibleError, Operand
from lance_arrow.scan.predicates import all_of

_Facts: TypeAlias = Mapping[str, Any]

_COMPARISONS: Mapping[str, Binary] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtEq": operator.le, "Gt": operator.gt,
    "GtEq": operator.ge,
}  # fmt: skip
_SWAPPED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_ENDS = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}


def arrow_filter(predicate: pl.Expr, schema: pa.Schema) -> pc.Expression | None:
    """Translate a predicate, or parts of it.

    Parameters
    ----------
    predicate
        Predicate that Polars passes to a source.
    schema
        Schema of the dataset.

    Returns
    -------
    pyarrow.compute.Expression
        True for every row for which the predicate is, and possibly for more; None if it would be true for all rows.
    """
    return divided(predicate, schema).filter


@dataclass(frozen=True, slots=True)
class Divided:
    """A predicate in parts.

    Parameters
    ----------
    filter
        Of conjuncts that have an expression; None if there are none. It finds exactly the rows that these do.
    rest
        The other conjuncts; None if there are none.
    fixed
        Columns of strings that have one value in all rows that are found, and these values.
    """

    filter: pc.Expression | None
    rest: pl.Expr | None
    fixed: Mapping[str, pa.Scalar]


_kept: KeptBySchema[Divided] = KeptBySchema()
"""Queries come again; to find the value of a literal, Polars runs one."""


def divided(predicate: pl.Expr, schema: pa.Schema) -> Divided:
    """Divide a predicate into what Arrow filters by, and what is left to Polars.

    Conjuncts have an expression only where Arrow finds exactly the rows that Polars does.

    Parameters
    ----------
    predicate, schema
        As for `arrow_filter`.
    """
    # What is left may hold functions of Python, with objects of their own.
    return _kept.of(_key(predicate), schema, lambda: _divided(predicate, schema), lambda made: made.rest is None)


def _key(predicate: pl.Expr) -> bytes | None:
    try:
        return predicate.meta.serialize()
    except pl.exceptions.ComputeError:
        # Functions of Python.
        return None


def _divided(predicate: pl.Expr, schema: pa.Schema) -> Divided:
    translation = _Translation(without_views(schema))
    found, rest = [], []
    fixed: dict[str, pa.Scalar] = {}
    for part in _conjuncts(predicate):
        try:
            found.append(translation.condition(part))
        except InexpressibleError:
            rest.append(part)
        else:
            fixed |= translation.fixed(part)
    return Divided(all_of(found), reduce(operator.and_, rest) if rest else None, fixed)


def _conjuncts(predicate: pl.Expr) -> list[pl.Expr]:
    if _head(predicate)[0] in ("And", "LogicalAnd"):
        return [inner for one in _arguments(predicate) for inner in _conjuncts(one)]
    return [predicate]


def _head(node: pl.Expr) -> tuple[str, Any]:
    """Return the name of a node (operator, function with its group, or kind), and its other properties."""
    found = json.loads(node.meta.serialize(format="json"))
    kind, facts = _only_item(found)
    if kind == "BinaryExpr":
        return str(facts["op"]), {}
    if kind != "Function":
        return kind, facts
    group, function = _only_item(facts["function"])
    name, facts = _only_item(function)
    return f"{group}.{name}", facts


def _only_item(found: Any) -> tuple[str, Any]:
    """Split an object with a single entry into name and content; names without content are strings."""
    return next(iter(found.items())) if isinstance(found, dict) and len(found) == 1 else (str(found), {})


def _arguments(node: pl.Expr) -> list[pl.Expr]:
    return node.meta.pop()[::-1]


class _Translation:
    """Translates conditions over the fields of one schema; raises `InexpressibleError`."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def condition(self, node: pl.Expr) -> pc.Expression:
        """Translate a condition."""
        name, facts = _head(node)
        if name == "Column" or name.startswith("StructExpr."):
            return self.column(node, pa.types.is_boolean).expression
        translate = _CONDITIONS.get(name)
        if translate is None:
            raise InexpressibleError(f"{name} is not supported")
        return translate(self, facts, *_arguments(node))

    def column(self, node: pl.Expr, is_fit: Callable[[pa.DataType], bool] = lambda type_: True) -> Operand:
        """Return a column, or a field of a struct column, of a suitable type."""
        names: list[str] = []
        name, facts = _head(node)
        while name == "StructExpr.FieldByName":
            names.append(str(facts))
            (node,) = _arguments(node)
            name, facts = _head(node)
        if name != "Column":
            raise InexpressibleError(f"{name} is not a column")
        found = Operand.at([str(facts), *reversed(names)], self._schema)
        if not is_fit(found.type):
            raise InexpressibleError(f"columns of type {found.type} are not supported here")
        return found

    def value(self, node: pl.Expr) -> Operand:
        """Return a column that can be compared, or a field of a struct column."""
        found = self.column(node)
        if isinstance(found.type, pa.DictionaryType):
            raise InexpressibleError("categories are compared by Polars")
        return found

    def fixed(self, node: pl.Expr) -> dict[str, pa.Scalar]:
        """Return the column of strings that a condition, which has an expression, compares with a text, and the text.

        Equal numbers need not be the same: zeros have signs.
        """
        if _head(node)[0] != "Eq":
            return {}
        sides = _arguments(node)
        names = [str(facts) for kind, facts in map(_head, sides) if kind == "Column"]
        values = [_literal(side) for side in sides if side.meta.is_literal()]
        texts = [value for value in values if pa.types.is_large_string(value.type)]
        return {names[0]: texts[0]} if len(names) == len(texts) == 1 and texts[0].is_valid else {}

    # --- conditions; each method translates one kind of node

    def compared(self, facts: _Facts, left: pl.Expr, right: pl.Expr, *, op: str) -> pc.Expression:
        if left.meta.is_literal():
            left, right, op = right, left, _SWAPPED.get(op, op)
        column = self.value(left)
        if _head(right)[0] in ("Column", "StructExpr.FieldByName"):
            other = self.value(right)
            # Floats have NaN, and Arrow casts where types differ.
            if other.type != column.type or not (pa.types.is_integer(column.type) or pa.types.is_temporal(column.type)):
                raise InexpressibleError("columns of these types are compared by Polars")
            return _COMPARISONS[op](column.expression, other.expression)
        found = column.compared(_COMPARISONS[op], _literal(right))
        # NaN is greater than every number.
        is_above = op in ("Gt", "GtEq") and pa.types.is_floating(column.type)
        return found | pc.is_nan(column.expression) if is_above else found

    def between(self, facts: _Facts, value: pl.Expr, low: pl.Expr, high: pl.Expr) -> pc.Expression:
        ends = str(facts.get("closed"))
        if ends not in _ENDS:
            raise InexpressibleError(f"{ends} is not supported")
        above, below = _ENDS[ends]
        return self.compared({}, value, low, op=above) & self.compared({}, value, high, op=below)

    def nan(self, facts: _Facts, node: pl.Expr) -> pc.Expression:
        return pc.is_nan(self.column(node, pa.types.is_floating).expression)

    def member(self, facts: _Facts, node: pl.Expr, members: pl.Expr) -> pc.Expression:
        listed = _literal(members)
        if facts.get("nulls_equal") or not isinstance(listed, pa.ListScalar | pa.LargeListScalar):
            raise InexpressibleError("is not a list of values")
        return self.value(node).member(listed.values or ())

    def matched(self, facts: _Facts, node: pl.Expr, text: pl.Expr, *, match: Callable[..., Any]) -> pc.Expression:
        if not facts.get("literal", True):
            raise InexpressibleError("is a regular expression")
        return self.value(node).matched(match, _literal(text))


_CONDITIONS: Mapping[str, Callable[..., pc.Expression]] = {
    **dict.fromkeys(("And", "LogicalAnd"), lambda self, facts, *two: operator.and_(*map(self.condition, two))),
    **dict.fromkeys(("Or", "LogicalOr"), lambda self, facts, *two: operator.or_(*map(self.condition, two))),
    **{op: partial(_Translation.compared, op=op) for op in _COMPARISONS},
    "Boolean.IsNull": lambda self, facts, node: self.column(node).expression.is_null(),
    "Boolean.IsNotNull": lambda self, facts, node: self.column(node).expression.is_valid(),
    "Boolean.Not": lambda self, facts, node: ~self.condition(node),
    "Boolean.IsNan": _Translation.nan,
    "Boolean.IsNotNan": lambda self, facts, node: ~_Translation.nan(self, facts, node),
    "Boolean.IsBetween": _Translation.between,
    "Boolean.IsIn": _Translation.member,
    "StringExpr.StartsWith": partial(_Translation.matched, match=pc.starts_with),
    "StringExpr.EndsWith": partial(_Translation.matched, match=pc.ends_with),
    "StringExpr.Contains": partial(_Translation.matched, match=pc.match_substring),
}


def _literal(node: pl.Expr) -> pa.Scalar:
    try:
        values = list(pl.select(node).to_series().to_arrow()) if node.meta.is_literal() else []
    except pa.ArrowInvalid as error:
        # 128-bit integers.
        raise InexpressibleError("is not a value that Arrow can hold") from error
    if len(values) != 1:
        raise InexpressibleError("is not a literal")
    return values[0]
