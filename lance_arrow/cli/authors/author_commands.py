"""`lance-arrow plugins` and `lance-arrow plugins new`: parsing only, as `app`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG, UsageError
from lance_arrow.cli.words import WordsGroup

plugins_app = typer.Typer(cls=WordsGroup, rich_markup_mode=None)


@plugins_app.callback(invoke_without_command=True, epilog=EPILOG)
def _plugins(
    context: typer.Context,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Where each codec is read, and since which file version it is written.")
    ] = False,
) -> Any:
    """List installed encodings and the plugins that provide them."""
    if context.invoked_subcommand is not None:
        if matrix:
            raise UsageError(f"--matrix takes no command; leave out {context.invoked_subcommand}")
        return None
    plugins_room = view("plugin_view")
    return plugins_room.view_matrix() if matrix else plugins_room.view_plugins()


@plugins_app.command("new", epilog=EPILOG)
def _new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the distribution, such as lance-mine.")],
    native: Annotated[bool, typer.Option("--native", help="Add a C side, built by scikit-build-core.")] = False,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="New folder for the project; default: NAME.")
    ] = None,
) -> Any:
    """Write the project of a codec of your own: it builds, installs and passes the conformance kit.

    Replace its two methods by your own.
    """
    return view("authors.new_project").write_project(name, folder=folder, has_native_side=native)
