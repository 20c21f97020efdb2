"""Bound expressions as people write them: for plans and receipts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lance_arrow.pruning.zone_predicates import Tree

_INFIX = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
    "and_kleene": "and", "or_kleene": "or", "and": "and", "or": "or", "add": "+", "add_checked": "+", "subtract": "-",
    "subtract_checked": "-", "multiply": "*", "multiply_checked": "*", "divide": "/", "divide_checked": "/",
}  # fmt: skip
_MAX_LISTED = 5


def text_of(node: Tree) -> str:
    """Print a tree as `expression_tree` returns it; casts that only fit types together are left out."""
    if node[0] == "literal":
        return _value(node[1])
    if node[0] == "field":
        return ".".join(node[1])
    _, name, arguments, options, type_ = node
    shown = [text_of(one) for one in arguments]
    if name in _INFIX:
        return "(" + f" {_INFIX[name]} ".join(shown) + ")"
    if name == "cast":
        return shown[0] if arguments[0][0] == "literal" else f"cast({shown[0]}, {type_})"
    if name == "is_in" and isinstance(options, tuple):
        return f"{shown[0]} in {_listed(options[0])}"
    if name == "invert":
        return f"not {shown[0]}"
    if isinstance(options, tuple) and isinstance(options[0], bytes):
        shown.append(repr(options[0].decode("utf-8", "backslashreplace")))
    return f"{name or 'something'}({', '.join(shown)})"


def _value(value: Any) -> str:
    if not isinstance(value, pa.Scalar):
        return _listed(value)
    try:
        found = value.as_py()
    except (ValueError, OverflowError):
        return str(value)
    return repr(found) if isinstance(found, (str, bytes)) else str(found)


def _listed(values: pa.Array | pa.ChunkedArray) -> str:
    shown = ", ".join(_value(value) for value in values[:_MAX_LISTED])
    more = f", and {len(values) - _MAX_LISTED:,} more" if len(values) > _MAX_LISTED else ""
    return f"[{shown}{more}]"
