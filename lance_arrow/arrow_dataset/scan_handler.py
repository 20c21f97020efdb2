"""`FileScanHandler`: what the bridge asks when pyarrow scans Lance files; a request becomes windows of rows.

Order of a scan: find the open file (or open it), prune columns, ask zone maps, cut windows; each window is read,
decoded (the filter's columns first) and sliced to batches by one task, on whatever thread the bridge runs it. Arrow
applies the filter once more, to rows that all satisfy it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import parse_dot_path, project
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.arrow_dataset.dataset_sink import DatasetSink, DatasetWriteOptions
from lance_arrow.arrow_dataset.fragment_scan import FragmentScan
from lance_arrow.arrow_dataset.fragment_scan import count_rows as count_fragment
from lance_arrow.arrow_dataset.handler_protocol import FILE_PRUNER, ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.arrow_dataset.table_session import FoundPart, TableSessions
from lance_arrow.container.footer import NOT_LANCE
from lance_arrow.errors import CorruptFileError, InternalError, InvalidArgumentError, located
from lance_arrow.io import locate
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.manifests.versions import VersionChoice
from lance_arrow.pruning.file_pruner import FileCounter, FilePruner, file_pruner
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.scan.blobs.blob_reader import only_blobs
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_filter import FilteredReading, TableFilter
from lance_arrow.scan.late_materialization import LateReader, late_window_rows
from lance_arrow.scan.open_files import OpenFile, OpenFiles
from lance_arrow.scan.read_counts import UNWATCHED, Receipt
from lance_arrow.scan.row_filter import FilterPlan, RowFilter
from lance_arrow.scan.row_restriction import RowRestriction, rows_within
from lance_arrow.scan.row_weights import ExpansionWatch, check_expansion
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.scan.windows import WINDOW_ROWS, Windows, even_windows, may_be_sliced
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import cut, difference

_TRUE = pc.scalar(True)
_KEPT_TABLES = 16
_KEPT_FRAGMENTS = 256
_FIRST_TO_REGISTER = 2


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
        choice = VersionChoice(version=version, tag=tag, as_of=as_of)
        self.version = version
        self.tag = tag
        self.as_of = as_of
        self.options = options if options is not None else ReadOptions()
        self.scan_options = scan_options if scan_options is not None else ScanOptions()
        self.files = OpenFiles(self.options)
        self._sessions = TableSessions(choice)
        self._columns: list[TableColumns] = []
        self._fragments: OrderedDict[tuple[int, int, ScanOptions], FragmentRows] = OrderedDict()
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
        part = _part_of(place)
        if part is None:
            scan_options = self._scan_options(request)
            file = self._open(place, scan_options)
            found = FileScan(file, request, place.rows, scan_options)
            self._register(request, scan_options, file)
            return found
        if place.rows is not None:
            raise InternalError("a fragment of a table was cut down to rows of one of its files", path=place.path)
        if part.fragment is None:
            return _Nothing()
        rows = self._fragment(part.facts, part.fragment, place, self._scan_options(request))
        nodes = _asked(request).nodes.of(rows.columns.all_roots)
        return FragmentScan(FilteredReading(rows, nodes, _table_filter(rows, request)), request)

    def count_rows(self, place: FilePlace, request: ScanRequest) -> int | None:
        """Count rows by zone maps, and by the filter's columns where these cannot tell."""
        part = _part_of(place)
        if part is not None:
            if part.fragment is None:
                return 0
            rows = self._fragment(part.facts, part.fragment, place, self._scan_options(request))
            if request.filter.equals(_TRUE):
                # What the manifest says: no file is opened.
                return rows.num_rows
            wanted = _table_filter(rows, request)
            return None if wanted is None else count_fragment(rows, wanted, request)
        scan_options = self._scan_options(request)
        file = self._open(place, scan_options)
        within = rows_within(place.rows, file.rows.num_rows)
        plan = _asked(request).filter
        if plan is None:
            self._register(request, scan_options, file, is_count=True)
            return within.num_rows
        if not plan.is_repeatable:
            return None
        condition = RowFilter(plan, file.rows, file.zones, file.blobs)
        receipt = _receipt(file, plan.nodes, request)
        prune_result = condition.prune(within) if scan_options.zone_maps else PruneResult(within, RowRanges.one(0, 0))
        receipt.note_pruning(prune_result, sure_are_read=False)
        _check_filtered(file, plan, difference(prune_result.rows, prune_result.all))
        self._register(request, scan_options, file)
        found = condition.count(prune_result, receipt.tally, request.memory_pool, use_threads=request.use_threads)
        receipt.send(found)
        return found

    def opened(self, place: FilePlace) -> OpenFile | None:
        """Return the open file; None for one that stands for rows of a table."""
        return self._open(place) if _part_of(place) is None else None

    def make_writer(
        self, stream: pa.NativeFile, schema: pa.Schema, options: DatasetWriteOptions | None, path: str
    ) -> DatasetSink:
        """Start a file on a stream that Arrow opened and will close."""
        return DatasetSink(stream, schema, options, path)

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

    def _fragment(
        self, facts: TableFacts, fragment: FragmentMeta, place: FilePlace, scan_options: ScanOptions
    ) -> FragmentRows:
        """Return the rows of a fragment; deletions and row ids of the last few are kept."""
        columns = self.columns_of(facts)
        key = id(columns), fragment.id, scan_options
        location = locate(place.path, filesystem=place.filesystem)
        assert location is not None
        with self._lock:
            held = self._fragments.get(key)
            if held is not None and held.columns is columns and held.meta == fragment:
                self._fragments.move_to_end(key)
                return held
            made = self._fragments[key] = FragmentRows(columns, fragment, self.files, location.filesystem, scan_options)
            while len(self._fragments) > _KEPT_FRAGMENTS:
                self._fragments.popitem(last=False)
        return made

    def _register(
        self, request: ScanRequest, scan_options: ScanOptions, file: OpenFile, *, is_count: bool = False
    ) -> None:
        """Show a scan's file pruner what its files look like, from the second one on; receipts want each opened."""
        asked = _asked(request)
        asked.num_files += 1
        verify = scan_options.verify if scan_options.verify is not None else self.options.verify
        may_prune = scan_options.zone_maps and verify != "full" and not file.rows.runtime.is_watched
        if asked.num_files == _FIRST_TO_REGISTER and may_prune:
            predicate = None if asked.filter is None else asked.filter.predicate
            if predicate is not None:
                asked.pruner = file_pruner(predicate, has_checks=verify != "off")
            elif is_count:
                asked.pruner = FileCounter(has_checks=verify != "off")
        if asked.pruner is not None:
            asked.pruner.register(file.rows)
            request.kept[FILE_PRUNER] = asked.pruner.native

    def _scan_options(self, request: ScanRequest) -> ScanOptions:
        return request.options if request.options is not None else self.scan_options

    def _open(self, place: FilePlace, scan_options: ScanOptions | None = None) -> OpenFile:
        if self._key()[:3] != (None, None, None):
            raise InvalidArgumentError(
                "version, tag and as_of choose a version of a table, but this file is not part of one", path=place.path
            )
        return self.files.get(place, scan_options if scan_options is not None else self.scan_options)

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


