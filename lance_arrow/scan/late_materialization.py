"""`LateReader`: rows that satisfy a filter, its columns decoded first, the others only where a row is left.

rows ─► sure ones (zones) ─────────────────────────────────┐
     └► the rest ─► filter's columns ─► mask ─► their runs ─┴► other columns of these rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import batch_without_columns
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.view_arrays import filtered, in_form
from lance_arrow.scan.filters.row_filter import RowFilter
from lance_arrow.scan.pages_ahead import ScanAhead
from lance_arrow.scan.read_counts import Tally
from lance_arrow.scan.row_source import ColumnReading
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.scan.sparse_selection import picked
from lance_arrow.scan.windows import late_window_rows
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import difference, disjoint_union, intersection, marked

# A round of requests costs about what so many bytes cost to carry.
_BYTES_OF_A_WAVE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class _Arrangement:
    """Where wanted columns are found.

    Parameters
    ----------
    places
        Of each wanted column: its position in the columns of the filter, followed by the late ones.
    late_nodes
        Those that the filter does not have.
    late
        What reads them; None if there are none.
    """

    places: tuple[int, ...]
    late_nodes: tuple[ColumnNode, ...]
    late: ColumnReading | None

    @property
    def is_shared(self) -> bool:
        """Whether the filter has some."""
        return len(self.late_nodes) < len(self.places)


class LateReader:
    """Rows of wanted columns that satisfy a filter; threads share it.

    Parameters
    ----------
    nodes
        Wanted columns.
    filter
        The filter, of some source.
    sure
        Rows that satisfy it for sure, as zone maps tell.
    tally
        Where to count what is decoded.
    """

    def __init__(self, nodes: Sequence[ColumnNode], filter: RowFilter, sure: RowRanges, tally: Tally) -> None:
        source = filter.source
        self._filter, self._sure, self._tally = filter, sure, tally
        self._nodes = tuple(nodes)
        self.whole = filter.reading.beside(self._nodes)
        self._first = filter.nodes
        first = filter.value_nodes
        self._of_flags = self._arrangement(with_judged=False)
        self._of_values = self._of_flags if first is self._first else self._arrangement(with_judged=True)
        # Few rows are read at once, with all values.
        late = self._of_values.late
        self._both = filter.reading if late is None else self.whole.beside((*first, *self._of_values.late_nodes))
        self._late_bytes = 0 if late is None else late.stored_bytes
        self._bytes_per_row = self._late_bytes / max(1, source.num_physical)
        # If each read takes a round of requests, there is one read for all rows of a window.
        self._is_far = self._both.is_far
        self._wave_bytes = _BYTES_OF_A_WAVE if self._is_far else self.whole.gap_bytes
        self._asked: ColumnReading | None = None

    def _arrangement(self, *, with_judged: bool) -> _Arrangement:
        """Find wanted columns among those of the filter, with or without those that are judged."""
        of_filter = {
            node.field.name: place for place, node in enumerate(self._first) if with_judged or not _is_judged(node)
        }
        places: list[int] = []
        late: list[ColumnNode] = []
        for node in self._nodes:
            found = of_filter.get(node.field.name)
            if found is not None and _same_leaves(self._first[found], node):
                places.append(found)
            else:
                places.append(len(self._first) + len(late))
                late.append(node)
        return _Arrangement(tuple(places), tuple(late), self.whole.beside(late) if late else None)

    def weights(self) -> RowWeights:
        """Estimate what the rows take in memory, the filter's columns among the others."""
        return self._both.weights()

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> list[pa.RecordBatch]:
        """Read those of some rows, which zones have left, that satisfy the filter.

        Returns
        -------
        list
            Batches of the wanted columns, as the source reads them, in row order; none when there is no such row.

        Raises
        ------
        InvalidArgumentError
            The filter fails on some value.
        LanceError
            As reading the source.
        """
        if self._asked is None:
            return self._read_window(rows, pool)
        with self._asked.window(rows):
            return self._read_window(rows, pool)

    def ask_ahead(self, rows: RowRanges, scan: ScanAhead) -> None:
        """Ask far files for the columns that each window of these rows is sure to read, before the windows are read."""
        if not self._is_far:
            return
        first = self._filter.reading
        largest = late_window_rows(rows.num_rows, self._filter.source.runtime.settings.num_threads)
        wave_bytes = min(self._late_bytes, self._bytes_per_row * min(largest, rows.num_rows))
        if not self._filter.has_blobs and wave_bytes <= _BYTES_OF_A_WAVE:
            asked = self._both
        else:
            asked = first if len(difference(rows, self._sure)) else self.whole
        asked.ask_ahead(rows, scan)
        for reading in (first, self._of_flags.late, self._both, self.whole):
            if reading is not None and reading is not asked:
                reading.share(asked)
        self._asked = asked

    def _read_window(self, rows: RowRanges, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        if self._is_one_wave(rows):
            return self._read_at_once(rows, pool)
        sure = intersection(rows, self._sure)
        undecided = difference(rows, sure)
        if self._of_flags.is_shared and sure.num_rows <= undecided.num_rows:
            # Looking at the few that are sure saves reading the filter's columns of all that is left again.
            sure, undecided = RowRanges.one(0, 0), rows
        if not len(undecided):
            return self._read(self.whole, rows, pool)
        found = self._filter.of(undecided, self._tally, pool)
        count = found.mask.true_count
        if not self._nodes:
            count += sure.num_rows
            return [batch_without_columns(count)] if count else []
        if not count:
            return self._read(self.whole, sure, pool)
        mask = None if count == found.rows.num_rows else found.mask
        batch = None if len(sure) else found.batch
        arrangement = self._of_flags
        if batch is not None and self._of_values is not arrangement and self._has_values(batch):
            arrangement = self._of_values
        if batch is not None and arrangement.late is None:
            # Nothing more is read: no runs of rows are made, which may be almost as many as rows.
            return [self._arranged(arrangement, self._kept(arrangement, batch, mask, pool))]
        kept = found.rows if mask is None else marked(found.rows, mask)
        if batch is not None and arrangement.late is not None and arrangement.is_shared:
            late = self._read(arrangement.late, kept, pool)
            # Several batches are rare; they are read again.
            if len(late) == 1:
                columns = [*self._kept(arrangement, batch, mask, pool), *late[0].columns]
                return [self._arranged(arrangement, columns)]
        return self._read(self.whole, disjoint_union(sure, kept), pool)

    def _has_values(self, batch: pa.RecordBatch) -> bool:
        """Whether values came of the filter's columns, as they do of pages whose numbers cannot be judged."""
        return not any(
            [
                _is_judged(node) and pa.types.is_boolean(batch.column(place).type)
                for place, node in enumerate(self._first)
            ]
        )

    def _kept(
        self, arrangement: _Arrangement, batch: pa.RecordBatch, mask: pa.BooleanArray | None, pool: pa.MemoryPool | None
    ) -> list[pa.Array | None]:
        """Return what a mask leaves of the filter's columns, None for those that are not wanted."""
        if mask is None:
            return list(batch.columns)
        places = sorted({place for place in arrangement.places if place < len(self._first)})
        columns: list[pa.Array | None] = [None] * len(self._first)
        if places:
            for place, column in zip(places, picked(batch.select(places), mask, pool).columns, strict=True):
                columns[place] = column
        return columns

    def _is_one_wave(self, rows: RowRanges) -> bool:
        """Whether to ask for the other columns along with the filter's; if not, their indices come along where far."""
        # Columns that no file stores take no request.
        if self._filter.has_blobs or not self._late_bytes or len(intersection(rows, self._sure)):
            return False
        if self._bytes_per_row * rows.num_rows <= self._wave_bytes:
            return True
        if self._is_far:
            self._both.keep_indices(rows)
        return False

    def _read_at_once(self, rows: RowRanges, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        """Read somewhat more than is needed, to save a round of requests."""
        of_filter = list(range(len(self._first)))
        kept = []
        for batch in self._read(self._both, rows, pool):
            # A batch of no columns would not know its rows.
            mask = self._filter.mask(batch.select(of_filter) if of_filter else batch, pool)
            kept.append(filtered(self._arranged(self._of_values, batch.columns), mask))
        return [batch for batch in kept if batch.num_rows]

    def _arranged(self, arrangement: _Arrangement, columns: Sequence[pa.Array | None]) -> pa.RecordBatch:
        schema = self.whole.schema
        # Filters read strings, or the codes of those that are stored so; callers may see views of them.
        arrays = [in_form(columns[place], field.type) for place, field in zip(arrangement.places, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _read(self, reading: ColumnReading, rows: RowRanges, pool: pa.MemoryPool | None) -> list[pa.RecordBatch]:
        if not len(rows):
            return []
        batches, counts = reading.read(rows, pool)
        self._tally.add(counts, rows.num_rows)
        return batches


def _is_judged(node: ColumnNode) -> bool:
    """Whether flags may come in place of values."""
    return isinstance(node, LeafNode) and node.judge is not None


def _same_leaves(left: ColumnNode, right: ColumnNode) -> bool:
    return [leaf.column for leaf in left.leaves()] == [leaf.column for leaf in right.leaves()]
