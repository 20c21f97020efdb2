"""Report of `table log`: the history of a table, from its manifests. Nothing that reads or writes rows is imported."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lance_arrow.manifests.references import TagMeta, line_name, read_branches, read_tags
from lance_arrow.manifests.versions import VersionChoice, open_version, table_location
from lance_arrow.runtime import default_runtime
from lance_arrow.table.history import VersionMeta, read_history


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionReport:
    """One version."""

    version: int
    timestamp: datetime.datetime | None
    operation: str | None
    message: str | None
    num_rows: int | None
    num_fragments: int
    read_version: int | None
    writer: str | None
    tags: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """All versions of a line that are left, the newest first."""

    path: str
    branch: str
    branches: list[str]
    versions: list[VersionReport]


def view_log(uri: str, *, branch: str | None, storage_options: Mapping[str, Any] | None = None) -> LogReport:
    """List the versions of a table; errors are those of `LanceTable.open`."""
    root = table_location(uri, storage_options=storage_options)
    limits = default_runtime().settings.limits
    # Refuses what `LanceTable.open` refuses: a branch that does not exist, a newest version with unknown features.
    open_version(root, VersionChoice(branch=branch), limits)
    tags = tags_of(read_tags(root), branch)
    return LogReport(
        path=root.name,
        branch=branch or "main",
        branches=sorted(read_branches(root)),
        versions=[version_report(one, tags) for one in read_history(root, line_name(branch), limits)],
    )


def tags_of(tags: Mapping[str, TagMeta], branch: str | None) -> dict[int, list[str]]:
    """Return the tags of a branch by the number of their version."""
    own = line_name(branch)
    found: dict[int, list[str]] = {}
    for name, tag in sorted(tags.items()):
        if tag.branch == own:
            found.setdefault(tag.version, []).append(name)
    return found


def version_report(meta: VersionMeta, tags: Mapping[int, list[str]]) -> VersionReport:
    """Report on one version."""
    return VersionReport(
        version=meta.version,
        timestamp=meta.timestamp,
        operation=meta.operation,
        message=meta.message,
        num_rows=meta.num_rows,
        num_fragments=meta.num_fragments,
        read_version=None if meta.transaction is None else meta.transaction.read_version,
        writer=None if meta.writer is None else " ".join(meta.writer),
        tags=tags.get(meta.version, []),
    )
