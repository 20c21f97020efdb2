"""`arrow_filter`: what of a Polars predicate Arrow can say, meaning the same.

Conditions that must all hold are looked at one by one; one that is not understood is left to Polars. The two differ
in NaN (to Polars the largest number, and equal to itself; to Arrow neither equal nor less nor greater), and in what
happens to literals of other types: both are said here as Polars means them, or not at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.scan.predicates import all_of, type_at

_COMPARISONS: dict[str, tuple[str, str]] = {
    "Eq": ("equal", "Eq"),
    "NotEq": ("not_equal", "NotEq"),
    "Lt": ("less", "Gt"),
    "LtEq": ("less_equal", "GtEq"),
    "Gt": ("greater", "Lt"),
    "GtEq": ("greater_equal", "LtEq"),
}
"""For each operator of Polars, Arrow's function, and the operator with its sides swapped."""

_NULL = pc.scalar(pa.scalar(None, pa.bool_()))


def arrow_filter(predicate: pl.Expr, schema: pa.Schema) -> pc.Expression | None:
    """Translate a predicate, or what of it can be.

    Parameters
    ----------
    predicate
        As Polars hands it to a source.
    schema
        Of the dataset.

    Returns
    -------
    pyarrow.compute.Expression
        True of every row of which the predicate is, and possibly of more; None when it would be true of all.
    """
    return all_of(_Translation(schema).condition(one) for one in _conjuncts(predicate))


def _conjuncts(predicate: pl.Expr) -> list[pl.Expr]:
    kind, what = _head(predicate)
    if kind == "BinaryExpr" and what["op"] in ("And", "LogicalAnd"):
        return [inner for one in _arguments(predicate) for inner in _conjuncts(one)]
    return [predicate]


def _head(node: pl.Expr) -> tuple[str, Any]:
    """What a node is, and its facts, its arguments among them."""
    found = json.loads(node.meta.serialize(format="json"))
    return next(iter(found.items())) if isinstance(found, dict) and len(found) == 1 else ("", None)


def _arguments(node: pl.Expr) -> list[pl.Expr]:
    return node.meta.pop()[::-1]