def _table_filter(rows: FragmentRows, request: ScanRequest) -> TableFilter | None:
    """Return the filter of a scan, unless it gives other answers each time it is asked."""
    plan = _asked(request).filter
    if plan is None or not plan.is_repeatable:
        return None
    return TableFilter(plan, rows.columns)


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


@dataclass(slots=True, eq=False)
class _Asked:
    """What a request asks of any file.

    Parameters
    ----------
    nodes
        The columns of a tree that it names.
    filter
        None where all rows are wanted.
    pruner
        What leaves out files without asking here; None as long as there is but one file, or nothing to go by.
    num_files
        How many were opened for it.
    """

    nodes: PerTree[tuple[ColumnNode, ...]]
    filter: FilterPlan | None
    pruner: FilePruner | FileCounter | None = None
    num_files: int = 0

    @classmethod
    def of(cls, request: ScanRequest) -> _Asked:
        paths = [parse_dot_path(column) for column in request.columns]
        is_all = request.filter.equals(_TRUE)
        plan = None if is_all else FilterPlan(request.filter, request.dataset_schema)
        return cls(PerTree(lambda roots: project(roots, paths, missing_ok=True)), plan)


def _asked(request: ScanRequest) -> _Asked:
    """Work a request out, once for the files of a scan."""
    found: _Asked | None = request.kept.get(_Asked)
    if found is None:
        found = request.kept[_Asked] = _Asked.of(request)
    return found


