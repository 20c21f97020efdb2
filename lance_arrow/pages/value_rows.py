"""Values as the engine has them: runs of bits, bytes of any length, or rows of parts in whole bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, FixedSizeList, FixedWidth, PackedStruct, VariableWidth

__all__ = [
    "NO_VALUES",
    "has_rows_of_any_length",
    "list_parts",
    "row_bits",
    "row_parts",
    "struct_field_bytes",
    "value_bits",
]

_MOST_VALUE_BITS = 1 << 40
NO_VALUES = -1
"""Bits of a value of leaves without values, for the engine."""


def value_bits(shape: BlockShape | None) -> int | None:
    """Return the bits of a value: 0 for variable width, None if a value is not one run of bits.

    A packed struct whose fields are whole bytes is one run of bits. The engine does not read values of 0 bits, and
    values so large that sizes would exceed 64 bits.
    """
    if isinstance(shape, FixedWidth):
        return shape.bits
    if isinstance(shape, VariableWidth):
        return 0
    if isinstance(shape, FixedSizeList) and not shape.validity_dimensions:
        bits = shape.leaf.bits * shape.items_per_value
        return bits if bits % 8 == 0 and 0 < bits <= _MOST_VALUE_BITS else None
    if isinstance(shape, PackedStruct):
        widths = struct_field_bytes(shape)
        return 8 * sum(widths) if widths and 8 * sum(widths) <= _MOST_VALUE_BITS else None
    return None


def row_parts(shape: BlockShape | None) -> tuple[int, ...]:
    """Return the bits of each part of a list of one length: for each layer its bitmap, or 0, then the items.

    For the engine, such a value is a row of its parts, each in whole bytes. Empty for values that are one run of bytes:
    lists without bitmaps, and all other shapes.
    """
    if not isinstance(shape, FixedSizeList):
        return ()
    item_bits = shape.items_per_value * shape.leaf.bits
    if not shape.validity_dimensions and item_bits % 8 == 0:
        return ()
    bitmaps = []
    layer: FixedWidth | FixedSizeList = shape
    for dimension in list_parts(shape)[:-1]:
        assert isinstance(layer, FixedSizeList)
        bitmaps.append(dimension if layer.has_validity else 0)
        layer = layer.items
    return (*bitmaps, item_bits)


def list_parts(shape: BlockShape | None) -> tuple[int, ...]:
    """Return the bits of each part of a list of one length, were there a bitmap of each layer; empty for others."""
    if not isinstance(shape, FixedSizeList):
        return ()
    parts, dimension = [], 1
    layer: FixedWidth | FixedSizeList = shape
    while isinstance(layer, FixedSizeList):
        dimension *= layer.dimension
        parts.append(dimension)
        layer = layer.items
    return (*parts, shape.items_per_value * shape.leaf.bits)


def row_bits(shape: BlockShape | None) -> int | None:
    """Return the bits of a value as the engine has it, as `value_bits`; also for lists that are rows of parts.

    0 for packed structs with fields of any length: for the engine, such a value is its row of bytes.
    """
    if has_rows_of_any_length(shape):
        return 0
    if not isinstance(shape, FixedSizeList):
        return value_bits(shape)
    parts = row_parts(shape)
    if not parts:
        return value_bits(shape)
    bits = 8 * sum([whole_bytes(part) for part in parts])
    return bits if 0 < bits <= _MOST_VALUE_BITS else None


def struct_field_bytes(shape: BlockShape | None) -> tuple[int, ...]:
    """Return the bytes of each field of a packed struct; empty for other shapes, or fields that are not bytes."""
    if not isinstance(shape, PackedStruct):
        return ()
    bits = [value_bits(field) or 0 for field in shape.fields]
    return tuple(one // 8 for one in bits) if all(one and one % 8 == 0 for one in bits) else ()


def has_rows_of_any_length(shape: BlockShape | None) -> bool:
    """Return whether values are packed structs with fields of variable width; see `lance_arrow.pages.packed_rows`."""
    return isinstance(shape, PackedStruct) and any(isinstance(field, VariableWidth) for field in shape.fields)


def offset_bits(shape: BlockShape | None) -> int:
    """Return the width of the offsets of values as the engine has them; 0 where values have one width."""
    if has_rows_of_any_length(shape):
        return 64
    return shape.offset_bits if isinstance(shape, VariableWidth) else 0


def whole_bytes(bits: int) -> int:
    """Return the bytes that hold so many bits."""
    return (bits + 7) // 8


def in_bytes(bits: Bytes, num_values: int, bits_per_value: int) -> Bytes:
    """Return the bits of each value in whole bytes."""
    if bits_per_value % 8 == 0:
        return bits
    out = np.empty(num_values * whole_bytes(bits_per_value), np.uint8)
    kernels.spread_bits(bits, 0, num_values * bits_per_value, bits_per_value, out)
    return out


def joined_parts(parts: Sequence[Bytes], part_bytes: Sequence[int], num_values: int) -> Bytes:
    """Return rows of parts of so many bytes each."""
    if len(parts) == 1:
        return parts[0]
    out = np.empty(num_values * sum(part_bytes), np.uint8)
    kernels.join_rows(list(parts), np.array(part_bytes, np.int64), num_values, out)
    return out


def wide_offsets(block: BlockSlice) -> NDArray[np.int64]:
    """Return the offsets of a block of values of any length, ``(num_values + 1,) int64``."""
    assert isinstance(block.shape, VariableWidth)
    return block.offsets.view(f"i{block.shape.offset_bits // 8}").astype(np.int64, copy=False)
