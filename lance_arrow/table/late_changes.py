"""Modules that change tables, imported when they are first used: reading a table needs none of them.

With what they import, they are half as many modules as reading takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_module

__all__ = [
    "branches",
    "changes",
    "cleanup",
    "cloning",
    "column_changes",
    "compaction",
    "configuration",
    "deep_cloning",
    "edit_result",
    "history",
    "merge_rows",
    "merging",
    "replacement",
    "strategies",
    "tags",
    "updates",
    "writable_branch",
    "zone_index",
]

if TYPE_CHECKING:
    from lance_arrow.table import (
        branches,
        changes,
        cleanup,
        column_changes,
        compaction,
        history,
        replacement,
        strategies,
        tags,
        updates,
        writable_branch,
        zone_index,
    )
    from lance_arrow.table.copies import cloning, deep_cloning
    from lance_arrow.table.merges import merge_rows, merging
    from lance_arrow.table.operations import configuration, edit_result
else:
    branches = late_module("lance_arrow.table.branches")
    changes = late_module("lance_arrow.table.changes")
    cleanup = late_module("lance_arrow.table.cleanup")
    cloning = late_module("lance_arrow.table.copies.cloning")
    column_changes = late_module("lance_arrow.table.column_changes")
    compaction = late_module("lance_arrow.table.compaction")
    configuration = late_module("lance_arrow.table.operations.configuration")
    deep_cloning = late_module("lance_arrow.table.copies.deep_cloning")
    edit_result = late_module("lance_arrow.table.operations.edit_result")
    history = late_module("lance_arrow.table.history")
    merge_rows = late_module("lance_arrow.table.merges.merge_rows")
    merging = late_module("lance_arrow.table.merges.merging")
    replacement = late_module("lance_arrow.table.replacement")
    strategies = late_module("lance_arrow.table.strategies")
    tags = late_module("lance_arrow.table.tags")
    updates = late_module("lance_arrow.table.updates")
    writable_branch = late_module("lance_arrow.table.writable_branch")
    zone_index = late_module("lance_arrow.table.zone_index")
