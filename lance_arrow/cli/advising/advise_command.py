"""`lance-arrow advise`: parsing only, as `app`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG
from lance_arrow.cli.storage import StorageOptions, parse_storage_options

OBJECTIVES = ("size", "scan", "take")


def add_advise_command(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("advise", epilog=EPILOG)(_advise)


def _advise(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A file, folder or table that convert reads: Lance, Parquet, Arrow IPC, CSV."
        ),
    ],
    objective: Annotated[
        str, typer.Option("--objective", metavar="|".join(OBJECTIVES), help="Least bytes, or fastest scans or takes.")
    ] = "size",
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", metavar="A,B", help="Columns, separated by commas; default: all."),
    ] = None,
    num_rows: Annotated[int, typer.Option("-n", "--rows", min=1, help="Rows of the sample: the first ones.")] = 65_536,
    file_version: Annotated[str, typer.Option(help="2.1, 2.2 or 2.3.")] = "2.2",
    private: Annotated[
        bool, typer.Option("--private", help="Try private codecs and layouts, too: readers need their plugins.")
    ] = False,
    storage_option: StorageOptions = None,
) -> Any:
    """Try installed codecs and layouts on a sample of each column.

    Shows what would be written, its size and its times, and the options that write it.
    """
    if objective not in OBJECTIVES:
        raise typer.BadParameter(f"{objective!r} is not one of {', '.join(OBJECTIVES)}", param_hint="--objective")
    return view("advising.advice").advise(
        path,
        objective=objective,
        columns=[name for item in columns for name in item.split(",")] if columns else None,
        num_rows=num_rows,
        file_version=file_version,
        tries_private=private,
        storage_options=parse_storage_options(storage_option),
    )
