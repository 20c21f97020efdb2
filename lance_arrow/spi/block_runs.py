"""Selecting runs of values out of a decoded block: what a layout does with the edges of its chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.spi.blocks import BlockSlice, Bytes, FixedSizeList, FixedWidth, VariableWidth


def measure_runs(block: BlockSlice, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> int:
    """Return the bytes of variable-width data in values ``starts[i] .. stops[i]``; 0 for other shapes."""
    if isinstance(block.shape, VariableWidth):
        return kernels.measure_take_runs_variable(block.offsets, block.shape.offset_bits, starts, stops)
    return 0


def copy_runs(block: BlockSlice, starts: NDArray[np.int64], stops: NDArray[np.int64], out: BlockSlice) -> None:
    """Copy values ``starts[i] .. stops[i]`` of `block`, back to back, into all of `out`.

    Parameters
    ----------
    block
        Decoded values, from bit 0 and offset 0.
    starts, stops
        ``(n,) int64``, half-open, inside the block.
    out
        Same shape, ``sum(stops - starts)`` values, and as many bytes as `measure_runs` said.
    """
    shape = block.shape
    if isinstance(shape, VariableWidth):
        kernels.take_runs_variable(
            block.offsets, shape.offset_bits, block.values, starts, stops, out.offsets, shape.offset_bits, out.values
        )
    elif isinstance(shape, FixedSizeList):
        items = shape.items_per_value
        _copy_fixed(shape.leaf, block.values, starts * items, stops * items, out.values, out.bit_offset)
        for bits, source, target in zip(shape.validity_dimensions, block.validity, out.validity, strict=True):
            kernels.take_bit_runs(
                source.values, source.bit_offset, starts * bits, stops * bits, target.values, target.bit_offset
            )
    else:
        _copy_fixed(shape, block.values, starts, stops, out.values, out.bit_offset)


def _copy_fixed(
    shape: FixedWidth,
    values: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    out: Bytes,
    out_bit_offset: int,
) -> None:
    if shape.bits == 1:
        kernels.take_bit_runs(values, 0, starts, stops, out, out_bit_offset)
    else:
        kernels.take_runs_fixed(values, shape.bytes_per_value, starts, stops, out)
