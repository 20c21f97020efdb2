"""Copy values out of a block for writing: items of a dictionary, values that are not null."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.block_runs import copy_runs, measure_runs
from lance_arrow.spi.blocks import NO_BYTES, BlockSlice, FixedSizeList, FixedWidth, PackedStruct, VariableWidth
from lance_arrow.spi.scratch import new_block


def values_at(values: BlockSlice, places: NDArray[np.int64]) -> BlockSlice:
    """Copy the values at ``(n,)`` ascending places; the block may begin at any bit and any offset."""
    if len(places) == values.num_values:
        return values
    source = _from_zero(values)
    picked = new_block(values.shape, len(places), measure_runs(source, places, places + 1))
    copy_runs(source, places, places + 1, picked)
    return picked


def _from_zero(values: BlockSlice) -> BlockSlice:
    """Return the same values from bit 0, with offsets into their own bytes."""
    shape = values.shape
    if isinstance(shape, PackedStruct):
        return BlockSlice(shape, values.num_values, NO_BYTES, fields=tuple(map(_from_zero, values.fields)))
    if isinstance(shape, VariableWidth):
        offsets = values.offsets.view(f"<i{shape.offset_bits // 8}")
        if offsets[0] == 0:
            return values
        return BlockSlice(shape, values.num_values, values.values, offsets=(offsets - offsets[0]).view(np.uint8))
    leaf = shape.leaf if isinstance(shape, FixedSizeList) else shape
    if leaf == FixedWidth(1) and values.bit_offset:
        bits = np.unpackbits(values.values, bitorder="little")[values.bit_offset :]
        packed = np.packbits(bits, bitorder="little")
        return BlockSlice(shape, values.num_values, packed, validity=values.validity)
    return values
