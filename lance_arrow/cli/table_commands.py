"""`lance-arrow table ...`: parsing only, as `app`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lance_arrow.cli.editing.edit_commands import add_edit_commands
from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG, Branch, Table
from lance_arrow.cli.storage import StorageOptions, parse_storage_options
from lance_arrow.cli.words import WordsGroup

table_app = typer.Typer(cls=WordsGroup, rich_markup_mode=None, help="Tables: history, versions, changes, maintenance.")
add_edit_commands(table_app)


@table_app.command("list", epilog=EPILOG)
def list_(
    root: Annotated[
        str,
        typer.Argument(metavar="ROOT", help="A folder of tables NAME.lance: local path, or any URL that fsspec opens."),
    ],
    storage_option: StorageOptions = None,
) -> Any:
    """List the tables of a folder, which is a catalog.

    Each with its newest version, rows and columns.
    """
    return view("catalog_view").list_tables(root, storage_options=parse_storage_options(storage_option))


@table_app.command(epilog=EPILOG)
def log(table: Table, branch: Branch = None, storage_option: StorageOptions = None) -> Any:
    """List all versions, newest first.

    Each with its time, operation, rows, tags and message.
    """
    return view("log_view").view_log(table, branch=branch, storage_options=parse_storage_options(storage_option))


@table_app.command(epilog=EPILOG)
def show(
    table: Table,
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Number or tag; default: the newest version.")
    ] = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Show columns, fragments and files of one version.

    Also its indices and configuration. lance-arrow head shows its rows.
    """
    return view("table_view").view_version(
        table, version, branch=branch, storage_options=parse_storage_options(storage_option)
    )


@table_app.command(epilog=EPILOG)
def diff(
    table: Table,
    old: Annotated[
        str | None, typer.Argument(metavar="[V1", help="Number or tag; default: the version before V2.")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="V2]", help="Number or tag; default: the newest version.")
    ] = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Compare columns, fragments and rows of two versions."""
    return view("table_view").view_diff(
        table, old, new, branch=branch, storage_options=parse_storage_options(storage_option)
    )


@table_app.command(epilog=EPILOG)
def compact(
    table: Table,
    branch: Branch = None,
    target_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows that a fragment should have; default: 1048576.")
    ] = None,
    cluster_by: Annotated[
        list[str] | None,
        typer.Option("--cluster-by", help="Sort all rows by this column; repeat it for more columns."),
    ] = None,
    drop_indices: Annotated[
        bool, typer.Option("--drop-indices", help="Drop indices that keep fragments from being rewritten.")
    ] = False,
    storage_option: StorageOptions = None,
) -> Any:
    """Rewrite small fragments as large ones.

    Fragments with many deleted rows are rewritten too; with --cluster-by, all fragments are. Commits a new version if
    any fragment changed.
    """
    with view("progress").progress(f"Compacting {table}", "rows") as report:
        return view("table_view").compact_table(
            table,
            branch=branch,
            target_rows=target_rows,
            cluster_by=cluster_by or (),
            drop_indices=drop_indices,
            storage_options=parse_storage_options(storage_option),
            on_progress=report,
        )


@table_app.command(epilog=EPILOG)
def cleanup(
    table: Table,
    branch: Branch = None,
    older_than_days: Annotated[
        float | None,
        typer.Option(min=0, help="Keep versions that were current within this many days; default: 14."),
    ] = None,
    retain: Annotated[int | None, typer.Option(min=1, help="Keep at least this many of the newest versions.")] = None,
    delete_unverified: Annotated[
        bool,
        typer.Option(
            "--delete-unverified",
            help="Also remove young files that no version names; safe only while no process writes the table.",
        ),
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="Remove the files; without this option they are only listed.")
    ] = False,
    storage_option: StorageOptions = None,
) -> Any:
    """List old versions and unneeded files, or remove them."""
    return view("table_view").clean_table(
        table,
        branch=branch,
        days=older_than_days,
        retain=retain,
        unverified=delete_unverified,
        execute=execute,
        storage_options=parse_storage_options(storage_option),
    )
