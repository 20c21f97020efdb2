"""`FragmentScan`: pyarrow's scan of one fragment of a table, as windows of its live rows."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.assembly.blobs import only_blobs
from lance_arrow.datasets.expansion import check_expansion
from lance_arrow.datasets.handler import ScanRequest
from lance_arrow.datasets.table_filter import FilteredReading
from lance_arrow.datasets.table_reader import TableWatch
from lance_arrow.datasets.windows import WINDOW_ROWS, Windows, may_be_sliced
from lance_arrow.errors import located
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import RowRanges

_TRUE = pc.scalar(True)


class FragmentScan:
    """Windows of one fragment, in row order; `run` may be called from several threads at once.

    Parameters
    ----------
    found
        The columns wanted of the fragment, in rows that may satisfy the filter.
    request
        What pyarrow wants.
    """

    def __init__(self, found: FilteredReading, request: ScanRequest) -> None:
        self._found = found
        self._reading = found.reading
        self._request = request
        self._lock = Lock()
        self._watch = TableWatch()
        self._watch.see(found.opened)
        self._watch.judged(found.judged)
        self._done = 0
        self._windows = self._cut()

    def _cut(self) -> Sequence[RowRanges]:
        """Cut the live rows so that all tasks in flight stay within the budget."""
        request, reading = self._request, self._reading
        settings = default_runtime().settings
        in_flight = request.batch_readahead if request.use_threads else 1
        max_bytes = settings.memory_budget_bytes / (max(1, in_flight) + settings.num_threads)
        if reading.has_blobs:
            max_bytes /= 2
        rows = self._found.live
        if not rows.num_rows:
            return []
        batch_rows = min(request.batch_size, max(1, rows.num_rows))
        windows: Sequence[RowRanges] = Windows(
            rows,
            batch_rows,
            weights=reading.weights(),
            max_bytes=max_bytes,
            max_rows=WINDOW_ROWS if may_be_sliced(reading.nodes) else batch_rows,
            whole_batches=False,
        ).listed()
        if not reading.has_blobs:
            return windows
        with located(path=reading.rows.columns.facts.manifest_path):
            check_expansion(only_blobs(reading.nodes), rows.num_rows, reading.file_bytes, settings.limits)
        return reading.cut_by_blobs(windows, max(1, min(settings.blob_batch_bytes, int(max_bytes))))

    def __len__(self) -> int:
        return len(self._windows)

    def run(self, index: int) -> list[pa.RecordBatch]:
        """Read one window and cut it to batches of at most the wanted size."""
        rows = self._windows[index]
        read, num_pages = self._found.read(rows, self._request.memory_pool)
        size = self._request.batch_size
        batches = [batch.slice(start, size) for batch in read for start in range(0, batch.num_rows, size)]
        with self._lock:
            self._done += 1
            self._watch.count(num_pages, sum(batch.num_rows for batch in batches))
            finished = self._done == len(self._windows)
        if finished:
            runtime = default_runtime()
            if runtime.is_watched:
                filter = None if self._request.filter.equals(_TRUE) else str(self._request.filter)
                runtime.finished(self._watch.report(self._reading.nodes, filter))
        return batches
