"""Tags of a table: made, moved and removed, or only foreseen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lance_arrow.cli.table_view import chosen_version
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.manifests.references import check_tag_name, read_tag
from lance_arrow.manifests.versions import table_location
from lance_arrow.table.lance_table import LanceTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TagReport:
    """Change of a tag, made or foreseen; versions are None where there is no tag before or afterwards."""

    path: str
    branch: str
    name: str
    action: Literal["create", "move", "remove"]
    is_dry_run: bool
    old_version: int | None
    new_version: int | None


def put_tag(
    uri: str,
    name: str,
    version: str | None,
    *,
    move: bool,
    dry_run: bool,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> TagReport:
    """Tag a version, by number or tag, the newest when None; see `TableTags.create` and `TableTags.update`."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    check_tag_name(name)
    number = table.version if version is None else chosen_version(table, version)
    held = read_tag(table_location(uri, storage_options=storage_options), name) if move else table.tags.get(name)
    if held is not None and not move:
        raise InvalidArgumentError(
            f"there is a tag {name!r} already, of version {held.version}; --move moves it", path=table.uri, detail=name
        )
    if not dry_run:
        change = table.tags.update if move else table.tags.create
        change(name, number)
    return TagReport(
        path=table.uri,
        branch=table.branch or "main",
        name=name,
        action="move" if move else "create",
        is_dry_run=dry_run,
        old_version=None if held is None else held.version,
        new_version=number,
    )


def remove_tag(
    uri: str,
    name: str,
    *,
    dry_run: bool,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> TagReport:
    """Remove a tag; see `TableTags.delete`."""
    table = LanceTable.open(uri, branch=branch, storage_options=storage_options)
    held = read_tag(table_location(uri, storage_options=storage_options), name)
    if not dry_run:
        table.tags.delete(name)
    return TagReport(
        path=table.uri,
        branch=held.branch or "main",
        name=name,
        action="remove",
        is_dry_run=dry_run,
        old_version=held.version,
        new_version=None,
    )
