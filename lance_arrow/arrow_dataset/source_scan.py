"""`SourceScan`: how pyarrow scans a file, a fragment of a table, or several as one: windows of live rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrow_dataset.asked import asked_of, scan_ahead_of
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.errors import LanceError, located
from lance_arrow.scan.blobs.pending_batch import cut_by_blobs, filled, only_blobs
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.row_weights import ExpansionWatch, check_expansion
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.scan.windows import WINDOW_ROWS, SlowStart, Windows, late_window_rows, may_be_sliced
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import cut, joined_ranges, rows_before

T = TypeVar("T")
R = TypeVar("R")


class SourceScan:
    """Windows of a source, in row order; `run` may be called from several threads at once.

    The receipt goes to the runtime when the last window is done, or when the scan is dropped before.

    Parameters
    ----------
    found
        The columns wanted of the source, in rows that may satisfy the filter.
    request
        What pyarrow wants.
    scan_options
        Of the scan; the defaults when None.
    is_followed
        Whether other files of the same scan are known to follow.
    """

    def __init__(
        self,
        found: FilteredReading,
        request: ScanRequest,
        scan_options: ScanOptions | None = None,
        *,
        is_followed: bool = False,
    ) -> None:
        # A scan that cannot be planned has nothing to tell.
        self._is_planned = False
        self._found = found
        self._request = request
        self._runtime = found.source.runtime
        budget = None if scan_options is None else scan_options.memory_budget_bytes
        self._memory_bytes = budget or self._runtime.settings.memory_budget_bytes
        self._lock = Lock()
        self._done = 0
        self._is_followed = is_followed
        self._windows: Sequence[RowRanges] = ()
        # Of sources that zones leave out, no more is looked at.
        if len(found.rows):
            reading = self._reading = found.reading
            self._expansion = ExpansionWatch(reading.nodes, reading.file_bytes, self._runtime.settings.limits)
            found.check_looked_at(found.rows, reading.file_bytes)
            if reading.is_far:
                found.ask_ahead(scan_ahead_of(request, self._memory_bytes))
            self._windows = self._begun_slowly(self._cut())
        self._is_planned = True
        if not len(self._windows):
            found.receipt.send()

    @cached_property
    def _is_sliceable(self) -> bool:
        return may_be_sliced(self._reading.nodes)

    def _begun_slowly(self, windows: Sequence[RowRanges]) -> Sequence[RowRanges]:
        """Let the first source of a scan begin with few rows: pyarrow's `head` looks like any scan.

        Far sources take a request for each window. Windows of blobs are small. A small source alone is read at once,
        also where nothing is asked ahead. Windows of few rows are not divided.
        """
        reading = self._reading
        is_ahead = self._is_followed and self._request.use_threads
        if not (len(windows) > 1 or is_ahead) or reading.is_far or reading.has_blobs or not self._is_sliceable:
            return windows
        if windows[0].num_rows <= SlowStart.FIRST_ROWS or not asked_of(self._request).may_start_slowly():
            return windows
        return SlowStart(windows)

    def _cut(self) -> Sequence[RowRanges]:
        """Cut the rows so that all tasks in flight stay within the budget, batches too where they would not.

        Where that is one window, but many bytes, there is one for each thread.
        """
        request, reading, rows, settings = self._request, self._reading, self._found.rows, self._runtime.settings
        in_flight = request.batch_readahead if request.use_threads else 1
        num_threads = settings.num_threads if request.use_threads else 1
        # Tasks that wait are decoded; those that run are encoded too.
        budget_bytes = self._memory_bytes
        if reading.is_far:
            budget_bytes -= scan_ahead_of(request, self._memory_bytes).max_bytes
        max_bytes = budget_bytes / (max(1, in_flight) + settings.num_threads)
        if reading.has_blobs:
            max_bytes /= 2
        batch_rows = min(request.batch_size, rows.num_rows)
        has_filter, is_sliceable = self._found.has_filter, self._is_sliceable
        most = late_window_rows(rows.num_rows, num_threads) if has_filter else WINDOW_ROWS
        if has_filter and is_sliceable and not reading.has_blobs:
            count = num_threads * -(-rows.num_rows // (num_threads * most))
            if count <= in_flight and (few := self._even_windows(count, budget_bytes / (count + num_threads))):
                return few
        weights = self._found.weights()
        borders = self._found.borders() if reading.is_far and is_sliceable else None
        if borders is not None:
            cut_there = Windows(rows, None, weights=weights, max_bytes=max_bytes, max_rows=most, borders=borders)
            return [window.rows for window in cut_there]
        windows = Windows(
            rows,
            batch_rows,
            weights=weights,
            max_bytes=max_bytes,
            max_rows=most if is_sliceable else batch_rows,
            whole_batches=False,
        ).listed()
        if reading.has_blobs:
            return self._cut_by_blobs(windows, max(1, min(settings.blob_batch_bytes, int(max_bytes))))
        if len(windows) != 1 or not request.use_threads:
            return windows
        spans = self._found.even_spans(WINDOW_ROWS)
        return windows if len(spans) == 1 else [cut(rows, *span) for span in spans]

    def _even_windows(self, count: int, max_bytes: float) -> Sequence[RowRanges]:
        """Cut rows to equal windows; none where that is a single one, or one of them takes too many bytes.

        Batches need not be whole: a filter leaves parts of them.
        """
        rows = self._found.rows
        if rows.num_rows < count * WINDOW_ROWS or count < 2:
            return ()
        step = -(-rows.num_rows // count)
        windows = Windows(rows, None, weights=self._found.weights(), max_bytes=max_bytes, max_rows=step).listed()
        return windows if len(windows) == count else ()

    def _cut_by_blobs(self, windows: Sequence[RowRanges], piece_bytes: int) -> Sequence[RowRanges]:
        """Cut windows further; all descriptors are read for that, so there must not be too many of them."""
        reading, num_rows = self._reading, self._found.rows.num_rows
        with located(path=self._found.source.name):
            check_expansion(only_blobs(reading.nodes), num_rows, reading.file_bytes, self._runtime.settings.limits)
        return list(cut_by_blobs(reading, windows, piece_bytes))

    def __len__(self) -> int:
        return len(self._windows)

    @property
    def starts_slowly(self) -> bool:
        """Whether few windows are to be read before their batches are taken; the bridge asks for it."""
        return isinstance(self._windows, SlowStart)

    def run(self, index: int) -> list[pa.RecordBatch]:
        """Read one window and cut it to batches of at most the wanted size."""
        rows = self._windows[index]
        with self._lock, located(path=self._found.source.name):
            self._expansion.add(rows.num_rows)
        try:
            batches = self._read(rows, is_first=not index)
        except LanceError as error:
            if not self._found.may_divide(error):
                raise
            assert self._found.divided is not None
            # Sources that cannot be read together are read one by one: they tell which of them is to blame.
            alone = (SourceScan(one, self._request) for one in self._found.divided(rows))
            batches = [batch for scan in alone for own in range(len(scan)) for batch in scan.run(own)]
        self._found.receipt.count(sum(batch.num_rows for batch in batches))
        with self._lock:
            self._done += 1
            finished = self._done == len(self._windows)
        if finished:
            self._found.receipt.send()
        return batches

    def read_parts(
        self, row_starts: NDArray[np.int64], max_bytes: float
    ) -> tuple[NDArray[np.int64], list[pa.RecordBatch]] | None:
        """Read all rows, of sources that were joined and are not watched; None where they take too much memory.

        Parameters
        ----------
        row_starts
            ``(n + 1,) int64``: the first row of each source, and all rows.
        max_bytes
            What the rows may take.

        Returns
        -------
        num_rows, batches
            ``(n,) int64``: wanted rows of each source; and all of them, in order.

        Raises
        ------
        LanceError
            As `run`; no source is read by itself.
        """
        found, pool = self._found, self._request.memory_pool
        if not len(found.rows):
            return np.zeros(len(row_starts) - 1, np.int64), []
        row_bytes = float(found.weights().totals[-1]) / max(1, found.source.num_physical)
        if not found.has_filter:
            if row_bytes * found.rows.num_rows > max_bytes:
                return None
            windows = self._side_by_side(self.run, range(len(self)))
            return np.diff(rows_before(found.rows, row_starts)), [batch for window in windows for batch in window]
        most_rows = max_bytes / max(1.0, row_bytes) / len(self._windows)

        def read(rows: RowRanges) -> tuple[RowRanges, list[pa.RecordBatch] | None]:
            # Which rows these are tells whose they are.
            kept = found.matching(rows)
            if not len(kept):
                return kept, []
            return kept, None if kept.num_rows > most_rows else self._reading.read(kept, pool)[0]

        made = self._side_by_side(read, self._windows)
        batches = []
        for _, part in made:
            if part is None:
                return None
            batches += part
        starts, stops = (np.concatenate([getattr(kept, side) for kept, _ in made]) for side in ("starts", "stops"))
        return np.diff(rows_before(joined_ranges(starts, stops), row_starts)), self._batches(batches)

    def _side_by_side(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        if self._request.use_threads and self._reading.is_far:
            # They wait, each for its pages.
            return list(self._runtime.ahead(function, items, is_far=True))
        if self._request.use_threads:
            return self._runtime.side_by_side(function, items)
        return [function(item) for item in items]

    def _read(self, rows: RowRanges, *, is_first: bool) -> list[pa.RecordBatch]:
        return self._batches(self._found.read(rows, self._request.memory_pool), is_first=is_first)

    def _batches(self, read: list[pa.RecordBatch], *, is_first: bool = False) -> list[pa.RecordBatch]:
        """Fill blobs in, and cut batches to the wanted size; those of the first window may be smaller."""
        pool, size = self._request.memory_pool, self._request.batch_size
        whole = filled(self._reading, read, self._runtime.settings.blob_piece_bytes, pool)
        if is_first and self.starts_slowly:
            whole = [
                batch.slice(start, stop - start)
                for batch in whole
                for start, stop in SlowStart.batch_spans(batch.num_rows)
            ]
        return [batch.slice(start, size) for batch in whole for start in range(0, batch.num_rows, size)]

    def __del__(self) -> None:
        if self._is_planned:
            self._found.receipt.send()


def count_rows(found: FilteredReading, request: ScanRequest) -> int:
    """Count rows that satisfy the filter of a request; errors are those of `FilteredReading.count`."""
    count = found.count(request.memory_pool, use_threads=request.use_threads)
    found.receipt.count(count)
    found.receipt.send()
    return count
