"""Deleting rows and restoring a version: the change in numbers, made or only foreseen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lance_arrow.cli.table_view import chosen_version
from lance_arrow.manifests.writing import editable
from lance_arrow.scan.predicates import Predicate
from lance_arrow.table.lance_table import LanceTable
from lance_arrow.table.row_addresses import RowAddresses
from lance_arrow.table.row_deletion import ADDRESS, check_addresses_free


@dataclass(frozen=True, slots=True, kw_only=True)
class EditReport:
    """Change of the rows of a table, made or foreseen.

    `new_version` is None in a dry run. `fragments_removed` have no rows left; `fragments_changed` have other deleted
    rows. Numbers of added, deleted and updated rows are None where the table does not record them; `rows_unknown` says
    why. `restored_version` is the version that a restore brings back.
    """

    path: str
    branch: str
    operation: Literal["delete", "restore"]
    is_dry_run: bool
    old_version: int
    new_version: int | None
    rows_before: int
    rows_after: int
    rows_added: int | None
    rows_deleted: int | None
    rows_updated: int | None
    fragments_added: list[int]
    fragments_removed: list[int]
    fragments_changed: list[int]
    rows_unknown: str | None = None
    restored_version: int | None = None


def delete_rows(
    uri: str,
    where: str,
    *,
    dry_run: bool,
    message: str | None = None,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> EditReport:
    """Delete the rows that satisfy a predicate in SQL, or count them; see `LanceTable.delete`."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    if dry_run:
        return _foreseen_deletion(table, where)
    opened = table.checkout(table.version)
    table.delete(where, message=message)
    before = _before(opened, table)
    old = {one.id: one for one in before.manifest.fragments}
    new = {one.id: one for one in table.manifest.fragments}
    return _deletion(
        before,
        table.version,
        rows_after=table.count_rows(),
        removed=sorted(old.keys() - new.keys()),
        changed=[one for one, held in sorted(new.items()) if held.deletion != old[one].deletion],
    )


def restore_version(
    uri: str,
    version: str,
    *,
    dry_run: bool,
    message: str | None = None,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> EditReport:
    """Restore a version, by number or tag, or compare it with the newest one; see `LanceTable.restore`."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    number = chosen_version(table, version)
    before, old = table.checkout(table.version), table.checkout(number)
    if dry_run:
        editable(table.manifest)
        editable(old.manifest)
    else:
        table.restore(number, message=message)
        before = _before(before, table)
    found = before.diff(before.version, number)
    return EditReport(
        path=table.uri,
        branch=table.branch or "main",
        operation="restore",
        is_dry_run=dry_run,
        old_version=before.version,
        new_version=None if dry_run else table.version,
        rows_before=before.count_rows(),
        rows_after=old.count_rows(),
        rows_added=found.rows_added,
        rows_deleted=found.rows_deleted,
        rows_updated=found.rows_updated,
        rows_unknown=None if found.unknown is None else found.unknown.message,
        fragments_added=list(found.fragments_added),
        fragments_removed=list(found.fragments_dropped),
        fragments_changed=list(found.fragments_changed),
        restored_version=number,
    )


def _foreseen_deletion(table: LanceTable, where: str) -> EditReport:
    """Count what a deletion would change, after the checks that it would begin with."""
    editable(table.manifest)
    check_addresses_free(table.schema.names)
    live, gone = _addresses(table, None), _addresses(table, where)
    sizes = {fragment: len(offsets) for fragment, offsets in live.by_fragment()}
    counts = {fragment: len(offsets) for fragment, offsets in gone.by_fragment()}
    return _deletion(
        table,
        None,
        rows_after=len(live) - len(gone),
        removed=[one for one, count in counts.items() if count == sizes[one]],
        changed=[one for one, count in counts.items() if count < sizes[one]],
    )


def _deletion(
    before: LanceTable, new_version: int | None, *, rows_after: int, removed: list[int], changed: list[int]
) -> EditReport:
    rows_before = before.count_rows()
    return EditReport(
        path=before.uri,
        branch=before.branch or "main",
        operation="delete",
        is_dry_run=new_version is None,
        old_version=before.version,
        new_version=new_version,
        rows_before=rows_before,
        rows_after=rows_after,
        rows_added=0,
        rows_deleted=rows_before - rows_after,
        rows_updated=0,
        fragments_added=[],
        fragments_removed=removed,
        fragments_changed=changed,
    )


def _addresses(table: LanceTable, where: Predicate | None) -> RowAddresses:
    found = RowAddresses()
    for batch in table.to_batches([ADDRESS], where):
        found.add(batch.column(0).to_numpy(zero_copy_only=False))
    return found


def _before(opened: LanceTable, made: LanceTable) -> LanceTable:
    """Return the version before one that was just made: others may have committed since the table was opened."""
    return opened if opened.version + 1 == made.version else made.checkout(made.version - 1)
