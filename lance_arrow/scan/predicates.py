"""Predicates as users write them: pyarrow expressions, DNF tuples as `pyarrow.parquet` takes them, SQL.

And what is wrong with one that does not fit a schema, without the listings of pyarrow's own messages.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import and_
from types import ModuleType
from typing import Any, TypeAlias

import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError, UnsupportedError, did_you_mean
from lance_arrow.late_arrow import pc

Predicate: TypeAlias = "pc.Expression | list[Any] | str"

MISFITS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError)
"""What pyarrow raises for an expression that does not fit a schema, or fails on a value."""
# As Arrow prints references: FieldRef.Name(a), or FieldRef.Nested(FieldRef.Name(a) FieldRef.Name(b)).
_ABSENT = re.compile(r"No match for FieldRef\.(Name|Nested)\((.*?)\)+ in ", re.DOTALL)
_STEP = re.compile(r"FieldRef\.Name\(([^()]*)\)?")


def misfit(error: Exception, schema: pa.Schema) -> str:
    """Say why an expression or a column does not fit a schema: the name that is wrong, or pyarrow's first line.

    Parameters
    ----------
    error
        One of `MISFITS`.
    schema
        What it does not fit.
    """
    found = _ABSENT.match(str(error))
    if found is None:
        return str(error).partition("\n")[0]
    kind, text = found.groups()
    path = [text] if kind == "Name" else _STEP.findall(text)
    above = path[:-1]
    while above and not isinstance(type_at(schema, above), pa.StructType):
        above.pop()
    level: Any = type_at(schema, above) if above else schema
    known = [".".join([*above, field.name]) for field in level]
    name = ".".join(path)
    return f"there is no column {name!r}, expected one of {', '.join(known)}{did_you_mean(name, known)}"


@contextlib.contextmanager
def fitting(problem: str, schema: pa.Schema, expression: pc.Expression | None = None, **place: Any) -> Iterator[None]:
    """Turn what pyarrow raises for an expression, or a column, that does not fit a schema into `InvalidArgumentError`.

    Its message begins with `problem`, where ``{}`` stands for the expression; `place` is as for `InvalidArgumentError`.
    """
    try:
        yield
    except MISFITS as error:
        raise InvalidArgumentError(f"{problem.format(expression)}: {misfit(error, schema)}", **place) from error


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
        `predicate` is neither an expression nor a list of tuples, or it is SQL that is not supported.
    UnsupportedError
        SQL, but sqlglot is not installed.
    """
    if isinstance(predicate, pc.Expression):
        return predicate
    if isinstance(predicate, str):
        from lance_arrow.arrays.view_arrays import without_views  # noqa: PLC0415 - for SQL alone

        # Literals of text are strings: Arrow compares views with views alone.
        plain = None if schema is None else without_views(schema)
        found: pc.Expression = sql_reader("filters").parse_sql(predicate, plain)
        return found
    if isinstance(predicate, list):
        try:
            return importlib.import_module("pyarrow.parquet").filters_to_expression(predicate)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(f"the filter {predicate!r} is not a list of tuples: {error}") from error
    raise InvalidArgumentError(
        f"the filter is {type(predicate).__name__}, expected an expression, DNF tuples or a string of SQL"
    )


def all_of(conditions: Iterable[pc.Expression | None]) -> pc.Expression | None:
    """Join conditions by AND; None if there is no condition."""
    found = [one for one in conditions if one is not None]
    return reduce(and_, found) if found else None


def type_at(schema: pa.Schema, path: Sequence[str]) -> pa.DataType | None:
    """Return the type of a column, or of a field of a struct in one; None where a path leads to neither."""
    level: Any = schema
    for name in path:
        place = level.get_field_index(name) if isinstance(level, pa.Schema | pa.StructType) else -1
        if place < 0:
            return None
        level = level.field(place).type
    return level if path else None


def sql_reader(what: str) -> ModuleType:
    """Import `sql_predicates`; raises `UnsupportedError` without sqlglot: `what`, in the plural, need it."""
    try:
        return importlib.import_module("lance_arrow.scan.sql_predicates")
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise UnsupportedError(f"{what} in SQL need sqlglot: python -m pip install 'lance-arrow[sql]'") from error