class _Translation:
    """Translates conditions over the fields of one schema; None for what cannot be said exactly."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def condition(self, node: pl.Expr) -> pc.Expression | None:
        """Say a condition."""
        kind, what = _head(node)
        if kind == "BinaryExpr":
            return self._binary(str(what["op"]), node)
        if kind == "Column":
            field, type_ = self._field(node)
            return field if type_ is not None and pa.types.is_boolean(type_) else None
        if kind != "Function":
            return None
        function = what["function"]
        if not isinstance(function, dict) or len(function) != 1:
            return None
        group, name = next(iter(function.items()))
        facts: dict[str, Any] = {}
        if isinstance(name, dict) and len(name) == 1:
            name, facts = next(iter(name.items()))
        say = _FUNCTIONS.get((group, str(name)))
        return None if say is None else say(self, _arguments(node), facts)

    def _binary(self, op: str, node: pl.Expr) -> pc.Expression | None:
        left, right = _arguments(node)
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            one, other = self.condition(left), self.condition(right)
            if one is None or other is None:
                return None
            return one | other if op.endswith("Or") else one & other
        if op not in _COMPARISONS:
            return None
        if left.meta.is_literal():
            left, right, op = right, left, _COMPARISONS[op][1]
        return self._compared(op, left, right)

    def _compared(self, op: str, left: pl.Expr, right: pl.Expr) -> pc.Expression | None:
        field, type_ = self._field(left)
        if field is None or type_ is None or not right.meta.is_literal():
            return None
        value = _literal(right, type_)
        if value is None:
            return None
        found = pc.Expression._call(_COMPARISONS[op][0], [field, pc.scalar(value)])
        # NaN is greater than every number.
        return found | pc.is_nan(field) if op in ("Gt", "GtEq") and pa.types.is_floating(type_) else found

    def _field(self, node: pl.Expr) -> tuple[pc.Expression | None, pa.DataType | None]:
        """A column, or a field of a struct in one, and its type."""
        names: list[str] = []
        kind, what = _head(node)
        while kind == "Function" and list(what["function"]) == ["StructExpr"]:
            step = what["function"]["StructExpr"]
            if not isinstance(step, dict) or list(step) != ["FieldByName"]:
                return None, None
            names.append(str(step["FieldByName"]))
            (node,) = _arguments(node)
            kind, what = _head(node)
        path = [str(what), *reversed(names)]
        type_ = type_at(self._schema, path) if kind == "Column" else None
        return (None, None) if type_ is None else (pc.field(*path), type_)

    def null(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        field, _ = self._field(arguments[0])
        return None if field is None else field.is_null()

    def not_null(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        field, _ = self._field(arguments[0])
        return None if field is None else field.is_valid()

    def inverted(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        found = self.condition(arguments[0])
        return None if found is None else ~found

    def nan(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        field, type_ = self._field(arguments[0])
        return None if field is None or not pa.types.is_floating(type_) else pc.is_nan(field)

    def not_nan(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        found = self.nan(arguments, facts)
        return None if found is None else ~found

    def between(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        ends = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
        closed = ends.get(str(facts.get("closed")))
        if closed is None:
            return None
        value, low, high = arguments
        above, below = self._compared(closed[0], value, low), self._compared(closed[1], value, high)
        return None if above is None or below is None else above & below

    def member(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        field, type_ = self._field(arguments[0])
        if field is None or type_ is None or facts.get("nulls_equal") or not arguments[1].meta.is_literal():
            return None
        listed = pl.select(arguments[1]).to_series()
        values = [] if not isinstance(listed.dtype, pl.List) else list(listed.explode().to_arrow())
        wanted = [_fitted(value, type_) for value in values]
        if not wanted or any(one is None for one in wanted):
            return None
        if pa.types.is_floating(type_) and any(one.as_py() == 0 for one in wanted):
            # Arrow's lookup tells the two zeros apart.
            return None
        # Null is no member, and no non-member either.
        return pc.if_else(field.is_valid(), field.isin(pa.array([one.as_py() for one in wanted], type_)), _NULL)  # type: ignore[union-attr]

    def starts_with(self, arguments: list[pl.Expr], facts: dict[str, Any]) -> pc.Expression | None:
        field, type_ = self._field(arguments[0])
        if field is None or not (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
            return None
        value = _literal(arguments[1], pa.string()) if arguments[1].meta.is_literal() else None
        return None if value is None else pc.starts_with(field, value.as_py())


_FUNCTIONS: dict[tuple[str, str], Callable[[_Translation, list[pl.Expr], dict[str, Any]], pc.Expression | None]] = {
    ("Boolean", "IsNull"): _Translation.null,
    ("Boolean", "IsNotNull"): _Translation.not_null,
    ("Boolean", "Not"): _Translation.inverted,
    ("Boolean", "IsNan"): _Translation.nan,
    ("Boolean", "IsNotNan"): _Translation.not_nan,
    ("Boolean", "IsBetween"): _Translation.between,
    ("Boolean", "IsIn"): _Translation.member,
    ("StringExpr", "StartsWith"): _Translation.starts_with,
}


def _literal(node: pl.Expr, type_: pa.DataType) -> pa.Scalar | None:
    values = pl.select(node).to_series().to_arrow()
    return _fitted(values[0], type_) if len(values) == 1 else None


def _fitted(value: pa.Scalar, type_: pa.DataType) -> pa.Scalar | None:
    """A literal as a value of a column's type; None unless both engines would compare just these two."""
    if (
        not value.is_valid
        or pa.types.is_nested(type_)
        or pa.types.is_dictionary(type_)
        or _family(value.type) != _family(type_)
    ):
        return None
    if pa.types.is_floating(value.type) and math.isnan(value.as_py()):
        return None
    try:
        found = value.cast(type_)
        return found if found.cast(value.type).equals(value) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _family(type_: pa.DataType) -> str:
    """Types within one of which casts keep values, or fail."""
    types = pa.types
    if types.is_integer(type_):
        return "integer"
    if types.is_floating(type_):
        return "float" if type_.bit_width >= 32 else "half"
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    if types.is_timestamp(type_):
        return f"timestamp {type_.tz}"
    return str(type_)
