"""`RowReader`: selected rows of selected columns of one open file, as Arrow record batches.

One call plans all pages of all leaves, fetches them in at most two rounds, and decodes each leaf into one destination.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.arrow_arrays import DecodedLeaf, batch_of
from lance_arrow.arrays.blob_fields import PLACE_TYPE
from lance_arrow.arrays.column_destination import Allocator, LeafBuffers, decode_values, overflow
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, refuse_unreadable
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrays.schema_cache import ShownColumns, cached_tree
from lance_arrow.arrays.unravel import NodeStructure, unravel
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError, ResourceLimitError, located
from lance_arrow.io import MeteredSource
from lance_arrow.runtime import Runtime
from lance_arrow.scan.blobs.native_blobs import blob_limits
from lance_arrow.scan.native_take import Pages, take_leaves
from lance_arrow.scan.read_plan import ByColumns, ReadPlan
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.scan.sparse_selection import are_short, hull, in_order, is_cheaper_whole, marks_of, picked
from lance_arrow.spi import (
    BoundLayout,
    LeafType,
    LoadedPage,
    PageIndex,
    RowRanges,
)
from lance_arrow.structure.page_scan import PageTask, load_indices, load_pages
from lance_arrow.structure.row_selection import by_page, halves, pages_with, scaled

# Sources that read through larger holes than this rather than ask twice are far away.
_CHEAP_GAP_BYTES = 64 << 10
_DIVISIBLE_COLUMN_BYTES = 256 << 10
_INT32_MAX = np.iinfo(np.int32).max

Indices: TypeAlias = Mapping[Hashable, PageIndex]
"""Indices of pages that were loaded for one read, by the names they are cached under."""


@dataclass(slots=True, eq=False)
class ReadCounts:
    """What one call decoded: pages touched, the dotted paths of the leaves, and how long that took."""

    pages: int
    columns: tuple[str, ...]
    seconds: float = 0.0


class RowReader:
    """Rows of one file.

    Parameters
    ----------
    file
        The open container.
    runtime
        Plugins, caches and limits.
    options
        How callers see columns; blobs are always read as descriptors here, `scan.blobs.blob_reader` reads the values.
    """

    def __init__(self, file: LanceFileReader, runtime: Runtime, options: ReadOptions | None = None) -> None:
        self.file = file
        self.runtime = runtime
        self.options = options if options is not None else ReadOptions()
        self._token = object()
        self._columns: dict[int, ColumnMeta] = {}
        self._read_plans: ByColumns[ReadPlan] = ByColumns()
        self._blob_read_plans: ByColumns[ReadPlan] = ByColumns()
        self._weights: ByColumns[RowWeights] = ByColumns()
        self._lock = Lock()

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        """Have the indices of its pages dropped: nobody will ask for them again."""
        self.runtime.indices.forget(self._token)

    @cached_property
    def _shown(self) -> ShownColumns:
        return cached_tree(self.file, self.options)

    @property
    def schema(self) -> pa.Schema:
        """What callers see."""
        return self._shown.schema

    @property
    def num_rows(self) -> int:
        return self.file.num_rows

    @property
    def roots(self) -> tuple[ColumnNode, ...]:
        """The whole column tree; the same object for files of one schema."""
        return self._shown.roots

    def weights(self, nodes: Sequence[ColumnNode]) -> RowWeights:
        """Estimate what rows of (pruned) columns take in memory; reads their metadata, once per file."""
        return self._weights.of(nodes, lambda: self._weighed(nodes))

    def _weighed(self, nodes: Sequence[ColumnNode]) -> RowWeights:
        with located(path=self.file.name):
            leaves = self._readable(nodes)
            metas = self.metas(leaves)
            starts = [self.page_rows(leaf, meta) for leaf, meta in zip(leaves, metas, strict=True)]
            return RowWeights.of(leaves, metas, starts, self.num_rows)

    def read(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None = None
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read rows of (pruned) columns.

        Parameters
        ----------
        nodes
            Columns to read, as `project` returns them.
        rows
            Which rows of the file.
        pool
            Arrow memory pool of the result; the default one when None.

        Returns
        -------
        batches
            In row order; more than one only where 32-bit offsets would overflow.
        counts
            Pages and leaves touched.

        Raises
        ------
        UnknownEncodingError, UnsupportedError, CorruptFileError, TruncatedReadError, ResourceLimitError
            With file, column and page.
        """
        begun = time.perf_counter()
        done = self._pick(nodes, rows, pool) if are_short(rows) else None
        batches, counts = self._read_natively(nodes, rows, pool, is_scan=True) if done is None else done
        counts.seconds = time.perf_counter() - begun
        return batches, counts

    def _pick(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None
    ) -> tuple[list[pa.RecordBatch], ReadCounts] | None:
        """Decode all rows between the first and the last where that costs less than finding many short runs of them.

        The engine finds them in some columns as fast as it decodes. None where that is so in all, or runs are few.
        """
        close = self._close_nodes(nodes, rows)
        rest = [node for node in nodes if node not in close]
        num_leaves, settings = sum(len(list(node.leaves())) for node in rest), self.runtime.settings
        spare_bytes = settings.window_bytes(settings.num_threads + 1)
        if not num_leaves or not is_cheaper_whole(rows, self.weights(rest), num_leaves, spare_bytes):
            return None
        parts = [
            (rest, self.read(rest, hull(rows), pool)),
            (close, self._read_natively(close, rows, pool, is_scan=True)),
        ]
        if any(len(batches) != 1 for _, (batches, _) in parts):
            return None  # too many bytes for one batch
        (_, ([among], _)), (_, ([found], _)) = parts
        columns = (*picked(among, marks_of(rows), pool).columns, *found.columns)
        batch = in_order(nodes, (*rest, *close), columns)
        paths = tuple(leaf.path for node in nodes for leaf in node.leaves())
        return [batch], ReadCounts(sum(counts.pages for _, (_, counts) in parts), paths)

    def _close_nodes(self, nodes: Sequence[ColumnNode], rows: RowRanges) -> list[ColumnNode]:
        """Return the columns of which the engine reads many short runs as fast as all rows; none of a far file."""
        source = self.file.source
        if source.coalescing.max_gap_bytes > _CHEAP_GAP_BYTES or not isinstance(source, MeteredSource):
            return []
        plans = self._read_plans.of(nodes, lambda: ReadPlan.of(nodes)).plans
        if not plans or source.positional() is None:
            return []
        with located(path=self.file.name):
            pages, _ = self._pages_of([plan.leaf for plan in plans], rows, is_scan=True)
        close = {
            plan.leaf.column
            for plan, of_leaf in zip(plans, pages, strict=True)
            if all(page is not None and page.picks_close_rows for page, *_ in of_leaf)
        }
        return [node for node in nodes if close.issuperset(leaf.column for leaf in node.leaves())]

    def _read(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None, indices: Indices
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read as `read` does; `indices` are at hand already, whether or not the cache could keep them."""
        leaves = [leaf for node in nodes for leaf in node.leaves()]
        with located(path=self.file.name):
            batch, num_pages = self._decode_leaves(
                leaves, rows, pool, lambda decoded: batch_of(nodes, decoded, rows.num_rows), indices
            )
            counts = ReadCounts(num_pages, tuple(leaf.path for leaf in leaves))
            return ([batch] if batch is not None else self._read_halves(nodes, rows, pool)), counts

    def _decode_leaves(
        self,
        leaves: Sequence[LeafNode],
        rows: RowRanges,
        pool: pa.MemoryPool | None,
        finish: Callable[[dict[int, DecodedLeaf]], pa.RecordBatch],
        indices: Indices,
    ) -> tuple[pa.RecordBatch | None, int]:
        """Decode leaves, let `finish` make a batch of them, and count pages; None where 32-bit offsets overflow."""
        for leaf in leaves:
            refuse_unreadable(leaf)
        tasks, spans = self._tasks(leaves, rows, indices)
        pages = load_pages(self.file.source, tasks, self.runtime.indices)
        of_leaf = [pages[start:stop] for start, stop in spans]
        if overflow(leaves, of_leaf) and rows.num_rows > 1:
            return None, len(tasks)
        decoded = {}
        try:
            for leaf, leaf_pages in zip(leaves, of_leaf, strict=True):
                with located(column=leaf.path):
                    decoded[leaf.column] = self._decode(leaf, leaf_pages, pool)
            return finish(decoded), len(tasks)
        except LanceError as error:
            from lance_arrow.scan.page_faults import find_page  # noqa: PLC0415 - for errors alone

            of_task = [tasks[start:stop] for start, stop in spans]
            find_page(error, leaves, of_task, of_leaf, lambda leaf, page: self._decode(leaf, [page], pool))
            raise

    def take(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None = None
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read scattered rows: as `read` does, through the native engine where it can.

        Parameters, results and errors are those of `read`.
        """
        begun = time.perf_counter()
        batches, counts = self._read_natively(nodes, rows, pool, is_scan=False)
        counts.seconds = time.perf_counter() - begun
        return batches, counts

    def take_with_blobs(self, nodes: Sequence[ColumnNode], rows: RowRanges) -> tuple[pa.RecordBatch, ReadCounts] | None:
        """Read scattered rows with few bytes of blobs in place of their descriptors, all of it by the native engine.

        Parameters
        ----------
        nodes, rows
            As for `read`.

        Returns
        -------
        tuple or None
            The rows as callers see them, and what was touched. None where the engine refuses: `take` can say why.
        """
        source = self.file.source
        data_stop = self.file.footer.data_stop
        wanted = self._blob_read_plans.of(nodes, lambda: ReadPlan.of(nodes, blob_limits(data_stop, self.runtime)))
        place = source.positional() if isinstance(source, MeteredSource) else None
        if place is None or not len(rows) or len(wanted.plans) < len(wanted.leaves):
            return None
        assert isinstance(source, MeteredSource)
        with located(path=self.file.name):
            pages, _ = self._pages_of(wanted.leaves, rows, is_scan=False)
            num_rows = rows.num_rows
            try:
                done = take_leaves(
                    wanted.plans, pages, (rows, num_rows), (source, place), self.runtime, None, 1, _INT32_MAX
                )
                if not done or None in done:
                    return None
                return wanted.batch(wanted.decoded(done), num_rows), ReadCounts(sum(map(len, pages)), wanted.paths)
            except (ResourceLimitError, CorruptPageError):
                return None

    def _read_natively(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None, *, is_scan: bool
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Let the engine read what it can, and the layouts the rest, or all of it where bytes are refused.

        A scan is one of several windows that threads read, and leaves to the layouts what they read faster; a take has
        all threads to itself.
        """
        source = self.file.source
        wanted = self._read_plans.of(nodes, lambda: ReadPlan.of(nodes))
        place = source.positional() if isinstance(source, MeteredSource) else None
        if not wanted.plans or not len(rows) or place is None:
            return self._read(nodes, rows, pool, {})
        assert isinstance(source, MeteredSource)
        num_rows = rows.num_rows
        num_threads = 1 if is_scan else self.runtime.settings.num_threads
        with located(path=self.file.name):
            pages, loaded = self._pages_of([plan.leaf for plan in wanted.plans], rows, is_scan=is_scan)
            try:
                done = take_leaves(
                    wanted.plans, pages, (rows, num_rows), (source, place), self.runtime, pool, num_threads, _INT32_MAX
                )
            except ResourceLimitError:
                # The layouts ask for the same memory, and can name the column.
                done = []
            num_pages = sum(map(len, pages))
            if not is_scan:
                taken = wanted.batch_of(done, num_rows)
                if taken is not None:
                    return [taken], ReadCounts(num_pages, wanted.paths)
            decoded = wanted.decoded(done)
            if not decoded:
                return self._read(nodes, rows, pool, loaded)

            def finish(rest: dict[int, DecodedLeaf]) -> pa.RecordBatch:
                return wanted.batch({**decoded, **rest} if rest else decoded, num_rows)

            try:
                if len(decoded) == len(wanted.leaves):
                    return [finish({})], ReadCounts(num_pages, wanted.paths)
                others = [leaf for leaf in wanted.leaves if leaf.column not in decoded]
                batch, more_pages = self._decode_leaves(others, rows, pool, finish, loaded)
            except CorruptPageError:
                # The layouts read the same rows, and can name the page.
                return self._read(nodes, rows, pool, loaded)
            if batch is None:
                return self._read(nodes, rows, pool, loaded)
            return [batch], ReadCounts(num_pages + more_pages, wanted.paths)

    def _pages_of(self, leaves: Sequence[LeafNode], rows: RowRanges, *, is_scan: bool) -> tuple[list[Pages], Indices]:
        """The pages that hold the rows, with their indices; and those of them that had to be loaded, in one round."""
        metas = self.metas(leaves)
        numbers = [pages_with(rows, meta.page_starts) for meta in metas]
        keys = [
            (self._token, leaf.column, number)
            for leaf, of_leaf in zip(leaves, numbers, strict=True)
            for number in of_leaf
        ]
        held = iter(zip(keys, self.runtime.indices.get_many(keys), strict=True))
        wanted: list[Pages] = []
        missing: list[tuple[PageTask, Pages, int]] = []
        for leaf, meta, of_leaf in zip(leaves, metas, numbers, strict=True):
            pages: Pages = []
            for number in of_leaf:
                page = meta.pages[number]
                key, index = next(held)
                if index is None:
                    with located(column=leaf.path):
                        layout = self._bound(leaf, meta, number)
                    missing.append((PageTask(leaf.path, page, layout, rows, key), pages, len(pages)))
                pages.append((_native(index, is_scan), page.first_row, page.buffer_offsets, page.buffer_sizes))
            wanted.append(pages)
        if not missing:
            return wanted, {}
        tasks = [task for task, _, _ in missing]
        load_indices(self.file.source, tasks, self.runtime.indices, with_whole_pages=False)
        for task, pages, place in missing:
            pages[place] = (_native(task.index, is_scan), *pages[place][1:])
        return wanted, {task.cache_key: task.index for task in tasks if task.index is not None}

    def divisible_bytes(self, nodes: Sequence[ColumnNode]) -> int:
        """Return the bytes that all pages of (pruned) columns take; 0 where dividing their rows does not pay.

        Each part of a column is planned and asked for by itself. That is too much for small columns, and for sources
        whose requests are dear: parts cannot be joined with their neighbours'.

        Raises
        ------
        UnsupportedError, CorruptFileError, TruncatedReadError
            As `read`.
        """
        if self.file.source.coalescing.max_gap_bytes > _CHEAP_GAP_BYTES:
            return 0
        with located(path=self.file.name):
            metas = self.metas(self._readable(nodes))
            stored_bytes = sum(meta.stored_bytes for meta in metas)
            return stored_bytes if stored_bytes >= len(metas) * _DIVISIBLE_COLUMN_BYTES else 0

    def keep_indices(self, nodes: Sequence[ColumnNode], rows: RowRanges | None = None) -> None:
        """Load the indices of pages of (pruned) columns, so that reads of their parts, in threads, share them.

        Parameters
        ----------
        nodes
            As for `read`.
        rows
            Only pages with some of these rows count; all pages when None.

        Raises
        ------
        UnknownEncodingError, UnsupportedError, CorruptFileError, TruncatedReadError, ResourceLimitError
            As `read`.
        """
        with located(path=self.file.name):
            tasks, _ = self._tasks(self._readable(nodes), RowRanges.one(0, self.num_rows) if rows is None else rows, {})
            load_indices(self.file.source, tasks, self.runtime.indices, with_whole_pages=False)

    def _readable(self, nodes: Sequence[ColumnNode]) -> list[LeafNode]:
        leaves = [leaf for node in nodes for leaf in node.leaves()]
        for leaf in leaves:
            refuse_unreadable(leaf)
        return leaves

    def _tasks(
        self, leaves: Sequence[LeafNode], rows: RowRanges, indices: Indices
    ) -> tuple[list[PageTask], list[tuple[int, int]]]:
        tasks: list[PageTask] = []
        spans = []
        for leaf, meta in zip(leaves, self.metas(leaves), strict=True):
            start = len(tasks)
            with located(column=leaf.path):
                for number, part in self.pages_of(leaf, meta, rows):
                    page = meta.pages[number]
                    layout = self._bound(leaf, meta, number)
                    key = (self._token, leaf.column, number)
                    tasks.append(PageTask(leaf.path, page, layout, part, key, indices.get(key)))
            spans.append((start, len(tasks)))
        return tasks, spans

    def _bound(self, leaf: LeafNode, meta: ColumnMeta, number: int) -> BoundLayout:
        """Bind a page's description, which lies in the metadata of its column."""
        return self.bound(leaf.page_leaf, meta, number)

    def bound(self, leaf: LeafType, meta: ColumnMeta, number: int) -> BoundLayout:
        """Bind a page's description as that of a column of some type."""
        page = meta.pages[number]
        try:
            return self.runtime.binder.page(page.message, page.description, leaf, page.distribution)
        except LanceError as error:
            located(page=number, byte_range=meta.byte_range, stage="binding a page").fill(error)
            raise

    def metas(self, leaves: Sequence[LeafNode]) -> list[ColumnMeta]:
        """Column metadata, read once per file and only for wanted columns; their wrappers are bound here."""
        missing = [leaf for leaf in leaves if leaf.column not in self._columns]
        if missing:
            with self._lock:
                for leaf, meta in zip(missing, self.file.columns([leaf.column for leaf in missing]), strict=True):
                    with located(column=leaf.path):
                        self._check_wrapper(leaf, meta)
                    self._columns[leaf.column] = meta
        return [self._columns[leaf.column] for leaf in leaves]

    def described(self, leaves: Sequence[LeafNode]) -> list[ColumnMeta]:
        """Column metadata, of which nobody wants pages: none is looked at."""
        return self.file.described([leaf.column for leaf in leaves])

    def _check_wrapper(self, leaf: LeafNode, meta: ColumnMeta) -> None:
        self._check_described(leaf, meta.message, meta.description, len(meta.buffer_sizes))

    def _check_described(self, leaf: LeafNode, message: str, description: bytes, num_buffers: int) -> None:
        bound = self.runtime.binder.column(message, description, num_buffers)
        if bound.holds_descriptors and leaf.field.type != PLACE_TYPE:
            raise CorruptFileError("pages hold the places of blobs, the schema knows of none")

    def _decode(self, leaf: LeafNode, pages: list[LoadedPage], pool: pa.MemoryPool | None) -> DecodedLeaf:
        allocator = Allocator(self.runtime.settings.limits, pool)
        structure = unravel([page.levels for page in pages], leaf.offset_bits, leaf.dimensions, allocator)
        return DecodedLeaf(_values(leaf, pages, structure[0], allocator), structure)

    def decode_pages(
        self, leaf: LeafNode, pages: list[LoadedPage], pool: pa.MemoryPool | None
    ) -> tuple[NodeStructure, LeafBuffers | pa.Array]:
        """Decode pages that know of nothing above their column."""
        allocator = Allocator(self.runtime.settings.limits, pool)
        (own,) = unravel([page.levels for page in pages], (0,), (0,), allocator)
        return own, _values(leaf, pages, own, allocator)

    def pages_of(self, leaf: LeafNode, meta: ColumnMeta, rows: RowRanges) -> Iterator[tuple[int, RowRanges]]:
        """Yield the pages of a leaf that hold rows, and which of their rows these are, as `by_page`."""
        return by_page(scaled(rows, leaf.lengths_per_row), meta.page_starts)

    def page_rows(self, leaf: LeafNode, meta: ColumnMeta) -> NDArray[np.int64]:
        """Return the first row of each page of a leaf, and the number of rows."""
        return meta.page_starts // leaf.lengths_per_row

    def _read_halves(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None
    ) -> list[pa.RecordBatch]:
        first, second = halves(rows)
        return self.read(nodes, first, pool)[0] + self.read(nodes, second, pool)[0]


def _values(
    leaf: LeafNode, pages: list[LoadedPage], own: NodeStructure, allocator: Allocator
) -> LeafBuffers | pa.Array:
    if leaf.leaf.items is not None:
        from lance_arrow.arrays.dictionaries import decode_dictionary  # noqa: PLC0415 - for dictionaries alone

        return decode_dictionary(pages, leaf, own, allocator)
    return decode_values(pages, leaf.leaf.shape, allocator)


def _native(index: PageIndex | None, is_scan: bool) -> NativePage | None:
    found: NativePage | None = getattr(index, "native", None)
    return None if found is not None and is_scan and not found.is_for_scans else found
