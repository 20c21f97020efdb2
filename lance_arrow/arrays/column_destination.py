"""Destinations: allocate a leaf's Arrow memory once for many pages; each page fills its part.

Memory comes only from the Arrow pool. A batch with Python-owned memory would take the GIL when its last reference is
released, even during interpreter shutdown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from lance_arrow import kernels
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.settings import Limits
from lance_arrow.spi import (
    NO_BYTES,
    Bitmap,
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    FixedWidth,
    NumBytes,
    PackedStruct,
    VariableWidth,
)
from lance_arrow.spi.layouts import LoadedPage
from lance_arrow.spi.scratch import field_bytes

_INT32_MAX = np.iinfo(np.int32).max


class LeafBuffers(NamedTuple):
    """Decoded values of a leaf, as Arrow buffers.

    Parameters
    ----------
    shape
        None for leaves without values.
    num_values
        Visible items.
    values, offsets
        Value bytes; offsets of variable-width values.
    item_validity
        FixedSizeList: for each layer, outer first, the bitmap of its items, or None if all are valid.
    fields
        PackedStruct: the buffers of each field.
    is_checked
        Whether text is known to be UTF-8.
    """

    shape: BlockShape | None
    num_values: int
    values: pa.Buffer | None = None
    offsets: pa.Buffer | None = None
    item_validity: tuple[pa.Buffer | None, ...] = ()
    fields: tuple[LeafBuffers, ...] = ()
    is_checked: bool = False


@dataclass(slots=True)
class Allocator:
    """Allocates Arrow memory with writable views; sizes are checked against the limit first."""

    limits: Limits
    pool: pa.MemoryPool | None = None

    def allocate(self, size: int) -> tuple[pa.Buffer, Bytes]:
        """Return a buffer of `size` undefined bytes and a writable ``uint8`` view of it."""
        self.limits.check("max_batch_bytes", size)
        buffer = pa.allocate_buffer(size, memory_pool=self.pool)
        return buffer, np.frombuffer(buffer, np.uint8) if size else NO_BYTES

    def bitmap(self, num_bits: int) -> tuple[pa.Buffer, Bytes]:
        """Return a bitmap, with zero bits after the last one."""
        buffer, view = self.allocate((num_bits + 7) // 8)
        if view.size:
            view[-1] = 0
        return buffer, view


@dataclass(frozen=True, slots=True)
class _Part:
    """Properties of one page: its shape (with its item bitmaps), values and measured bytes."""

    shape: BlockShape
    num_values: int
    num_bytes: NumBytes


class _Destination(Protocol):
    """Memory for the values of all pages; pages get their blocks in order."""

    def block(self, page: int) -> BlockSlice:
        """Return the block for page number `page`."""

    def check(self, page: int) -> None:
        """Raise if the written bytes of the page contradict its measured size."""

    def finish(self) -> LeafBuffers:
        """Return the filled buffers."""


def decode_values(pages: Sequence[LoadedPage], shape: BlockShape | None, allocator: Allocator) -> LeafBuffers:
    """Decode the values of consecutive pages of one leaf into one destination.

    Parameters
    ----------
    pages
        Opened pages, in row order.
    shape
        Shape from the schema; a FixedSizeList without validity, which the pages determine.

    Raises
    ------
    CorruptPageError
        A page decodes to another shape than the schema's.
    ResourceLimitError
        The values do not fit `Limits.max_batch_bytes` or 32-bit offsets.
    """
    if shape is None:
        return LeafBuffers(None, sum(page.num_values for page in pages))
    parts = []
    for page in pages:
        if page.shape is None or _plain(page.shape) != shape:
            raise CorruptPageError(f"a page decodes to {page.shape}, expected {shape} from the schema")
        parts.append(_Part(page.shape, page.num_values, page.num_bytes))
    destination = _destination(parts, shape, allocator)
    for number, page in enumerate(pages):
        page.decode(destination.block(number))
        destination.check(number)
    return destination.finish()


def _plain(shape: BlockShape) -> BlockShape:
    """Return the shape without item bitmaps, which is equal in all pages of one column."""
    if isinstance(shape, PackedStruct):
        fields = (field.without_validity() if isinstance(field, FixedSizeList) else field for field in shape.fields)
        return PackedStruct(tuple(fields))
    return shape.without_validity() if isinstance(shape, FixedSizeList) else shape


def _destination(parts: Sequence[_Part], shape: BlockShape, allocator: Allocator) -> _Destination:
    if isinstance(shape, PackedStruct):
        return _Structs(parts, shape, allocator)
    if isinstance(shape, VariableWidth):
        return _Variable(parts, shape, allocator)
    if isinstance(shape, FixedSizeList):
        return _Lists(parts, shape, allocator)
    return _Fixed(parts, shape, allocator)


def _starts(parts: Sequence[_Part]) -> list[int]:
    """Return the first value of each page, then the number of all values."""
    return [0, *np.cumsum([part.num_values for part in parts], dtype=np.int64).tolist()]


class _Fixed:
    """Values of one width."""

    def __init__(self, parts: Sequence[_Part], shape: FixedWidth, allocator: Allocator) -> None:
        self._starts = _starts(parts)
        count = self._starts[-1]
        self._buffer, view = allocator.bitmap(count) if shape.bits == 1 else allocator.allocate(shape.num_bytes(count))
        self._whole = BlockSlice(shape, count, view)

    def block(self, page: int) -> BlockSlice:
        return self._whole.part(self._starts[page], self._starts[page + 1])

    def check(self, page: int) -> None:
        """Do nothing: fixed widths cannot contradict their measured size."""

    def finish(self) -> LeafBuffers:
        return LeafBuffers(self._whole.shape, self._whole.num_values, self._buffer)


class _Variable:
    """Byte strings: the offsets of each page continue those of the page before."""

    def __init__(self, parts: Sequence[_Part], shape: VariableWidth, allocator: Allocator) -> None:
        self._shape, self._starts = shape, _starts(parts)
        self._bases = [0]
        for part in parts:
            assert isinstance(part.num_bytes, int)
            self._bases.append(self._bases[-1] + part.num_bytes)
        num_bytes = self._bases[-1]
        if num_bytes > (1 << (shape.offset_bits - 1)) - 1:
            raise InternalError(f"{num_bytes} bytes of values exceed {shape.offset_bits}-bit offsets in one batch")
        self._width = shape.offset_bits // 8
        self._offsets, self._offset_view = allocator.allocate((self._starts[-1] + 1) * self._width)
        self._values, self._value_view = allocator.allocate(num_bytes)
        self._typed = self._offset_view.view(f"i{self._width}")
        self._typed[0] = 0

    def block(self, page: int) -> BlockSlice:
        start, stop = self._starts[page], self._starts[page + 1]
        offsets = self._offset_view[start * self._width : (stop + 1) * self._width]
        values = self._value_view[self._bases[page] : self._bases[page + 1]]
        return BlockSlice(self._shape, stop - start, values, offsets=offsets)

    def check(self, page: int) -> None:
        base, end, wrote = self._bases[page], self._bases[page + 1], int(self._typed[self._starts[page + 1]])
        if wrote != end:
            raise CorruptPageError(f"a page wrote {wrote - base} bytes of values, expected {end - base} as measured")

    def finish(self) -> LeafBuffers:
        return LeafBuffers(self._shape, self._starts[-1], self._values, self._offsets)


class _Lists:
    """Fixed-size lists: a layer has a bitmap if at least one page has one for it."""

    def __init__(self, parts: Sequence[_Part], shape: FixedSizeList, allocator: Allocator) -> None:
        self._shape, self._starts = shape, _starts(parts)
        self._layers = [_list_layers(part.shape) for part in parts]
        self._shapes = [part.shape for part in parts]
        self._dimensions = np.cumprod([layer.dimension for layer in _list_layers(shape)]).tolist()
        count, leaf = self._starts[-1], shape.leaf
        num_items = count * shape.items_per_value
        self._buffer, self._view = (
            allocator.bitmap(num_items) if leaf.bits == 1 else allocator.allocate(leaf.num_bytes(num_items))
        )
        nullable = [any(page[n].has_validity for page in self._layers) for n in range(len(self._dimensions))]
        self._bitmaps = [
            allocator.bitmap(count * bits) if has else (None, NO_BYTES)
            for has, bits in zip(nullable, self._dimensions, strict=True)
        ]

    def block(self, page: int) -> BlockSlice:
        start, stop = self._starts[page], self._starts[page + 1]
        validity = []
        for (buffer, bits), per_value, layer in zip(self._bitmaps, self._dimensions, self._layers[page], strict=True):
            part = Bitmap(bits, start * per_value, (stop - start) * per_value)
            if layer.has_validity:
                validity.append(part)
            elif buffer is not None:
                kernels.fill_bits(part.values, part.bit_offset, part.num_bits, True)
        plain = BlockSlice(self._shape, self._starts[-1], self._view).part(start, stop)
        return BlockSlice(self._shapes[page], stop - start, plain.values, plain.bit_offset, validity=tuple(validity))

    def check(self, page: int) -> None:
        """Do nothing: fixed widths cannot contradict their measured size."""

    def finish(self) -> LeafBuffers:
        validity = tuple(bitmap for bitmap, _ in self._bitmaps)
        return LeafBuffers(self._shape, self._starts[-1], self._buffer, item_validity=validity)


class _Structs:
    """Packed structs: a destination per field."""

    def __init__(self, parts: Sequence[_Part], shape: PackedStruct, allocator: Allocator) -> None:
        self._shapes, self._counts = [], [part.num_values for part in parts]
        of_fields: list[list[_Part]] = [[] for _ in shape.fields]
        for part in parts:
            assert isinstance(part.shape, PackedStruct)
            self._shapes.append(part.shape)
            sizes = field_bytes(part.shape, part.num_bytes)
            for field, held, size in zip(of_fields, part.shape.fields, sizes, strict=True):
                field.append(_Part(held, part.num_values, size))
        self._shape = shape
        self._fields = [_destination(*one, allocator) for one in zip(of_fields, shape.fields, strict=True)]

    def block(self, page: int) -> BlockSlice:
        fields = tuple(field.block(page) for field in self._fields)
        return BlockSlice(self._shapes[page], self._counts[page], NO_BYTES, fields=fields)

    def check(self, page: int) -> None:
        for field in self._fields:
            field.check(page)

    def finish(self) -> LeafBuffers:
        fields = tuple(field.finish() for field in self._fields)
        return LeafBuffers(self._shape, sum(self._counts), fields=fields)


def _list_layers(shape: BlockShape) -> list[FixedSizeList]:
    layers = []
    while isinstance(shape, FixedSizeList):
        layers.append(shape)
        shape = shape.items
    return layers


def overflow(leaves: Sequence[LeafNode], pages: Sequence[Sequence[LoadedPage]]) -> bool:
    """Return whether the bytes or items of some column exceed 32-bit offsets."""
    return any(
        values_overflow(leaf.leaf.shape, leaf_pages)
        or (32 in leaf.offset_bits and sum(page.num_values for page in leaf_pages) > _INT32_MAX)
        for leaf, leaf_pages in zip(leaves, pages, strict=True)
    )


def values_overflow(shape: BlockShape | None, pages: Sequence[LoadedPage]) -> bool:
    """Return whether the bytes of a column with 32-bit offsets, or of a field of a packed struct, exceed them."""
    if isinstance(shape, PackedStruct):
        sizes = np.array([field_bytes(shape, page.num_bytes) for page in pages], np.int64)
        of_fields = zip(shape.fields, sizes.reshape(-1, len(shape.fields)).sum(axis=0), strict=True)
        return any(field == VariableWidth(32) and size > _INT32_MAX for field, size in of_fields)
    return shape == VariableWidth(32) and sum(page.num_bytes for page in pages) > _INT32_MAX
