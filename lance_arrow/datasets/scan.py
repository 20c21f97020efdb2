"""`FileScanHandler`: what the bridge asks when pyarrow scans Lance files; a request becomes windows of rows.

Order of a scan: find the open file (or open it), prune columns, cut windows; each window is read, decoded and sliced to
batches by one task, on whatever thread the bridge runs it. Arrow applies the filter; it is noted in the receipt.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.assembly.blobs import only_blobs
from lance_arrow.assembly.column_tree import ColumnNode
from lance_arrow.assembly.pruning import project
from lance_arrow.assembly.read_options import ReadOptions
from lance_arrow.assembly.row_reader import RowReader
from lance_arrow.container.footer import NOT_LANCE
from lance_arrow.datasets.dataset_sink import DatasetSink, DatasetWriteOptions
from lance_arrow.datasets.expansion import check_expansion
from lance_arrow.datasets.handler import FilePlace, ScanRequest
from lance_arrow.datasets.open_files import OpenFile, OpenFiles
from lance_arrow.datasets.row_restriction import RowRestriction, rows_within
from lance_arrow.datasets.scan_options import ScanOptions
from lance_arrow.datasets.table_guard import refuse_table_file
from lance_arrow.datasets.windows import WINDOW_ROWS, Windows, even_windows, may_be_sliced
from lance_arrow.datasets.zone_pruning import zone_predicate, zone_ranges
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, located
from lance_arrow.io import ReadStats
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, RowRanges
from lance_arrow.structure.row_selection import cut

_TRUE = pc.scalar(True)


class FileScanHandler:
    """Scans Lance files; the options of a `LanceFormat`, compared by value and picklable.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table to read; only meaningful for table directories.
    options
        How columns are wanted; as by default when None.
    scan_options
        Wishes of scans that bring none of their own.
    """

    def __init__(
        self,
        version: int | None = None,
        tag: str | None = None,
        as_of: Any = None,
        options: ReadOptions | None = None,
        scan_options: ScanOptions | None = None,
    ) -> None:
        if sum(option is not None for option in (version, tag, as_of)) > 1:
            raise InvalidArgumentError("give one of version, tag and as_of")
        self.version = version
        self.tag = tag
        self.as_of = as_of
        self.options = options if options is not None else ReadOptions()
        self.scan_options = scan_options if scan_options is not None else ScanOptions()
        self._files = OpenFiles(self.options)

    def inspect(self, place: FilePlace) -> pa.Schema:
        """Return the schema of a file."""
        return self._open(place).rows.schema

    def supports(self, place: FilePlace) -> bool:
        """Tell whether the file ends like a Lance file; other faults raise."""
        try:
            self._open(place)
        except CorruptFileError as error:
            if error.detail == NOT_LANCE:
                return False
            raise
        return True

    def plan(self, place: FilePlace, request: ScanRequest) -> FileScan:
        """Prune columns and cut windows."""
        wishes = request.options if request.options is not None else self.scan_options
        file = self._open(place, wishes)
        paths = [parse_dot_path(column) for column in request.columns]
        return FileScan(file, project(file.rows.roots, paths, missing_ok=True), request, place.rows, wishes)

    def count_rows(self, place: FilePlace, filter: pc.Expression) -> int | None:
        """Return the row count when nothing is filtered."""
        if not filter.equals(_TRUE):
            return None
        return rows_within(place.rows, self._open(place).rows.num_rows).num_rows

    def opened(self, place: FilePlace) -> OpenFile:
        """Return the open file."""
        return self._open(place)

    def make_writer(
        self, stream: pa.NativeFile, schema: pa.Schema, options: DatasetWriteOptions | None, path: str
    ) -> DatasetSink:
        """Start a file on a stream that Arrow opened and will close."""
        return DatasetSink(stream, schema, options, path)

    def _open(self, place: FilePlace, wishes: ScanOptions | None = None) -> OpenFile:
        refuse_table_file(place)
        if self._key()[:3] != (None, None, None):
            raise InvalidArgumentError(
                "version, tag and as_of choose a version of a table, but this file is not part of one", path=place.path
            )
        return self._files.get(place, wishes if wishes is not None else self.scan_options)

    def _key(self) -> tuple[Any, Any, Any, ReadOptions, ScanOptions]:
        return self.version, self.tag, self.as_of, self.options, self.scan_options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileScanHandler) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileScanHandler, self._key()

    def __repr__(self) -> str:
        names = ("version", "tag", "as_of", "options", "scan_options")
        given = [f"{name}={value!r}" for name, value in zip(names, self._key(), strict=True) if value is not None]
        return f"FileScanHandler({', '.join(given)})"


class FileScan:
    """Windows of one file, in row order; `run` may be called from several threads at once.

    The receipt goes to the runtime when the last window is done, or when the scan is dropped before.
    """

    def __init__(
        self,
        file: OpenFile,
        nodes: Sequence[ColumnNode],
        request: ScanRequest,
        within: RowRestriction | None = None,
        wishes: ScanOptions | None = None,
    ) -> None:
        self._file = file
        self._within = within
        self._wishes = ScanOptions() if wishes is None else wishes
        self._nodes = nodes
        self._request = request
        self._has_blobs = any(node.shown is not node.field for node in nodes)
        self._lock = Lock()
        self._started = time.perf_counter()
        self._before = file.source.snapshot()
        self._done = self._pages = self._rows = 0
        self._reported = True  # a scan that cannot be planned has nothing to tell
        self._windows = self._cut()
        self._reported = False

    def _cut(self) -> Sequence[RowRanges]:
        """Cut the file so that all tasks in flight stay within the budget, batches too where they would not.

        Where that is one window, but many bytes, there is one for each thread.
        """
        request, reader, nodes = self._request, self._file.rows, self._nodes
        rows = self._wanted_rows()
        settings = reader.runtime.settings
        in_flight = request.batch_readahead if request.use_threads else 1
        # Tasks that wait are decoded; those that run are encoded too.
        budget_bytes = self._wishes.memory_budget_bytes or settings.memory_budget_bytes
        max_bytes = budget_bytes / (max(1, in_flight) + settings.num_threads)
        if self._has_blobs:
            max_bytes /= 2
        batch_rows = min(request.batch_size, max(1, reader.num_rows))
        windows: Sequence[RowRanges] = Windows(
            rows,
            batch_rows,
            weights=reader.weights(nodes),
            max_bytes=max_bytes,
            max_rows=WINDOW_ROWS if may_be_sliced(nodes) else batch_rows,
            whole_batches=False,
        ).listed()
        if self._has_blobs:
            return self._cut_by_blobs(windows, max(1, min(settings.blob_batch_bytes, int(max_bytes))))
        if len(windows) != 1 or not request.use_threads:
            return windows
        stored_bytes = reader.divisible_bytes(nodes) * rows.num_rows // max(1, reader.num_rows)
        spans = even_windows(rows.num_rows, stored_bytes, settings.num_threads, max_rows=WINDOW_ROWS)
        if len(spans) == 1:
            return windows
        reader.keep_indices(nodes, rows)
        return [cut(rows, *span) for span in spans]

    def _wanted_rows(self) -> RowRanges:
        """Rows of the zones that the filter leaves."""
        request, reader = self._request, self._file.rows
        everything = rows_within(self._within, reader.num_rows)
        if request.filter.equals(_TRUE) or not self._wishes.zone_maps:
            return everything
        predicate = zone_predicate(request.filter, request.dataset_schema)
        return zone_ranges(reader, self._file.zones, predicate, everything)

    def _cut_by_blobs(self, windows: Sequence[RowRanges], piece_bytes: int) -> list[RowRanges]:
        """Cut windows further; all descriptors are read for that, so there must not be too many of them."""
        reader = self._file.rows
        with located(path=reader.file.name):
            check_expansion(
                only_blobs(self._nodes), reader.num_rows, self._file.source.size(), reader.runtime.settings.limits
            )
        return list(self._file.blobs.windows(self._nodes, windows, piece_bytes))

    def __len__(self) -> int:
        return len(self._windows)

    def run(self, index: int) -> list[pa.RecordBatch]:
        """Read one window and cut it to batches of at most the wanted size."""
        rows = self._windows[index]
        reader: RowReader = self._file.rows
        read, counts = reader.read(self._nodes, rows, self._request.memory_pool)
        if self._has_blobs:
            pieces = (piece for batch in read for piece in self._file.blobs.pending(self._nodes, batch).pieces())
            read = [piece.filled(self._request.memory_pool) for piece in pieces]
        size = self._request.batch_size
        batches = [batch.slice(start, size) for batch in read for start in range(0, batch.num_rows, size)]
        with self._lock:
            self._done += 1
            self._pages += counts.pages
            self._rows += rows.num_rows
            finished = self._done == len(self._windows)
        if finished:
            self._report()
        return batches

    def _report(self) -> None:
        if self._reported:
            return
        self._reported = True
        stats: ReadStats = self._file.source.snapshot() - self._before
        default_runtime().finished(
            ReadReport(
                files=1,
                pages=self._pages,
                rows=self._rows,
                requests=stats.requests,
                requested_bytes=stats.bytes_wanted,
                fetched_bytes=stats.bytes_fetched,
                columns=tuple(leaf.path for node in self._nodes for leaf in node.leaves()),
                filter=None if self._request.filter.equals(_TRUE) else str(self._request.filter),
                seconds=time.perf_counter() - self._started,
            )
        )

    def __del__(self) -> None:
        if not self._reported:
            self._report()


def parse_dot_path(text: str) -> tuple[str, ...]:
    """Split ``a.b`` at unescaped dots; a backslash keeps the next character.

    Brackets are part of a name: the bridge has turned indices into names before.
    """
    parts = [""]
    characters = iter(text)
    for character in characters:
        if character == "\\":
            parts[-1] += next(characters, "")
        elif character == ".":
            parts.append("")
        else:
            parts[-1] += character
    return tuple(parts)
