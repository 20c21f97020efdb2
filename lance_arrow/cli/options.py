"""Arguments, options and texts that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

EPILOG = (
    "--json, before or after the command: print exactly one JSON document. "
    "--wide: show all columns of a table, each row in one line."
)
# Typer brings its own copy of click, or used to bring click itself; both derive their usage errors from one class.
UsageError: Any = typer.BadParameter.__base__

Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="A table's folder: local path, or any URL that fsspec opens.")
]
Branch = Annotated[
    str | None, typer.Option("--branch", "-b", metavar="NAME", help="Branch of the table; default: the main branch.")
]
