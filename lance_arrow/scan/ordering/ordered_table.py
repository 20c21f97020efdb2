"""`OrderedTable`: rows of a table in order, or some of its rows by number; wanted columns are read of these alone.

order:     keys of all fragments ─► positions of the first rows ─► take
no order:  numbers of rows ─► the fragments that hold them ─► scan of these rows
filter:    scan, until there are enough rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import leaf_at
from lance_arrow.errors import LanceError
from lance_arrow.manifests.fragments import physical_counts
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.ordering.growing_parts import growing_batches
from lance_arrow.scan.ordering.ordered_scan import OrderedSource, first_positions
from lance_arrow.scan.ordering.row_limits import RowLimits
from lance_arrow.scan.ordering.sort_keys import SortKey
from lance_arrow.scan.predicates import Predicate
from lance_arrow.scan.projection import Projection, column_paths
from lance_arrow.scan.row_taking import as_table
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.structure.row_selection import cut


class OrderedTable:
    """Some rows of a table.

    Parameters
    ----------
    table
        The table.
    projection
        Wanted columns.
    filter
        Rows to choose from; all when None.
    keys
        The order; that of the table when empty.
    limits
        Which rows of the result are wanted.

    Raises
    ------
    InvalidArgumentError
        A key names no column, or one whose values have no order; the filter does not fit.
    """

    def __init__(
        self,
        table: TableReader,
        projection: Projection,
        filter: Predicate | None,
        keys: Sequence[SortKey],
        limits: RowLimits,
    ) -> None:
        self._table, self._projection, self._filter = table, projection, filter
        self._keys, self._limits = keys, limits
        roots = table.columns.all_roots
        names = [key.name for key in keys]
        self._paths = column_paths(names, roots)
        self._key_columns = table.projection(names)
        for key, path in zip(keys, self._paths, strict=True):
            key.check(leaf_at(roots, path))
        if filter is not None:
            table.filter(filter)

    def table(self) -> pa.Table:
        """Read the rows into one table.

        Raises
        ------
        LanceError, OSError
            As `TableReader.batches`, and as `TableReader.take`.
        """
        if self._keys:
            return self._taken(self._positions())
        return as_table(list(self._unordered(None, is_held=True)), self._projection.schema)

    def batches(self, batch_size: int | None) -> Iterator[pa.RecordBatch]:
        """Read the rows in batches of at most `batch_size` rows; errors are those of `table`."""
        if not self._keys:
            yield from self._unordered(batch_size, is_held=False)
            return
        size = batch_size or WINDOW_ROWS
        positions = self._positions()
        for start in range(0, len(positions), size):
            # A take may give more than one batch.
            yield from self._taken(positions[start : start + size]).to_batches()

    def _unordered(self, batch_size: int | None, *, is_held: bool) -> Iterator[pa.RecordBatch]:
        if self._limits.are_all:
            return self._table.batches(self._projection, self._filter, batch_size, is_held=is_held)
        if self._filter is not None:
            few = None
            if self._limits.stop is not None and self._limits.stop <= WINDOW_ROWS:
                few = growing_batches(self._table, self._projection, self._filter, self._limits.stop)
            found = self._table.batches(self._projection, self._filter, batch_size) if few is None else few
            return self._limits.applied(found)
        start, stop = self._limits.within(self._table.num_rows)
        if start >= stop:
            return iter(())
        starts = self._table.starts
        first, last = (np.searchsorted(starts, [start, stop - 1], side="right") - 1).tolist()
        numbers = range(first, last + 1)
        part = self._table.part(numbers)
        within = []
        for number, rows in zip(numbers, part.with_deletions(range(len(numbers))), strict=True):
            before, count = int(starts[number]), int(starts[number + 1] - starts[number])
            within.append(cut(rows.live, max(start - before, 0), min(stop - before, count)))
        return part.batches(self._projection, None, batch_size, within=within, is_held=is_held)

    def _positions(self) -> NDArray[np.int64]:
        """Return positions of the wanted rows in order; see `_starts`."""
        table, runtime = self._table, default_runtime()
        plan = None if self._filter is None else table.filter(self._filter)
        nodes, path = self._key_columns.nodes, self._paths[0]
        groups = table.groups(nodes, plan)
        firsts = self._starts

        def alone(number: int) -> OrderedSource:
            found = groups.alone(number)
            zones = table.fragment(number).bounded_zones(path) if len(found.rows) else None
            return OrderedSource(found, self._key_columns, zones, firsts[number : number + 1])

        def opened(numbers: Sequence[int]) -> list[OrderedSource]:
            if len(numbers) == 1:
                return [alone(numbers[0])]
            made = []
            for found in groups.opened(numbers, None):
                if isinstance(found, FilteredReading):
                    group = found.source
                    assert isinstance(group, JoinedFragments)
                    zones = group.bounded_zones(path) if len(found.rows) else None
                    starts = group.row_starts[:-1]
                    made.append(OrderedSource(found, self._key_columns, zones, firsts[group.numbers], starts))
                else:
                    made += map(alone, found)
            return made

        def first_of(planned: Iterable[Sequence[int]]) -> NDArray[np.int64]:
            parts = runtime.ahead(opened, planned, num_ahead=groups.num_ahead, is_far=not groups.is_local)
            sources = [source for part in parts for source in part]
            return first_positions(sources, self._keys, self._limits.stop, runtime)

        numbers = list(table.numbers_left(plan))
        try:
            found = first_of(groups.planned(numbers, lambda: True))
        except LanceError:
            # Fragments that cannot be read together are read one by one: they tell which of them is to blame.
            found = first_of([number] for number in numbers)
        groups.receipt.count(len(found))
        groups.receipt.send()
        return found[self._limits.offset :]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """``(num_fragments + 1,) int64``: position of the first row of the files of each fragment."""
        counts = physical_counts(self._table.fragments).copy()
        for number in np.flatnonzero(counts < 0).tolist():
            counts[number] = self._table.fragment(number).num_physical
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)

    def _taken(self, positions: NDArray[np.int64]) -> pa.Table:
        if not len(positions):
            return self._projection.schema.empty_table()
        numbers = np.searchsorted(self._starts, positions, side="right") - 1
        return self._table.take_rows(numbers, positions - self._starts[numbers], self._projection)
