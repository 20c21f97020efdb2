"""`FilePages`: columns and pages of one open file: their metadata read, bound and cut to rows; no value is read.

Metadata is read once per file and column; pages are bound when a read plans them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.blob_fields import PLACE_TYPE
from lance_arrow.arrays.column_roots import ColumnRoots
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, leaves_of, refuse_unreadable
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrays.schema_cache import ByColumns, ShownColumns, cached_tree
from lance_arrow.container.columns import ColumnMeta, stored_bytes_of
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import CorruptFileError, LanceError, located
from lance_arrow.io import RangeSource
from lance_arrow.runtime import Runtime, making_objects
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.row_weights import RowWeights, least_row_bytes
from lance_arrow.spi import LeafType
from lance_arrow.spi.layouts import BoundColumnEncoding, BoundLayout, PageIndex
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.page_scan import PageTask, load_indices
from lance_arrow.structure.row_selection import by_page, scaled

if TYPE_CHECKING:
    from typing import Self

_DIVISIBLE_COLUMN_BYTES = 256 << 10

Wrapper: TypeAlias = tuple[str, bytes, int]
Indices: TypeAlias = Mapping[Hashable, PageIndex]
"""Indices of pages that were loaded for one read, by the names they are cached under."""


class FilePages:
    """Columns and pages of one open file.

    Parameters
    ----------
    file
        The open container.
    runtime
        Plugins, caches and limits.
    options
        How callers see columns.
    """

    def __init__(self, file: LanceFileReader, runtime: Runtime, options: ReadOptions | None = None) -> None:
        self.file = file
        self.runtime = runtime
        self.options = options if options is not None else ReadOptions()
        self._token = object()
        self._columns: dict[int, ColumnMeta] = {}
        self._lock = Lock()
        self._through: tuple[RangeSource, FilePages] | None = None

    def __del__(self) -> None:
        if self._through is None:
            self.release()

    @property
    def source(self) -> RangeSource:
        """Source of the bytes of pages."""
        return self.file.source if self._through is None else self._through[0]

    def through(self, source: RangeSource) -> Self:
        """Return the same columns and pages, whose bytes come from another source of the same file."""
        view = copy(self)
        # The indices that are cached of the pages are those of this reader: it is kept as long.
        view._through = source, self
        return view

    def release(self) -> None:
        """Drop the cached indices of its pages."""
        self.runtime.indices.forget(self._token)

    @cached_property
    def _shown(self) -> ShownColumns:
        return cached_tree(self.file, self.options)

    @cached_property
    def _weights(self) -> ByColumns[RowWeights]:
        return self.file.derived("weights", ByColumns)

    @property
    def schema(self) -> pa.Schema:
        """Schema for callers, after the read options."""
        return self._shown.schema

    @property
    def metadata(self) -> Mapping[bytes, bytes] | None:
        """Metadata of the schema."""
        return self._shown.metadata

    @property
    def num_rows(self) -> int:
        return self.file.num_rows

    @property
    def projections(self) -> ByColumns[Any]:
        """Cache of projections by sets of columns, for all files of one schema."""
        return self._shown.projections

    @property
    def roots(self) -> ColumnRoots:
        """The whole column tree; the same object for files of one schema."""
        return self._shown.roots

    def weights(self, nodes: Sequence[ColumnNode]) -> RowWeights:
        """Estimate what rows of (pruned) columns take in memory; reads their metadata, once per file."""
        return self._weights.of(nodes, lambda: self._weighed(nodes))

    def _weighed(self, nodes: Sequence[ColumnNode]) -> RowWeights:
        with located(path=self.file.name):
            leaves = self._readable(nodes)
            metas = self.metas(leaves)
            starts = [
                meta.pages.row_starts if leaf.lengths_per_row == 1 else self.page_rows(leaf, meta)
                for leaf, meta in zip(leaves, metas, strict=True)
            ]
            return RowWeights.of(leaves, metas, starts, self.num_rows)

    def divisible_bytes(self, nodes: Sequence[ColumnNode]) -> int:
        """Return the bytes that all pages of (pruned) columns take; 0 where dividing their rows does not pay.

        Each part of a column is planned and asked for by itself. That is too much for small columns, and for sources
        whose requests are dear: parts cannot be joined with their neighbours'.

        Raises
        ------
        UnsupportedError, CorruptFileError, TruncatedReadError
            As `read`.
        """
        if self.source.coalescing.is_far:
            return 0
        with located(path=self.file.name):
            metas = self.metas(self._readable(nodes))
            stored_bytes = stored_bytes_of(metas)
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
            self._load_indices(self._readable(nodes), RowRanges.one(0, self.num_rows) if rows is None else rows)

    def _load_indices(self, leaves: Sequence[LeafNode], rows: RowRanges) -> None:
        if leaves:
            tasks, _ = self._tasks(leaves, rows, {})
            load_indices(self.source, tasks, self.runtime.indices, with_whole_pages=False)

    def index_key(self, leaf: LeafNode, number: int) -> Hashable:
        """Name the index of a page in the cache of the runtime."""
        return self._token, leaf.column, number

    def index_keys(self, leaves: Sequence[LeafNode], numbers: Sequence[Sequence[int]]) -> list[Hashable]:
        """Name the indices of pages of leaves, as `index_key` does."""
        token = self._token
        return [(token, leaf.column, number) for leaf, own in zip(leaves, numbers, strict=True) for number in own]

    def metas(self, leaves: Sequence[LeafNode]) -> list[ColumnMeta]:
        """Column metadata, read once per file and only for wanted columns; their wrappers are bound here."""
        missing = [leaf for leaf in leaves if leaf.column not in self._columns]
        if missing:
            with self._lock, making_objects(len(missing)):
                found = self.file.columns([leaf.column for leaf in missing])
                self._check_wrappers(missing, found)
                self._columns.update(zip([leaf.column for leaf in missing], found, strict=True))
        return [self._columns[leaf.column] for leaf in leaves]

    @property
    def num_known_columns(self) -> int:
        """Columns whose metadata was read, and is kept."""
        return len(self._columns)

    def described(self, leaves: Sequence[LeafNode]) -> list[ColumnMeta]:
        """Return column metadata without looking at pages."""
        return self.file.described([leaf.column for leaf in leaves])

    def _wrappers(self, metas: Sequence[ColumnMeta]) -> Sequence[Iterable[Wrapper]]:
        """Return the descriptions of columns as a whole: message, bytes, and number of buffers."""
        return [((meta.message, meta.description, len(meta.buffer_sizes)),) for meta in metas]

    def _check_wrappers(self, leaves: Sequence[LeafNode], metas: Sequence[ColumnMeta]) -> None:
        """Bind the descriptions of columns as a whole, equal ones once."""
        bound: dict[Wrapper, BoundColumnEncoding] = {}
        plain: Iterable[Wrapper] | None = None
        for leaf, wrappers in zip(leaves, self._wrappers(metas), strict=True):
            if wrappers == plain:
                # Most columns are like the one before.
                continue
            plain = wrappers
            for wrapper in wrappers:
                try:
                    found = bound.get(wrapper)
                    if found is None:
                        found = bound[wrapper] = self.runtime.binder.column(*wrapper)
                    if found.holds_descriptors:
                        plain = None
                        if leaf.field.type != PLACE_TYPE:
                            raise CorruptFileError("pages hold the places of blobs, the schema knows of none")
                except LanceError as error:
                    located(column=leaf.path).fill(error)
                    raise

    def bound(self, leaf: LeafType, meta: ColumnMeta, number: int) -> BoundLayout:
        """Bind a page's description as that of a column of some type."""
        pages = meta.pages
        described = pages.descriptions[pages.description_of[number]]
        try:
            return self.runtime.binder.page(described.message, described.value, leaf, described.distribution)
        except LanceError as error:
            located(page=number, byte_range=meta.byte_range, stage="binding a page").fill(error)
            raise

    def _bound(self, leaf: LeafNode, meta: ColumnMeta, number: int) -> BoundLayout:
        """Bind a page's description, which lies in the metadata of its column."""
        return self.bound(leaf.page_leaf, meta, number)

    def pages_of(self, leaf: LeafNode, meta: ColumnMeta, rows: RowRanges) -> Iterator[tuple[int, RowRanges]]:
        """Yield the pages of a leaf that hold rows, and which of their rows these are, as `by_page`."""
        return by_page(scaled(rows, leaf.lengths_per_row), meta.page_starts)

    def page_rows(self, leaf: LeafNode, meta: ColumnMeta) -> NDArray[np.int64]:
        """Return the first row of each page of a leaf, and the number of rows."""
        return meta.page_starts // leaf.lengths_per_row

    def leaves_of(self, nodes: Sequence[ColumnNode]) -> tuple[LeafNode, ...]:
        """Return the leaves of (pruned) columns."""
        return self._shown.leaves.of(nodes, lambda: tuple(leaves_of(nodes)))

    def least_row_bytes(self, nodes: Sequence[ColumnNode]) -> int:
        """Return the bytes that a row of (pruned) columns takes in memory at least."""
        return self._shown.row_bytes.of(nodes, lambda: least_row_bytes(nodes))

    def have_blobs(self, nodes: Sequence[ColumnNode]) -> bool:
        """Whether callers see bytes of blobs in some (pruned) columns."""
        return self._shown.has_blobs and have_blobs(nodes)

    def _readable(self, nodes: Sequence[ColumnNode]) -> Sequence[LeafNode]:
        leaves = self.leaves_of(nodes)
        for leaf in leaves:
            if leaf.refusal is not None:
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
                    key = self.index_key(leaf, number)
                    tasks.append(PageTask(leaf.path, page, layout, part, key, indices.get(key)))
            spans.append((start, len(tasks)))
        return tasks, spans
