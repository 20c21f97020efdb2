"""Fixed-size lists: the items of all lists, in their own encoding; an outer encoding stores nulls of lists.

Source: ArrayEncoding.FixedSizeList; spec 2.0, 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.pages.arrays import ALL_NULL, ALL_VALID, plain_buffer
from lance_arrow.pages.one_buffer import ValidValues
from lance_arrow.pages.value_rows import list_parts
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.encodings_v20_pb2 import FixedSizeList as FixedSizeListMessage
from lance_arrow.spi import (
    BindScope,
    BlockSlice,
    Bytes,
    EncodeScope,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    LeafType,
    hookimpl,
)
from lance_arrow.spi.arrays import ARRAY, ArrayContent, BoundArray, EncodedArray, PlainValues
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageIndex, PageReadPlan, RowRanges
from lance_arrow.spi.slots import ItemValidity

_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class FixedSizeLists:
    """Binds and writes ``fixed_size_list``."""

    key = EncodingKey(ARRAY, "fixed_size_list")

    def bind(self, message: Any, scope: BindScope) -> BoundFixedSizeList:
        """Check the dimension against the schema's, and bind the items."""
        expected = scope.leaf.shape
        if not isinstance(expected, FixedSizeList) or message.dimension != expected.dimension:
            raise CorruptFileError(f"lists of {message.dimension} items where the schema has {expected}")
        if message.has_validity:
            raise UnsupportedError("fixed-size lists with a validity bitmap, which no known writer uses")
        items = scope.for_shape(expected.items).array(message.items)
        if not isinstance(items.shape, (FixedWidth, FixedSizeList)):
            raise CorruptFileError(f"items of fixed-size lists are {items.shape}, expected values of one width")
        return BoundFixedSizeList(FixedSizeList(items.shape, message.dimension, items.has_nulls), items)

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for fixed-size lists whose nulls are already stored, and None for others."""
        if content.values is None or not content.knows_nulls:
            return None
        return float(len(content.values.values)) if isinstance(content.values.shape, FixedSizeList) else None

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Encode the items with another encoding."""
        block = content.values
        if block is None or not isinstance(block.shape, FixedSizeList):
            raise UnsupportedError("expected a block of fixed-size lists")
        shape, num_items = block.shape, content.num_values * block.shape.dimension
        nulls, inner = None, block.validity
        if shape.has_validity:
            own, *rest = block.validity
            inner = tuple(rest)
            bits = np.unpackbits(own.values, bitorder="little")[own.bit_offset :][:num_items]
            nulls = bits == 0 if not bits.all() else None
        items = BlockSlice(shape.items, num_items, block.values, block.bit_offset, validity=inner)
        held = scope.encode_array(ArrayContent(LeafType(shape.items), num_items, items, nulls), first_buffer)
        message = FixedSizeListMessage(dimension=shape.dimension, items=held.description)  # type: ignore[arg-type]
        return EncodedArray(ArrayEncoding(fixed_size_list=message), held.buffers)


@dataclass(frozen=True, slots=True)
class BoundFixedSizeList:
    """Lists as runs of their items."""

    shape: FixedSizeList
    items: BoundArray
    has_nulls = False

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return self.items.buffers

    @property
    def plain_buffer(self) -> int | None:
        return self.items.plain_buffer if isinstance(self.items, PlainValues) and not self.items.has_nulls else None

    def row_buffers(self, page: PageFacts) -> tuple[int, ...] | None:
        """Return the buffers of the validity of items in each layer, and of the innermost items."""
        if page.num_rows > _INT64_MAX // self.shape.dimension:
            return None
        items, of_items, bitmap = self.items, self._items(page), ALL_VALID
        if getattr(items, "is_all_null", False):
            # Lists that are null have no items of their own.
            return ALL_NULL, *(ALL_VALID,) * (len(list_parts(self.shape)) - 2), ALL_NULL
        both: tuple[BoundArray, BoundArray] | None = getattr(items, "values_and_validity", None)
        if both is not None:
            items, validity = both
            found = plain_buffer(validity, of_items)
            if found is None:
                return None
            bitmap = found
        if isinstance(self.shape.items, FixedWidth):
            data = plain_buffer(items, of_items)
            return None if data is None else (bitmap, data)
        row_buffers = getattr(items, "row_buffers", None)
        inside: tuple[int, ...] | None = None if row_buffers is None else row_buffers(of_items)
        return None if inside is None else (bitmap, *inside)

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return self.items.index_buffers

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> PageIndex | None:
        return self.items.load_index(self._items(page), buffers)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        size = self.shape.dimension
        return self.items.plan(self._items(page), index, RowRanges(rows.starts * size, rows.stops * size))

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return LoadedFixedSizeLists(self.shape, self.items.load(self._items(page), index, plan, fetched))

    def _items(self, page: PageFacts) -> PageFacts:
        num_items = page.num_rows * self.shape.dimension
        if num_items > _INT64_MAX:
            raise CorruptPageError(f"a page declares {num_items} items of lists, more than 63 bits hold")
        return PageFacts(num_items, page.buffer_sizes)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFixedSizeLists(ValidValues):
    """Selected lists."""

    shape: FixedSizeList
    items: LoadedPage

    @property
    def num_values(self) -> int:
        return self.items.num_values // self.shape.dimension

    def decode(self, out: BlockSlice) -> None:
        inner = out.validity
        if self.shape.has_validity:
            own, *rest = out.validity
            inner = tuple(rest)
            levels = self.items.levels
            assert isinstance(levels, ItemValidity)
            if levels.bits is None:
                kernels.fill_bits(own.values, own.bit_offset, own.num_bits, True)
            elif own.num_bits:
                run = np.zeros(1, np.int64), np.array([own.num_bits], np.int64)
                kernels.take_bit_runs(levels.bits, 0, *run, own.values, own.bit_offset)
        items = BlockSlice(self.shape.items, self.items.num_values, out.values, out.bit_offset, validity=inner)
        self.items.decode(items)


@hookimpl
def lance_provide_arrays() -> list[FixedSizeLists]:
    return [FixedSizeLists()]
