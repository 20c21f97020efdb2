"""`LateReader`: rows that satisfy a filter, its columns decoded first, the others only where a row is left.

rows ─► sure ones (zones) ───────────────────────────────────┐
     └► the rest ─► filter's columns ─► mask ─► few: ranges ─┴► other columns of these rows alone
                                           └► many: other columns of all rows, then cut by the mask
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_arrow.assembly.column_tree import ColumnNode, storage_type
from lance_arrow.assembly.row_reader import RowReader
from lance_arrow.assembly.row_weights import RowWeights
from lance_arrow.datasets.receipts import Tally
from lance_arrow.datasets.row_filter import Filtered, RowFilter
from lance_arrow.datasets.windows import WINDOW_ROWS
from lance_arrow.datasets.zone_pruning import JudgedRows
from lance_arrow.spi import RowRanges
from lance_arrow.structure.row_selection import cut, difference, disjoint_union, intersection, joined_ranges, marked

_DENSE = 0.3
"""Above this part of rows, decoding all of them and cutting costs less than finding each, however wide they are."""

_FINDING_BYTES = 400.0
"""How many bytes are decoded in a sequence while one value among many is found."""

_MOST_JUDGED = 1 << 20
"""Rows of a window for which a filter is evaluated before any other column is read."""

# Sources that read through larger holes than this rather than ask twice are far away.
_CHEAP_GAP_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Rows of a window: those that zones are sure of, and what the filter says of the others; None: there are none."""

    rows: RowRanges
    sure: RowRanges
    undecided: RowRanges
    found: Filtered | None

    @property
    def count(self) -> int:
        """How many are left."""
        return self.sure.num_rows + (0 if self.found is None else self.found.mask.true_count)

    @property
    def kept(self) -> RowRanges:
        """Which."""
        if self.found is None:
            return self.sure
        return disjoint_union(self.sure, marked(self.undecided, self.found.flags))

    def first(self) -> pa.RecordBatch | None:
        """The filter's columns in these rows, where they are here."""
        if self.found is None or self.found.batch is None or len(self.sure):
            return None
        return self.found.batch.filter(self.found.mask)


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
        # Where each read takes a round of requests, one for all rows of a window.
        self._is_far = reader.file.source.coalescing.max_gap_bytes > _CHEAP_GAP_BYTES
        self._dense_share = dense_share(reader.weights(self._late), len(metas)) if late else 0.0

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
        if self._is_one_wave(rows):
            return self._read_at_once(rows, pool)
        pieces = [self._judge(piece, pool) for piece in ([rows] if self._is_far else _pieces(rows))]
        if len(pieces) > 1 and sum(piece.count for piece in pieces) <= self._dense_share * rows.num_rows:
            return self._gathered(pieces, pool)
        return [batch for piece in pieces for batch in self._finished(piece, pool)]

    def _judge(self, rows: RowRanges, pool: pa.MemoryPool | None) -> _Piece:
        """Evaluate the filter in the rows that zones are not sure of."""
        sure = intersection(rows, self._judged.sure)
        undecided = difference(rows, sure)
        return _Piece(rows, sure, undecided, self._filter.of(undecided, self._tally, pool) if len(undecided) else None)

    def _finished(self, piece: _Piece, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        found = piece.found
        if found is not None and found.batch is not None and self._nodes and not len(piece.sure):
            return self._completed(piece.rows, found, found.batch, pool)
        return self._read(self._nodes, piece.kept, pool)

    def _gathered(self, pieces: Sequence[_Piece], pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        """Read the few rows that several pieces have left at once: each read takes some planning."""
        left = [piece for piece in pieces if piece.count]
        if not left:
            return []
        ranges = [piece.kept for piece in left]
        kept = joined_ranges(
            np.concatenate([one.starts for one in ranges]), np.concatenate([one.stops for one in ranges])
        )
        first = [piece.first() for piece in left]
        known = [batch for batch in first if batch is not None and _is_flat(batch.schema)]
        if len(known) < len(first) or not self._nodes:
            return self._read(self._nodes, kept, pool)
        late = self._read(self._late, kept, pool) if self._late else []
        if len(late) != bool(self._late):
            return self._read(self._nodes, kept, pool)
        columns = [pa.concat_arrays(parts, pool) for parts in zip(*(batch.columns for batch in known), strict=True)]
        return [self._arranged([*columns, *(late[0].columns if late else ())])]

    def _is_one_wave(self, rows: RowRanges) -> bool:
        """Whether to ask for the other columns along with the filter's; if not, their indices come along where far."""
        if self._filter.has_blobs or not self._late or len(intersection(rows, self._judged.sure)):
            return False
        gap_bytes = self._reader.file.source.coalescing.max_gap_bytes
        if self._late_bytes * rows.num_rows <= gap_bytes * self._reader.num_rows:
            return True
        if self._is_far:
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
        count = found.mask.true_count
        if not count:
            return []
        is_dense = count > self._dense_share * rows.num_rows
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


def late_window_rows(num_rows: int, num_threads: int) -> int:
    """Return how many rows a window may hold of which a filter leaves some: a few reads, yet work for each thread."""
    return min(_MOST_JUDGED, max(WINDOW_ROWS, -(-num_rows // max(1, num_threads))))


def dense_share(weights: RowWeights, num_leaves: int) -> float:
    """Return the part of rows above which all of them are decoded, and cut: the narrower values are, the smaller.

    `weights` are those of the columns to decode, which are `num_leaves`, structs taken apart.
    """
    num_rows = int(weights.borders[-1])
    if not num_rows or not num_leaves:
        return 0.0
    value_bytes = float(weights.totals[-1]) / num_rows / num_leaves
    return min(_DENSE, value_bytes / (_FINDING_BYTES + value_bytes))


def joined_nodes(wanted: Sequence[ColumnNode], of_filter: Sequence[ColumnNode]) -> tuple[ColumnNode, ...]:
    """All that is read: wanted columns, and those of the filter unless they are among them."""
    columns = {leaf.column for node in wanted for leaf in node.leaves()}
    others = (node for node in of_filter if not columns.issuperset(leaf.column for leaf in node.leaves()))
    return (*wanted, *others)


def _pieces(rows: RowRanges) -> list[RowRanges]:
    """Cut rows so that the filter's columns of a piece stay in the processor's caches."""
    if rows.num_rows <= WINDOW_ROWS:
        return [rows]
    starts = range(0, rows.num_rows, WINDOW_ROWS)
    return [cut(rows, start, min(start + WINDOW_ROWS, rows.num_rows)) for start in starts]


def _is_flat(schema: pa.Schema) -> bool:
    """Whether arrays of all columns are joined by copying values: Arrow joins no dictionaries with null items."""
    return all(not type_.num_fields and not pa.types.is_dictionary(type_) for type_ in map(storage_type, schema.types))


def _same_leaves(left: ColumnNode, right: ColumnNode) -> bool:
    return [leaf.column for leaf in left.leaves()] == [leaf.column for leaf in right.leaves()]
