"""Reports of the `table` commands: a version, the difference of two versions, compaction and cleanup."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lance_arrow.cli.log_view import VersionReport, tags_of, version_report
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.table.cleanup import CleanupReport
from lance_arrow.table.lance_table import LanceTable
from lance_arrow.table.method_arguments import DEFAULT_AGE, DEFAULT_ROWS_PER_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentReport:
    """One fragment: its rows, and its files."""

    id: int
    num_rows: int | None
    deleted_rows: int
    files: list[str]
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowReport:
    """One version, with all that its manifest says."""

    path: str
    branch: str
    version: VersionReport
    file_version: str | None
    stable_row_ids: bool
    size_bytes: int | None
    config: dict[str, str]
    metadata: dict[str, str]
    indices: dict[str, list[str]]
    columns: dict[str, str]
    fragments: list[FragmentReport]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """Differences between two versions.

    `fragments_changed` have other files, deleted rows or versions of rows. Numbers of rows are None where the table
    does not record what changed; `rows_unknown` says why.
    """

    path: str
    old: VersionReport
    new: VersionReport
    operations: list[str]
    columns_added: dict[str, str]
    columns_removed: dict[str, str]
    columns_changed: dict[str, list[str]]
    fragments_added: list[int]
    fragments_removed: list[int]
    fragments_changed: list[int]
    rows_added: int | None
    rows_removed: int | None
    rows_updated: int | None
    rows_unknown: str | None
    config_changed: dict[str, list[str | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """Result of a compaction.

    `kept_out` names, for each index, the fragments that were not rewritten because of it.
    """

    path: str
    old_version: int
    new_version: int
    num_rows: int
    old_fragments: int
    new_fragments: int
    kept_out: dict[str, list[int]] = field(default_factory=dict)
    carried_indices: list[str] = field(default_factory=list)
    dropped_indices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReport:
    """Versions and files that a cleanup removes, or has removed."""

    path: str
    report: CleanupReport


def view_version(
    uri: str, version: str | None, *, branch: str | None, storage_options: Mapping[str, Any] | None = None
) -> ShowReport:
    """Show one version, by number or tag; the newest one when None."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    if version is not None:
        table = table.checkout(_number_or_tag(version))
    manifest = table.manifest
    fragments = [fragment_report(one) for one in manifest.fragments]
    sizes = [one.size_bytes for one in fragments]
    return ShowReport(
        path=table.uri,
        branch=table.branch or "main",
        version=_of_history(table, manifest.version, tags_of(table.tags, table.branch)),
        file_version=manifest.data_format,
        stable_row_ids=manifest.facts.has_stable_row_ids,
        size_bytes=None if None in sizes else sum(size or 0 for size in sizes),
        config=dict(manifest.config),
        metadata=dict(manifest.table_metadata),
        indices={name: list(columns) for name, columns in table.indices.items()},
        columns=_columns(table.schema),
        fragments=fragments,
    )


