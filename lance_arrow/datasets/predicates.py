"""Predicates as users write them: pyarrow expressions, or DNF tuples as `pyarrow.parquet` takes them."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lance_arrow.assembly.pruning import Path
from lance_arrow.errors import InvalidArgumentError

Predicate: TypeAlias = pc.Expression | list[Any]


def as_expression(predicate: Predicate) -> pc.Expression:
    """Turn a predicate into an expression.

    Raises
    ------
    InvalidArgumentError
        Neither an expression nor a list of tuples.
    """
    if isinstance(predicate, pc.Expression):
        return predicate
    if isinstance(predicate, list):
        try:
            return pq.filters_to_expression(predicate)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"the filter {predicate!r} is not a list of tuples: {error}") from error
    raise InvalidArgumentError(f"the filter is {type(predicate).__name__}, expected an expression or DNF tuples")


def columns_of(expression: pc.Expression, schema: pa.Schema) -> tuple[Path, ...]:
    """Return the columns, and fields of structs, that the expression mentions.

    Without the native bridge nobody can tell, and every column is returned.

    Raises
    ------
    InvalidArgumentError
        The expression does not fit the schema.
    """
    try:
        probe = importlib.import_module("lance_arrow.datasets.column_probe")
    except ImportError:
        return tuple((name,) for name in schema.names)
    found: tuple[Path, ...] = probe.mentioned_columns(expression, schema)
    return found
