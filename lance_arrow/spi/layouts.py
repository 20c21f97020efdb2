"""Protocols of structural encodings (layouts): how the buffers of a page are arranged.

A page is read in two rounds: `index_slices` names what a plan needs (chunk tables, row indices, dictionaries),
`plan` turns selected rows into byte ranges. Layouts never touch a source: they name slices of page buffers and get
bytes. Then `load` opens the bytes (levels are known afterwards, values are measured), the caller allocates one
destination for many pages, and `LoadedPage.decode` fills this page's part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, NumBytes
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.slots import PageStructure


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the container knows of a page, without places: rows and buffer sizes in bytes."""

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
    """What a layout keeps of a page between reads; cached under a byte budget."""

    @property
    def nbytes(self) -> int:
        """Memory it holds, in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class PageReadPlan:
    """What to fetch for the selected rows, and the layout's own notes for `load`."""

    slices: tuple[BufferSlices, ...]
    notes: Any = None


class DictionaryItems(Protocol):
    """Items of a page's dictionary, for leaves that keep indices."""

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
    """Selected rows of one page, opened: levels decoded, values measured, nothing written yet."""

    @property
    def levels(self) -> PageStructure:
        """Lists and nulls of exactly the selected rows: as levels, or as positions."""

    @property
    def shape(self) -> BlockShape | None:
        """What `decode` produces; a FixedSizeList tells here which item layers carry validity. None: no values."""

    @property
    def num_values(self) -> int:
        """Visible items: slots that `decode` fills."""

    @property
    def num_bytes(self) -> NumBytes:
        """Exact bytes of variable-width data, per field for a packed struct; 0 for other shapes."""

    @property
    def dictionary(self) -> DictionaryItems | None:
        """Items, when the leaf keeps its dictionary: `decode` then yields indices."""

    def decode(self, out: BlockSlice) -> None:
        """Fill all of `out`; slots of null items get any content (zeros or empty)."""


class BoundLayout(Protocol):
    """A validated page description; shared by every page that has the same one, and by threads."""

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        """What each buffer of the page is for.

        Raises
        ------
        CorruptFileError
            The page has not the buffers that the description demands.
        """

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        """Round one: what `load_index` needs; often empty."""

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
        """Parse and check round one's bytes."""

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        """Round two: slices that hold `rows` (offsets within the page, never empty)."""

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        """Open round two's bytes."""


@runtime_checkable
class FindsFewRows(Protocol):
    """Optional part of a bound layout whose index grows with the page: an index of a few rows alone.

    It serves one `plan` and `load` of exactly these rows, and is not kept.
    """

    def few_index_slices(self, page: PageFacts, rows: RowRanges) -> tuple[BufferSlices, ...] | None:
        """Name what `load_few_index` needs; None where it must be the whole index."""

    def load_few_index(self, page: PageFacts, rows: RowRanges, fetched: tuple[FetchedSlices, ...]) -> PageIndex:
        """Parse and check these bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class ManyPages:
    """Pages of one description in memory: those of a column in many small files.

    Parameters
    ----------
    num_rows
        ``(n,) int64``.
    starts, sizes
        ``(n, num_buffers) int64``: where the buffers of each page lie in `data`, and their bytes; inside it.
    data
        ``(m,) uint8``.
    """

    num_rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    data: Bytes


@runtime_checkable
class OpensManyPages(Protocol):
    """Optional part of a bound layout with a native side: the indices of many pages at once.

    Without it, or where it returns None, `load_index` opens them one by one.
    """

    def index_buffers(self, num_buffers: int) -> tuple[int, ...]:
        """Number the buffers that `native_pages` looks at, of a page of so many."""

    def native_pages(self, pages: ManyPages) -> list[Any] | None:
        """Parse and check the indices; return a `lance_arrow.pages.NativePage` for each page, in order.

        Raises
        ------
        CorruptFileError
            As `load_index`, of any of them.
        """


@dataclass(frozen=True, slots=True)
class ZoneMapPlace:
    """Where a column keeps its zone map. Source: ColumnEncoding.ZoneIndex."""

    rows_per_zone: int
    column_buffer: int


@dataclass(frozen=True, slots=True)
class BoundColumnEncoding:
    """How the pages of a column are to be taken.

    `zone_map` tells where bounds are; `holds_descriptors` that pages hold (position, size) of values elsewhere.
    """

    zone_map: ZoneMapPlace | None = None
    holds_descriptors: bool = False
