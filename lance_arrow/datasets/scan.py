"""`FileScanHandler`: what the bridge asks when pyarrow scans Lance files; a request becomes windows of rows.

Order of a scan: find the open file (or open it), prune columns, cut windows; each window is read, decoded and sliced to
batches by one task, on whatever thread the bridge runs it. Arrow applies the filter; it is noted in the receipt.
"""

from __future__ import annotations

import time
from collections import OrderedDict
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
from lance_arrow.datasets.fragment_rows import FragmentReading, FragmentRows
from lance_arrow.datasets.fragment_scan import FragmentScan
from lance_arrow.datasets.handler import FilePlace, ScanRequest, ScanTasks
from lance_arrow.datasets.open_files import OpenFile, OpenFiles
from lance_arrow.datasets.table_columns import TableColumns
from lance_arrow.datasets.table_parts import FoundPart, TablePart
from lance_arrow.datasets.table_session import TableSessions
from lance_arrow.datasets.windows import WINDOW_ROWS, Windows, even_windows, may_be_sliced
from lance_arrow.datasets.zone_pruning import zone_predicate, zone_ranges
from lance_arrow.errors import CorruptFileError, InternalError, InvalidArgumentError, located
from lance_arrow.io import ReadStats, locate
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.manifests.versions import VersionChoice
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport, RowRanges
from lance_arrow.structure.row_selection import cut

_TRUE = pc.scalar(True)
_KEPT_TABLES = 16
_KEPT_FRAGMENTS = 256


class FileScanHandler:
    """Scans Lance files; the options of a `LanceFormat`, compared by value and picklable.

    Parameters
    ----------
    version, tag, as_of
        Which version of a table to read; only meaningful for table directories.
    options
        How columns are wanted; as by default when None.
    """

    def __init__(
        self,
        version: int | None = None,
        tag: str | None = None,
        as_of: Any = None,
        options: ReadOptions | None = None,
    ) -> None:
        choice = VersionChoice(version=version, tag=tag, as_of=as_of)
        self.version = version
        self.tag = tag
        self.as_of = as_of
        self.options = options if options is not None else ReadOptions()
        self.files = OpenFiles(self.options)
        self._sessions = TableSessions(choice)
        self._columns: list[TableColumns] = []
        self._fragments: OrderedDict[tuple[int, int], FragmentRows] = OrderedDict()
        self._lock = Lock()

    def adopt(self, place: FilePlace) -> object | None:
        """Return the payload of a file that came without one: which table's rows it stands for, if any."""
        return self._sessions.adopt(place)

    def inspect(self, place: FilePlace) -> pa.Schema:
        """Return the schema of a file, or that of the table it belongs to."""
        part = _part_of(place)
        if part is not None:
            return self.columns_of(part.facts).schema
        session = self._sessions.begin(place)
        if session is not None:
            return self.columns_of(session.facts()).schema
        return self._open(place).rows.schema

    def supports(self, place: FilePlace) -> bool:
        """Tell whether the file ends like a Lance file, or belongs to a table; other faults raise."""
        if self._sessions.begin(place) is not None:
            return True
        try:
            self._open(place)
        except CorruptFileError as error:
            if error.detail == NOT_LANCE:
                return False
            raise
        return True

    def plan(self, place: FilePlace, request: ScanRequest) -> ScanTasks:
        """Prune columns and cut windows."""
        paths = [parse_dot_path(column) for column in request.columns]
        part = _part_of(place)
        if part is None:
            file = self._open(place)
            return FileScan(file, project(file.rows.roots, paths, missing_ok=True), request)
        if part.fragment is None:
            return _Nothing()
        rows = self._fragment(part.facts, part.fragment, place)
        nodes = project(rows.columns.all_roots, paths, missing_ok=True)
        return FragmentScan(FragmentReading(rows, nodes), request)

    def count_rows(self, place: FilePlace, filter: pc.Expression) -> int | None:
        """Return the row count when nothing is filtered; that of a table's fragment comes from its manifest."""
        if not filter.equals(_TRUE):
            return None
        part = _part_of(place)
        if part is None:
            return self._open(place).rows.num_rows
        return 0 if part.fragment is None else self._fragment(part.facts, part.fragment, place).num_rows

    def columns_of(self, facts: TableFacts) -> TableColumns:
        """Return the columns of a version of a table; those of the last few are kept."""
        with self._lock:
            for known in reversed(self._columns):
                if known.facts is facts or known.facts == facts:
                    return known
        made = TableColumns(facts, self.options)
        with self._lock:
            self._columns = [*self._columns[1 - _KEPT_TABLES :], made]
        return made

    def _fragment(self, facts: TableFacts, fragment: FragmentMeta, place: FilePlace) -> FragmentRows:
        """Return the rows of a fragment; deletions and row ids of the last few are kept."""
        columns = self.columns_of(facts)
        key = id(columns), fragment.id
        location = locate(place.path, filesystem=place.filesystem)
        assert location is not None
        with self._lock:
            held = self._fragments.get(key)
            if held is not None and held.columns is columns and held.meta == fragment:
                self._fragments.move_to_end(key)
                return held
            made = self._fragments[key] = FragmentRows(columns, fragment, self.files, location.filesystem)
            while len(self._fragments) > _KEPT_FRAGMENTS:
                self._fragments.popitem(last=False)
        return made

    def make_writer(
        self, stream: pa.NativeFile, schema: pa.Schema, options: DatasetWriteOptions | None, path: str
    ) -> DatasetSink:
        """Start a file on a stream that Arrow opened and will close."""
        return DatasetSink(stream, schema, options, path)

    def _open(self, place: FilePlace) -> OpenFile:
        if self._key()[:3] != (None, None, None):
            raise InvalidArgumentError(
                "version, tag and as_of choose a version of a table, but this file is not part of one", path=place.path
            )
        return self.files.get(place)

    def _key(self) -> tuple[Any, Any, Any, ReadOptions]:
        return self.version, self.tag, self.as_of, self.options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileScanHandler) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return FileScanHandler, self._key()

    def __repr__(self) -> str:
        names = ("version", "tag", "as_of", "options")
        given = [f"{name}={value!r}" for name, value in zip(names, self._key(), strict=True) if value is not None]
        return f"FileScanHandler({', '.join(given)})"


class _Nothing:
    """The scan of a file that yields no rows."""

    def __len__(self) -> int:
        return 0

    def run(self, index: int) -> list[pa.RecordBatch]:
        raise InternalError(f"task {index} of none")


def _part_of(place: FilePlace) -> TablePart | None:
    """Return which part of a table a file stands for; None for a file that is none."""
    payload = place.payload
    if isinstance(payload, FoundPart):
        return payload.resolved()
    return payload if isinstance(payload, TablePart) else None


class FileScan:
    """Windows of one file, in row order; `run` may be called from several threads at once.

    The receipt goes to the runtime when the last window is done, or when the scan is dropped before.
    """

    def __init__(self, file: OpenFile, nodes: Sequence[ColumnNode], request: ScanRequest) -> None:
        self._file = file
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
        max_bytes = settings.memory_budget_bytes / (max(1, in_flight) + settings.num_threads)
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
        everything = RowRanges.one(0, reader.num_rows)
        if request.filter.equals(_TRUE):
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