def view_diff(
    uri: str,
    old: str | None,
    new: str | None,
    *,
    branch: str | None,
    storage_options: Mapping[str, Any] | None = None,
) -> DiffReport:
    """Compare two versions, by number or tag; the newest one with the one before it when none is given."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    history = {one.version: one for one in table.history()}
    numbers = sorted(history)
    later = table.version if new is None else chosen_version(table, new)
    if old is None:
        before = [number for number in numbers if number < later]
        if not before:
            raise InvalidArgumentError(f"there is no version before {later}", path=table.uri)
        earlier = before[-1]
    else:
        earlier = chosen_version(table, old)
    first, second = table.checkout(earlier), table.checkout(later)
    tags = tags_of(table.tags, branch)
    between = [history[number] for number in numbers if min(earlier, later) < number <= max(earlier, later)]
    found = table.diff(earlier, later)
    return DiffReport(
        path=table.uri,
        old=version_report(history[earlier], tags),
        new=version_report(history[later], tags),
        operations=[one.operation or "unknown" for one in between],
        columns_added={name: _type_text(one) for name, one in found.columns_added.items()},
        columns_removed={name: _type_text(one) for name, one in found.columns_dropped.items()},
        columns_changed={name: [_type_text(one) for one in both] for name, both in found.columns_changed.items()},
        fragments_added=list(found.fragments_added),
        fragments_removed=list(found.fragments_dropped),
        fragments_changed=list(found.fragments_changed),
        rows_added=found.rows_added,
        rows_removed=found.rows_deleted,
        rows_updated=found.rows_updated,
        rows_unknown=None if found.unknown is None else found.unknown.message,
        config_changed={
            key: [first.manifest.config.get(key), second.manifest.config.get(key)]
            for key in sorted({*first.manifest.config, *second.manifest.config})
            if first.manifest.config.get(key) != second.manifest.config.get(key)
        },
    )


def compact_table(
    uri: str,
    *,
    branch: str | None,
    target_rows: int | None = None,
    cluster_by: Sequence[str] = (),
    drop_indices: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> CompactReport:
    """Compact a table; see `LanceTable.compact`."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    version, count = table.version, len(table.manifest.fragments)
    found = table.compact(
        target_rows_per_fragment=DEFAULT_ROWS_PER_FILE if target_rows is None else target_rows,
        cluster_by=cluster_by,
        drop_indices=drop_indices,
        on_progress=on_progress,
    )
    return CompactReport(
        path=table.uri,
        old_version=version,
        new_version=table.version,
        num_rows=table.count_rows(),
        old_fragments=count,
        new_fragments=len(table.manifest.fragments),
        kept_out={name: list(ids) for name, ids in found.kept_out.items()},
        carried_indices=list(found.carried_indices),
        dropped_indices=list(found.dropped_indices),
    )


def clean_table(
    uri: str,
    *,
    branch: str | None,
    days: float | None,
    retain: int | None,
    unverified: bool,
    execute: bool,
    storage_options: Mapping[str, Any] | None = None,
) -> CleanReport:
    """Clean up a table; see `LanceTable.cleanup`."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    try:
        age = DEFAULT_AGE if days is None else datetime.timedelta(days=days)
    except OverflowError as error:
        raise InvalidArgumentError(f"{days} days are beyond the range of dates") from error
    report = table.cleanup(older_than=age, retain_versions=retain, delete_unverified=unverified, dry_run=not execute)
    return CleanReport(path=table.uri, report=report)


def _deleted(fragment: FragmentMeta) -> int:
    return 0 if fragment.deletion is None else fragment.deletion.num_deleted_rows or 0


def fragment_report(fragment: FragmentMeta) -> FragmentReport:
    """Report on one fragment of a manifest."""
    sizes = [file.size_bytes for file in fragment.files]
    return FragmentReport(
        id=fragment.id,
        num_rows=fragment.num_rows,
        deleted_rows=_deleted(fragment),
        files=[file.path for file in fragment.files],
        size_bytes=None if None in sizes else sum(size or 0 for size in sizes),
    )


def _columns(schema: pa.Schema) -> dict[str, str]:
    return {one.name: _type_text(one) for one in schema}


def _type_text(field: pa.Field) -> str:
    return str(field.type) if field.nullable else f"{field.type} not null"


def chosen_version(table: LanceTable, text: str) -> int:
    """Return a version of the table's branch, by number or tag.

    Raises
    ------
    VersionNotFoundError
        There is no such version or tag.
    InvalidArgumentError
        The tag is of another branch.
    """
    found = table.checkout(_number_or_tag(text))
    if found.manifest.branch != table.manifest.branch:
        raise InvalidArgumentError(f"{text!r} is a version of another branch", path=table.uri, detail=text)
    return found.version


def _of_history(table: LanceTable, version: int, tags: dict[int, list[str]]) -> VersionReport:
    return next(version_report(one, tags) for one in table.history() if one.version == version)


def _number_or_tag(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
