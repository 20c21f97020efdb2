"""`FileScan`: pyarrow's scan of one bare file, as windows of its rows; `Asked`, what a request asks of any file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import parse_dot_path, project
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.errors import located
from lance_arrow.pruning.file_pruner import FileCounter, FilePruner
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.scan.blobs.blob_reader import only_blobs
from lance_arrow.scan.late_materialization import LateReader, joined_nodes, late_window_rows
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.read_counts import UNWATCHED, Receipt
from lance_arrow.scan.row_filter import FilterPlan, RowFilter
from lance_arrow.scan.row_restriction import RowRestriction, rows_within
from lance_arrow.scan.row_weights import ExpansionWatch, check_expansion
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.scan.windows import WINDOW_ROWS, Windows, even_windows, may_be_sliced
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import cut

_TRUE = pc.scalar(True)


@dataclass(slots=True, eq=False)
class Asked:
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

    def all_nodes(self, roots: tuple[ColumnNode, ...]) -> tuple[ColumnNode, ...]:
        """Return the columns of a tree that are read, those of the filter included."""
        nodes = self.nodes.of(roots)
        return nodes if self.filter is None else joined_nodes(nodes, self.filter.nodes(roots))

    @classmethod
    def of(cls, request: ScanRequest) -> Asked:
        paths = [parse_dot_path(column) for column in request.columns]
        is_all = request.filter.equals(_TRUE)
        plan = None if is_all else FilterPlan(request.filter, request.dataset_schema)
        return cls(PerTree(lambda roots: project(roots, paths, missing_ok=True)), plan)


def asked_of(request: ScanRequest) -> Asked:
    """Work a request out, once for the files of a scan."""
    found: Asked | None = request.kept.get(Asked)
    if found is None:
        found = request.kept[Asked] = Asked.of(request)
    return found


def scan_ahead_of(request: ScanRequest, memory_bytes: int) -> ScanAhead:
    """Return what a scan may ask ahead: its files share it."""
    found: ScanAhead | None = request.kept.get(ScanAhead)
    if found is None:
        num_first = request.batch_readahead if request.use_threads else 1
        found = request.kept.setdefault(ScanAhead, ScanAhead(memory_bytes, num_first))
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
        self._asked = asked_of(request)
        self._lock = Lock()
        self._receipt = receipt_of(file, self._asked.nodes.of, request)
        self._done = self._rows = 0
        self._late: LateReader | None = None
        self._expansion = ExpansionWatch(self._nodes, file.source.size(), file.rows.runtime.settings.limits)
        wanted = self._wanted_rows()
        self._reading = file.reading(self._nodes)
        if self._reading.is_far and self._late is None and len(wanted):
            self._reading.ask_ahead(wanted, self._scan_ahead)
        self._windows = self._cut(wanted)
        self._is_planned = True
        if not len(self._windows):
            self._receipt.send(0)

    @cached_property
    def _nodes(self) -> tuple[ColumnNode, ...]:
        return self._asked.nodes.of(self._file.rows.roots)

    @property
    def _memory_bytes(self) -> int:
        settings = self._file.rows.runtime.settings
        return self._scan_options.memory_budget_bytes or settings.memory_budget_bytes

    @property
    def _scan_ahead(self) -> ScanAhead:
        return scan_ahead_of(self._request, self._memory_bytes)

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
        budget_bytes = self._memory_bytes
        if reader.source.coalescing.is_far:
            budget_bytes -= self._scan_ahead.max_bytes
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
        condition = RowFilter(plan, file)
        prune_result = PruneResult(everything, RowRanges.one(0, 0))
        if self._scan_options.zone_maps:
            prune_result = condition.prune(everything)
        self._receipt.note_pruning(prune_result)
        check_filtered(file, plan, prune_result.rows)
        # Of files that zones leave out, no more is looked at.
        if condition.is_repeatable and len(prune_result.rows):
            self._late = LateReader(self._nodes, condition, prune_result, self._receipt.tally)
            self._late.ask_ahead(prune_result.rows, self._scan_ahead)
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

    def rows_of(self, index: int) -> RowRanges:
        """Return the rows of a window."""
        return self._windows[index]

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
        with self._reading.window(rows):
            batches, counts = self._reading.read(rows, self._request.memory_pool)
        self._receipt.tally.add(counts, rows.num_rows)
        return batches

    def __del__(self) -> None:
        if self._is_planned:
            self._receipt.send(self._rows)


def check_filtered(file: OpenFile, plan: FilterPlan, rows: RowRanges) -> None:
    """Refuse to look at rows that no bytes prove: a scan of which nothing comes would not end."""
    with located(path=file.rows.file.name):
        nodes = plan.nodes(file.rows.roots)
        check_expansion(nodes, rows.num_rows, file.source.size(), file.rows.runtime.settings.limits)


def receipt_of(
    file: OpenFile, nodes: Callable[[tuple[ColumnNode, ...]], tuple[ColumnNode, ...]], request: ScanRequest
) -> Receipt:
    """Begin to count; what is read of the columns is named where somebody looks."""
    runtime = file.rows.runtime
    if not runtime.is_watched:
        return UNWATCHED
    columns = tuple(leaf.path for node in nodes(file.rows.roots) for leaf in node.leaves())
    printed = None if request.filter.equals(_TRUE) else str(request.filter)
    return Receipt(file.source, runtime, columns, printed)
