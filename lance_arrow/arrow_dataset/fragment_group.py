"""`FragmentGroup`: fragments of a table that one fragment of pyarrow's stands for, read together where they can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.group_scan import GroupPart, GroupScan, GroupState
from lance_arrow.arrow_dataset.handler_protocol import FileGroup, ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.source_scan import SourceScan, count_rows
from lance_arrow.errors import LanceError
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.row_filter import FilterPlan
from lance_arrow.spi import RowRanges

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
        with self.state.planning:
            return GroupScan([self._part(one, request) for one in self._found(request)], self.state)

    def count_rows(self, handler: Any, request: ScanRequest) -> int | None:
        """Count rows; as `FileScanHandler.count_rows`."""
        plan = asked_of(request).filter
        if plan is None:
            return sum(self.table.fragment(number).num_rows for number in self.numbers)
        if not plan.is_repeatable:
            return None
        with self.state.planning:
            found = list(self._found(request, is_count=True))
        return sum(self._counted(one, request) for one in found)

    def _counted(self, found: FilteredReading, request: ScanRequest) -> int:
        try:
            return count_rows(found, request)
        except LanceError:
            group = found.source
            if not isinstance(group, JoinedFragments):
                raise
        self.state.joins = False
        alone = (self._alone(number, request, part, is_count=True) for number, part in group.parts(found.rows))
        return sum(count_rows(one, request) for one in alone)

    def _found(self, request: ScanRequest, *, is_count: bool = False) -> Iterator[FilteredReading]:
        """Open the fragments that indices leave, those together that can be read so."""
        asked = asked_of(request)
        numbers = self._left(asked.filter, request)
        if not self.state.joins or len(numbers) < 2:
            yield from (self._alone(number, request, is_count=is_count) for number in numbers)
            return
        nodes = () if is_count else asked.nodes.of(self.table.columns.all_roots)
        filter = asked.filter if asked.filter is None or asked.filter.is_repeatable else None
        opened = self.table.groups(nodes, filter).opened(numbers, None)
        for one in opened:
            if isinstance(one, FilteredReading):
                yield one
                continue
            self.state.joins = self.state.joins and len(opened) > 1
            yield from (self._alone(number, request, is_count=is_count) for number in one)

    def _left(self, filter: FilterPlan | None, request: ScanRequest) -> list[int]:
        left = request.kept.get(_LEFT)
        if left is None:
            left = request.kept[_LEFT] = frozenset(self.table.numbers_left(filter))
        return [number for number in self.numbers if number in left]

    def _alone(
        self, number: int, request: ScanRequest, within: RowRanges | None = None, *, is_count: bool = False
    ) -> FilteredReading:
        return asked_of(request).reading(self.table.fragment(number), within, is_count=is_count)

    def _part(self, found: FilteredReading, request: ScanRequest) -> GroupPart:
        scan, group = SourceScan(found, request), found.source
        if not isinstance(group, JoinedFragments):
            return GroupPart(scan)

        def one_by_one(index: int) -> Iterator[ScanTasks]:
            for number, part in group.parts(scan.rows_of(index)):
                yield SourceScan(self._alone(number, request, part), request)

        return GroupPart(scan, one_by_one)
