"""`OpenFile`: one open file as a source of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_arrow.arrays.column_paths import Path, leaf_at
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.columns import stored_bytes_of
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.engine import FileState
from lance_arrow.io import Location, MeteredSource, ReadStats
from lance_arrow.runtime import Runtime
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.read_counts import ReadCounts
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lance_arrow.pruning.zone_predicates import ZonePredicate
    from lance_arrow.pruning.zone_pruning import PruneResult
    from lance_arrow.scan.blobs.blob_reader import BlobReader
    from lance_arrow.scan.blobs.pending_batch import PendingBatch
    from lance_arrow.scan.fragments.table_zones import BoundedZones
    from lance_arrow.scan.pages_ahead import PagesAhead, ScanAhead
    from lance_arrow.scan.zone_reader import ZoneReader


class OpenFile:
    """One open file: its metered bytes and its rows, which it is a `RowSource` of.

    Parameters
    ----------
    source, rows
        The file.
    location
        Where it is, for what lies beside it; None where that is not known.
    sidecars
        Whether zone maps are looked for beside it.
    fetched
        Of files held in memory as one: what it took to bring them there, each with a request.
    """

    def __init__(
        self,
        source: MeteredSource,
        rows: RowReader,
        location: Location | None = None,
        *,
        sidecars: bool = True,
        fetched: ReadStats | None = None,
    ) -> None:
        self.source = source
        self.rows = rows
        self.fetched = fetched
        self._location = location
        self._sidecars = sidecars

    @cached_property
    def blobs(self) -> BlobReader:
        """Reads its blobs."""
        from lance_arrow.scan.blobs.blob_reader import BlobReader  # noqa: PLC0415 - for blobs alone

        return BlobReader(self.rows, self._location)

    def seen_with(self, options: ReadOptions) -> OpenFile:
        """Return the same file as other options show it; it closes when the last of both is let go."""
        rows = row_reader(self.rows.file, self.rows.runtime, options)
        return OpenFile(self.source, rows, self._location, sidecars=self._sidecars, fetched=self.fetched)

    def close(self) -> None:
        """Release the file, and what its blobs lie in."""
        if "blobs" in self.__dict__:
            self.blobs.close()
        self.source.close()
        self.rows.release()

    @cached_property
    def zones(self) -> ZoneReader:
        """Reads its zone maps."""
        from lance_arrow.scan.zone_reader import zone_reader  # noqa: PLC0415 - for filters alone

        return zone_reader(self.rows, self._location if self._sidecars else None)

    @property
    def name(self) -> str:
        """Its printable place, free of credentials."""
        return self.rows.file.name

    @cached_property
    def local_state(self) -> tuple[str, tuple[int, int, int, int]] | None:
        """Path of a local file, and what tells its content; see `MeteredSource.local_state`."""
        return self.source.local_state()

    @cached_property
    def state(self) -> FileState | None:
        """What tells natively whether the file at its path is still this one; None for files that are not local."""
        known = self.local_state
        return None if known is None else FileState(os.fsencode(known[0]), *known[1])

    @property
    def roots(self) -> Sequence[ColumnNode]:
        """Its columns."""
        return self.rows.roots

    @cached_property
    def everything(self) -> Projection:
        """All columns, as callers see them; files of one schema share it."""
        rows = self.rows
        found: Projection = rows.projections.of(rows.roots, lambda: Projection.of(rows.roots, rows.metadata, None))
        return found

    @property
    def row_starts(self) -> NDArray[np.int64] | None:
        """As `RowSource.row_starts`."""
        return None

    def bounded_zones(self, path: Path) -> BoundedZones | None:
        """Return the zones of a column; None where there are none."""
        from lance_arrow.scan.fragments.table_zones import BoundedZones  # noqa: PLC0415 - for orders alone

        leaf = leaf_at(self.roots, path)
        zone_map = None if leaf is None else self.zones.get([leaf])[0]
        if zone_map is None or not zone_map.num_zones or zone_map.is_repeated:
            return None
        return BoundedZones.of_map(zone_map, self.num_physical)

    @property
    def num_physical(self) -> int:
        """Its rows."""
        return self.rows.num_rows

    @property
    def live(self) -> RowRanges:
        """All of them: only tables delete rows."""
        return RowRanges.one(0, self.rows.num_rows)

    @property
    def runtime(self) -> Runtime:
        """Runtime with the threads and limits of the reads."""
        return self.rows.runtime

    def reading(self, nodes: Sequence[ColumnNode]) -> FileReading:
        """Return what reads some (pruned) columns."""
        return FileReading(self, nodes)

    def prune(self, predicate: ZonePredicate | None, within: RowRanges) -> PruneResult:
        """Ask zone maps; see `prune_rows`."""
        from lance_arrow.pruning.zone_pruning import PruneResult, prune_rows  # noqa: PLC0415 - for filters alone

        if predicate is None:
            return PruneResult(within, RowRanges.one(0, 0))
        return prune_rows(self.rows, self.zones, predicate, within)


class FileReading:
    """Some columns of one file, with descriptors in place of blobs.

    Parameters
    ----------
    file
        The file.
    nodes
        (Pruned) columns.
    """

    def __init__(self, file: OpenFile, nodes: Sequence[ColumnNode]) -> None:
        self._file, self._rows = file, file.rows
        self._ahead: PagesAhead | None = None
        self.nodes = tuple(nodes)
        self.has_blobs = self._rows.have_blobs(nodes)

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([node.field for node in self.nodes])

    @property
    def rows(self) -> RowReader:
        """What reads the rows of the file."""
        return self._rows

    @property
    def opened(self) -> Sequence[OpenFile]:
        return (self._file,)

    @property
    def file_bytes(self) -> int:
        return self._file.source.size()

    @cached_property
    def stored_bytes(self) -> int:
        return stored_bytes_of(self._rows.metas(self._rows.leaves_of(self.nodes)))

    def leaf_bytes(self) -> dict[int, int]:
        """Return the bytes that each leaf takes in the file, by its column."""
        leaves = self._rows.leaves_of(self.nodes)
        metas = self._rows.metas(leaves)
        return {leaf.column: stored_bytes_of([meta]) for leaf, meta in zip(leaves, metas, strict=True)}

    @property
    def gap_bytes(self) -> int:
        return self._file.source.coalescing.max_gap_bytes

    @property
    def is_far(self) -> bool:
        return self._file.source.coalescing.is_far

    def beside(self, nodes: Sequence[ColumnNode]) -> FileReading:
        return FileReading(self._file, nodes)

    def divisible_bytes(self) -> int:
        return self._rows.divisible_bytes(self.nodes)

    def weights(self) -> RowWeights:
        return self._rows.weights(self.nodes)

    def keep_indices(self, rows: RowRanges) -> None:
        self._rows.keep_indices(self.nodes, rows)

    def ask_ahead(self, rows: RowRanges, scan: ScanAhead) -> None:
        if self._file.fetched is not None:
            # A window of joined files is one wave, and many windows are read at a time.
            return
        from lance_arrow.scan.pages_ahead import PagesAhead  # noqa: PLC0415 - for far files alone

        self._ahead = PagesAhead(self._rows, self.nodes, rows, scan)
        self._rows = self._ahead.reader

    def window(self, rows: RowRanges) -> AbstractContextManager[object]:
        return nullcontext() if self._ahead is None else self._ahead.window(rows)

    def share(self, other: FileReading) -> None:
        self._rows = other._rows

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], ReadCounts]:
        return self._rows.read(self.nodes, rows, pool)

    def count_judged(self, rows: RowRanges) -> tuple[int, ReadCounts] | None:
        from lance_arrow.scan.filters.judged_counts import count_judged  # noqa: PLC0415 - for filters alone

        return count_judged(self._rows, self.nodes, rows)

    def take(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], ReadCounts]:
        return self._rows.take(self.nodes, rows, pool)

    def take_noted(self, rows: Any, first: int, schema: pa.Schema) -> pa.Table | None:
        """Read few rows of pages that were read before; see `RowReader.take_noted`."""
        return self._rows.take_noted(self.nodes, rows, first, schema)

    def pending(self, batch: pa.RecordBatch) -> PendingBatch:
        from lance_arrow.scan.blobs.pending_batch import PendingBatch  # noqa: PLC0415 - for blobs alone

        return PendingBatch.of(self.nodes, batch, lambda _: self._file.blobs)


def row_reader(file: LanceFileReader, runtime: Runtime, options: ReadOptions | None = None) -> RowReader:
    """Return what reads rows of an open file, by its version; see `RowReader`."""
    if file.version not in LEGACY_VERSIONS:
        return RowReader(file, runtime, options)
    from lance_arrow.scan.legacy.v2_0_row_reader import V20RowReader  # noqa: PLC0415 - for 0.1 and 2.0 alone

    return V20RowReader(file, runtime, options)
