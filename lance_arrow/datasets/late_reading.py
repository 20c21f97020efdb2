"""`LateReader`: rows that satisfy a filter, its columns decoded first, the others only where a row is left.

rows ─► sure ones (zones) ───────────────────────────────────┐
     └► the rest ─► filter's columns ─► mask ─► few: ranges ─┴► other columns of these rows alone
                                           └► many: other columns of all rows, then cut by the mask
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_arrow.assembly.column_tree import ColumnNode
from lance_arrow.assembly.row_reader import RowReader
from lance_arrow.datasets.receipts import Tally
from lance_arrow.datasets.row_filter import Filtered, RowFilter
from lance_arrow.datasets.zone_pruning import JudgedRows
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import difference, disjoint_union, intersection, marked

DENSE = 0.3
"""Above this part of rows, decoding all of them and cutting costs less than finding each."""

# Sources that read through larger holes than this rather than ask twice are far away.
_CHEAP_GAP_BYTES = 64 << 10


class LateReader:
    """Rows of wanted columns that satisfy a filter; threads share it.

    Parameters
    ----------
    reader
        The file.
    nodes
        Wanted columns.
    filter
        The filter.
    judged
        What zone maps say of it.
    tally
        Where to count what is decoded.
    """

    def __init__(
        self, reader: RowReader, nodes: Sequence[ColumnNode], filter: RowFilter, judged: JudgedRows, tally: Tally
    ) -> None:
        self._reader, self._filter, self._judged, self._tally = reader, filter, judged, tally
        self._nodes = tuple(nodes)
        self._schema = pa.schema([node.field for node in self._nodes])
        late: list[ColumnNode] = []
        # Where each wanted column is, once those of the filter and the late ones stand side by side.
        self._places: list[int] = []
        of_filter = {node.field.name: place for place, node in enumerate(filter.nodes)}
        for node in self._nodes:
            found = of_filter.get(node.field.name)
            if found is not None and _same_leaves(filter.nodes[found], node):
                self._places.append(found)
            else:
                self._places.append(len(filter.nodes) + len(late))
                late.append(node)
        self._late = tuple(late)
        metas = reader.metas([leaf for node in late for leaf in node.leaves()])
        self._late_bytes = sum(sum(page.facts.buffer_sizes) for meta in metas for page in meta.pages)

    @property
    def first_nodes(self) -> tuple[ColumnNode, ...]:
        """Columns that are decoded whatever rows satisfy the filter."""
        return self._filter.nodes

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> list[pa.RecordBatch]:
        """Read those of some rows, which zones have left, that satisfy the filter.

        Returns
        -------
        list
            Batches of the wanted columns, with descriptors of blobs, in row order; none when there is no such row.

        Raises
        ------
        InvalidArgumentError
            The filter fails on some value.
        LanceError
            As `RowReader.read`.
        """
        sure = intersection(rows, self._judged.sure)
        undecided = difference(rows, sure)
        if not len(undecided):
            return self._read(self._nodes, rows, pool)
        if not len(sure) and self._is_one_wave(rows):
            return self._read_at_once(rows, pool)
        found = self._filter.of(undecided, self._tally, pool)
        if not len(sure) and self._nodes and found.batch is not None:
            return self._completed(rows, found, found.batch, pool)
        return self._read(self._nodes, disjoint_union(sure, marked(undecided, found.flags)), pool)

    def _is_one_wave(self, rows: RowRanges) -> bool:
        """Whether to ask for the other columns along with the filter's; if not, their indices come along where far."""
        if self._filter.has_blobs or not self._late:
            return False
        gap_bytes = self._reader.file.source.coalescing.max_gap_bytes
        if self._late_bytes * rows.num_rows <= gap_bytes * self._reader.num_rows:
            return True
        if gap_bytes > _CHEAP_GAP_BYTES:
            self._reader.keep_indices((*self._filter.nodes, *self._late), rows)
        return False

    def _read_at_once(self, rows: RowRanges, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        """Read somewhat more than is needed, to save a round of requests."""
        of_filter = list(range(len(self._filter.nodes)))
        kept = []
        for batch in self._read((*self._filter.nodes, *self._late), rows, pool):
            # A batch of no columns would not know its rows.
            mask = self._filter.mask(batch.select(of_filter) if of_filter else batch, pool)
            kept.append(self._arranged(batch.columns).filter(mask))
        return [batch for batch in kept if batch.num_rows]

    def _completed(
        self, rows: RowRanges, found: Filtered, first: pa.RecordBatch, pool: pa.MemoryPool | None
    ) -> list[pa.RecordBatch]:
        """Read the other columns of selected rows, and put them beside the filter's own, which are here."""
        count = int(np.count_nonzero(found.flags))
        if not count:
            return []
        is_dense = count > DENSE * rows.num_rows
        late: list[pa.Array] = []
        if self._late:
            kept = rows if is_dense else marked(rows, found.flags)
            batches = self._read(self._late, kept, pool)
            if len(batches) != 1:
                # Too many bytes for one batch: rare enough to read again.
                return self._read(self._nodes, marked(rows, found.flags), pool)
            late = batches[0].columns
        if count == rows.num_rows:
            return [self._arranged([*first.columns, *late])]
        if is_dense:
            return [self._arranged([*first.columns, *late]).filter(found.mask)]
        return [self._arranged([*first.filter(found.mask).columns, *late])]

    def _arranged(self, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([columns[place] for place in self._places], schema=self._schema)

    def _read(self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        if not len(rows):
            return []
        batches, counts = self._reader.read(nodes, rows, pool)
        self._tally.add(counts, rows.num_rows)
        return batches


def joined_nodes(wanted: Sequence[ColumnNode], of_filter: Sequence[ColumnNode]) -> tuple[ColumnNode, ...]:
    """All that is read: wanted columns, and those of the filter unless they are among them."""
    columns = {leaf.column for node in wanted for leaf in node.leaves()}
    others = (node for node in of_filter if not columns.issuperset(leaf.column for leaf in node.leaves()))
    return (*wanted, *others)


def _same_leaves(left: ColumnNode, right: ColumnNode) -> bool:
    return [leaf.column for leaf in left.leaves()] == [leaf.column for leaf in right.leaves()]
