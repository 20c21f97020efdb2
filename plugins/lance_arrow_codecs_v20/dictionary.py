"""Dictionary: distinct values of a page, and an index for each value.

The index means two things, told apart by the schema. A column that keeps its dictionary counts items from 0, and nulls
are an item that is null. Of a column of strings, which the writer thought repetitive, 0 is null and k is item k - 1.
All items of a page are read before any value is found, and kept. Source: ArrayEncoding.Dictionary; spec 2.0, 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.spi import (
    ARRAY,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundArray,
    BufferRole,
    Bytes,
    EncodingKey,
    FetchedSlices,
    FixedWidth,
    ItemValidity,
    Limits,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
    VariableWidth,
    hookimpl,
)
from lance_arrow.spi.pages import ItemsIndex, decode_integers

_INDEX_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Binds ``dictionary``."""

    key = EncodingKey(ARRAY, "dictionary")

    def bind(self, message: Any, scope: BindScope) -> BoundDictionary:
        """Check what the schema wants: indices with their items, or strings."""
        leaf = scope.leaf
        shape = leaf.shape if leaf.items is None else leaf.items
        if leaf.items is None and not isinstance(shape, VariableWidth):
            raise UnsupportedError(f"values of shape {shape} by index, where only strings are known to be so")
        indices = scope.for_shape(leaf.shape if leaf.items is not None else FixedWidth(8)).array(message.indices)
        if not isinstance(indices.shape, FixedWidth) or indices.shape.bits not in _INDEX_BITS:
            raise CorruptFileError(f"indices into a dictionary are {indices.shape}, expected whole numbers")
        if leaf.items is not None and indices.shape != leaf.shape:
            raise CorruptFileError(f"indices into a dictionary are {indices.shape}, the schema says {leaf.shape}")
        items = scope.for_shape(shape).array(message.items)
        if items.shape != shape:
            raise CorruptFileError(f"items of a dictionary are {items.shape}, the schema says {shape}")
        return BoundDictionary(
            indices.shape, indices, items, message.num_dictionary_items, leaf.items is not None, scope.limits
        )


@dataclass(frozen=True, slots=True)
class BoundDictionary:
    """Values of one page by index."""

    index_shape: FixedWidth
    indices: BoundArray
    items: BoundArray
    num_items: int
    keeps_items: bool
    limits: Limits
    has_nulls = True

    @property
    def shape(self) -> BlockShape | None:
        return self.index_shape if self.keeps_items else self.items.shape

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        own = tuple((buffer, BufferRole.INDICES) for buffer, _ in self.indices.buffers)
        return own + tuple((buffer, BufferRole.DICTIONARY) for buffer, _ in self.items.buffers)

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return self.indices.index_buffers + tuple(buffer for buffer, _ in self.items.buffers)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> ItemsIndex:
        """Decode the items."""
        of_indices = self.indices.load_index(page, buffers)
        return ItemsIndex.load(
            self.items, PageFacts(self.num_items, page.buffer_sizes), buffers, of_indices, self.limits
        )

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return self.indices.plan(page, index.indices, rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        """Read the indices, and find what is null: index 0 of strings, null items, null indices."""
        loaded = self.indices.load(page, index.indices, plan, fetched)
        if self.keeps_items:
            return index.select(loaded, self.index_shape)
        numbers = decode_integers(loaded, self.index_shape.bytes_per_value).astype(np.int64)
        nulls, items = index.nulls_at(loaded, numbers - 1, numbers == 0)
        levels = ItemValidity(len(numbers), np.packbits(~nulls, bitorder="little") if nulls.any() else None)
        # One item more, which is empty: that of nulls.
        return LoadedStrings(levels, np.where(nulls, self.num_items, items).astype("<u4"), index)


class LoadedStrings:
    """Selected strings, by index."""

    dictionary = None

    def __init__(self, levels: ItemValidity, indices: NDArray[np.unsignedinteger], items: ItemsIndex) -> None:
        assert isinstance(items.shape, VariableWidth)
        self.levels = levels
        self.shape = items.shape
        self.num_values = len(indices)
        self._values = items.block.values
        self._indices = indices.view(np.uint8)
        width = items.shape.offset_bits // 8
        self._offsets = np.concatenate([items.block.offsets, items.block.offsets[-width:]])
        self.num_bytes = kernels.measure_take_variable(self._offsets, items.shape.offset_bits, self._indices, 32)

    def decode(self, out: BlockSlice) -> None:
        bits = self.shape.offset_bits
        kernels.take_variable(self._offsets, bits, self._values, self._indices, 32, out.offsets, bits, out.values)


@hookimpl
def lance_provide_arrays() -> list[Dictionary]:
    return [Dictionary()]
