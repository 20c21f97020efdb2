"""Packed structs with fields of any length as rows of bytes, in one form for all pages of a column.

    [field: its parts, each in whole bytes] [field of any length: its bytes, as wide as offsets; then these] ...

Pages have codecs of their own for each field. The engine reads rows of this form from all of them, and they are split
when the column is made. A row of no bytes is null.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.pages.value_rows import in_bytes, joined_parts, list_parts, whole_bytes, wide_offsets
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, FixedSizeList, FixedWidth, PackedStruct, VariableWidth

__all__ = ["packed_parts", "packed_widths"]


def packed_widths(shape: PackedStruct) -> NDArray[np.int64]:
    """Return the bytes of each field in a row, or minus the bytes of its length: ``(num_fields,) int64``."""
    return np.array([_width(field) for field in shape.fields], np.int64)


def _width(field: BlockShape) -> int:
    if isinstance(field, VariableWidth):
        return -field.offset_bits // 8
    return sum(map(whole_bytes, packed_parts(field)))


def packed_parts(field: BlockShape) -> tuple[int, ...]:
    """Return the bits of each part of a field, as if each layer of lists had a bitmap; empty for variable width."""
    if isinstance(field, FixedSizeList):
        return list_parts(field)
    return (field.bits,) if isinstance(field, FixedWidth) else ()


def joined_fields(block: BlockSlice) -> tuple[Bytes, NDArray[np.int64]]:
    """Write the rows of a block of packed structs; returns their bytes and offsets of 64 bits."""
    assert isinstance(block.shape, PackedStruct)
    fields, offsets = [], []
    for field in block.fields:
        fields.append(_field_rows(field))
        offsets.append(wide_offsets(field) if isinstance(field.shape, VariableWidth) else None)
    widths = packed_widths(block.shape)
    row_offsets = np.empty(block.num_values + 1, np.int64)
    lengths_bytes = block.num_values * int(-widths[widths < 0].sum())
    out = np.empty(sum(field.nbytes for field in fields) + lengths_bytes, np.uint8)
    kernels.join_fields(fields, widths, offsets, row_offsets, out)
    return out, row_offsets


def _field_rows(field: BlockSlice) -> Bytes:
    *layers, item_bits = packed_parts(field.shape) or (0,)
    if not item_bits:
        return field.values
    count, shape = field.num_values, field.shape
    bitmaps = iter(field.validity)
    parts = []
    for bits in layers:
        assert isinstance(shape, FixedSizeList)
        all_valid = np.full(count * whole_bytes(bits), 0xFF, np.uint8)
        parts.append(in_bytes(next(bitmaps).values, count, bits) if shape.has_validity else all_valid)
        shape = shape.items
    parts.append(in_bytes(field.values, count, item_bits))
    return joined_parts(parts, [whole_bytes(bits) for bits in (*layers, item_bits)], count)
