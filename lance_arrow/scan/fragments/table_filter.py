"""`FilteredReading`: rows of a fragment that satisfy a filter: zones first, then the filter's columns, then the others.

live rows ─► zones ─► rows that may ─► filter's columns ─► mask ─► their runs ─► the other columns of these rows
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.open_files import OpenFile
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.row_filter import FilterPlan
from lance_arrow.scan.sparse_selection import picked
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import difference, intersection, marked


class TableFilter:
    """A filter on a version of a table; fragments share it.

    Parameters
    ----------
    plan
        The filter.
    columns
        The table's columns.
    """

    def __init__(self, plan: FilterPlan, columns: TableColumns) -> None:
        self._plan = plan
        self.predicate = plan.predicate
        self.nodes = plan.nodes(columns.all_roots)

    @property
    def expression(self) -> pc.Expression:
        """The filter, bound."""
        return self._plan.expression

    @property
    def is_repeatable(self) -> bool:
        """Whether the same rows satisfy it each time it is asked."""
        return self._plan.is_repeatable

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None = None) -> pa.Array:
        """Evaluate it for rows that are here; null is false. Raises `InvalidArgumentError` where it fails."""
        return self._plan.mask(batch, pool).fill_null(False)


class FilteredReading:
    """Reads some columns of the rows of a fragment that satisfy a filter; may be shared by threads.

    Parameters
    ----------
    rows
        The fragment.
    nodes
        Wanted columns.
    filter
        None for all rows.
    within
        Rows of the fragment's files to choose from; all when None.
    """

    def __init__(
        self,
        rows: FragmentRows,
        nodes: Sequence[ColumnNode],
        filter: TableFilter | None,
        within: RowRanges | None = None,
    ) -> None:
        self.rows = rows
        self.reading = FragmentReading(rows, nodes)
        self._filter = filter
        chosen = rows.live if within is None else intersection(rows.live, within)
        self.prune_result = PruneResult(chosen, RowRanges.one(0, 0))
        if filter is None:
            return
        self.prune_result = rows.prune(filter.predicate, chosen)
        self._first = FragmentReading(rows, filter.nodes)
        # Where each wanted column is, once those of the filter and the late ones stand side by side.
        self._places: list[int] = []
        late: list[ColumnNode] = []
        known = {node.field.name: place for place, node in enumerate(filter.nodes)}
        for node in nodes:
            place = known.get(node.field.name)
            if place is not None and _leaves(filter.nodes[place]) == _leaves(node):
                self._places.append(place)
            else:
                self._places.append(len(filter.nodes) + len(late))
                late.append(node)
        self._late = FragmentReading(rows, late) if late else None

    @property
    def opened(self) -> list[OpenFile]:
        """The files that may be read."""
        if self._filter is None:
            return self.reading.opened
        return [*self.reading.opened, *self._first.opened]

    @property
    def filter_nodes(self) -> tuple[ColumnNode, ...]:
        """Columns that the filter mentions; none without one."""
        return () if self._filter is None else self._filter.nodes

    @property
    def live(self) -> RowRanges:
        """Live rows that may satisfy the filter."""
        return self.prune_result.rows

    def ask_ahead(self, rows: RowRanges, scan: ScanAhead) -> None:
        """Ask pages of far files ahead for windows of some of the live rows, those that every window reads."""
        is_sure = self._filter is None or not len(difference(rows, self.prune_result.all))
        first = self.reading if is_sure else self._first
        first.ask_ahead(rows, scan)

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], int]:
        """Read some of the rows that may satisfy the filter; returns those that do, and pages touched.

        Raises
        ------
        InvalidArgumentError
            The filter fails on some value.
        LanceError
            As `FragmentReading.read`.
        """
        if self._filter is None or not len(difference(rows, self.prune_result.all)):
            return self.reading.read(rows, pool)
        first, num_pages = self._first.read(rows, pool)
        masks = [self._filter.mask(batch, pool) for batch in first]
        mask = masks[0] if len(masks) == 1 else pa.concat_arrays(masks)
        count = mask.true_count
        if not count:
            return [], num_pages
        kept = rows if count == rows.num_rows else marked(rows, mask)
        late: list[pa.RecordBatch] = []
        if self._late is not None:
            late, pages = self._late.read(kept, pool)
            num_pages += pages
        if len(first) != 1 or len(late) > 1:
            # Too many bytes for one batch: rare enough to read again.
            batches, pages = self.reading.read(kept, pool)
            return batches, num_pages + pages
        own = first[0] if kept is rows else picked(first[0], mask, pool)
        return [self._arranged([*own.columns, *(late[0].columns if late else ())], count)], num_pages

    def _arranged(self, columns: Sequence[pa.Array], num_rows: int) -> pa.RecordBatch:
        if not self._places:
            empty = pa.Array.from_buffers(pa.struct([]), num_rows, [None], 0, children=[])
            return pa.RecordBatch.from_struct_array(empty)
        return pa.RecordBatch.from_arrays([columns[place] for place in self._places], schema=self.reading.schema)


def _leaves(node: ColumnNode) -> list[int]:
    return [leaf.column for leaf in node.leaves()]
