"""`RowFilter`: which rows of a source satisfy a filter; its columns are decoded where zone maps cannot tell.

filter, bound to a schema ─► zones: no row, every row, undecided ─► columns of the undecided rows ─► flags
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.runtime import computed_once
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.read_counts import Tally
from lance_arrow.scan.row_source import ColumnReading, RowSource
from lance_arrow.scan.sparse_selection import are_short, hull, is_cheaper_whole, marks_of
from lance_arrow.scan.windows import ROWS_FOR_ONE, WORTH_A_THREAD_BYTES, Window, Windows, late_window_rows
from lance_arrow.spi.rows import RowRanges

_LEAST_WANTED = 3
"""Where so many columns are wanted for each of the filter's among them, these are read again without loss."""
_MANY_RANGES = 9
"""Of so many ranges, Arrow looks up each value in a hash table; fewer are comparisons."""
_ROWS_WORTH_THREADS = 1 << 22
"""So many rows are worth threads however few bytes they take in the file."""


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """Which of some rows satisfy a filter.

    Parameters
    ----------
    rows
        The rows, and perhaps others between them.
    mask
        ``(rows.num_rows,)`` Arrow booleans, which of them satisfy it and were asked for; null counts as no.
    batch
        The filter's columns in `rows`; None where they came in several batches, or as descriptors of blobs.
    """

    rows: RowRanges
    mask: pa.BooleanArray
    batch: pa.RecordBatch | None


