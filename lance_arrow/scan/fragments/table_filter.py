"""`FilteredReading`: some columns of the rows of a fragment, or of joined ones, that are live and satisfy a filter."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments
from lance_arrow.scan.late_materialization import LateReader
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.read_counts import UNWATCHED, Tally
from lance_arrow.scan.row_filter import FilterPlan, RowFilter
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import intersection


class FilteredReading:
    """Reads some columns of the rows of a fragment that satisfy a filter; may be shared by threads.

    Parameters
    ----------
    rows
        The fragment, or several as one.
    nodes
        Wanted columns.
    filter
        None for all rows.
    within
        Rows of the fragment's files to choose from; all when None.
    """

    reading: FragmentReading

    def __init__(
        self,
        rows: FragmentRows | JoinedFragments,
        nodes: Sequence[ColumnNode],
        filter: FilterPlan | None,
        within: RowRanges | None = None,
    ) -> None:
        self.rows = rows
        self.tally = Tally() if rows.runtime.is_watched else UNWATCHED.tally
        chosen = rows.live if within is None else intersection(rows.live, within)
        self.prune_result = PruneResult(chosen, RowRanges.one(0, 0))
        self._filter: RowFilter | None = None
        self._late: LateReader | None = None
        if filter is None:
            self.reading = rows.reading(nodes)
            return
        self._filter = RowFilter(filter, rows)
        self.prune_result = self._filter.prune(chosen)
        self._late = LateReader(nodes, self._filter, self.prune_result, self.tally)
        self.reading = self._late.whole  # type: ignore[assignment]

    @property
    def opened(self) -> list[OpenFile]:
        """The files that may be read."""
        if self._filter is None:
            return self.reading.opened
        first: FragmentReading = self._filter.reading  # type: ignore[assignment]
        return [*self.reading.opened, *first.opened]

    @property
    def filter_nodes(self) -> tuple[ColumnNode, ...]:
        """Columns that the filter mentions; none without one."""
        return () if self._filter is None else self._filter.nodes

    @property
    def live(self) -> RowRanges:
        """Live rows that may satisfy the filter."""
        return self.prune_result.rows

    def weights(self) -> RowWeights:
        """Estimate what the rows of the files take in memory."""
        return self.reading.weights() if self._late is None else self._late.weights()

    def ask_ahead(self, rows: RowRanges, scan: ScanAhead) -> None:
        """Ask pages of far files ahead for windows of some of the live rows, those that every window reads."""
        if self._late is not None:
            self._late.ask_ahead(rows, scan)
        else:
            self.reading.ask_ahead(rows, scan)

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> list[pa.RecordBatch]:
        """Read some of the rows that may satisfy the filter; returns those that do.

        Raises
        ------
        InvalidArgumentError
            The filter fails on some value.
        LanceError
            As `FragmentReading.read`.
        """
        if self._late is not None:
            return self._late.read(rows, pool)
        with self.reading.window(rows):
            batches, counts = self.reading.read(rows, pool)
        self.tally.add(counts, rows.num_rows)
        return batches
