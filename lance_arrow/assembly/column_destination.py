"""Destinations: allocate a leaf's Arrow memory once for many pages, and let each page fill its part.

Memory comes from the Arrow pool alone: a batch that referenced Python-owned memory would take the GIL wherever its
last reference is dropped, also while the interpreter ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_arrow import kernels
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
    LoadedPage,
    VariableWidth,
)


@dataclass(frozen=True, slots=True, eq=False)
class LeafBuffers:
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
        FixedSizeList: for each layer, outer first, the bitmap of its items or None when all are valid.
    """

    shape: BlockShape | None
    num_values: int
    values: pa.Buffer | None = None
    offsets: pa.Buffer | None = None
    item_validity: tuple[pa.Buffer | None, ...] = ()


@dataclass(slots=True)
class Allocator:
    """Arrow memory, with its writable view; sizes are checked against the limit before they are asked for."""

    limits: Limits
    pool: pa.MemoryPool | None = None

    def allocate(self, size: int) -> tuple[pa.Buffer, Bytes]:
        """Return a buffer of `size` undefined bytes and the ``uint8`` view that writes it."""
        self.limits.check("max_batch_bytes", size)
        buffer = pa.allocate_buffer(size, memory_pool=self.pool)
        return buffer, np.frombuffer(buffer, np.uint8) if size else NO_BYTES

    def bitmap(self, num_bits: int) -> tuple[pa.Buffer, Bytes]:
        """Return a bitmap whose bits after the last are zero."""
        buffer, view = self.allocate((num_bits + 7) // 8)
        if view.size:
            view[-1] = 0
        return buffer, view


def decode_values(pages: Sequence[LoadedPage], shape: BlockShape | None, allocator: Allocator) -> LeafBuffers:
    """Decode the values of consecutive pages of one leaf into one destination.

    Parameters
    ----------
    pages
        Opened pages, in row order.
    shape
        What the schema wants; for FixedSizeList without validity, which is decided by the pages.

    Raises
    ------
    CorruptPageError
        A page decodes to another shape than the schema's.
    ResourceLimitError
        The values do not fit `Limits.max_batch_bytes` or 32-bit offsets.
    """
    num_values = sum(page.num_values for page in pages)
    if shape is None:
        return LeafBuffers(None, num_values)
    for page in pages:
        _check_shape(page.shape, shape)
    if isinstance(shape, VariableWidth):
        return _decode_variable(pages, shape, num_values, allocator)
    if isinstance(shape, FixedSizeList):
        return _decode_lists(pages, shape, num_values, allocator)
    return _decode_fixed(pages, shape, num_values, allocator)


def _check_shape(got: BlockShape | None, wanted: BlockShape) -> None:
    plain = got.without_validity() if isinstance(got, FixedSizeList) else got
    if plain != wanted:
        raise CorruptPageError(f"a page decodes to {got}, expected {wanted} from the schema")


def _decode_fixed(pages: Sequence[LoadedPage], shape: FixedWidth, num_values: int, allocator: Allocator) -> LeafBuffers:
    buffer, view = allocator.bitmap(num_values) if shape.bits == 1 else allocator.allocate(shape.num_bytes(num_values))
    whole = BlockSlice(shape, num_values, view)
    start = 0
    for page in pages:
        page.decode(whole.part(start, start + page.num_values))
        start += page.num_values
    return LeafBuffers(shape, num_values, buffer)


def _decode_variable(
    pages: Sequence[LoadedPage], shape: VariableWidth, num_values: int, allocator: Allocator
) -> LeafBuffers:
    num_bytes = sum(page.num_bytes for page in pages)
    offset_type = np.dtype(np.int32 if shape.offset_bits == 32 else np.int64)
    if num_bytes > (1 << (shape.offset_bits - 1)) - 1:
        raise InternalError(f"{num_bytes} bytes of values exceed {shape.offset_bits}-bit offsets in one batch")
    offsets, offset_view = allocator.allocate((num_values + 1) * offset_type.itemsize)
    values, value_view = allocator.allocate(num_bytes)
    typed = offset_view.view(offset_type)
    typed[0] = 0
    start = base = 0
    for page in pages:
        stop, end = start + page.num_values, base + page.num_bytes
        part = offset_view[start * offset_type.itemsize : (stop + 1) * offset_type.itemsize]
        page.decode(BlockSlice(shape, page.num_values, value_view[base:end], offsets=part))
        if int(typed[stop]) != end:
            raise CorruptPageError(f"a page wrote {int(typed[stop]) - base} bytes of values, measured {end - base}")
        start, base = stop, end
    return LeafBuffers(shape, num_values, values, offsets)


def _decode_lists(
    pages: Sequence[LoadedPage], shape: FixedSizeList, num_values: int, allocator: Allocator
) -> LeafBuffers:
    num_items = num_values * shape.items_per_value
    leaf = shape.leaf
    buffer, view = allocator.bitmap(num_items) if leaf.bits == 1 else allocator.allocate(leaf.num_bytes(num_items))
    layers = _list_layers(shape)
    dimensions = [_cumulative(shape, layer) for layer in range(len(layers))]
    nullable = [any(_list_layers(page.shape)[layer].has_validity for page in pages) for layer in range(len(layers))]
    bitmaps = [
        allocator.bitmap(num_values * bits) if has else (None, NO_BYTES)
        for has, bits in zip(nullable, dimensions, strict=True)
    ]
    start = 0
    for page in pages:
        stop = start + page.num_values
        parts = []
        for layer, ((_, bits), per_value) in enumerate(zip(bitmaps, dimensions, strict=True)):
            part = Bitmap(bits, start * per_value, page.num_values * per_value)
            if _list_layers(page.shape)[layer].has_validity:
                parts.append(part)
            elif nullable[layer]:
                kernels.fill_bits(part.values, part.bit_offset, part.num_bits, True)
        plain = BlockSlice(shape, num_values, view).part(start, stop)
        page.decode(BlockSlice(page.shape, page.num_values, plain.values, plain.bit_offset, validity=tuple(parts)))
        start = stop
    return LeafBuffers(shape, num_values, buffer, item_validity=tuple(bitmap for bitmap, _ in bitmaps))


def _list_layers(shape: BlockShape | None) -> list[FixedSizeList]:
    layers = []
    while isinstance(shape, FixedSizeList):
        layers.append(shape)
        shape = shape.items
    return layers


def _cumulative(shape: FixedSizeList, layer: int) -> int:
    product = 1
    for one in _list_layers(shape)[: layer + 1]:
        product *= one.dimension
    return product
