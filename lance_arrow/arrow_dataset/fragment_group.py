"""`FragmentGroup`: fragments of a table that one fragment of pyarrow's stands for, read together where they can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.group_scan import GroupScan, GroupState
from lance_arrow.arrow_dataset.handler_protocol import FileGroup, ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.source_scan import SourceScan, count_rows
from lance_arrow.io import Location
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.fragment_groups import FragmentGroups
from lance_arrow.scan.fragments.table_reader import TableReader


@dataclass(frozen=True, slots=True, eq=False)
class FragmentGroup(FileGroup):
    """The payload of a fragment of a view; see `grouped_view`.

    Parameters
    ----------
    table
        The table.
    numbers
        Which of its fragments, ascending.
    state
        Of the scanner.
    """

    table: TableReader
    numbers: tuple[int, ...]
    state: GroupState

    def plan(self, handler: Any, request: ScanRequest) -> ScanTasks:
        """Open the fragments and cut windows."""
        with self._planning():
            nodes = asked_of(request).nodes.of(self.table.columns.all_roots)
            return GroupScan([SourceScan(one, request) for one in self._found(nodes, request)])

    def count_rows(self, handler: Any, request: ScanRequest) -> int | None:
        """Count rows; as `FileScanHandler.count_rows`."""
        plan = asked_of(request).filter
        if plan is None:
            return sum(self.table.fragment(number).num_rows for number in self.numbers)
        if not plan.is_repeatable:
            return None
        with self._planning():
            found = list(self._found((), request))
        return sum(count_rows(one, request) for one in found)

    def _planning(self) -> AbstractContextManager[object]:
        """Hold the lock of `GroupState`, unless opening mostly waits for a store."""
        return self.state.planning if Location(self.table.filesystem, "").is_local else nullcontext()

    def _found(self, nodes: tuple[ColumnNode, ...], request: ScanRequest) -> Iterator[FilteredReading]:
        """Open the fragments that indices leave, those together that can be read so."""
        groups, left = self._groups(nodes, request)
        for one in groups.opened([number for number in self.numbers if number in left], None):
            if isinstance(one, FilteredReading):
                yield one
            else:
                yield from (groups.alone(number) for number in one)

    def _groups(self, nodes: tuple[ColumnNode, ...], request: ScanRequest) -> tuple[FragmentGroups, frozenset[int]]:
        """Return what opens the fragments of a scan, and which of them indices leave."""
        key = FragmentGroup, nodes
        found: tuple[FragmentGroups, frozenset[int]] | None = request.kept.get(key)
        if found is None:
            filter = asked_of(request).filter
            if filter is not None and not filter.is_repeatable:
                filter = None
            found = self.table.groups(nodes, filter), frozenset(self.table.numbers_left(filter))
            request.kept[key] = found
        return found
