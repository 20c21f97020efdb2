"""`TableScan`: rows of the fragments of a table, in order, decoded ahead by threads within the memory budget.

fragments ─► groups and single ones, opened ahead ─► zones ─► windows ─► batches
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.errors import LanceError
from lance_arrow.runtime import Runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.fragment_groups import FragmentGroups, opened_alone
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments, OpensFragment
from lance_arrow.scan.late_materialization import late_window_rows
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.row_filter import FilterPlan
from lance_arrow.scan.windows import WINDOW_ROWS, Window, Windows, may_be_sliced
from lance_arrow.spi import RowRanges


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A window to read."""

    found: FilteredReading
    cuts: Windows
    window: Window


class TableScan:
    """One pass over fragments.

    Parameters
    ----------
    reader
        What opens a fragment by itself.
    groups
        What divides them; made for the same columns and filter.
    nodes, filter
        Wanted columns, and what their rows must satisfy.
    batch_size
        The most rows of a batch; as many as a window has when None.
    within
        For each fragment rows of its files to choose from; all when None.
    runtime
        Threads, memory, and who gets the report.
    wants_all
        Whether the caller waits for the last row. Else the first rows are made to come soon.
    """

    def __init__(
        self,
        reader: OpensFragment,
        groups: FragmentGroups,
        nodes: Sequence[ColumnNode],
        filter: FilterPlan | None,
        batch_size: int | None,
        within: Sequence[RowRanges] | None,
        runtime: Runtime,
        *,
        wants_all: bool = False,
    ) -> None:
        self._reader = reader
        self._groups = groups
        self._nodes = nodes
        self._filter = filter
        self._batch_size = batch_size
        self._within = within
        self._runtime = runtime
        self._receipt = groups.receipt
        self._max_bytes = runtime.settings.window_bytes(runtime.settings.num_threads + 1)
        self._is_sliceable = batch_size is None or may_be_sliced(nodes)
        self._joins = True
        self._has_begun = wants_all
        settings = runtime.settings
        self._ahead = ScanAhead(settings.memory_budget_bytes, None if wants_all else settings.num_threads + 1)

    def batches(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield batches of fragments, by their numbers; hand the report to plugins at the end.

        Raises
        ------
        LanceError, OSError
            As `FilteredReading.read`, with the file.
        """
        return self._receipt.sent_after(self._pieces(numbers))

    def _pieces(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        tasks = (task for found in self._opened(numbers) for task in self._tasks(found))
        for task, batches in self._runtime.ahead(self._read, tasks):
            if batches is None:
                yield from self._pieces_alone(task)
                continue
            # Where a filter leaves no row, the first rows are further on.
            self._has_begun = self._has_begun or not any(batch.num_rows for batch in batches)
            yield from self._counted(task, batches)

    def _pieces_alone(self, task: _Task) -> Iterator[pa.RecordBatch]:
        """Read the fragments of a window by themselves: they tell which one is to blame, or can be read."""
        group = task.found.source
        assert isinstance(group, JoinedFragments)
        self._joins = False
        for number, rows in group.parts(task.window.rows):
            found = opened_alone(self._reader, number, self._nodes, self._filter, rows, self._receipt)
            for own in self._tasks(found):
                yield from self._counted(own, found.read(own.window.rows))

    def _opened(self, numbers: Sequence[int]) -> Iterator[FilteredReading]:
        """Open fragments ahead, in groups as long as these can be read."""
        for opened in self._runtime.ahead(self._open, self._groups.planned(numbers, lambda: self._has_begun)):
            for found in opened:
                if isinstance(found, FilteredReading):
                    yield found
                    continue
                self._joins = self._joins and len(opened) > 1
                yield from self._runtime.ahead(self._open_alone, found)

    def _open(self, numbers: list[int]) -> Sequence[FilteredReading | list[int]]:
        if len(numbers) == 1:
            return [self._open_alone(numbers[0])]
        return self._groups.opened(numbers, self._within) if self._joins else [numbers]

    def _open_alone(self, number: int) -> FilteredReading:
        within = None if self._within is None else self._within[number]
        return opened_alone(self._reader, number, self._nodes, self._filter, within, self._receipt)

    def _tasks(self, found: FilteredReading) -> Iterator[_Task]:
        if not found.rows.num_rows:
            return
        found.ask_ahead(self._ahead)
        most = WINDOW_ROWS
        if not self._is_sliceable:
            most = self._batch_size or WINDOW_ROWS
        elif self._filter is not None:
            most = late_window_rows(found.rows.num_rows, self._runtime.settings.num_threads)
        cuts = Windows(
            found.rows,
            self._batch_size,
            weights=found.weights(),
            max_bytes=self._max_bytes,
            max_rows=most,
        )
        for window in cuts:
            yield _Task(found, cuts, window)

    def _read(self, task: _Task) -> tuple[_Task, list[pa.RecordBatch] | None]:
        """Read a window; None instead of batches where its fragments must be read by themselves."""
        try:
            return task, task.found.read(task.window.rows)
        except LanceError:
            if not isinstance(task.found.source, JoinedFragments):
                raise
            return task, None

    def _counted(self, task: _Task, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self._filter is None:
            task.cuts.learn(task.window, sum(batch.nbytes for batch in batches))
        for batch in batches:
            step = self._batch_size or max(1, batch.num_rows)
            for start in range(0, batch.num_rows, step):
                yield batch if step >= batch.num_rows else batch.slice(start, step)
                self._has_begun = True
