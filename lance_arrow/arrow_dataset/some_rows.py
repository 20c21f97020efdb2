"""`some_rows`: scans of a dataset in an order, or of some of its rows: what `order_by`, `limit` and `offset` do.

a table              ─► `OrderedTable`, as `LanceTable` reads it
bare files, ordered  ─► keys, by zone maps ─► take
anything else        ─► a scan in the order of rows, of which the first rows in order are kept, or which is left early
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.dataset import Scanner

from lance_arrow.arrays.column_paths import leaf_at
from lance_arrow.arrays.view_arrays import filtered, taken, without_views
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions
from lance_arrow.errors import LanceError
from lance_arrow.late_arrow import pc
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_plans import kept_plan
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.ordering.ordered_scan import OrderedSource, first_positions
from lance_arrow.scan.ordering.ordered_table import OrderedTable
from lance_arrow.scan.ordering.row_limits import RowLimits
from lance_arrow.scan.ordering.sort_keys import OrderBy, SortKey, as_sortable, sort_keys
from lance_arrow.scan.ordering.top_rows import TopRows
from lance_arrow.scan.predicates import all_of
from lance_arrow.scan.projection import Projection, column_paths
from lance_arrow.scan.read_counts import Receipt, receipt_for
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import cut

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset

_TRUE = pc.scalar(True)


def some_rows(
    dataset: LanceDataset, options: ScannerOptions, order_by: OrderBy | None, limit: int | None, offset: int
) -> Scanner:
    """Build a scan that can be read once.

    Parameters
    ----------
    dataset, options
        The dataset, and the options of the scan.
    order_by, limit, offset
        As for `LanceTable.to_table`.

    Raises
    ------
    InvalidArgumentError
        As `LanceTable.to_table`.
    """
    keys, limits = sort_keys(order_by), RowLimits.of(limit, offset)
    rows = _SomeRows(dataset, options, keys, limits)
    return Scanner.from_batches(rows.batches(), schema=rows.schema)


class _SomeRows:
    def __init__(
        self, dataset: LanceDataset, options: ScannerOptions, keys: Sequence[SortKey], limits: RowLimits
    ) -> None:
        self._dataset, self._keys, self._limits = dataset, keys, limits
        expression = dataset._expression(options.filter)
        self._options = options._replace(filter=expression)
        self._filter = all_of((dataset._own_filter, expression))
        self.schema: pa.Schema = dataset.scanner(**self._options.keywords()).projected_schema
        self._names = [key.name for key in keys]
        if keys:
            key_schema = dataset.scanner(columns=self._names).projected_schema
            for key, field in zip(keys, key_schema, strict=True):
                key.check_type(field.type)
            self._key_types = key_schema.types
        is_plain = options.memory_pool is None and options.fragment_scan_options is None
        self._is_plain = is_plain and not dataset._has_guarantees
        self._table = self._of_table()

    def _of_table(self) -> OrderedTable | None:
        table, columns = self._dataset._table, self._options.columns
        if table is None or not self._is_plain or isinstance(columns, dict) or not self._dataset._has_schema_of(table):
            return None
        return OrderedTable(table, table.projection(columns), self._filter, self._keys, self._limits)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches of at most the wanted size."""
        if self._table is not None:
            return self._table.batches(self._options.batch_size)
        if not self._keys:
            return self._limits.applied(self._unordered()) if self._filter is not None else self._numbered()
        return self._ordered()

    def _scanned(self, fragments: Sequence[LanceFileFragment]) -> Iterator[pa.RecordBatch]:
        part, own = self._dataset._over(fragments), self._dataset._own_filter
        seen = part if own is None else part.filter(own)
        found: Iterator[pa.RecordBatch] = seen.scanner(**self._options.keywords()).to_batches()
        return found

    def _unordered(self) -> Iterator[pa.RecordBatch]:
        """Yield rows that satisfy the filter, in parts that grow."""
        for fragment in self._dataset._left_by_guarantees(self._filter):
            parts = [fragment] if self._limits.stop is None else fragment.first_parts(self._limits.stop, self._filter)
            for part in parts:
                yield from self._scanned([part])

    def _numbered(self) -> Iterator[pa.RecordBatch]:
        """Yield rows by number; other rows are not read, but for fragments that are no bare files."""
        skipped, missing = self._limits.offset, self._limits.limit
        for fragment in self._dataset.fragments:
            start, stop = RowLimits(missing, skipped).within(fragment.num_rows)
            skipped -= start
            if start == stop:
                if missing == 0:
                    return
                continue
            missing = None if missing is None else missing - (stop - start)
            opened = fragment.opened_rows()
            if opened is not None:
                rows = cut(opened[1], start, stop)
                ranges = list(zip(rows.starts.tolist(), rows.stops.tolist(), strict=True))
                yield from self._scanned([fragment.subset(rows=ranges)])
            else:
                yield from RowLimits(stop - start, start).applied(self._scanned([fragment]))

    def _ordered(self) -> Iterator[pa.RecordBatch]:
        receipt = receipt_for(default_runtime(), (), self._filter)
        found = self._first_of_groups()
        if found is None:
            sources = self._sources(receipt)
            if sources is None:
                yield from self._kept_while_scanned()
                return
            found = first_positions(sources, self._keys, self._limits.stop, default_runtime())
        receipt.count(len(found))
        receipt.send()
        positions = found[self._limits.offset :]
        whole = self._dataset._over(self._dataset.fragments)
        options = self._options._replace(filter=None).keywords()
        size = min(self._options.batch_size, WINDOW_ROWS)
        for start in range(0, len(positions), size):
            yield from whole.take(positions[start : start + size], **options).to_batches()

    def _first_of_groups(self) -> NDArray[np.int64] | None:
        """Return the positions of the wanted rows of files that are read in groups; None where they are not."""
        dataset, runtime = self._dataset, default_runtime()
        may = self._is_plain and not runtime.is_watched and all(name in dataset.schema.names for name in self._names)
        reads = dataset._folder_reads if may else None
        if reads is None:
            return None
        plan = None if self._filter is None else kept_plan(self._filter, without_views(dataset.schema))
        sources: list[OrderedSource] = []
        first = 0
        try:
            for found in reads.sources(self._names, plan) or ():
                file = found.source
                assert isinstance(file, OpenFile)
                projection = self._projection(file)
                if projection is None:
                    return None
                starts = file.row_starts
                firsts = np.array([first], np.int64) if starts is None else first + starts[:-1]
                zones = file.bounded_zones((self._names[0],))
                sources.append(OrderedSource(found, projection, zones, firsts, None if starts is None else starts[:-1]))
                first += file.num_physical
            return first_positions(sources, self._keys, self._limits.stop, runtime) if sources else None
        except LanceError:
            # Read one by one, the files tell what is wrong; or they can be read.
            return None

    def _sources(self, receipt: Receipt) -> list[OrderedSource] | None:
        """Open the files; None where one is no bare file, or shows the keys, or rows, in another way."""
        fragments = self._dataset.fragments
        if not self._is_plain or not all(fragment.partition_expression.equals(_TRUE) for fragment in fragments):
            return None
        plan = None if self._filter is None else kept_plan(self._filter, without_views(self._dataset.schema))
        runtime = default_runtime()
        is_far = self._dataset._is_far
        opened = list(runtime.ahead(lambda fragment: fragment.opened_rows(), fragments, is_far=is_far))
        starts = np.cumsum([0, *(0 if one is None else one[1].num_rows for one in opened)])
        sources = []
        for one, (first, _) in zip(opened, pairwise(starts.tolist()), strict=True):
            made = None if one is None else self._source(*one, plan, first, receipt)
            if made is None:
                return None
            sources.append(made)
        return sources

    def _source(
        self, file: OpenFile, rows: RowRanges, plan: FilterPlan | None, first: int, receipt: Receipt
    ) -> OrderedSource | None:
        projection = self._projection(file)
        # Positions are rows of whole files.
        if projection is None or len(rows) != 1 or rows.num_rows != file.num_physical:
            return None
        found = FilteredReading(file, projection.nodes, plan, receipt=receipt)
        (path, *_) = column_paths(self._names, file.roots)
        return OrderedSource(found, projection, file.bounded_zones(path), np.array([first], np.int64))

    def _projection(self, file: OpenFile) -> Projection | None:
        """Return the keys of a file; None where it shows them in another way."""
        leaves = [leaf_at(file.roots, path) for path in column_paths(self._names, file.roots)]
        for key, leaf in zip(self._keys, leaves, strict=True):
            if leaf is not None:
                key.check(leaf)
        types = [None if leaf is None else leaf.shown.type for leaf in leaves]
        return Projection.of(file.roots, None, self._names) if types == self._key_types else None

    def _kept_while_scanned(self) -> Iterator[pa.RecordBatch]:
        """Scan everything, and keep the first rows in order."""
        columns, num_wanted = self._options.columns, len(self.schema)
        names = self.schema.names if columns is None else columns
        wanted: Any = {**columns} if isinstance(columns, dict) else [*names]
        for number, name in enumerate(self._names):
            if isinstance(wanted, dict):
                wanted[f"\0{number}"] = pc.field(*column_paths([name], ())[0])
            else:
                wanted.append(name)
        options = self._options._replace(columns=wanted)
        kept = _KeptRows(TopRows(self._keys, self._limits.stop), self._keys, num_wanted)
        for batch in self._dataset.scanner(**options.keywords()).to_batches():
            kept.add(batch)
        rows = kept.rows(self.schema).slice(self._limits.offset)
        yield from rows.to_batches(max_chunksize=self._options.batch_size)