class RowFilter:
    """A filter on a file, or on fragments of a table.

    Parameters
    ----------
    plan
        The filter.
    source
        Whose rows are asked for.
    wanted
        Columns whose values are wanted of the rows that satisfy it.
    """

    def __init__(self, plan: FilterPlan, source: RowSource, wanted: Sequence[ColumnNode] = ()) -> None:
        self._plan = plan
        self.source = source
        self._wanted = wanted
        self._divided: tuple[RowRanges, bool, list[Window], bool] | None = None

    @computed_once
    def nodes(self) -> tuple[ColumnNode, ...]:
        """Columns of the source that it mentions."""
        return self._judging[0]

    @computed_once
    def reading(self) -> ColumnReading:
        """The reading of these columns."""
        return self._judging[1]

    @computed_once
    def value_nodes(self) -> tuple[ColumnNode, ...]:
        """The same columns, wanted ones with their values."""
        return self._judging[2]

    @computed_once
    def _judging(self) -> tuple[tuple[ColumnNode, ...], ColumnReading, tuple[ColumnNode, ...]]:
        """Return `nodes`, `reading` and `value_nodes`.

        Columns come as flags even if their values are wanted, along with more other columns: to mark values where they
        lie takes less time than to make a column and compare it, and they are read with the others where rows are left.
        Where Arrow would look up each value among many, that pays without other columns. A store would be asked for
        them twice.
        """
        roots, wanted = self.source.roots, {node.field.name for node in self._wanted}
        nodes = self._plan.judging_nodes(roots, wanted)
        reading = self.source.reading(nodes)
        num_shared = len(wanted.intersection([node.field.name for node in nodes])) if wanted else 0
        if not num_shared or reading.is_far:
            return nodes, reading, nodes
        flagged = self._plan.judging_nodes(roots, wanted, flags_wanted=True)
        pays = len(wanted) >= _LEAST_WANTED * num_shared or any([_has_many_ranges(node) for node in flagged])
        return (flagged, reading.beside(flagged), nodes) if pays and flagged is not nodes else (nodes, reading, nodes)

    @computed_once
    def counting(self) -> ColumnReading | None:
        """The reading of one column, whose items tell which rows satisfy it; None if they do not."""
        nodes = self._plan.counting_nodes(self.source.roots)
        if nodes is None:
            return None
        return self.reading if nodes is self.nodes else self.reading.beside(nodes)

    @property
    def has_blobs(self) -> bool:
        """Whether it asks for the bytes of blobs."""
        return have_blobs(self.nodes)

    @property
    def is_repeatable(self) -> bool:
        """Whether the same rows satisfy it each time it is asked."""
        return self._plan.is_repeatable

    def prune(self, within: RowRanges) -> PruneResult:
        """Ask the zone maps; see `prune_rows`."""
        return self.source.prune(self._plan.predicate, within)

    def of(self, rows: RowRanges, tally: Tally, pool: pa.MemoryPool | None = None) -> Filtered:
        """Decode the filter's columns of some rows, and evaluate it.

        Raises
        ------
        InvalidArgumentError
            A function fails on some value.
        LanceError
            As reading the source.
        """
        if self._is_cheaper_whole(rows):
            try:
                found = self._exactly(hull(rows), tally, pool)
                return Filtered(found.rows, pc.and_(found.mask, marks_of(rows), memory_pool=pool), found.batch)
            except InvalidArgumentError:
                # It may fail for rows between the wanted ones alone.
                pass
        return self._exactly(rows, tally, pool)

    def _is_cheaper_whole(self, rows: RowRanges) -> bool:
        """Whether to look at all rows from the first to the last: wanted ones come in many short runs, as live ones."""
        reading = self.reading
        if not are_short(rows) or reading.has_blobs or not self._num_leaves:
            return False
        settings = self.source.runtime.settings
        spare_bytes = settings.window_bytes(settings.num_threads + 1)
        return is_cheaper_whole(rows, reading.weights(), self._num_leaves, spare_bytes)

    @computed_once
    def _num_leaves(self) -> int:
        return sum(1 for node in self.nodes for leaf in node.leaves() if leaf.column >= 0)

    def _exactly(self, rows: RowRanges, tally: Tally, pool: pa.MemoryPool | None) -> Filtered:
        batches, counts = self.reading.read(rows, pool)
        tally.add(counts, rows.num_rows)
        masks = [self.mask(batch, pool) for batch in self._filled(batches, pool)]
        mask = masks[0] if len(masks) == 1 else pa.concat_arrays(masks)
        is_plain = len(batches) == 1 and not self.reading.has_blobs
        return Filtered(rows, mask, batches[0] if is_plain else None)

    def _filled(self, batches: list[pa.RecordBatch], pool: pa.MemoryPool | None) -> Iterable[pa.RecordBatch]:
        if not self.reading.has_blobs:
            return batches
        from lance_arrow.scan.blobs.pending_batch import filled  # noqa: PLC0415 - for blobs alone

        return filled(self.reading, batches, self.source.runtime.settings.blob_piece_bytes, pool)

    def count(
        self, rows: RowRanges, tally: Tally, pool: pa.MemoryPool | None = None, *, use_threads: bool = True
    ) -> int:
        """Count those of some rows that satisfy it. Raises as `of`."""
        if not len(rows):
            return 0
        windows, use_threads = self._windows(rows, use_threads=use_threads)
        if len(windows) == 1 and rows.num_rows <= ROWS_FOR_ONE:
            return self._count_in(rows, tally, pool)
        if self.reading.is_far:
            self.reading.ask_ahead(rows, ScanAhead(self.source.runtime.settings.memory_budget_bytes, None))

        def count(window: Window) -> int:
            with self.reading.window(window.rows):
                return self._count_in(window.rows, tally, pool)

        return sum(self.source.runtime.ahead(count, windows) if use_threads else map(count, windows))

    def is_one_window(self, rows: RowRanges) -> bool:
        """Whether `count` reads rows at once."""
        return not len(rows) or len(self._windows(rows, use_threads=True)[0]) == 1

    def _windows(self, rows: RowRanges, *, use_threads: bool) -> tuple[list[Window], bool]:
        """Divide rows for `count`, those that it was asked last once; return whether it should use threads, too."""
        last = self._divided
        if last is not None and last[0] is rows and last[1] == use_threads:
            return last[2:]
        settings, has_threads = self.source.runtime.settings, use_threads and self._is_worth_threads(rows)
        weights, max_bytes = self.reading.weights(), settings.window_bytes(settings.num_threads + 1)
        if rows.num_rows <= ROWS_FOR_ONE and float(weights.totals[-1]) <= max_bytes:
            windows = [Window(rows, 0.0)]
        else:
            max_rows = late_window_rows(rows.num_rows, settings.num_threads if has_threads else 1)
            windows = list(Windows(rows, None, weights=weights, max_bytes=max_bytes, max_rows=max_rows))
        self._divided = rows, use_threads, windows, has_threads
        return windows, has_threads

    def _count_in(self, rows: RowRanges, tally: Tally, pool: pa.MemoryPool | None) -> int:
        # Another thread may find meanwhile that rows cannot be counted so.
        counting = self.counting
        if counting is not None and not are_short(rows):
            found = counting.count_judged(rows)
            if found is not None:
                tally.add(found[1], rows.num_rows)
                return found[0]
            # Nor will other rows be counted so.
            self.__dict__["counting"] = None
        return int(self.of(rows, tally, pool).mask.true_count)

    def _is_worth_threads(self, rows: RowRanges) -> bool:
        """Whether to look at rows takes longer than to hand them to other threads."""
        if rows.num_rows <= ROWS_FOR_ONE:
            return False
        reading, num_rows = self.reading, max(1, self.source.num_physical)
        if reading.is_far or self.has_blobs or rows.num_rows >= _ROWS_WORTH_THREADS:
            return True
        if reading.stored_bytes * rows.num_rows // num_rows >= WORTH_A_THREAD_BYTES:
            return True
        # Less than a bit a row is one value for many rows. A text of any length is evaluated for each of them.
        long = [node for node in self.nodes if not pa.types.is_primitive(node.field.type)]
        alone = [reading] if len(self.nodes) == 1 else [reading.beside((node,)) for node in long]
        return any(8 * one.stored_bytes < num_rows for one in alone[: len(long)])

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None = None) -> pa.Array:
        """Evaluate it for rows that are here, with the bytes of blobs; raises `InvalidArgumentError` as `of` does."""
        return self._plan.mask(batch, pool)


def _has_many_ranges(node: ColumnNode) -> bool:
    """Whether a column is compared with so much that Arrow would look up each value, or looks for a part in each."""
    judge = node.judge if isinstance(node, LeafNode) else None
    if judge is None:
        return False
    ranges = judge.texts if judge.numbers is None else judge.numbers[1]
    return ranges is not None and (isinstance(ranges, tuple) or len(ranges) >= _MANY_RANGES)
