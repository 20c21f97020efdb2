"""Predicates as users write them: pyarrow expressions, DNF tuples as `pyarrow.parquet` takes them, SQL."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lance_arrow.errors import InvalidArgumentError, UnsupportedError

Predicate: TypeAlias = pc.Expression | list[Any] | str


def as_expression(predicate: Predicate, schema: pa.Schema | None = None) -> pc.Expression:
    """Turn a predicate into an expression.

    Parameters
    ----------
    predicate
        An expression, tuples, or a string of SQL; see `parse_sql`.
    schema
        Columns it is about: SQL reads its literals accordingly.

    Raises
    ------
    InvalidArgumentError
        Neither an expression nor a list of tuples nor SQL that is understood.
    UnsupportedError
        SQL, but sqlglot is not installed.
    """
    if isinstance(predicate, pc.Expression):
        return predicate
    if isinstance(predicate, str):
        return _from_sql(predicate, schema)
    if isinstance(predicate, list):
        try:
            return pq.filters_to_expression(predicate)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"the filter {predicate!r} is not a list of tuples: {error}") from error
    raise InvalidArgumentError(
        f"the filter is {type(predicate).__name__}, expected an expression, DNF tuples or a string of SQL"
    )


def _from_sql(text: str, schema: pa.Schema | None) -> pc.Expression:
    try:
        module = importlib.import_module("lance_arrow.datasets.sql_predicates")
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise UnsupportedError("filters in SQL need sqlglot: python -m pip install 'lance-arrow[sql]'") from error
    found: pc.Expression = module.parse_sql(text, schema)
    return found
