"""Fixed-size lists stored item by item, as in releases 0.22 to 0.25: a page of items, several per list.

The levels of an item mark nulls of the item, of its list, and of outer nodes. Files of 2.1 store levels of lists, and a
bitmap for the items. This page is converted to that form. Source: lance.encodings.MiniBlockLayout, FullZipLayout;
docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.spi import BlockSlice, FixedSizeList, FixedWidth
from lance_arrow.spi.layouts import (
    BoundLayout,
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LayerKind,
    Levels,
    LoadedPage,
    PageFacts,
    PageIndex,
    PageReadPlan,
    RowRanges,
)
from second_reader import kernels


@dataclass(frozen=True, slots=True, eq=False)
class ItemsIndex:
    """The index of the page of items, hidden from the native engine, which would read it as one of lists."""

    index: PageIndex | None

    @property
    def nbytes(self) -> int:
        return 0 if self.index is None else self.index.nbytes


@dataclass(frozen=True, slots=True)
class ReadFlattened:
    """Pages of lists over pages of their items.

    Parameters
    ----------
    items
        The pages of items, with all layers.
    shape
        Shape of the lists in the schema.
    layers
        Inner-most first: items, inner lists, the lists themselves, then outer nodes.
    """

    items: BoundLayout
    shape: FixedSizeList
    layers: tuple[LayerKind, ...]

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return self.items.roles(self._of_items(page))

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return self.items.index_slices(self._of_items(page))

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> ItemsIndex:
        return ItemsIndex(self.items.load_index(self._of_items(page), fetched))

    def plan(self, page: PageFacts, index: ItemsIndex, rows: RowRanges) -> PageReadPlan:
        size = self.shape.items_per_value
        return self.items.plan(self._of_items(page), index.index, RowRanges(rows.starts * size, rows.stops * size))

    def load(
        self, page: PageFacts, index: ItemsIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> FlattenedPage:
        loaded = self.items.load(self._of_items(page), index.index, plan, fetched)
        return FlattenedPage.of(loaded, self.shape, self.layers)

    def _of_items(self, page: PageFacts) -> PageFacts:
        num_items = page.num_rows * self.shape.items_per_value
        if num_items >> 63:
            raise CorruptFileError(f"a page has {page.num_rows} lists of {self.shape.items_per_value} items")
        return PageFacts(num_items, page.buffer_sizes)


@dataclass(frozen=True, slots=True, eq=False)
class FlattenedPage:
    """Selected lists.

    Parameters
    ----------
    items
        The selected items.
    levels
        Levels of the lists and of outer nodes.
    shape
        Shape of the lists, with validity if a layer below them has nulls.
    item_levels
        ``(lists, items_per_value) uint16`` definition levels of items; None without nulls.
    null_levels
        For each layer with validity, outer first: the level of its nulls.
    """

    items: LoadedPage
    levels: Levels
    shape: FixedSizeList
    item_levels: NDArray[np.uint16] | None
    null_levels: tuple[int, ...]
    num_bytes = 0
    dictionary = None

    @classmethod
    def of(cls, items: LoadedPage, shape: FixedSizeList, layers: tuple[LayerKind, ...]) -> FlattenedPage:
        """Split levels of items into levels of lists and of items.

        Raises
        ------
        CorruptPageError
            Items of one list differ in whether it is null.
        """
        depth = len(layers) - len(layers[_depth(shape) :])
        inner, outer = layers[:depth], layers[depth:]
        size = shape.items_per_value
        num_lists = items.num_values // size
        def_: Any = items.levels.def_  # type: ignore[union-attr]
        if def_ is None:
            return cls(items, Levels(outer, num_lists), shape, None, ())
        of_items = def_.reshape(num_lists, size)
        own = sum(layer.num_def_levels for layer in inner)
        of_lists = np.maximum(of_items, own) - own
        if (of_lists != of_lists[:, :1]).any():
            raise CorruptPageError("items of a list differ in whether it is null")
        nullable = tuple(layer is LayerKind.NULLABLE_ITEM for layer in inner)
        numbers = np.cumsum(nullable)
        # Outer first, as in shapes.
        null_levels = tuple(int(number) for number, has in zip(numbers[::-1], nullable[::-1], strict=True) if has)
        levels = Levels(outer, num_lists, None, np.ascontiguousarray(of_lists[:, 0], np.uint16))
        return cls(items, levels, _with_validity(shape, nullable[::-1]), of_items, null_levels)

    @property
    def num_values(self) -> int:
        return self.levels.num_entries

    def decode(self, out: BlockSlice) -> None:
        leaf = self.shape.leaf
        num_items = self.num_values * self.shape.items_per_value
        self.items.decode(BlockSlice(leaf, num_items, out.values, out.bit_offset))
        sizes = self.shape.validity_dimensions
        for bitmap, level, size in zip(out.validity, self.null_levels, sizes, strict=True):
            assert self.item_levels is not None
            first_of_each = self.item_levels[:, :: self.shape.items_per_value // size]
            bits = np.packbits(first_of_each.reshape(-1) < level, bitorder="little")
            everything = np.zeros(1, np.int64), np.array([bitmap.num_bits], np.int64)
            kernels.take_bit_runs(bits, 0, *everything, bitmap.values, bitmap.bit_offset)


def _depth(shape: FixedSizeList | FixedWidth) -> int:
    return 1 + _depth(shape.items) if isinstance(shape, FixedSizeList) else 0


def _with_validity(shape: FixedSizeList, nullable: tuple[bool, ...]) -> FixedSizeList:
    """Add bitmaps if layers below have nulls; flags are outer first."""
    items = shape.items
    inner = _with_validity(items, nullable[1:]) if isinstance(items, FixedSizeList) else items
    return FixedSizeList(inner, shape.dimension, nullable[0])
