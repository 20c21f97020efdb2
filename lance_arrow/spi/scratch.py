"""Scratch memory: per-thread byte arrays that are reused between calls.

Page faults of several MiB of new memory cost more than decoding, so composites borrow their memory here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from lance_arrow.settings import Limits
from lance_arrow.spi.blocks import (
    NO_BYTES,
    Bitmap,
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    NumBytes,
    PackedStruct,
    VariableWidth,
)

__all__ = ["Scratch", "block_bytes"]


class Scratch(threading.local):
    """Lends byte arrays; returned arrays are kept for the same thread, up to a budget.

    Files declare the sizes, so they are checked against ``Limits.max_batch_bytes``.
    """

    def __init__(self, max_kept_bytes: int, limits: Limits | None = None) -> None:
        self._max_kept_bytes = max_kept_bytes
        self._limits = Limits() if limits is None else limits
        self._free: list[Bytes] = []

    @contextmanager
    def bytes(self, size: int) -> Iterator[Bytes]:
        """Lend `size` bytes of undefined content until the block ends."""
        self._limits.check("max_batch_bytes", size)
        whole = self._take(size)
        try:
            yield whole[:size]
        finally:
            self._free.append(whole)
            kept = sum(array.size for array in self._free)
            while kept > self._max_kept_bytes:
                kept -= self._free.pop(0).size

    @contextmanager
    def block(self, shape: BlockShape, num_values: int, num_bytes: NumBytes = 0) -> Iterator[BlockSlice]:
        """Lend a block of `num_values` values; `num_bytes` is the measured data of variable-width values."""
        size = block_bytes(shape, num_values, num_bytes)
        with self.bytes(size) as memory:
            yield block_over(memory, shape, num_values, num_bytes)

    def new_block(self, shape: BlockShape, num_values: int, num_bytes: NumBytes = 0) -> BlockSlice:
        """Allocate a block that stays valid after the call, not larger than the limit.

        Raises
        ------
        ResourceLimitError
            The block exceeds ``Limits.max_batch_bytes``.
        """
        self._limits.check("max_batch_bytes", block_bytes(shape, num_values, num_bytes))
        return new_block(shape, num_values, num_bytes)

    def _take(self, size: int) -> Bytes:
        for position, array in enumerate(self._free):
            if array.size >= size:
                return self._free.pop(position)
        if self._free:
            self._free.pop(0)
        return np.empty(max(size, 4096), np.uint8)


def block_bytes(shape: BlockShape, num_values: int, num_bytes: NumBytes = 0) -> int:
    """Bytes that `block_over` needs."""
    if isinstance(shape, PackedStruct):
        sizes = zip(shape.fields, field_bytes(shape, num_bytes), strict=True)
        return sum(_align(block_bytes(field, num_values, size)) for field, size in sizes)
    num_bytes = _plain(num_bytes)
    if isinstance(shape, VariableWidth):
        return _align((num_values + 1) * shape.offset_bits // 8) + num_bytes
    if isinstance(shape, FixedSizeList):
        bitmaps = sum(_align((num_values * bits + 7) // 8) for bits in shape.validity_dimensions)
        return bitmaps + shape.leaf.num_bytes(num_values * shape.items_per_value)
    return shape.num_bytes(num_values)


def block_over(memory: Bytes, shape: BlockShape, num_values: int, num_bytes: NumBytes = 0) -> BlockSlice:
    """Return a block over plain bytes; variable-width blocks start at offset 0."""
    if isinstance(shape, PackedStruct):
        return _struct_over(memory, shape, num_values, num_bytes)
    num_bytes = _plain(num_bytes)
    if isinstance(shape, VariableWidth):
        width = shape.offset_bits // 8
        offsets = memory[: (num_values + 1) * width]
        offsets[:width] = 0
        data_start = _align(offsets.size)
        return BlockSlice(shape, num_values, memory[data_start : data_start + num_bytes], offsets=offsets)
    if isinstance(shape, FixedSizeList):
        validity = []
        position = 0
        for bits in shape.validity_dimensions:
            size = (num_values * bits + 7) // 8
            validity.append(Bitmap(memory[position : position + size], 0, num_values * bits))
            position += _align(size)
        size = shape.leaf.num_bytes(num_values * shape.items_per_value)
        return BlockSlice(shape, num_values, memory[position : position + size], validity=tuple(validity))
    return BlockSlice(shape, num_values, memory[: shape.num_bytes(num_values)])


def new_block(shape: BlockShape, num_values: int, num_bytes: NumBytes = 0) -> BlockSlice:
    """Allocate a block that stays valid after the call: dictionaries, intermediate results of `derive`."""
    size = block_bytes(shape, num_values, num_bytes)
    memory = np.empty(size, np.uint8) if size else NO_BYTES
    return block_over(memory, shape, num_values, num_bytes)


def _struct_over(memory: Bytes, shape: PackedStruct, num_values: int, num_bytes: NumBytes) -> BlockSlice:
    fields = []
    position = 0
    for field, size in zip(shape.fields, field_bytes(shape, num_bytes), strict=True):
        stop = position + block_bytes(field, num_values, size)
        fields.append(block_over(memory[position:stop], field, num_values, size))
        position = _align(stop)
    return BlockSlice(shape, num_values, NO_BYTES, fields=tuple(fields))


def field_bytes(shape: PackedStruct, num_bytes: NumBytes) -> tuple[int, ...]:
    """Return measured bytes per field; 0 is allowed for a struct whose fields all have fixed widths."""
    return num_bytes if isinstance(num_bytes, tuple) else (num_bytes,) * len(shape.fields)


def _plain(num_bytes: NumBytes) -> int:
    if isinstance(num_bytes, tuple):
        raise TypeError("only packed structs are measured field by field")
    return num_bytes


def _align(size: int) -> int:
    return (size + 7) & ~7
