"""`FileBatches`: rows of one open file: all at once, streamed within the memory budget, or counted; see `RowStream`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.errors import located
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection, joined_nodes
from lance_arrow.scan.read_counts import UNWATCHED, Receipt, receipt_for
from lance_arrow.scan.row_stream import RowStream
from lance_arrow.scan.row_weights import check_row_bytes
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    from lance_arrow.scan.filters.filter_plan import FilterPlan
    from lance_arrow.scan.filters.kept_counts import KeptCounts
    from lance_arrow.scan.predicates import Predicate


class FileBatches:
    """Batches of one file.

    Parameters
    ----------
    file
        The file.
    """

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._source, self._rows = file.source, file.rows
        self._runtime = file.rows.runtime

    def at_once(self, projection: Projection, filter: Predicate | None, rows: RowRanges) -> list[pa.RecordBatch]:
        """Read rows, those that satisfy a filter.

        Raises
        ------
        InvalidArgumentError
            The filter does not fit the file, or fails on some value.
        ResourceLimitError
            As `check_row_bytes`.
        """
        return list(self._stream(projection, filter, None, rows, is_held=True))

    def stream(
        self, projection: Projection, filter: Predicate | None, batch_rows: int | None, rows: RowRanges
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows, those that satisfy a filter, in batches of `batch_rows`, or of what the budget allows.

        Raises
        ------
        InvalidArgumentError
            At once: the filter does not fit the file. While iterating: it fails on some value.
        """
        return self._stream(projection, filter, batch_rows, rows, is_held=False)

    def _stream(
        self,
        projection: Projection,
        filter: Predicate | None,
        batch_rows: int | None,
        rows: RowRanges,
        *,
        is_held: bool,
    ) -> Iterator[pa.RecordBatch]:
        plan, nodes = None, projection.nodes
        if filter is not None:
            plan = self._plan(filter)
            nodes = joined_nodes(nodes, plan.nodes(self._rows.roots))
        if is_held:
            self._check_expansion(nodes, rows)
        receipt = self._receipt(nodes, filter)
        found = FilteredReading(self._file, projection.nodes, plan, rows, receipt=receipt)
        stream = RowStream(self._runtime, batch_rows, projection, is_held=is_held)
        return receipt.sent_after(stream.batches((found,), is_one=True))

    def count(self, filter: Predicate) -> int:
        """Count rows that satisfy a filter; those of zones that are sure need not be read."""
        plan = self._plan(filter)
        receipt = self._receipt(plan.nodes(self._rows.roots), filter)

        def made() -> FilteredReading:
            return FilteredReading(self._file, (), plan, receipt=receipt, is_count=True)

        is_kept = plan.is_repeatable and receipt is UNWATCHED
        reading = self._counts.of(plan, 0, made) if is_kept else made()
        count = reading.count()
        receipt.count(count)
        receipt.send()
        return count

    @cached_property
    def _counts(self) -> KeptCounts:
        from lance_arrow.scan.filters.kept_counts import KeptCounts  # noqa: PLC0415 - for filters alone

        return KeptCounts()

    def _receipt(self, nodes: Sequence[ColumnNode], filter: Predicate | None = None) -> Receipt:
        """Begin to count what a read takes."""
        receipt = receipt_for(self._runtime, nodes, filter)
        receipt.see((self._file,))
        return receipt

    def _plan(self, filter: Predicate) -> FilterPlan:
        from lance_arrow.scan.filters.kept_plans import kept_plan  # noqa: PLC0415
        from lance_arrow.scan.predicates import as_expression  # noqa: PLC0415

        schema = self._rows.schema
        return kept_plan(as_expression(filter, schema), schema)

    def _check_expansion(self, nodes: Sequence[ColumnNode], rows: RowRanges) -> None:
        with located(path=self._source.name):
            row_bytes = self._rows.least_row_bytes(nodes)
            check_row_bytes(row_bytes, rows.num_rows, self._source.size(), self._runtime.settings.limits)
