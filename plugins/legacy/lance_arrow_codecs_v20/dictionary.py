"""Dictionary: distinct values of a page, and an index for each value.

The index has two meanings, which the schema distinguishes. If a column keeps its dictionary, indices count items from
0, and nulls refer to a null item. In a column of strings, which the writer found repetitive, 0 is null and k is item k
- 1. All items of a page are read before any value, and kept. Source: ArrayEncoding.Dictionary; spec 2.0, 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.pages import NativePage
from lance_arrow.pages.arrays import decode_integers, native_indexed
from lance_arrow.pages.items import ItemsIndex
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.encodings_v20_pb2 import Dictionary as DictionaryMessage
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BlockSlice,
    Bytes,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    LeafType,
    Limits,
    VariableWidth,
    hookimpl,
    new_block,
)
from lance_arrow.spi.arrays import ARRAY, ArrayContent, BoundArray, EncodedArray
from lance_arrow.spi.block_runs import copy_runs, measure_runs
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges
from lance_arrow.spi.slots import ItemValidity

_INDEX_BITS = (8, 16, 32, 64)
_LEAST_VALUES = 100
_MOST_ITEMS = 99
"""Minimum number of values, and maximum of distinct values, of text that is written by index. Source: spec 2.0, 3.5."""


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Binds and writes ``dictionary``."""

    key = EncodingKey(ARRAY, "dictionary")

    def bind(self, message: Any, scope: BindScope) -> BoundDictionary:
        """Check the type in the schema: indices with their items, or strings."""
        leaf = scope.leaf
        shape = leaf.shape if leaf.items is None else leaf.items
        if leaf.items is None and not isinstance(shape, VariableWidth):
            raise UnsupportedError(f"values of shape {shape} by index are not supported, only strings")
        indices = scope.for_shape(leaf.shape if leaf.items is not None else FixedWidth(8)).array(message.indices)
        if not isinstance(indices.shape, FixedWidth) or indices.shape.bits not in _INDEX_BITS:
            raise CorruptFileError(f"indices into a dictionary are {indices.shape}, expected integers")
        if leaf.items is not None and indices.shape != leaf.shape:
            raise CorruptFileError(f"indices into a dictionary are {indices.shape}, the schema has {leaf.shape}")
        items = scope.for_shape(shape).array(message.items)
        if items.shape != shape:
            raise CorruptFileError(f"items of a dictionary are {items.shape}, the schema has {shape}")
        return BoundDictionary(
            indices.shape, indices, items, message.num_dictionary_items, leaf.items is not None, scope.limits
        )

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for leaves that keep their dictionary, and for repetitive text; None for others."""
        if content.items is not None:
            return 0.0
        return None if _repetitive(content, scope) is None else 0.0

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Write indices and items; if the column keeps its items, nulls are an additional item."""
        if content.items is None or content.values is None:
            return self._encode_strings(content, first_buffer, scope)
        shape = content.values.shape
        assert isinstance(shape, FixedWidth)
        items, count = content.items, content.items.num_values
        values, nulls = content.values, None
        if content.nulls is not None:
            if count >= 1 << (shape.bits - 1):
                raise UnsupportedError(f"indices of {shape.bits} bits cannot count {count} items and a null")
            width = shape.bytes_per_value
            numbers = np.where(content.nulls, count, content.values.values.view(f"<u{width}")).astype(f"<u{width}")
            values = BlockSlice(shape, content.num_values, numbers.view(np.uint8))
            items, nulls = _with_empty(items), np.arange(count + 1) == count
        held = scope.encode_array(ArrayContent(LeafType(shape), content.num_values, values), first_buffer)
        return _with_items(held, items, nulls, first_buffer, scope)

    def _encode_strings(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        found = _repetitive(content, scope)
        if found is None or content.values is None:
            raise UnsupportedError("dictionaries of text need less than a hundred distinct, repeated values")
        numbers, items = found
        if content.nulls is not None:
            numbers = np.where(content.nulls, 0, numbers).astype(np.uint8)
        indices = BlockSlice(FixedWidth(8), content.num_values, numbers)
        held = scope.encode_array(ArrayContent(LeafType(FixedWidth(8)), content.num_values, indices), first_buffer)
        nulls = None
        if not items.num_values:
            # A page of only nulls has an item too.
            items, nulls = _with_empty(items), np.ones(1, np.bool_)
        return _with_items(held, items, nulls, first_buffer, scope)


def _repetitive(content: ArrayContent, scope: EncodeScope) -> tuple[NDArray[np.uint8], BlockSlice] | None:
    """Number the distinct texts of a long enough page from 1, if they are few; returns numbers and texts."""
    block = content.values
    is_text = content.leaf.is_text and block is not None and block.shape == VariableWidth(32)
    if block is None or not is_text or content.num_values < _LEAST_VALUES:
        return None
    return scope.summary(block).remember("v20 dictionary", lambda: _numbered(block, content.nulls))


def _numbered(block: BlockSlice, nulls: NDArray[np.bool_] | None) -> tuple[NDArray[np.uint8], BlockSlice] | None:
    assert isinstance(block.shape, VariableWidth)
    offsets = block.offsets.view("<i4")
    if offsets[0]:
        block = replace(block, offsets=(offsets - offsets[0]).view(np.uint8))
    numbers, firsts = np.empty(block.num_values, np.uint32), np.empty(_MOST_ITEMS, np.int64)
    flags = None if nulls is None else nulls.astype(np.uint16)
    count = kernels.index_variable(block.offsets, block.shape.offset_bits, block.values, flags, numbers, firsts)
    if count is None:
        return None
    rows = firsts[:count]
    items = new_block(block.shape, count, measure_runs(block, rows, rows + 1))
    copy_runs(block, rows, rows + 1, items)
    return (numbers + 1).astype(np.uint8), items


def _with_empty(items: BlockSlice) -> BlockSlice:
    """Append an item that is zero or empty, for nulls."""
    made = new_block(items.shape, items.num_values + 1, len(items.values))
    if isinstance(items.shape, VariableWidth):
        width = items.shape.offset_bits // 8
        made.offsets[:-width] = items.offsets
        made.offsets[-width:] = items.offsets[-width:]
        made.values[:] = items.values
    else:
        made.values[:] = 0
        made.values[: len(items.values)] = items.values
    return made


def _with_items(
    held: EncodedArray, items: BlockSlice, nulls: NDArray[np.bool_] | None, first_buffer: int, scope: EncodeScope
) -> EncodedArray:
    content = ArrayContent(LeafType(items.shape), items.num_values, items, nulls)
    of_items = scope.for_parts().encode_array(content, first_buffer + len(held.buffers))
    message = DictionaryMessage(
        indices=held.description,  # type: ignore[arg-type]
        items=of_items.description,  # type: ignore[arg-type]
        num_dictionary_items=items.num_values,
    )
    return EncodedArray(ArrayEncoding(dictionary=message), held.buffers + of_items.buffers)


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

    def native_page(self, page: PageFacts) -> NativePage | None:
        form = self.indices, self.items, self.num_items, self.limits
        return native_indexed(page, *form, keeps_items=self.keeps_items)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> ItemsIndex:
        """Decode the items."""
        of_indices = self.indices.load_index(page, buffers)
        return ItemsIndex.load(
            self.items, PageFacts(self.num_items, page.buffer_sizes), buffers, of_indices, self.limits
        )

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return self.indices.plan(page, index.indices, rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        """Read the indices, and find nulls: index 0 of strings, null items, null indices."""
        loaded = self.indices.load(page, index.indices, plan, fetched)
        if self.keeps_items:
            return index.select(loaded, self.index_shape)
        numbers = decode_integers(loaded, self.index_shape.bytes_per_value).astype(np.int64)
        nulls, items = index.nulls_at(loaded, numbers - 1, numbers == 0)
        levels = ItemValidity(len(numbers), np.packbits(~nulls, bitorder="little") if nulls.any() else None)
        # One additional item, which is empty, for nulls.
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
