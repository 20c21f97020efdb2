"""`lance-arrow salvage`: parsing, and the report as a file, too."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG
from lance_arrow.cli.render import print_json
from lance_arrow.cli.storage import StorageOptions, parse_storage_options


def add_salvage_command(app: typer.Typer) -> None:
    """Add the command to an application."""
    app.command("salvage", epilog=EPILOG)(_salvage)


def _salvage(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A damaged Lance file, or the folder of a table.")],
    target: Annotated[
        str | None,
        typer.Argument(metavar="[TARGET]", help="The new file or table. Without it, only the report is made."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", "-v", min=1, metavar="N", help="Version of a table; default: the newest readable."),
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", metavar="NAME", help="Branch of a table; default: the main branch.")
    ] = None,
    nulls: Annotated[
        bool,
        typer.Option("--nulls/--skip", help="Write null for lost values where their column allows it, or skip rows."),
    ] = True,
    allow_unchecked: Annotated[
        bool, typer.Option("--allow-unchecked", help="Use files without checksums, of which nothing is proven.")
    ] = False,
    with_deleted: Annotated[
        bool,
        typer.Option("--with-deleted", help="Save rows although it is lost which of them are deleted."),
    ] = False,
    allow_external: Annotated[
        bool,
        typer.Option("--allow-external", help="Read files outside of the table's folder, and blobs at any address."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report as JSON to this file.")
    ] = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Write what can be saved of a damaged file or table to a new one.

    A row is saved if its bytes match their checksums. The exit code is 1 if anything is lost. SOURCE is not changed.
    """
    with view("progress").progress(f"Salvaging {source}", "rows") as on_progress:
        made = importlib.import_module("lance_arrow.conversion.salvaging").salvage(
            source,
            target,
            version=version,
            branch=branch,
            lost="null" if nulls else "skip",
            allow_unchecked=allow_unchecked,
            with_deleted=with_deleted,
            allow_external_bases=allow_external,
            allow_external_blobs=allow_external,
            storage_options=parse_storage_options(storage_option),
            on_progress=on_progress,
        )
    if report is not None:
        with report.open("w", encoding="utf-8") as out:
            print_json(made, out)
    return made
