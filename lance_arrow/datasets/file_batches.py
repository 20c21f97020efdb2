"""`FileBatches`: batches of one open file: all at once, streamed within the memory budget, or filtered.

rows ─► windows ─► batches with descriptors of blobs ─► filter, cut ─► pieces of few bytes of blobs ─► filled
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice

import pyarrow as pa

from lance_arrow.assembly.blobs import BlobReader, PendingBatch
from lance_arrow.assembly.row_reader import ReadCounts, RowReader
from lance_arrow.assembly.zone_reader import ZoneReader
from lance_arrow.datasets.expansion import check_expansion
from lance_arrow.datasets.predicates import Predicate, as_expression, columns_of
from lance_arrow.datasets.projection import Projection, column_paths
from lance_arrow.datasets.windows import WINDOW_ROWS, Window, Windows, even_windows, may_be_sliced
from lance_arrow.datasets.zone_pruning import zone_predicate, zone_ranges
from lance_arrow.errors import located
from lance_arrow.io import MeteredSource, ReadStats
from lance_arrow.spi import ReadReport, RowRanges
from lance_arrow.structure.row_selection import cut


class FileBatches:
    """Batches of one file.

    Parameters
    ----------
    source
        Its bytes.
    rows
        Its rows, with descriptors of blobs.
    blobs
        Its blobs.
    zones
        Its zone maps; those in the file when None.
    """

    def __init__(
        self, source: MeteredSource, rows: RowReader, blobs: BlobReader, zones: ZoneReader | None = None
    ) -> None:
        self._source = source
        self._rows = rows
        self._blobs = blobs
        self._runtime = rows.runtime
        self.zones = ZoneReader(rows) if zones is None else zones

    def at_once(self, projection: Projection, rows: RowRanges) -> list[pa.RecordBatch]:
        """Read rows, cut evenly among the threads.

        Raises
        ------
        ResourceLimitError
            As `check_expansion`.
        """
        watch = Watch(self._source)
        self._check_expansion(projection, rows)
        windows = self._shares(projection, rows)
        if len(windows) > 1:
            self._rows.keep_indices(projection.nodes, rows)
        parts = list(self._runtime.map(partial(self._window, projection), windows))
        batches = list(self.with_blobs(projection, (batch for part, _ in parts for batch in part)))
        self.report(projection, [counts for _, counts in parts], rows.num_rows, watch)
        return batches

    def stream(
        self, projection: Projection, batch_rows: int | None, rows: RowRanges, *, with_blobs: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in batches of `batch_rows`, or of what the budget allows, decoded ahead by the threads."""
        watch = Watch(self._source)
        counts: list[ReadCounts] = []
        num_rows = 0
        stored = self._stored(projection, batch_rows, rows, counts)
        for batch in self.with_blobs(projection, stored) if with_blobs else stored:
            num_rows += batch.num_rows
            yield batch
        self.report(projection, counts, num_rows, watch)

    def filtered(
        self,
        projection: Projection,
        filter: Predicate,
        columns: Sequence[str] | None,
        batch_rows: int | None,
        rows: RowRanges,
        *,
        is_bounded: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Read what the filter and `columns` (None: all) reach into; keep rows that satisfy it, cut to `projection`.

        `is_bounded` tells whether all is wanted at once, so that `check_expansion` holds.
        """
        filled, kept = self._kept(filter, columns, batch_rows, rows, is_bounded=is_bounded)
        batches = (projection.cut(batch, filled=filled) for batch in kept)
        return batches if filled else self.with_blobs(projection, batches)

    def count(self, filter: Predicate, rows: RowRanges) -> int:
        """Count rows that satisfy a filter."""
        return sum(batch.num_rows for batch in self._kept(filter, [], None, rows, is_bounded=True)[1])

    def with_blobs(self, projection: Projection, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the bytes of blobs in place of their descriptors, in pieces of few bytes, a few of them ahead."""
        if not projection.has_blobs:
            return iter(batches)
        nodes = [output.node for output in projection.outputs]
        settings = self._runtime.settings
        most = settings.blob_piece_bytes
        pieces = (piece for batch in batches for piece in self._blobs.pending(nodes, batch, most).pieces())
        first = list(islice(pieces, 2))
        if len(first) < 2:
            # Handing one piece to a thread would cost more than a small take.
            return (piece.filled() for piece in first)
        num_ahead = settings.windows_within_budget(most) - 1
        return iter(self._runtime.ahead(PendingBatch.filled, chain(first, pieces), num_ahead=num_ahead))

    def report(self, projection: Projection, counts: Sequence[ReadCounts], num_rows: int, watch: Watch) -> None:
        """Tell plugins what a read took, if any of them listens."""
        if not self._runtime.is_watched:
            return
        stats = watch.stats()
        self._runtime.finished(
            ReadReport(
                files=1,
                pages=sum(one.pages for one in counts),
                rows=num_rows,
                requests=stats.requests,
                requested_bytes=stats.bytes_wanted,
                fetched_bytes=stats.bytes_fetched,
                columns=tuple(leaf.path for node in projection.nodes for leaf in node.leaves()),
                seconds=watch.seconds(),
            )
        )

    def _kept(
        self,
        filter: Predicate,
        columns: Sequence[str] | None,
        batch_rows: int | None,
        rows: RowRanges,
        *,
        is_bounded: bool,
    ) -> tuple[bool, Iterator[pa.RecordBatch]]:
        """Rows that satisfy a filter; blobs are left as descriptors, unless it looks at some: the first item tells."""
        expression = as_expression(filter)
        roots, schema = self._rows.roots, self._rows.schema
        paths = columns_of(expression, schema)
        filled = Projection.covering(roots, schema, paths).has_blobs
        if columns is not None:
            paths += tuple(column_paths(columns, roots))
        if columns is None or not paths:
            projection = Projection.of(roots, schema, None)
        else:
            projection = Projection.covering(roots, schema, paths)
        if is_bounded:
            self._check_expansion(projection, rows)
        rows = zone_ranges(self._rows, self.zones, zone_predicate(expression, schema), rows)
        batches = self.stream(projection, batch_rows, rows, with_blobs=filled)
        return filled, (batch.filter(expression) for batch in batches)

    def _check_expansion(self, projection: Projection, rows: RowRanges) -> None:
        with located(path=self._source.name):
            check_expansion(projection.nodes, rows.num_rows, self._source.size(), self._runtime.settings.limits)

    def _shares(self, projection: Projection, rows: RowRanges) -> list[RowRanges]:
        stored_bytes = self._rows.divisible_bytes(projection.nodes) * rows.num_rows // max(1, self._rows.num_rows)
        spans = even_windows(rows.num_rows, stored_bytes, self._runtime.settings.num_threads)
        return [cut(rows, start, stop) for start, stop in spans]

    def _window(self, projection: Projection, rows: RowRanges) -> tuple[list[pa.RecordBatch], ReadCounts]:
        batches, counts = self._rows.read(projection.nodes, rows)
        metadata = projection.stored.metadata
        return [projection.apply(batch).replace_schema_metadata(metadata) for batch in batches], counts

    def _stored(
        self, projection: Projection, batch_rows: int | None, rows: RowRanges, counts: list[ReadCounts]
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches with descriptors of blobs; the bytes of these take the other half of the budget."""
        settings = self._runtime.settings
        share = 2 if projection.has_blobs else 1
        windows = Windows(
            rows,
            batch_rows,
            weights=self._rows.weights(projection.nodes),
            max_bytes=settings.window_bytes(share * (settings.num_threads + 1)),
            max_rows=WINDOW_ROWS if batch_rows is None or may_be_sliced(projection.nodes) else batch_rows,
        )

        def read(window: Window) -> tuple[Window, list[pa.RecordBatch], ReadCounts]:
            return window, *self._window(projection, window.rows)

        num_ahead = settings.windows_within_budget(share * windows.batch_bytes()) - 1
        for window, part, part_counts in self._runtime.ahead(read, windows, num_ahead=num_ahead):
            windows.learn(window, sum(batch.nbytes for batch in part))
            counts.append(part_counts)
            yield from _slices(part, batch_rows)


class Watch:
    """What a source was asked for, and how long it took, from now on."""

    def __init__(self, source: MeteredSource) -> None:
        self._source = source
        self._started = time.perf_counter()
        self._before = source.snapshot()

    def stats(self) -> ReadStats:
        """Return requests and bytes since then."""
        return self._source.snapshot() - self._before

    def seconds(self) -> float:
        """Return the time since then."""
        return time.perf_counter() - self._started


def _slices(batches: list[pa.RecordBatch], size: int | None) -> Iterator[pa.RecordBatch]:
    """Cut batches; the list is emptied, so that nothing of it is held once its last slice is out."""
    while batches:
        batch = batches.pop(0)
        step = size or max(1, batch.num_rows)
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)
