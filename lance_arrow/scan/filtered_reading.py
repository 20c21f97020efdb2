"""`FilteredReading`: some columns of those rows of a source that are live and satisfy a filter: what scans read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.errors import FileChangedError, LanceError, located
from lance_arrow.runtime import computed_once
from lance_arrow.scan.read_counts import UNWATCHED, Receipt
from lance_arrow.scan.row_weights import RowWeights, check_expansion
from lance_arrow.scan.windows import WINDOW_ROWS, Windows, even_windows
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import (
    difference,
    disjoint_union,
    intersection,
    joined_ranges,
    marked,
    rows_before,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lance_arrow.scan.filters.filter_plan import FilterPlan
    from lance_arrow.scan.filters.row_filter import RowFilter
    from lance_arrow.scan.late_materialization import LateReader
    from lance_arrow.scan.open_file import OpenFile
    from lance_arrow.scan.pages_ahead import ScanAhead
    from lance_arrow.scan.row_source import ColumnReading, RowSource

_NOTHING = RowRanges.one(0, 0)
_JUDGED_ROWS = 4 * WINDOW_ROWS
"""Rows of which the filter's columns alone are read at once."""


class FilteredReading:
    """Reads some columns of the rows of a source that satisfy a filter; may be shared by threads.

    Parameters
    ----------
    source
        A file, a fragment, or several of them as one.
    nodes
        Wanted columns.
    filter
        None for all rows.
    within
        Rows of the source to choose from; all when None.
    receipt
        Counts what is read.
    zone_maps
        Whether rows are left out by zone maps.
    is_count
        Whether `count` is wanted, which reads no row that satisfies the filter for sure.
    divided
        Reads some rows of a joined source, source by source, in case they cannot be read together; None for single
        sources.
    is_hint
        Whether the caller filters what is read once more, and zone maps are all that leaves out rows here.

    Raises
    ------
    LanceError, OSError
        A zone map, or a file that holds columns of the filter, cannot be read.
    """

    def __init__(
        self,
        source: RowSource,
        nodes: Sequence[ColumnNode],
        filter: FilterPlan | None = None,
        within: RowRanges | None = None,
        *,
        receipt: Receipt = UNWATCHED,
        zone_maps: bool = True,
        is_count: bool = False,
        is_hint: bool = False,
        divided: Callable[[RowRanges], Iterable[FilteredReading]] | None = None,
    ) -> None:
        self.source = source
        self.divided = divided
        self._is_hint = is_hint
        self.receipt = receipt
        self._nodes = tuple(nodes)
        live = source.live
        self.rows = live if within is None else intersection(live, within)
        """Live rows that may satisfy the filter."""
        self.sure = _NOTHING
        """Those of them that satisfy it for sure, as zone maps tell."""
        self._filter: RowFilter | None = None
        if filter is not None:
            self._ask(filter, zone_maps=zone_maps, is_count=is_count)

    def _ask(self, filter: FilterPlan, *, zone_maps: bool, is_count: bool) -> None:
        """Ask zone maps."""
        from lance_arrow.scan.filters.row_filter import RowFilter  # noqa: PLC0415 - for filters alone

        self._filter = RowFilter(filter, self.source, self._nodes)
        if self.receipt is not UNWATCHED:
            self.receipt.see(self._filter.reading.opened)
        if not zone_maps:
            return
        started = time.perf_counter()
        found = self._filter.prune(self.rows)
        self.receipt.note_pruning(found, time.perf_counter() - started, sure_are_read=not is_count)
        self.rows, self.sure = found.rows, found.all

    def may_divide(self, error: LanceError) -> bool:
        """Return whether rows are to be read source by source, since reading them together failed.

        Not if a file was replaced: other rows of it may be out already.
        """
        return self.divided is not None and not isinstance(error, FileChangedError)

    @computed_once
    def undecided(self) -> RowRanges:
        """The rows that zone maps do not decide; raises as `check_looked_at`."""
        found = difference(self.rows, self.sure)
        self.check_looked_at(found)
        return found

    @property
    def is_filtered(self) -> bool:
        """Whether there is a filter."""
        return self._filter is not None

    @property
    def looks_far(self) -> bool:
        """Whether the filter looks at pages of a store."""
        return self._filter is not None and self._filter.reading.is_far

    @property
    def counted(self) -> ColumnReading | None:
        """What counts the undecided rows by items of a column, if a count reads these at once; else None."""
        if self._filter is None or self._is_hint or not self._filter.is_one_window(self.undecided):
            return None
        return self._filter.counting

    @property
    def looked_at(self) -> Sequence[OpenFile]:
        """The files that tell which rows satisfy the filter; errors are those of opening them."""
        return () if self._filter is None else self._filter.reading.opened

    @computed_once
    def _late(self) -> LateReader | None:
        if self._filter is None or self._is_hint:
            return None
        from lance_arrow.scan.late_materialization import LateReader  # noqa: PLC0415 - for filters alone

        return LateReader(self._nodes, self._filter, self.sure, self.receipt.tally)

    @computed_once
    def reading(self) -> ColumnReading:
        """The reading of the wanted columns; errors are those of opening their files."""
        found = self.source.reading(self._nodes) if self._late is None else self._late.whole
        self.receipt.see(found.opened)
        return found

    @property
    def has_filter(self) -> bool:
        """Whether rows are left out one by one."""
        return self._filter is not None and not self._is_hint

    def check_looked_at(self, rows: RowRanges, file_bytes: int = 0) -> None:
        """Refuse to filter far more rows than the bytes can hold: a scan without results would not end.

        `file_bytes` are those of files that are read besides the filter's.
        """
        if self._filter is not None:
            file_bytes = max(file_bytes, self._filter.reading.file_bytes)
            with located(path=self.source.name):
                check_expansion(self._filter.nodes, rows.num_rows, file_bytes, self.source.runtime.settings.limits)

    def weights(self) -> RowWeights:
        """Estimate what the rows of the source take in memory."""
        return self.reading.weights() if self._late is None else self._late.weights()

    def even_spans(self, max_rows: int) -> list[tuple[int, int]]:
        """Divide the rows evenly among the threads, see `even_windows`; page indices for several spans are loaded."""
        num_rows, num_threads = self.rows.num_rows, self.source.runtime.settings.num_threads
        stored_bytes = self.reading.divisible_bytes() * num_rows // max(1, self.source.num_physical)
        spans = even_windows(num_rows, stored_bytes, num_threads, max_rows=max_rows)
        if len(spans) > 1:
            first = self.reading if self._filter is None or self._is_hint else self._filter.reading
            # Of far files, the caller would wait for them here: pages come with their indices.
            if not first.is_far:
                first.keep_indices(self.rows)
        return spans

    def borders(self) -> NDArray[np.int64] | None:
        """Return how many of the rows lie before each file that was joined, but the first; None for a single file.

        A far page that lies in two windows is asked for twice, the second time after its index.
        """
        starts = self.source.row_starts
        return None if starts is None else rows_before(self.rows, starts[1:])

    def ask_ahead(self, scan: ScanAhead) -> None:
        """Ask pages of far files ahead, those that every window reads; for readings that are far."""
        if self._late is not None:
            self._late.ask_ahead(self.rows, scan)
        else:
            self.reading.ask_ahead(self.rows, scan)

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> list[pa.RecordBatch]:
        """Read some of the rows that may satisfy the filter; returns those that do, with descriptors as `reading` has.

        Raises
        ------
        InvalidArgumentError
            The filter fails on some value.
        LanceError
            As reading the source.
        """
        if self._late is not None:
            return self._late.read(rows, pool)
        with self.reading.window(rows):
            batches, counts = self.reading.read(rows, pool)
        self.receipt.tally.add(counts, rows.num_rows)
        return batches

    def matching(self, rows: RowRanges) -> RowRanges:
        """Return those of some of the rows that satisfy the filter; of the columns, the filter's alone are read.

        Raises
        ------
        InvalidArgumentError, LanceError
            As `read`.
        """
        undecided = rows if self._filter is None else difference(rows, self.sure)
        if self._filter is None or not len(undecided):
            return rows
        found = self._filter.of(undecided, self.receipt.tally)
        return disjoint_union(intersection(rows, self.sure), marked(found.rows, found.mask))

    def matching_all(self) -> RowRanges:
        """Return the rows that satisfy the filter; of those that zone maps do not decide, its columns are read.

        Raises
        ------
        InvalidArgumentError, LanceError
            As `read`.
        ResourceLimitError
            As `check_looked_at`.
        """
        if self._filter is None or not len(self.undecided):
            return self.rows
        windows = Windows(self.rows, None, max_rows=_JUDGED_ROWS, borders=self.borders())
        read = self.source.runtime.ahead(self.matching, (window.rows for window in windows), is_far=self.looks_far)
        found = list(read)
        starts, stops = (np.concatenate([getattr(one, side) for one in found]) for side in ("starts", "stops"))
        return joined_ranges(starts, stops)

    def count(self, pool: pa.MemoryPool | None = None, *, use_threads: bool = True) -> int:
        """Count the rows; those that satisfy the filter for sure are not read.

        Raises
        ------
        InvalidArgumentError, LanceError
            As `read`.
        ResourceLimitError
            As `check_looked_at`.
        """
        if self._filter is None:
            return self.rows.num_rows
        undecided = self.undecided
        try:
            found = self._filter.count(undecided, self.receipt.tally, pool, use_threads=use_threads)
        except LanceError as error:
            if not self.may_divide(error):
                raise
            assert self.divided is not None
            return sum(one.count(pool, use_threads=use_threads) for one in self.divided(self.rows))
        return self.sure.num_rows + found
