"""`lance-arrow table ...`: parsing only, as `app`."""

from __future__ import annotations

from typing import Annotated

import typer

from lance_arrow.cli.table_view import (
    CleanReport,
    CompactReport,
    DiffReport,
    LogReport,
    ShowReport,
    clean_table,
    compact_table,
    view_diff,
    view_log,
    view_version,
)
from lance_arrow.table.data_files import DEFAULT_ROWS_PER_FILE

_EPILOG = "--json, before or after the command: print exactly one JSON document."
Table = Annotated[str, typer.Argument(metavar="TABLE", help="Folder of a table, or any URL that fsspec opens.")]
Branch = Annotated[str | None, typer.Option("--branch", "-b", metavar="NAME", help="A branch; the main line if none.")]

table_app = typer.Typer(rich_markup_mode=None, help="Tables: history, versions, upkeep.")


@table_app.command(epilog=_EPILOG)
def log(table: Table, branch: Branch = None) -> LogReport:
    """List every version, the newest first: when, what was done, and what was said of it."""
    return view_log(table, branch=branch)


@table_app.command(epilog=_EPILOG)
def show(
    table: Table,
    version: Annotated[str | None, typer.Argument(metavar="[VERSION]", help="Number or tag; the newest.")] = None,
    branch: Branch = None,
) -> ShowReport:
    """Show one version: columns, fragments, files, indices, configuration."""
    return view_version(table, version, branch=branch)


@table_app.command(epilog=_EPILOG)
def diff(
    table: Table,
    old: Annotated[str | None, typer.Argument(metavar="[V1", help="Number or tag; the version before V2.")] = None,
    new: Annotated[str | None, typer.Argument(metavar="V2]", help="Number or tag; the newest.")] = None,
    branch: Branch = None,
) -> DiffReport:
    """Compare two versions: columns, fragments, rows, configuration."""
    return view_diff(table, old, new, branch=branch)


@table_app.command(epilog=_EPILOG)
def compact(
    table: Table,
    branch: Branch = None,
    target_rows: Annotated[int, typer.Option(min=1, help="Rows that a fragment should have.")] = DEFAULT_ROWS_PER_FILE,
    drop_indices: Annotated[
        bool, typer.Option("--drop-indices", help="Drop indices that keep fragments from being rewritten.")
    ] = False,
) -> CompactReport:
    """Rewrite small fragments, and those with many deleted rows, as large ones; makes a version if that is worth it."""
    return compact_table(table, branch=branch, target_rows=target_rows, drop_indices=drop_indices)


@table_app.command(epilog=_EPILOG)
def cleanup(
    table: Table,
    branch: Branch = None,
    older_than_days: Annotated[
        float | None, typer.Option(min=0, help="Versions stay that were current within so many days; 14.")
    ] = None,
    retain: Annotated[int | None, typer.Option(min=1, help="How many of the newest versions stay in any case.")] = None,
    delete_unverified: Annotated[
        bool, typer.Option("--delete-unverified", help="Also young files that no version names: nobody may be writing.")
    ] = False,
    execute: Annotated[bool, typer.Option("--execute", help="Remove them; without, they are only listed.")] = False,
) -> CleanReport:
    """List old versions, and files that nothing needs any more; remove them with --execute."""
    return clean_table(
        table,
        branch=branch,
        days=older_than_days,
        retain=retain,
        unverified=delete_unverified,
        execute=execute,
    )
