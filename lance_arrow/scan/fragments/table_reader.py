"""`TableReader`: rows of one version of a table without the native bridge: streamed, filtered, taken, counted.

fragments ─► zones ─► windows of rows that may be wanted, decoded ahead, filtered ─► named columns cut out ─► batches
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.io import AnyFileSystem, Location, coalescing_of
from lance_arrow.manifests.fragments import FragmentMeta, fragment_ids, row_counts
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.scan.blobs.pending_batch import filled
from lance_arrow.scan.fragments.field_sources import expanded
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_taking import TableTaking
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.predicates import Predicate, as_expression
from lance_arrow.scan.projection import Projection, column_paths
from lance_arrow.scan.read_counts import receipt_for
from lance_arrow.scan.row_arguments import as_offsets, first_of
from lance_arrow.scan.row_taking import as_table, in_callers_order
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import TakeOrder, take_order

if TYPE_CHECKING:
    from lance_arrow.scan.filters.filter_plan import FilterPlan
    from lance_arrow.scan.filters.kept_counts import KeptCounts
    from lance_arrow.scan.fragments.fragment_counts import FragmentCounts
    from lance_arrow.scan.fragments.fragment_groups import FragmentGroups
    from lance_arrow.scan.groups.grouped_rows import GroupedRows

_KEPT_READINGS = 64
_KEPT_FRAGMENTS = 1024


class TableReader:
    """Rows of some fragments of one version of a table.

    Parameters
    ----------
    columns
        The table's columns.
    fragments
        Which fragments, in the order of rows.
    filesystem
        The table's, as `Location.given` has it: None for the local one.
    files
        Where data files are opened.
    """

    def __init__(
        self,
        columns: TableColumns,
        fragments: Sequence[FragmentMeta],
        filesystem: AnyFileSystem | None,
        files: OpenFiles,
    ) -> None:
        self.columns = columns
        self.fragments = fragments
        self._filesystem = filesystem
        self._files = files
        self._runtime: Runtime = default_runtime()
        self._rows: OrderedDict[int, FragmentRows] = OrderedDict()
        self._readings: OrderedDict[tuple[int, int], tuple[Projection, FragmentReading]] = OrderedDict()
        self._projections: OrderedDict[tuple[str, ...] | None, Projection] = OrderedDict()
        self._lock = Lock()

    @property
    def filesystem(self) -> AnyFileSystem | None:
        """The table's filesystem, as `Location.given` has it."""
        return self._filesystem

    @cached_property
    def starts(self) -> np.ndarray:
        """``(num_fragments + 1,) int64``: the number of the first live row of each fragment, and of all at the end."""
        counts = row_counts(self.fragments).copy()
        unknown = np.flatnonzero(counts < 0).tolist()
        for number, count in zip(unknown, self._runtime.map(self._count, unknown), strict=True):
            counts[number] = count
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    @cached_property
    def num_rows(self) -> int:
        """Live rows."""
        counts = row_counts(self.fragments)
        return int(counts.sum()) if (counts >= 0).all() else int(self.starts[-1])

    def projection(self, columns: Sequence[str] | None) -> Projection:
        """Resolve the names that a caller gave; those of virtual columns are known.

        Raises
        ------
        InvalidArgumentError
            There is no such column.
        """
        if columns is None:
            roots = self.columns.roots
            key = None
        else:
            roots = self.columns.all_roots
            column_paths(columns, roots)
            key = tuple(columns)
        with self._lock:
            held = self._projections.get(key)
            if held is None:
                held = self._projections[key] = Projection.of(roots, self.columns.schema.metadata, columns)
                while len(self._projections) > _KEPT_READINGS:
                    self._projections.popitem(last=False)
            return held

    def batches(
        self,
        projection: Projection,
        filter: Predicate | None,
        batch_size: int | None,
        *,
        within: Sequence[RowRanges] | None = None,
        wants_all: bool = False,
        is_held: bool = False,
        is_written: bool = False,
        most_rows: int = WINDOW_ROWS,
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in order, those that satisfy a filter; rows that zone maps exclude are not read.

        Parameters
        ----------
        projection
            What is wanted.
        filter
            Expression or DNF tuples over the table's columns, virtual ones among them.
        batch_size
            The most rows of a batch; as `LanceFile.to_batches` when None.
        within
            For each fragment the rows of its files to choose from; all when None.
        wants_all, is_held, is_written
            Whether the caller waits for the last row, keeps all of them, or writes them; see `RowStream`.
        most_rows
            Most rows of a batch where `batch_size` is None.
        """
        scan, numbers = self._scan(projection.nodes, None if filter is None else self.filter(filter), within)
        return scan.batches(
            numbers,
            batch_size,
            projection,
            wants_all=wants_all,
            is_held=is_held,
            is_written=is_written,
            most_rows=most_rows,
        )

    def filter(self, filter: Predicate) -> FilterPlan:
        """Bind a filter over the table's columns, virtual ones among them.

        Raises
        ------
        InvalidArgumentError
            It does not fit.
        """
        from lance_arrow.scan.filters.kept_plans import kept_plan  # noqa: PLC0415 - for filters alone

        expression = as_expression(filter, self.columns.full_schema)
        return kept_plan(expression, self.columns.full_schema)

    @cached_property
    def _counts(self) -> KeptCounts:
        from lance_arrow.scan.filters.kept_counts import KeptCounts  # noqa: PLC0415 - for filters alone

        return KeptCounts()

    def read(self, projection: Projection, filter: Predicate | None) -> pa.Table:
        """Read rows into a table; arguments are those of `batches`.

        Raises
        ------
        ResourceLimitError
            As `check_expansion`, for each fragment.
        """
        return as_table(list(self.batches(projection, filter, None, is_held=True)), projection.schema)

    def count(self, filter: Predicate | None) -> int:
        """Count rows; without a filter nothing is read where the manifest tells."""
        if filter is None:
            return self.num_rows
        from lance_arrow.scan.fragments.fragment_counts import FragmentCounts  # noqa: PLC0415 - for filters alone

        plan = self.filter(filter)
        counts = None
        if plan.is_repeatable and not self._runtime.is_watched and Location(self._filesystem, "").is_local:
            counts = FragmentCounts(self.columns, self.fragments, self, plan, self._counts)
        scan, numbers = self._scan((), plan, None, counts)
        return scan.count(numbers)

    def take(self, indices: Any, columns: Sequence[str] | None) -> pa.Table:
        """Read rows by number, counted over live rows in order of scans; order and duplicates are the caller's.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below `num_rows`; it is named.
        """
        projection = self.projection(columns)
        found = self._of_one(indices, None, projection)
        if found is not None:
            return found
        order = take_order(as_offsets(indices), self.num_rows)
        found = self._of_one(indices, order, projection) if len(order.rows) else None
        if found is not None:
            return found
        live = expanded(order.rows.starts, order.rows.stops)
        numbers = np.searchsorted(self.starts, live, side="right") - 1
        offsets = live - self.starts[numbers]
        borders = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        spans = {
            int(numbers[start]): slice(start, stop)
            for start, stop in pairwise(borders.tolist())
            if self.fragments[int(numbers[start])].deletion is not None
        }
        for rows, span in zip(self._with_deletions_for(list(spans), numbers, projection), spans.values(), strict=True):
            offsets[span] = rows.offsets_of(offsets[span])
        return self._taken(numbers, offsets, order.positions, projection)

    def head(self, num_rows: int, columns: Sequence[str] | None) -> pa.Table:
        """Read the first live rows; the first fragment has most heads, and no other one is looked at then."""
        first = self.fragments[0].num_rows if len(self.fragments) else None
        if first is None or not 0 < num_rows <= first:
            return self.take(np.arange(min(num_rows, self.num_rows)), columns)
        projection = self.projection(columns)
        receipt = receipt_for(self._runtime, projection.nodes)
        rows = RowRanges.one(0, num_rows)
        if self.fragments[0].deletion is not None:
            (held,) = self._with_deletions_for([0], np.zeros(1, np.int64), projection)
            rows = take_order(held.offsets_of(np.arange(num_rows)), held.num_physical).rows
        reading = self.reading(0, projection)
        receipt.see(reading.opened)
        found, counts = reading.take(rows)
        receipt.tally.add(counts, num_rows)
        batches = filled(reading, found, self._runtime.settings.blob_piece_bytes)
        table = as_table([projection.apply(batch, filled=True) for batch in batches], projection.schema)
        receipt.count(num_rows)
        receipt.send()
        return table

    def _of_one(self, rows: Any, order: TakeOrder | None, projection: Projection) -> pa.Table | None:
        """Read rows of one fragment without deletions; None where that is not all, or somebody counts what is read.

        Without an order, few rows of pages that were read before; `rows` are as the caller gave them.
        """
        if self._runtime.is_watched or not projection.is_whole or projection.has_blobs or not len(self.fragments):
            return None
        number = before = 0
        if len(self.fragments) > 1:
            first = first_of(rows) if order is None else int(order.rows.starts[0])
            number = bisect_right(self.starts, first) - 1
            if not 0 <= number < len(self.fragments):
                return None
            before = int(self.starts[number])
        if self.fragments[number].deletion is not None or self._taking.has_joined(number):
            return None
        if order is None:
            held = self._held(number, projection)
            return None if held is None else held.take_noted(rows, before, projection.schema)
        within = order.rows
        if len(self.fragments) > 1:
            if within.stops[-1] > self.starts[number + 1]:
                return None
            within = RowRanges(within.starts - before, within.stops - before)
        batches, _ = self.reading(number, projection).take(within)
        return in_callers_order(as_table(batches, projection.schema), order.positions)

    def take_ids(self, ids: NDArray[np.uint64], columns: Sequence[str] | None) -> pa.Table:
        """Read rows by what ``_rowid`` says of them; order and duplicates are the caller's.

        Raises
        ------
        InvalidArgumentError
            No live row has such an id; it is named.
        """
        projection = self.projection(columns)
        distinct, back = np.unique(ids, return_inverse=True)
        numbers, offsets = self._taking.find(distinct)
        order, place = _order_and_places(numbers, offsets)
        return self._taken(numbers[order], offsets[order], place[back.ravel()], projection)

    def take_rows(self, numbers: NDArray[np.int64], offsets: NDArray[np.int64], projection: Projection) -> pa.Table:
        """Read live rows by number of the fragment and row of its files, both ``(n,)``, distinct, in any order."""
        order, place = _order_and_places(numbers, offsets)
        return self._taken(numbers[order], offsets[order], place, projection)

    def _taken(
        self,
        numbers: NDArray[np.int64],
        offsets: NDArray[np.int64],
        positions: NDArray[np.int64] | None,
        projection: Projection,
    ) -> pa.Table:
        """Read rows, see `TableTaking.read`, and put them where the caller wants them."""
        receipt = receipt_for(self._runtime, projection.nodes)
        batches, order = self._taking.read(numbers, offsets, projection, receipt)
        receipt.count(len(numbers))
        receipt.send()
        table = as_table([projection.apply(batch, filled=True) for batch in batches], projection.schema)
        if (order != np.arange(len(order))).any():
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(len(order))
            positions = place if positions is None else place[positions]
        return in_callers_order(table, positions)

    @cached_property
    def _taking(self) -> TableTaking:
        return TableTaking(self.columns, self._filesystem, self.fragments, self, self._runtime)

    def fragment(self, number: int) -> FragmentRows:
        """Return the rows of a fragment, with its deletions and row ids kept once they were read."""
        with self._lock:
            held = self._rows.get(number)
            if held is None:
                held = FragmentRows(self.columns, self.fragments[number], self._files, self._filesystem)
                self._rows[number] = held
                while len(self._rows) > _KEPT_FRAGMENTS:
                    self._rows.popitem(last=False)
            else:
                self._rows.move_to_end(number)
            return held

    def with_deletions(self, numbers: Sequence[int]) -> list[FragmentRows]:
        """Return the rows of fragments; their deletion files are read at once.

        Errors of these are raised when rows are asked for.
        """
        found = [self.fragment(number) for number in numbers]
        FragmentRows.read_deletions_of(found)
        return found

    def _with_deletions_for(
        self, numbers: Sequence[int], taken: NDArray[np.int64], projection: Projection
    ) -> list[FragmentRows]:
        """Return what `with_deletions` does; of a store, files that rows are `taken` from are opened meanwhile."""
        # Who counts requests is to be told of those that open files with the rows.
        if not numbers or self._runtime.is_watched or not coalescing_of(self._filesystem).is_far:
            return self.with_deletions(numbers)

        def with_deletions() -> list[FragmentRows]:
            found = self.with_deletions(numbers)
            if len(found) == 1:
                # One alone is read when it is asked for.
                _ = found[0].deletions
            return found

        both: tuple[Callable[[], Any], ...] = partial(self._taking.open, np.unique(taken), projection), with_deletions
        found: list[FragmentRows] = self._runtime.side_by_side(lambda read: read(), both, is_far=True)[1]
        return found

    def numbers_left(self, filter: FilterPlan | None) -> Sequence[int]:
        """Return the numbers of the fragments that indices leave to a filter; no data file is opened for that."""
        everything = range(len(self.fragments))
        predicate = None if filter is None else filter.predicate
        if predicate is None or self.columns.facts.index_position is None:
            return everything
        found = predicate.leaves(self.columns.roots)
        leaves = {path: (self.columns.field_id(leaf), leaf) for path, leaf in found.items()}
        excluded = self.columns.zones.excluded(predicate, leaves, self._filesystem, self._files)
        if not len(excluded):
            return everything
        return np.flatnonzero(~np.isin(fragment_ids(self.fragments), excluded)).tolist()

    def groups(
        self, nodes: Sequence[ColumnNode], filter: FilterPlan | None, num_files: int | None = None
    ) -> FragmentGroups:
        """Return what divides the fragments into groups, for a scan of some columns; as `FragmentGroups`."""
        # For scans alone.
        from lance_arrow.scan.fragments.fragment_groups import FragmentGroups  # noqa: PLC0415

        return FragmentGroups(
            self.columns, self._filesystem, self.fragments, self, nodes, filter, self._runtime, num_files
        )

    def part(self, numbers: Sequence[int]) -> TableReader:
        """Return a reader of some of the fragments, by their numbers among these."""
        chosen = [self.fragments[number] for number in numbers]
        return TableReader(self.columns, chosen, self._filesystem, self._files)

    def _count(self, number: int) -> int:
        return self.fragment(number).num_rows

    def _held(self, number: int, projection: Projection) -> FragmentReading | None:
        """Return a reading that was kept."""
        key = number, id(projection)
        with self._lock:
            held = self._readings.get(key)
            if held is None or held[0] is not projection:
                return None
            self._readings.move_to_end(key)
            return held[1]

    def reading(self, number: int, projection: Projection) -> FragmentReading:
        """Return a reading that is kept: the next take of the same columns will want it again."""
        reading = self._held(number, projection)
        if reading is not None:
            return reading
        reading = FragmentReading(self.fragment(number), projection.nodes)
        with self._lock:
            self._readings[number, id(projection)] = projection, reading
            while len(self._readings) > _KEPT_READINGS:
                self._readings.popitem(last=False)
        return reading

    def _scan(
        self,
        nodes: Sequence[ColumnNode],
        plan: FilterPlan | None,
        within: Sequence[RowRanges] | None,
        counts: FragmentCounts | None = None,
    ) -> tuple[GroupedRows, Sequence[int]]:
        """Return a scan, and the numbers of the fragments that indices leave to it."""
        # For tables that pyarrow does not scan.
        from lance_arrow.scan.groups.grouped_rows import GroupedRows  # noqa: PLC0415

        return GroupedRows(self.groups(nodes, plan), within, self._runtime, counts), self.numbers_left(plan)


def _order_and_places(
    numbers: NDArray[np.int64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ascending order of rows, and for each row its place in that order."""
    order = np.lexsort((offsets, numbers))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return order, place
