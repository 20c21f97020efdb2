"""`lance-arrow convert` and `lance-arrow export`: parsing only, as `app`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG
from lance_arrow.cli.storage import StorageOptions, parse_storage_options
from lance_arrow.errors import InvalidArgumentError


def add_convert_commands(app: typer.Typer) -> None:
    """Add the two commands to an application."""
    app.command("convert", epilog=EPILOG)(_convert)
    app.command("export", epilog=EPILOG)(_export)


def _convert(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="IN... OUT",
            help="Files, folders (hive partitions become columns), patterns or tables: Parquet, CSV, JSON lines, "
            "Arrow IPC, ORC, Lance; and the new Lance file or table.",
        ),
    ],
    table: Annotated[
        bool | None,
        typer.Option("--table/--file", help="Make OUT a table, or a file; a table where IN is one table."),
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the rows to the table OUT.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file OUT; of a table, make a new version.")
    ] = False,
    cast_: Annotated[
        list[str] | None,
        typer.Option("--cast", metavar="COLUMN=TYPE", help="Type of a column: int32, string, timestamp[us, tz=UTC]."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="COLUMN", help="A column to leave out.")
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="SCHEMA",
            help="Columns and types of OUT: a file whose schema is taken, or 'name: type, name: type'.",
        ),
    ] = None,
    file_version: Annotated[str | None, typer.Option(help="2.0, 2.1, 2.2 or 2.3; 2.2.")] = None,
    preset: Annotated[str, typer.Option(help="default, fast or compact.")] = "default",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read the sources and check every value, but write nothing.")
    ] = False,
    storage_option: StorageOptions = None,
) -> Any:
    """Convert files or tables to one Lance file or table, and verify it.

    All or nothing: a conversion that fails or is killed leaves no file and no version, and changes nothing that was
    there. An existing OUT is refused without --overwrite or --append, one that is among IN always.
    """
    if len(paths) < 2:
        raise typer.BadParameter("give what to convert, then the new file or table", param_hint="IN... OUT")
    *sources, target = paths
    options = parse_storage_options(storage_option)
    converting = importlib.import_module("lance_arrow.conversion.converting")
    what = sources[0] if len(sources) == 1 else f"{len(sources)} sources"
    with view("progress").progress(f"Converting {what}", "bytes") as report:
        return converting.convert(
            sources,
            target,
            table=table,
            append=append,
            overwrite=overwrite,
            casts=parse_pairs(cast_, "--cast"),
            exclude=exclude or (),
            schema=None if schema is None else _schema(schema, options),
            file_version=file_version,
            preset=preset,
            storage_options=options,
            dry_run=dry_run,
            on_progress=report,
        )


def _export(
    source: Annotated[str, typer.Argument(metavar="IN", help="Lance file or table.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The new file: .parquet, .csv, .arrow, .feather.")],
    format: Annotated[
        str | None, typer.Option("--format", help="parquet, csv or ipc, where the name does not tell.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--columns", "-c", metavar="A,B.C", help="Dotted paths; all when not given.")
    ] = None,
    filter: Annotated[
        str | None, typer.Option("--filter", metavar="SQL", help="Only rows for which this holds: 'a > 3'.")
    ] = None,
    version: Annotated[int | None, typer.Option(min=1, help="Version of a table.")] = None,
    tag: Annotated[str | None, typer.Option(metavar="NAME", help="Tag of a table.")] = None,
    compression: Annotated[
        str | None, typer.Option(help="Parquet: snappy, zstd, lz4, gzip, brotli, none; IPC: zstd, lz4, none.")
    ] = None,
    row_group_size: Annotated[int | None, typer.Option(min=1, help="Rows of a row group.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file OUT.")] = False,
    storage_option: StorageOptions = None,
) -> Any:
    """Write a Lance file or table as Parquet, CSV or Arrow IPC: all or nothing."""
    exporting = importlib.import_module("lance_arrow.conversion.exporting")
    with view("progress").progress(f"Exporting {source}", "rows") as report:
        return exporting.export(
            source,
            target,
            format=format,
            columns=[name for item in columns for name in item.split(",")] if columns else None,
            filter=filter,
            version=version,
            tag=tag,
            compression=compression,
            row_group_size=row_group_size,
            overwrite=overwrite,
            storage_options=parse_storage_options(storage_option),
            on_progress=report,
        )


def parse_pairs(items: Sequence[str] | None, option: str) -> dict[str, str]:
    """Parse ``NAME=VALUE`` of an option; the last one of a name wins."""
    found: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{item!r} is not of the form NAME=VALUE", param_hint=option)
        found[name] = value
    return found


def _schema(text: str, storage_options: dict[str, Any] | None) -> Any:
    """Take a schema from a file, or from text where there is no such file."""
    if os.path.lexists(text) or "://" in text or ":" not in text:
        return importlib.import_module("lance_arrow.conversion.schema_files").read_schema_of(text, storage_options)
    try:
        return importlib.import_module("lance_arrow.conversion.type_names").parse_schema(text)
    except InvalidArgumentError as error:
        raise typer.BadParameter(error.message, param_hint="--schema") from error