class FileScan:
    """Windows of one file, in row order; `run` may be called from several threads at once.

    The receipt goes to the runtime when the last window is done, or when the scan is dropped before.
    """

    def __init__(
        self,
        file: OpenFile,
        request: ScanRequest,
        within: RowRestriction | None = None,
        scan_options: ScanOptions | None = None,
    ) -> None:
        # A scan that cannot be planned has nothing to tell.
        self._is_planned = False
        self._file = file
        self._within = within
        self._scan_options = ScanOptions() if scan_options is None else scan_options
        self._request = request
        self._asked = _asked(request)
        self._lock = Lock()
        self._receipt = _receipt(file, self._asked.nodes.of, request)
        self._done = self._rows = 0
        self._late: LateReader | None = None
        self._expansion = ExpansionWatch(self._nodes, file.source.size(), file.rows.runtime.settings.limits)
        self._windows = self._cut(self._wanted_rows())
        self._is_planned = True
        if not len(self._windows):
            self._receipt.send(0)

    @cached_property
    def _nodes(self) -> tuple[ColumnNode, ...]:
        return self._asked.nodes.of(self._file.rows.roots)

    @cached_property
    def _has_blobs(self) -> bool:
        return any(node.shown is not node.field for node in self._nodes)

    def _cut(self, rows: RowRanges) -> Sequence[RowRanges]:
        """Cut the file so that all tasks in flight stay within the budget, batches too where they would not.

        Where that is one window, but many bytes, there is one for each thread.
        """
        if not len(rows):
            return ()
        request, reader, nodes = self._request, self._file.rows, self._nodes
        settings = reader.runtime.settings
        in_flight = request.batch_readahead if request.use_threads else 1
        # Tasks that wait are decoded; those that run are encoded too.
        budget_bytes = self._scan_options.memory_budget_bytes or settings.memory_budget_bytes
        max_bytes = budget_bytes / (max(1, in_flight) + settings.num_threads)
        if self._has_blobs:
            max_bytes /= 2
        batch_rows = min(request.batch_size, max(1, reader.num_rows))
        num_threads = settings.num_threads if request.use_threads else 1
        most = WINDOW_ROWS if self._late is None else late_window_rows(rows.num_rows, num_threads)
        is_sliceable = may_be_sliced(nodes)
        if self._late is not None and is_sliceable and not self._has_blobs:
            count = num_threads * -(-rows.num_rows // (num_threads * most))
            if count <= in_flight and (few := self._even_windows(rows, count, budget_bytes / (count + num_threads))):
                return few
        windows: Sequence[RowRanges] = Windows(
            rows,
            batch_rows,
            weights=reader.weights(nodes),
            max_bytes=max_bytes,
            max_rows=most if is_sliceable else batch_rows,
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
        reader.keep_indices(nodes if self._late is None else self._late.first_nodes, rows)
        return [cut(rows, *span) for span in spans]

    def _even_windows(self, rows: RowRanges, count: int, max_bytes: float) -> Sequence[RowRanges]:
        """Cut rows to equal windows; none where that is a single one, or one of them takes too many bytes.

        Batches need not be whole: a filter leaves parts of them.
        """
        if rows.num_rows < count * WINDOW_ROWS or count < 2:
            return ()
        weights, step = self._file.rows.weights(self._nodes), -(-rows.num_rows // count)
        windows = Windows(rows, None, weights=weights, max_bytes=max_bytes, max_rows=step).listed()
        return windows if len(windows) == count else ()

    def _wanted_rows(self) -> RowRanges:
        """Rows of the zones that the filter leaves."""
        file = self._file
        everything = rows_within(self._within, file.rows.num_rows)
        plan = self._asked.filter
        if plan is None:
            return everything
        condition = RowFilter(plan, file.rows, file.zones, file.blobs)
        prune_result = PruneResult(everything, RowRanges.one(0, 0))
        if self._scan_options.zone_maps:
            prune_result = condition.prune(everything)
        self._receipt.note_pruning(prune_result)
        _check_filtered(file, plan, prune_result.rows)
        # Of files that zones leave out, no more is looked at.
        if condition.is_repeatable and len(prune_result.rows):
            self._late = LateReader(file.rows, self._nodes, condition, prune_result, self._receipt.tally)
        return prune_result.rows

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
        with self._lock, located(path=self._file.rows.file.name):
            self._expansion.add(rows.num_rows)
        read = self._read(rows)
        if self._has_blobs:
            pieces = (piece for batch in read for piece in self._file.blobs.pending(self._nodes, batch).pieces())
            read = [piece.filled(self._request.memory_pool) for piece in pieces]
        size = self._request.batch_size
        batches = [batch.slice(start, size) for batch in read for start in range(0, batch.num_rows, size)]
        with self._lock:
            self._done += 1
            self._rows += sum(batch.num_rows for batch in batches)
            finished = self._done == len(self._windows)
        if finished:
            self._receipt.send(self._rows)
        return batches

    def _read(self, rows: RowRanges) -> list[pa.RecordBatch]:
        if self._late is not None:
            return self._late.read(rows, self._request.memory_pool)
        batches, counts = self._file.rows.read(self._nodes, rows, self._request.memory_pool)
        self._receipt.tally.add(counts, rows.num_rows)
        return batches

    def __del__(self) -> None:
        if self._is_planned:
            self._receipt.send(self._rows)


def _check_filtered(file: OpenFile, plan: FilterPlan, rows: RowRanges) -> None:
    """Refuse to look at rows that no bytes prove: a scan of which nothing comes would not end."""
    with located(path=file.rows.file.name):
        nodes = plan.nodes(file.rows.roots)
        check_expansion(nodes, rows.num_rows, file.source.size(), file.rows.runtime.settings.limits)


def _receipt(
    file: OpenFile, nodes: Callable[[tuple[ColumnNode, ...]], tuple[ColumnNode, ...]], request: ScanRequest
) -> Receipt:
    """Begin to count; what is read of the columns is named where somebody looks."""
    runtime = file.rows.runtime
    if not runtime.is_watched:
        return UNWATCHED
    columns = tuple(leaf.path for node in nodes(file.rows.roots) for leaf in node.leaves())
    printed = None if request.filter.equals(_TRUE) else str(request.filter)
    return Receipt(file.source, runtime, columns, printed)
