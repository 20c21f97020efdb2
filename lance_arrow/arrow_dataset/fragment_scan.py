"""`FragmentScan`: pyarrow's scan of one fragment of a table, as windows of its live rows."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.file_scan import asked_of, scan_ahead_of
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.errors import located
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.blobs.blob_reader import only_blobs
from lance_arrow.scan.fragments.table_filter import FilteredReading
from lance_arrow.scan.late_materialization import late_window_rows
from lance_arrow.scan.read_counts import TableWatch
from lance_arrow.scan.row_filter import FilterPlan
from lance_arrow.scan.row_weights import ExpansionWatch, check_expansion
from lance_arrow.scan.windows import WINDOW_ROWS, Windows, may_be_sliced
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import difference, intersection

_TRUE = pc.scalar(True)


class FragmentScan:
    """Windows of one fragment, in row order; `run` may be called from several threads at once.

    The receipt goes to the runtime when the last window is done, or when the scan is dropped before.

    Parameters
    ----------
    found
        The columns wanted of the fragment, in rows that may satisfy the filter.
    request
        What pyarrow wants.
    leave_sure
        Whether rows that satisfy the filter for sure, as zone maps tell, are not read.
    """

    def __init__(self, found: FilteredReading, request: ScanRequest, *, leave_sure: bool = False) -> None:
        # A scan that cannot be planned has nothing to tell.
        self._is_due = False
        self._found = found
        self._rows = difference(found.live, found.prune_result.all) if leave_sure else found.live
        self._reading = found.reading
        self._request = request
        self._lock = Lock()
        self._watch = TableWatch()
        self._watch.see(found.opened)
        self._watch.note_pruning(found.prune_result)
        self._watch.follow(found.tally)
        self._done = 0
        limits = default_runtime().settings.limits
        self._expansion = ExpansionWatch(self._reading.nodes, self._reading.file_bytes, limits)
        self._windows = self._cut()
        self._is_due = True
        if not self._windows:
            self._send()

    def _cut(self) -> Sequence[RowRanges]:
        """Cut the live rows so that all tasks in flight stay within the budget."""
        request, reading = self._request, self._reading
        settings = default_runtime().settings
        in_flight = request.batch_readahead if request.use_threads else 1
        budget_bytes = reading.rows.scan_options.memory_budget_bytes or settings.memory_budget_bytes
        ahead = scan_ahead_of(request, budget_bytes)
        if any(opened.source.coalescing.is_far for opened in self._found.opened):
            budget_bytes -= ahead.max_bytes
        max_bytes = budget_bytes / (max(1, in_flight) + settings.num_threads)
        if reading.has_blobs:
            max_bytes /= 2
        rows = self._rows
        if not rows.num_rows:
            return []
        if not request.filter.equals(_TRUE):
            with located(path=reading.rows.columns.facts.manifest_path):
                file_bytes = sum(opened.source.size() for opened in self._found.opened)
                check_expansion(self._found.filter_nodes, rows.num_rows, file_bytes, settings.limits)
        batch_rows = min(request.batch_size, max(1, rows.num_rows))
        num_threads = settings.num_threads if request.use_threads else 1
        most = late_window_rows(rows.num_rows, num_threads) if self._found.filter_nodes else WINDOW_ROWS
        windows: Sequence[RowRanges] = Windows(
            rows,
            batch_rows,
            weights=self._found.weights(),
            max_bytes=max_bytes,
            max_rows=most if may_be_sliced(reading.nodes) else batch_rows,
            whole_batches=False,
        ).listed()
        self._found.ask_ahead(rows, ahead)
        if not reading.has_blobs:
            return windows
        with located(path=reading.rows.columns.facts.manifest_path):
            check_expansion(only_blobs(reading.nodes), rows.num_rows, reading.file_bytes, settings.limits)
        return reading.cut_by_blobs(windows, max(1, min(settings.blob_batch_bytes, int(max_bytes))))

    def __len__(self) -> int:
        return len(self._windows)

    def rows_of(self, index: int) -> RowRanges:
        """Return the rows of a window."""
        return self._windows[index]

    def run(self, index: int) -> list[pa.RecordBatch]:
        """Read one window and cut it to batches of at most the wanted size."""
        rows = self._windows[index]
        with self._lock, located(path=self._reading.rows.columns.facts.manifest_path):
            self._expansion.add(rows.num_rows)
        read = self._found.read(rows, self._request.memory_pool)
        size = self._request.batch_size
        batches = [batch.slice(start, size) for batch in read for start in range(0, batch.num_rows, size)]
        with self._lock:
            self._done += 1
            self._watch.count(sum(batch.num_rows for batch in batches))
            finished = self._done == len(self._windows)
        if finished:
            self._send()
        return batches

    def __del__(self) -> None:
        self._send()

    def _send(self) -> None:
        if not self._is_due:
            return
        self._is_due = False
        runtime = default_runtime()
        if runtime.is_watched:
            filter = None if self._request.filter.equals(_TRUE) else str(self._request.filter)
            runtime.finished(self._watch.report(self._reading.nodes or self._found.filter_nodes, filter))


def count_rows(found: FilteredReading, request: ScanRequest) -> int:
    """Count the rows of a fragment that satisfy a filter; those that do for sure are not read.

    Raises
    ------
    InvalidArgumentError, LanceError, OSError
        As a scan.
    """
    scan = FragmentScan(found, request, leave_sure=True)
    return sum(batch.num_rows for index in range(len(scan)) for batch in scan.run(index)) + num_sure(found)


def num_sure(found: FilteredReading) -> int:
    """Return how many rows satisfy the filter for sure."""
    return intersection(found.live, found.prune_result.all).num_rows


def table_filter(request: ScanRequest) -> FilterPlan | None:
    """Return the filter of a scan, unless it gives other answers each time it is asked."""
    plan = asked_of(request).filter
    return None if plan is None or not plan.is_repeatable else plan
