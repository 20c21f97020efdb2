"""`RowSource`: where a scan gets rows from, be it one file, a fragment of a table, or several read as one.

source ─► reading of some of its columns ─► batches of some of its rows
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from lance_arrow.arrays.column_tree import ColumnNode
    from lance_arrow.pruning.zone_predicates import ZonePredicate
    from lance_arrow.pruning.zone_pruning import PruneResult
    from lance_arrow.runtime import Runtime
    from lance_arrow.scan.blobs.pending_batch import PendingBatch
    from lance_arrow.scan.open_file import OpenFile
    from lance_arrow.scan.pages_ahead import ScanAhead
    from lance_arrow.scan.read_counts import ReadCounts
    from lance_arrow.scan.row_weights import RowWeights
    from lance_arrow.spi.rows import RowRanges


class ColumnReading(Protocol):
    """Some columns of a source; threads share it."""

    @property
    def nodes(self) -> tuple[ColumnNode, ...]:
        """The (pruned) columns, with blobs as the source stores them."""

    @property
    def schema(self) -> pa.Schema:
        """Of what `read` returns."""

    @property
    def opened(self) -> Sequence[OpenFile]:
        """The files that are read."""

    @property
    def file_bytes(self) -> int:
        """Bytes of these files, with all columns."""

    @property
    def has_blobs(self) -> bool:
        """Whether bytes of blobs are wanted: `read` returns descriptors, `pending` finds the bytes."""

    @property
    def stored_bytes(self) -> int:
        """Bytes that the columns take, all rows together."""

    @property
    def gap_bytes(self) -> int:
        """Holes up to which reading through them takes less time than another request."""

    @property
    def is_far(self) -> bool:
        """Whether each read takes a round of requests."""

    def beside(self, nodes: Sequence[ColumnNode]) -> ColumnReading:
        """Return a reading of other columns of the source; it uses the files that are open already."""

    def divisible_bytes(self) -> int:
        """Return of how many stored bytes it pays to give each thread a part."""

    def weights(self) -> RowWeights:
        """Estimate what the rows take in memory."""

    def keep_indices(self, rows: RowRanges) -> None:
        """Load what must be known of pages before these rows are read."""

    def ask_ahead(self, rows: RowRanges, scan: ScanAhead) -> None:
        """Ask pages of far files ahead: `read` is going to be called for windows of these rows, in order."""

    def window(self, rows: RowRanges) -> AbstractContextManager[object]:
        """Enter for the time that a window of what was asked ahead is read."""

    def share(self, other: Self) -> None:
        """Use the pages that another reading of the source asked ahead."""

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read rows in order; more than one batch where 32-bit offsets would overflow."""

    def count_judged(self, rows: RowRanges) -> tuple[int, ReadCounts] | None:
        """Count rows of a judged column natively; None where it must be read. See `count_judged`."""

    def take(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read as `read` does, by all threads, rows that lie scattered: what lies between them is not decoded."""

    def pending(self, batch: pa.RecordBatch) -> PendingBatch:
        """Find the blobs of a batch that was read; errors are those of `PendingBatch.of`."""


class RowSource(Protocol):
    """Rows, numbered from 0; those that were deleted have numbers, too."""

    @property
    def name(self) -> str:
        """Name for errors."""

    @property
    def roots(self) -> Sequence[ColumnNode]:
        """Columns there are."""

    @property
    def num_physical(self) -> int:
        """Rows there are, deleted ones included."""

    @property
    def row_starts(self) -> NDArray[np.int64] | None:
        """Of files that were joined: the first row of each, and all rows; None for a single one."""

    @property
    def live(self) -> RowRanges:
        """Those that were not deleted."""

    @property
    def runtime(self) -> Runtime:
        """Threads, memory, and who gets the report."""

    def reading(self, nodes: Sequence[ColumnNode]) -> ColumnReading:
        """Return what reads some (pruned) columns; errors are those of opening them."""

    def prune(self, predicate: ZonePredicate | None, within: RowRanges) -> PruneResult:
        """Ask zone maps which of some rows can, and which do, satisfy a filter; see `prune_rows`."""
