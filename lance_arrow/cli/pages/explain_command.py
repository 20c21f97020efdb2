"""`lance-arrow explain`: parsing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG, UsageError
from lance_arrow.cli.storage import StorageOptions, parse_storage_options


def add_explain_command(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("explain", epilog=EPILOG)(_explain)


def _explain(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE|TABLE",
            help="A Lance file, a table's folder, or a folder of Lance files: local path, or any URL.",
        ),
    ],
    filter: Annotated[
        str | None,
        typer.Option("--filter", "-f", metavar="SQL", help='Predicate of the scan, such as "price > 10".'),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", metavar="A,B.C", help="Columns by dotted path; default: all."),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run the scan, too, and say what it did read.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="Draw a page of HTML: rows and zones, read or left out.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE", help="File for the page; default: standard output.")
    ] = None,
    version: Annotated[
        str | None,
        typer.Option("--version", "-v", metavar="N|TAG", help="Version of a table; default: the newest."),
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", metavar="NAME", help="Branch of a table; default: the main branch.")
    ] = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Show what a scan would read, and why zone maps leave out no more; metadata and zone maps are read."""
    if output is not None and not html:
        raise UsageError("--output is for pages: add --html")
    found = view("targets").Target(
        uri=target, storage_options=parse_storage_options(storage_option), version=version, branch=branch
    )
    wanted = [name for item in columns for name in item.split(",")] if columns else None
    return view("pages.explain_view").explain(found, filter=filter, columns=wanted, runs=run, html=html, output=output)
