"""Predicates as users write them: pyarrow expressions, or DNF tuples as `pyarrow.parquet` takes them."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow.compute as pc
import pyarrow.parquet as pq

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
