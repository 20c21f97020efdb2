"""Integers of JSON that a double would round: beyond 2**53, in a column that also has fractions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

EXACT_IN_DOUBLE = 2**53
"""A double holds every integer up to this one."""


def long_numbers(array: pa.Array, path: str) -> Iterator[tuple[str, pa.DataType]]:
    """Yield paths and types of the int64 and double fields, at any depth, with a finite value beyond 2**53."""
    type_ = array.type
    if pa.types.is_int64(type_) or pa.types.is_float64(type_):
        known = array.filter(pc.is_finite(array))
        bounds = pc.min_max(known).as_py()
        if bounds["max"] is not None and max(-bounds["min"], bounds["max"]) >= EXACT_IN_DOUBLE:
            yield path, type_
    elif pa.types.is_struct(type_):
        for at in range(type_.num_fields):
            yield from long_numbers(array.field(at), f"{path}.{type_.field(at).name}")
    elif pa.types.is_list(type_):
        yield from long_numbers(array.flatten(), f"{path}.{type_.value_field.name}")


def rounded_integers(block: bytes, field: pa.Field) -> set[str]:
    """Return the paths of the double fields of a column for which a text has an integer that a double rounds.

    Parameters
    ----------
    block
        Lines of JSON objects.
    field
        The column.
    """
    found: set[str] = set()
    for line in block.splitlines():
        if line.strip():
            found.update(_rounded(json.loads(line).get(field.name), field.type, field.name))
    return found


def _rounded(value: Any, type_: pa.DataType, path: str) -> Iterator[str]:
    if pa.types.is_float64(type_):
        if isinstance(value, int) and not _is_exact(value):
            yield path
    elif isinstance(value, dict) and pa.types.is_struct(type_):
        for at in range(type_.num_fields):
            name = type_.field(at).name
            yield from _rounded(value.get(name), type_.field(at).type, f"{path}.{name}")
    elif isinstance(value, list) and pa.types.is_list(type_):
        for one in value:
            yield from _rounded(one, type_.value_type, f"{path}.{type_.value_field.name}")


def _is_exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def is_double(fields: Sequence[pa.Field], path: str) -> bool:
    """Tell whether the field at a path is a double.

    Parameters
    ----------
    fields
        Columns.
    path
        Dotted path of one of their fields.
    """
    for field in fields:
        if field.name == path:
            return bool(pa.types.is_float64(field.type))
        if path.startswith(f"{field.name}."):
            inner = [field.type.field(at) for at in range(field.type.num_fields)]
            if is_double(inner, path[len(field.name) + 1 :]):
                return True
    return False
