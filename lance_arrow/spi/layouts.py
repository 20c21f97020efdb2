"""Protocols of structural encodings (layouts): how the buffers of a page are arranged.

A bound layout knows the roles of buffers. Its pages are read in one of two ways:

- By the native engine. The layout makes a page for it, at once (`ReadNatively`), or of an index that was loaded first
  (`IndexedLayout`, whose index is a `HasNativePage`).
- By the layout itself, in two rounds (`PythonLayout`). `index_slices` returns the bytes that a plan needs: tables,
  indices, dictionaries. `plan` turns selected rows into byte ranges. Then `load` opens the bytes: levels are decoded,
  values are measured. The caller allocates one destination for many pages, and `LoadedPage.decode` fills the part of
  this page.

Layouts never access a source: they return slices of page buffers and get their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, LayerKind, Levels, NumBytes
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.slots import PageStructure

__all__ = [
    "BoundColumnEncoding",
    "BoundLayout",
    "BufferRole",
    "BufferSlices",
    "FetchedSlices",
    "IndexedLayout",
    "LayerKind",
    "Levels",
    "LoadedPage",
    "NodeKind",
    "OpensManyPages",
    "PageFacts",
    "PageIndex",
    "PageReadPlan",
    "PythonLayout",
    "RowRanges",
    "ZoneMapPlace",
]


@dataclass(frozen=True, slots=True)
class PageFacts:
    """Number of rows of a page, and sizes of its buffers in bytes; their places are not part of it."""

    num_rows: int
    buffer_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BufferSlices:
    """Byte ranges ``starts[i] .. stops[i]`` of page buffer `buffer`, each ``(n,) int64``, sorted and disjoint."""

    buffer: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def whole(cls, page: PageFacts, buffer: int) -> BufferSlices:
        """All of one buffer."""
        return cls(buffer, np.zeros(1, np.int64), np.array([page.buffer_sizes[buffer]], np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class FetchedSlices:
    """The bytes of one `BufferSlices`: slice i lies at ``data[starts[i] : starts[i] + sizes[i]]``."""

    data: Bytes
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def one(self) -> Bytes:
        """The bytes of the only slice."""
        start, size = int(self.starts[0]), int(self.sizes[0])
        return self.data[start : start + size]


class PageIndex(Protocol):
    """Data of a page that a layout keeps between reads; cached under a byte budget."""

    @property
    def nbytes(self) -> int:
        """Memory it holds, in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class PageReadPlan:
    """Slices to fetch for the selected rows, and data of the layout for `load`."""

    slices: tuple[BufferSlices, ...]
    notes: Any = None


class DictionaryItems(Protocol):
    """Items of a page's dictionary, for leaves that keep their dictionary."""

    @property
    def shape(self) -> BlockShape: ...

    @property
    def num_items(self) -> int: ...

    @property
    def num_bytes(self) -> int:
        """Measured bytes of variable-width data."""

    def decode(self, out: BlockSlice) -> None:
        """Fill `out` with all items."""


class LoadedPage(Protocol):
    """Selected rows of one page: levels are decoded, values are measured, nothing is written yet."""

    @property
    def levels(self) -> PageStructure:
        """Lists and nulls of exactly the selected rows, as levels or as positions."""

    @property
    def shape(self) -> BlockShape | None:
        """Shape of the block that `decode` fills, with the item validity of a FixedSizeList. None: no values."""

    @property
    def num_values(self) -> int:
        """Visible items: slots that `decode` fills."""

    @property
    def num_bytes(self) -> NumBytes:
        """Exact bytes of variable-width data, per field for a packed struct; 0 for other shapes."""

    @property
    def dictionary(self) -> DictionaryItems | None:
        """Items, if the leaf keeps its dictionary: `decode` then returns indices."""

    def decode(self, out: BlockSlice) -> None:
        """Fill all of `out`; slots of null items get any content (zeros or empty)."""


class BoundLayout(Protocol):
    """A validated page description; all pages with the same description share it, and so do threads.

    It is also `ReadNatively`, an `IndexedLayout` or a `PythonLayout`; otherwise its pages cannot be read.
    """

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        """Return the role of each buffer of the page.

        Raises
        ------
        CorruptFileError
            The page lacks buffers that the description requires.
        """


class IndexedLayout(BoundLayout, Protocol):
    """A bound layout that must read something of a page before its rows can be found."""

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        """Return the slices for `load_index`; often empty."""

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
        """Parse and check the bytes of the slices.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves or the page.
        """


class PythonLayout(IndexedLayout, Protocol):
    """A bound layout that reads its pages itself."""

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        """Second round: return the slices that hold `rows` (offsets within the page, never empty)."""

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        """Open the bytes of the second round.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves, the index or the number of rows.
        """


@runtime_checkable
class OpensManyPages(Protocol):
    """Optional part of a layout that is `ReadNatively`: makes many pages at once.

    Without it, or if it returns None, `native_page` makes them one by one.
    """

    def native_pages(self, num_rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[Any] | None:
        """Return a `lance_arrow.pages.NativePage` for each page, in order.

        Parameters
        ----------
        num_rows
            ``(n,) int64``.
        sizes
            ``(n, num_buffers) int64``: bytes of each buffer of each page.

        Raises
        ------
        CorruptFileError
            As `roles`, for any of the pages.
        """


@dataclass(frozen=True, slots=True)
class ZoneMapPlace:
    """Place of a column's zone map. Source: ColumnEncoding.ZoneIndex."""

    rows_per_zone: int
    column_buffer: int


@dataclass(frozen=True, slots=True)
class BoundColumnEncoding:
    """How the pages of a column are read.

    `zone_map`: place of the bounds. `holds_descriptors`: whether pages hold (position, size) of values that are stored
    elsewhere.
    """

    zone_map: ZoneMapPlace | None = None
    holds_descriptors: bool = False
