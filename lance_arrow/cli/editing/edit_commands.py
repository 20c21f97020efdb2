"""The commands that change a table: parsing only, as `app`."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer

from lance_arrow.cli.lazy import view
from lance_arrow.cli.options import EPILOG, Branch, Table
from lance_arrow.cli.storage import StorageOptions, parse_storage_options

Message = Annotated[
    str | None, typer.Option("--message", "-m", metavar="TEXT", help="Text that table log shows with the version.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what would change, in numbers, and write nothing.")]


def add_edit_commands(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for name, command in (("delete", _delete), ("append", _append), ("restore", _restore), ("tag", _tag)):
        app.command(name, epilog=EPILOG)(command)


def _delete(
    table: Table,
    where: Annotated[str, typer.Argument(metavar="WHERE", help="Predicate in SQL: 'id < 10'. true deletes all rows.")],
    dry_run: DryRun = False,
    message: Message = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Delete the rows that satisfy a predicate.

    Commits a new version. Older versions keep the rows until a cleanup removes them.
    """
    return view("editing.row_edits").delete_rows(
        table,
        where,
        dry_run=dry_run,
        message=message,
        branch=branch,
        storage_options=parse_storage_options(storage_option),
    )


def _append(
    table: Table,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="Files, folders, patterns or tables, as for convert: Parquet, CSV, JSON lines, Arrow IPC, ORC, Lance.",
        ),
    ],
    cast_: Annotated[
        list[str] | None, typer.Option("--cast", metavar="COLUMN=TYPE", help="Type of a column, as for convert.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="COLUMN", help="A column to leave out.")
    ] = None,
    dry_run: DryRun = False,
    storage_option: StorageOptions = None,
) -> Any:
    """Add the rows of files or tables to a table, and verify them.

    Rows go to the main branch. A dry run reads all rows and checks every value. lance-arrow convert --append does the
    same with the table last.
    """
    converting = importlib.import_module("lance_arrow.conversion.converting")
    pairs = importlib.import_module("lance_arrow.cli.convert_commands").parse_pairs
    what = sources[0] if len(sources) == 1 else f"{len(sources)} sources"
    with view("progress").progress(f"{'Checking' if dry_run else 'Appending'} {what}", "bytes") as report:
        return converting.convert(
            sources,
            table,
            append=True,
            casts=pairs(cast_, "--cast"),
            exclude=exclude or (),
            storage_options=parse_storage_options(storage_option),
            dry_run=dry_run,
            on_progress=report,
        )


def _restore(
    table: Table,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="Number or tag of a version of the branch.")],
    dry_run: DryRun = False,
    message: Message = None,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Make the content of an older version the newest version.

    Commits a new version. The versions in between stay.
    """
    return view("editing.row_edits").restore_version(
        table,
        version,
        dry_run=dry_run,
        message=message,
        branch=branch,
        storage_options=parse_storage_options(storage_option),
    )


def _tag(
    table: Table,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, '.', '-' and '_'.")],
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Number or tag; default: the newest version.")
    ] = None,
    move: Annotated[bool, typer.Option("--move", help="Move a tag that exists.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Remove the tag; its version stays.")] = False,
    dry_run: DryRun = False,
    branch: Branch = None,
    storage_option: StorageOptions = None,
) -> Any:
    """Tag a version, move a tag, or remove one.

    lance-arrow table log lists the tags.
    """
    if delete and (move or version is not None):
        raise typer.BadParameter("takes neither VERSION nor --move", param_hint="--delete")
    edits = view("editing.tag_edits")
    options = parse_storage_options(storage_option)
    if delete:
        return edits.remove_tag(table, name, dry_run=dry_run, branch=branch, storage_options=options)
    return edits.put_tag(table, name, version, move=move, dry_run=dry_run, branch=branch, storage_options=options)
