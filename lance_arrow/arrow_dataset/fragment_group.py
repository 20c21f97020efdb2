"""`FragmentGroup`: fragments of a table that one fragment of pyarrow's stands for, read together where they can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrow_dataset.file_scan import asked_of
from lance_arrow.arrow_dataset.fragment_scan import FragmentScan, num_sure, table_filter
from lance_arrow.arrow_dataset.group_scan import GroupPart, GroupScan, GroupState, batches_of
from lance_arrow.arrow_dataset.handler_protocol import FileGroup, ScanRequest, ScanTasks
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments
from lance_arrow.scan.fragments.table_filter import FilteredReading
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.row_filter import FilterPlan
from lance_arrow.spi import RowRanges

_TRUE = pc.scalar(True)
_LEFT = "fragments_left"


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
        nodes = asked_of(request).nodes.of(self.table.columns.all_roots)
        filter = table_filter(request)
        with self.state.planning:
            found = list(self._found(nodes, filter, request))
            return self._scan(found, nodes, filter, request)

    def count_rows(self, handler: Any, request: ScanRequest) -> int | None:
        """Count rows; as `FileScanHandler.count_rows`."""
        if request.filter.equals(_TRUE):
            return sum(self.table.fragment(number).num_rows for number in self.numbers)
        filter = table_filter(request)
        if filter is None:
            return None
        with self.state.planning:
            found = list(self._found((), filter, request))
            tasks = self._scan(found, (), filter, request, leave_sure=True)
        return sum(batch.num_rows for batch in batches_of([tasks])) + sum(map(num_sure, found))

    def _found(
        self, nodes: Sequence[ColumnNode], filter: FilterPlan | None, request: ScanRequest
    ) -> Iterator[FilteredReading]:
        """Open the fragments that indices leave, those together that can be read so."""
        numbers = self._left(filter, request)
        if not self.state.joins or len(numbers) < 2:
            yield from (self._alone(number, nodes, filter) for number in numbers)
            return
        opened = self.table.groups(nodes, filter).opened(numbers, None)
        for one in opened:
            if isinstance(one, FilteredReading):
                yield one
                continue
            self.state.joins = self.state.joins and len(opened) > 1
            yield from (self._alone(number, nodes, filter) for number in one)

    def _left(self, filter: FilterPlan | None, request: ScanRequest) -> list[int]:
        left = request.kept.get(_LEFT)
        if left is None:
            left = request.kept[_LEFT] = frozenset(self.table.numbers_left(filter))
        return [number for number in self.numbers if number in left]

    def _alone(
        self, number: int, nodes: Sequence[ColumnNode], filter: FilterPlan | None, within: RowRanges | None = None
    ) -> FilteredReading:
        return FilteredReading(self.table.fragment(number), nodes, filter, within)

    def _scan(
        self,
        found: Sequence[FilteredReading],
        nodes: Sequence[ColumnNode],
        filter: FilterPlan | None,
        request: ScanRequest,
        *,
        leave_sure: bool = False,
    ) -> GroupScan:
        def one_by_one(group: JoinedFragments, scan: FragmentScan) -> Callable[[int], Iterator[ScanTasks]]:
            return lambda index: (
                FragmentScan(self._alone(number, nodes, filter, part), request)
                for number, part in group.parts(scan.rows_of(index))
            )

        parts = []
        for one in found:
            scan, group = FragmentScan(one, request, leave_sure=leave_sure), one.rows
            parts.append(GroupPart(scan, one_by_one(group, scan) if isinstance(group, JoinedFragments) else None))
        return GroupScan(parts, self.state)
