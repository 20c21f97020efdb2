"""`FileBatches`: batches of one open file: all at once, streamed within the memory budget, or filtered.

rows ─► zones ─► windows ─► batches (of the rows a filter leaves) with descriptors of blobs ─► cut to the projection
     ─► pieces of few bytes of blobs ─► filled
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.errors import located
from lance_arrow.scan.blobs.blob_reader import PendingBatch
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.open_file import FileReading, OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.read_counts import Receipt, Tally, receipt_for
from lance_arrow.scan.row_weights import check_expansion
from lance_arrow.scan.windows import SCAN_ROWS, WINDOW_ROWS, Window, Windows, even_windows, may_be_sliced
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import cut

if TYPE_CHECKING:
    from lance_arrow.scan.pages_ahead import ScanAhead
    from lance_arrow.scan.predicates import Predicate
    from lance_arrow.scan.row_filter import FilterPlan


class FileBatches:
    """Batches of one file.

    Parameters
    ----------
    file
        The file.
    """

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._source, self._rows = file.source, file.rows
        self._runtime = file.rows.runtime

    def at_once(self, projection: Projection, rows: RowRanges) -> list[pa.RecordBatch]:
        """Read rows, cut evenly among the threads.

        Raises
        ------
        ResourceLimitError
            As `check_expansion`.
        """
        receipt = self.receipt(projection.nodes)
        self._check_expansion(projection.nodes, rows)
        windows = self._shares(projection, rows)
        reading = self._reading(projection.nodes, rows, wants_all=True)
        if len(windows) > 1:
            reading.keep_indices(rows)
        read = partial(self._window, projection, receipt.tally, reading)
        parts = self._runtime.map(read, windows)
        batches = list(self.with_blobs(projection, (batch for part in parts for batch in part)))
        receipt.count(rows.num_rows)
        receipt.send()
        return batches

    def stream(self, projection: Projection, batch_rows: int | None, rows: RowRanges) -> Iterator[pa.RecordBatch]:
        """Yield rows in batches of `batch_rows`, or of what the budget allows, decoded ahead by the threads."""
        receipt = self.receipt(projection.nodes)
        reading = self._reading(projection.nodes, rows)

        def read(window: Window) -> tuple[list[pa.RecordBatch], float]:
            part = self._window(projection, receipt.tally, reading, window.rows)
            return part, sum(batch.nbytes for batch in part)

        stored = self._stored(projection.nodes, batch_rows, rows, read)
        yield from receipt.sent_after(self.with_blobs(projection, stored))

    def filtered(
        self,
        projection: Projection,
        filter: Predicate,
        batch_rows: int | None,
        rows: RowRanges,
        *,
        is_bounded: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows that satisfy a filter, in batches of `batch_rows` at most.

        `is_bounded` tells whether all is wanted at once, so that `check_expansion` holds.

        Raises
        ------
        InvalidArgumentError
            At once: the filter does not fit the file. While iterating: it fails on some value.
        """
        # Reads without a filter do without zone maps and predicates.
        from lance_arrow.scan.late_materialization import joined_nodes, late_window_rows  # noqa: PLC0415

        plan = self._plan(filter)
        nodes = joined_nodes(projection.nodes, plan.nodes(self._rows.roots))
        if is_bounded:
            self._check_expansion(nodes, rows)
        receipt = self.receipt(nodes, filter)
        found = FilteredReading(self._file, projection.nodes, plan, rows, receipt=receipt)
        found.ask_ahead(self._scan_ahead(wants_all=is_bounded))
        metadata = projection.stored.metadata

        def read(window: Window) -> tuple[list[pa.RecordBatch], float]:
            part = [projection.apply(batch).replace_schema_metadata(metadata) for batch in found.read(window.rows)]
            # Columns of the filter took their part, whatever is left.
            return part, max(window.estimated_bytes, sum(batch.nbytes for batch in part))

        most = late_window_rows(found.rows.num_rows, self._runtime.settings.num_threads)
        stored = self._stored(nodes, batch_rows, found.rows, read, max_rows=most)
        return receipt.sent_after(self.with_blobs(projection, stored))

    def count(self, filter: Predicate, rows: RowRanges) -> int:
        """Count rows that satisfy a filter; those of zones that are sure need not be read."""
        plan = self._plan(filter)
        receipt = self.receipt(plan.nodes(self._rows.roots), filter)
        count = FilteredReading(self._file, (), plan, rows, receipt=receipt, is_count=True).count()
        receipt.count(count)
        receipt.send()
        return count

    def receipt(self, nodes: Sequence[ColumnNode], filter: Predicate | None = None) -> Receipt:
        """Begin to count what a read takes."""
        receipt = receipt_for(self._runtime, nodes, filter)
        receipt.see((self._file,))
        return receipt

    def with_blobs(self, projection: Projection, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the bytes of blobs in place of their descriptors, in pieces of few bytes, a few of them ahead."""
        if not projection.has_blobs:
            return iter(batches)
        nodes = [output.node for output in projection.outputs]
        settings = self._runtime.settings
        most = settings.blob_piece_bytes
        pieces = (piece for batch in batches for piece in self._file.blobs.pending(nodes, batch, most).pieces())
        num_ahead = settings.windows_within_budget(most) - 1
        return iter(self._runtime.ahead(PendingBatch.filled, pieces, num_ahead=num_ahead))

    def few_blobs(self, node: ColumnNode, column: pa.ChunkedArray) -> pa.Array | None:
        """Read the blobs of one column at once, by native code; None where `with_blobs` must read them."""
        if not isinstance(node, LeafNode) or column.num_chunks != 1:
            return None
        return self._file.blobs.read_few(node, column.chunk(0), self._runtime.settings.blob_piece_bytes)

    def _plan(self, filter: Predicate) -> FilterPlan:
        from lance_arrow.scan.predicates import as_expression  # noqa: PLC0415
        from lance_arrow.scan.row_filter import FilterPlan  # noqa: PLC0415

        schema = self._rows.schema
        return FilterPlan(as_expression(filter, schema), schema)

    def _check_expansion(self, nodes: Sequence[ColumnNode], rows: RowRanges) -> None:
        with located(path=self._source.name):
            check_expansion(nodes, rows.num_rows, self._source.size(), self._runtime.settings.limits)

    def _shares(self, projection: Projection, rows: RowRanges) -> list[RowRanges]:
        stored_bytes = self._rows.divisible_bytes(projection.nodes) * rows.num_rows // max(1, self._rows.num_rows)
        # What comes over a network is decoded while the rest comes.
        most = WINDOW_ROWS if self._source.coalescing.is_far else SCAN_ROWS
        spans = even_windows(rows.num_rows, stored_bytes, self._runtime.settings.num_threads, max_rows=most)
        return [cut(rows, start, stop) for start, stop in spans]

    def _reading(self, nodes: Sequence[ColumnNode], rows: RowRanges, *, wants_all: bool = False) -> FileReading:
        reading = self._file.reading(nodes)
        if reading.is_far:
            reading.ask_ahead(rows, self._scan_ahead(wants_all=wants_all))
        return reading

    def _scan_ahead(self, *, wants_all: bool = False) -> ScanAhead:
        from lance_arrow.scan.pages_ahead import ScanAhead  # noqa: PLC0415 - for far files alone

        settings = self._runtime.settings
        return ScanAhead(settings.memory_budget_bytes, None if wants_all else settings.num_threads + 1)

    def _window(
        self, projection: Projection, tally: Tally, reading: FileReading, rows: RowRanges
    ) -> list[pa.RecordBatch]:
        with reading.window(rows):
            batches, counts = reading.read(rows)
        tally.add(counts, rows.num_rows)
        metadata = projection.stored.metadata
        return [projection.apply(batch).replace_schema_metadata(metadata) for batch in batches]

    def _stored(
        self,
        nodes: Sequence[ColumnNode],
        batch_rows: int | None,
        rows: RowRanges,
        read: Callable[[Window], tuple[list[pa.RecordBatch], float]],
        *,
        max_rows: int = WINDOW_ROWS,
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches with descriptors of blobs; the bytes of these take the other half of the budget.

        `read` gives the batches of a window, and what it took.
        """
        settings = self._runtime.settings
        sliceable = may_be_sliced(nodes)
        share = 2 if any(node.shown is not node.field for node in nodes) else 1
        windows = Windows(
            rows,
            batch_rows,
            weights=self._rows.weights(nodes),
            max_bytes=settings.window_bytes(share * (settings.num_threads + 1)),
            max_rows=max_rows if sliceable else batch_rows or WINDOW_ROWS,
        )

        def done(window: Window) -> tuple[Window, list[pa.RecordBatch], float]:
            return window, *read(window)

        if windows.is_small:
            read_windows: Iterable[tuple[Window, list[pa.RecordBatch], float]] = map(done, windows)
        else:
            num_ahead = settings.windows_within_budget(share * windows.batch_bytes()) - 1
            read_windows = self._runtime.ahead(done, windows, num_ahead=num_ahead)
        for window, part, num_bytes in read_windows:
            windows.learn(window, num_bytes)
            yield from _slices(part, batch_rows or (WINDOW_ROWS if sliceable else None))


def _slices(batches: list[pa.RecordBatch], size: int | None) -> Iterator[pa.RecordBatch]:
    """Cut batches; the list is emptied, so that nothing of it is held once its last slice is out."""
    while batches:
        batch = batches.pop(0)
        step = size or max(1, batch.num_rows)
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)