class _KeptRows:
    """Rows that may be among the first in order, with all wanted columns."""

    def __init__(self, top: TopRows, keys: Sequence[SortKey], num_wanted: int) -> None:
        self._top, self._keys, self._num_wanted = top, keys, num_wanted
        self._batches: list[pa.RecordBatch] = []
        self._positions: list[NDArray[np.int64]] = []
        self._num_seen = self._num_settled = self._num_kept = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """See the next batch: wanted columns, then keys."""
        if not batch.num_rows:
            return
        positions = self._num_seen + np.arange(batch.num_rows, dtype=np.int64)
        self._num_seen += batch.num_rows
        keys = [key.column(as_sortable(batch.column(self._num_wanted + n))) for n, key in enumerate(self._keys)]
        self._top.add(keys, positions)
        self._batches.append(batch.select(range(self._num_wanted)))
        self._positions.append(positions)
        self._num_kept += batch.num_rows
        if self._num_kept >= 2 * self._num_settled + WINDOW_ROWS:
            self._drop(self._top.settle())

    def _drop(self, positions: NDArray[np.int64]) -> None:
        flags = [np.isin(held, positions, assume_unique=True) for held in self._positions]
        kept = [number for number, flag in enumerate(flags) if flag.any()]
        self._batches = [filtered(self._batches[number], pa.array(flags[number])) for number in kept]
        self._positions = [self._positions[number][flags[number]] for number in kept]
        self._num_kept = self._num_settled = len(positions)

    def rows(self, schema: pa.Schema) -> pa.Table:
        """Return the first rows, in order."""
        positions = self._top.settle()
        if not len(positions):
            return schema.empty_table()
        held = np.concatenate(self._positions)
        return taken(pa.Table.from_batches(self._batches, schema), pa.array(np.searchsorted(held, positions)))
