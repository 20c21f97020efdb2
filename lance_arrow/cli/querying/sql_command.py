"""`lance-arrow sql`: parsing only, as `app`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG
from lance_arrow.cli.storage import StorageOptions, parse_storage_options

FORMATS = ("table", "csv", "json", "jsonl")


def add_sql_command(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("sql", epilog=EPILOG)(_sql)


def _sql(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="SQL of DuckDB: 'SELECT carrier, count(*) FROM flights GROUP BY ALL'."),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE|TABLE...",
            help="Lance files, tables, or folders of Lance files. Without NAME, a source is named as its path is, "
            "without the ending: flights.lance is flights.",
        ),
    ],
    format: Annotated[
        str, typer.Option("--format", metavar="|".join(FORMATS), help="Output; jsonl is a JSON object on each line.")
    ] = "table",
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=0, help="Most rows to show; default: 100 as a table, all in other formats."),
    ] = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Query files and tables with DuckDB.

    Needs the extra duckdb. The rows of the result are held in memory; for large results, COPY (SELECT ...) TO
    'result.parquet' writes a file.
    """
    if format not in FORMATS:
        raise typer.BadParameter(f"{format!r} is not one of {', '.join(FORMATS)}", param_hint="--format")
    return view("querying.sql_view").run_query(
        query, sources, format=format, limit=limit, storage_options=parse_storage_options(storage_option)
    )
