"""`PagesAhead`: pages of a far file that a scan is going to want, asked ahead in runs, while windows are decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import nth_rows, rows_before

if TYPE_CHECKING:
    from lance_arrow.io.ahead_source import AheadBudget, AheadSource


class ScanAhead:
    """Budget of the requests that one scan sends ahead of its windows; its files share it.

    Parameters
    ----------
    memory_budget_bytes
        What the scan may hold. An eighth of it may be asked ahead: clients hold an answer twice while it arrives.
    num_first
        Windows that are begun before the consumer has the first row: as long as it may leave, no more than these are
        asked for. None where the last window is surely read.
    """

    def __init__(self, memory_budget_bytes: int, num_first: int | None) -> None:
        self.max_bytes = memory_budget_bytes // 8
        self.wants_all = num_first is None
        self._num_first = num_first or 0
        self._budget: AheadBudget | None = None
        self._lock = RLock()

    def budget(self) -> AheadBudget:
        """Return the bytes, and the threads of the requests."""
        from lance_arrow.io.ahead_source import AheadBudget  # noqa: PLC0415 - for far files alone

        with self._lock:
            if self._budget is None:
                self._budget = AheadBudget(self.max_bytes)
            return self._budget

    def begin_window(self) -> bool:
        """Count a window; True of the first ones."""
        with self._lock:
            self._num_first -= 1
            return self._num_first >= 0


class PagesAhead:
    """Reads rows of one file whose pages are asked ahead if it is far; threads share it.

    Parameters
    ----------
    reader
        The file.
    nodes
        (Pruned) columns that every window reads.
    rows
        The rows of all windows, which are cut from them in order.
    scan
        What may be asked ahead.
    """

    def __init__(self, reader: RowReader, nodes: Sequence[ColumnNode], rows: RowRanges, scan: ScanAhead) -> None:
        self.reader = reader
        self._rows = rows
        self._num_rows = rows.num_rows
        self._scan = scan
        self._begun = self._begun_first = self._first_open = 0
        # Windows that are done beyond the first that is not: numbers of their rows.
        self._beyond: dict[int, int] = {}
        self._lock = RLock()
        self._source: AheadSource | None = None
        if reader.source.coalescing.is_far and self._num_rows and nodes:
            self._plan(nodes)

    def _plan(self, nodes: Sequence[ColumnNode]) -> None:
        from lance_arrow.io.ahead_source import AheadSource  # noqa: PLC0415 - for far files alone
        from lance_arrow.scan.page_requests import planned_requests  # noqa: PLC0415

        planned = planned_requests(self.reader, nodes, self._rows, self._scan.max_bytes)
        if planned is not None:
            self._source = AheadSource(self.reader.source, planned, self._scan.budget())
            self.reader = self.reader.through(self._source)
            if self._scan.wants_all:
                # Before the first window asks for an index.
                self._move()

    @contextmanager
    def window(self, rows: RowRanges) -> Iterator[RowReader]:
        """Enter for the time that a window is read by what is returned."""
        if self._source is None or not len(rows):
            yield self.reader
            return
        first = int(rows_before(self._rows, rows.starts[:1])[0])
        with self._lock:
            self._begun = max(self._begun, first + rows.num_rows)
            if self._scan.begin_window():
                self._begun_first = self._begun
            self._move()
        yield self.reader
        with self._lock:
            self._beyond[first] = rows.num_rows
            while self._first_open in self._beyond:
                self._first_open += self._beyond.pop(self._first_open)
            if self._first_open < self._num_rows:
                self._move()
            else:
                self._source.close()

    def close(self) -> None:
        """Ask for nothing more."""
        if self._source is not None:
            self._source.close()

    def __del__(self) -> None:
        self.close()

    def _move(self) -> None:
        assert self._source is not None
        # The further the consumer came, the more of the rest it is going to want.
        reach = self._num_rows if self._scan.wants_all else self._begun + 2 * (self._begun - self._begun_first)
        self._source.move(self._row(self._first_open), self._row(reach))

    def _row(self, number: int) -> int:
        if number >= self._num_rows:
            return int(self._rows.stops[-1])
        return int(nth_rows(self._rows, np.array([number]))[0])
