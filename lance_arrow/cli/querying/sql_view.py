"""Queries of DuckDB over Lance files and tables, and the rows that they give."""

from __future__ import annotations

import importlib
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa

from lance_arrow.cli.row_values import plain_rows
from lance_arrow.errors import InvalidArgumentError, UnsupportedError

_SHOWN_ROWS = 100
_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlReport:
    """Result of a query.

    `columns` are names and Arrow types; a name that repeats gets a number. `has_more` tells that rows beyond the limit
    were left out. Both `columns` and `rows` are empty for statements without a result.
    """

    format: str
    columns: dict[str, str]
    rows: list[dict[str, Any]]
    has_more: bool


def run_query(
    query: str,
    sources: Sequence[str],
    *,
    format: str = "table",
    limit: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> SqlReport:
    """Run a query over sources in a new database in memory.

    Parameters
    ----------
    query
        One or several statements; the result of the last one is reported.
    sources
        ``PATH``, named by its last part without an ending, or ``NAME=PATH``.
    format
        How the result is to be printed.
    limit
        Most rows to report; when None, 100 for the format ``"table"``, and no limit for the others.
    storage_options
        For the filesystems of URLs.

    Raises
    ------
    UnsupportedError
        DuckDB is not installed.
    InvalidArgumentError
        Two sources have one name, or DuckDB rejects the query.
    FileNotFoundError, LanceError
        As `lance_arrow.dataset`.
    """
    named = named_sources(sources)
    door = _door()
    duckdb, opening = door.duckdb, importlib.import_module("lance_arrow.arrow_dataset.opening")
    if limit is None and format == "table":
        limit = _SHOWN_ROWS
    failures: list[Exception] = []
    with duckdb.connect() as connection:
        # Otherwise a table name that is misspelt could mean a variable of this program.
        connection.execute("SET python_enable_replacements = false")
        for name, path in named.items():
            dataset = opening.dataset(path, storage_options=storage_options, strings="dictionary")
            door.register(connection, name, dataset, on_error=failures.append)
        try:
            found, has_more = _first_rows(connection.sql(query), limit)
        except (duckdb.Error, pa.ArrowException) as error:
            if failures:
                raise failures[0] from error
            if not isinstance(error, (duckdb.ProgrammingError, duckdb.DataError)):
                raise
            raise InvalidArgumentError(f"DuckDB rejects the query: {error}; sources: {', '.join(named)}") from error
    found = found.rename_columns(_different(found.column_names))
    return SqlReport(
        format=format,
        columns={field.name: str(field.type) for field in found.schema},
        rows=_rows(found),
        has_more=has_more,
    )


def named_sources(sources: Sequence[str]) -> dict[str, str]:
    """Return paths by the names that queries have for them.

    Raises
    ------
    InvalidArgumentError
        Two sources have one name, or a path gives no name.
    """
    found: dict[str, str] = {}
    for text in sources:
        named = None if os.path.lexists(text) else _NAMED.fullmatch(text)
        name, path = named.groups() if named else (_stem(text), text)
        if not name:
            raise InvalidArgumentError(f"the path {text!r} gives no name: write NAME={text}", detail=text)
        # DuckDB does not tell upper from lower case.
        twin = next((one for one in found if one.lower() == name.lower()), None)
        if twin is not None:
            raise InvalidArgumentError(
                f"{found[twin]!r} and {path!r} are both named {name!r}: write NAME={path} for one of them", detail=name
            )
        found[name] = path
    return found


def _stem(path: str) -> str:
    """Return the last part of a path or URL without its ending."""
    last = posixpath.basename(path.replace(os.sep, "/").rstrip("/"))
    if last in (".", ".."):
        last = os.path.basename(os.path.abspath(path))
    return posixpath.splitext(last)[0]


def _door() -> ModuleType:
    try:
        return importlib.import_module("lance_arrow.integrations.duckdb")
    except ModuleNotFoundError as error:
        if error.name != "duckdb":
            raise
        raise UnsupportedError("queries need DuckDB: python -m pip install 'lance-arrow[duckdb]'") from error


def _first_rows(result: Any, limit: int | None) -> tuple[pa.Table, bool]:
    """Read at most `limit` rows of a result, and tell whether there are more."""
    if result is None:
        return pa.table({}), False
    reader = pa.RecordBatchReader.from_stream(result)
    batches: list[pa.RecordBatch] = []
    num_rows = 0
    for batch in reader:
        batches.append(batch)
        num_rows += batch.num_rows
        if limit is not None and num_rows > limit:
            break
    table = pa.Table.from_batches(batches, reader.schema)
    return (table, False) if limit is None else (table.slice(0, limit), num_rows > limit)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return plain rows, with sums of integers as numbers: Arrow has them from DuckDB as decimals."""
    rows = plain_rows(table)
    for field in table.schema:
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            for row in rows:
                row[field.name] = None if row[field.name] is None else int(row[field.name])
    return rows


def _different(names: Sequence[str]) -> list[str]:
    """Number names that repeat: ``a, a`` becomes ``a, a_1``."""
    found: list[str] = []
    taken = set(names)
    for name in names:
        free, number = name, 0
        while free in found or (number and free in taken):
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return found
