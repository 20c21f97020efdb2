"""Operations on decoded blocks: copy runs of values, fill with nulls, split packed rows into fields."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.spi.blocks import BlockSlice, Bytes, FixedSizeList, FixedWidth, NumBytes, PackedStruct, VariableWidth

__all__ = ["clear_block", "copy_runs", "measure_runs", "split_rows"]


def measure_runs(block: BlockSlice, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NumBytes:
    """Return the bytes of variable-width data in values ``starts[i] .. stops[i]``; 0 for other shapes."""
    if isinstance(block.shape, PackedStruct):
        return tuple(_measure_plain(field, starts, stops) for field in block.fields)
    return _measure_plain(block, starts, stops)


def _measure_plain(block: BlockSlice, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> int:
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
        Same shape, ``sum(stops - starts)`` values, and the number of bytes that `measure_runs` returned.
    """
    shape = block.shape
    if isinstance(shape, VariableWidth):
        kernels.take_runs_variable(
            block.offsets, shape.offset_bits, block.values, starts, stops, out.offsets, shape.offset_bits, out.values
        )
    elif isinstance(shape, PackedStruct):
        for field, out_field in zip(block.fields, out.fields, strict=True):
            copy_runs(field, starts, stops, out_field)
    elif isinstance(shape, FixedSizeList):
        items = shape.items_per_value
        _copy_fixed(shape.leaf, block.values, starts * items, stops * items, out.values, out.bit_offset)
        for bits, source, target in zip(shape.validity_dimensions, block.validity, out.validity, strict=True):
            kernels.take_bit_runs(
                source.values, source.bit_offset, starts * bits, stops * bits, target.values, target.bit_offset
            )
    else:
        _copy_fixed(shape, block.values, starts, stops, out.values, out.bit_offset)


def clear_block(out: BlockSlice) -> None:
    """Fill a block with null values: zeros, cleared bits and empty strings."""
    shape = out.shape
    if isinstance(shape, PackedStruct):
        for field in out.fields:
            clear_block(field)
    elif isinstance(shape, VariableWidth):
        offsets = out.offsets.view(f"i{shape.offset_bits // 8}")
        offsets[1:] = offsets[0]
    else:
        leaf, scale = (shape.leaf, shape.items_per_value) if isinstance(shape, FixedSizeList) else (shape, 1)
        if leaf.bits == 1:
            kernels.fill_bits(out.values, out.bit_offset, out.num_values * scale, False)
        else:
            out.values[:] = 0
        for bitmap in out.validity:
            kernels.fill_bits(bitmap.values, bitmap.bit_offset, bitmap.num_bits, False)


def split_rows(
    data: Bytes,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    value_starts: NDArray[np.int64],
    widths_bytes: tuple[int, ...],
    out: BlockSlice,
) -> None:
    """Cut runs of packed rows into the blocks of their fields.

    Parameters
    ----------
    data
        ``uint8``: the packed rows.
    starts, sizes
        ``(n,) int64`` each: byte offset and size of each run in `data`.
    value_starts
        ``(n + 1,) int64``: row offsets of the runs in `out`.
    widths_bytes
        Bytes of each field in a row; fields of bits take whole bytes too.
    out
        A `PackedStruct`. Fields of bits may start within a byte.

    Raises
    ------
    CorruptPageError
        A run is shorter than its rows.
    """
    memory = [
        field.values[field.bit_offset // 8 :]
        if field.bit_offset % 8 == 0
        else np.empty(field.num_values * width, np.uint8)
        for field, width in zip(out.fields, widths_bytes, strict=True)
    ]
    kernels.split_rows(data, starts, sizes, value_starts, np.array(widths_bytes, np.int64), memory)
    for field, whole in zip(out.fields, memory, strict=True):
        if field.bit_offset % 8 and len(whole):
            run = np.zeros(1, np.int64), np.array([8 * len(whole)], np.int64)
            kernels.take_bit_runs(whole, 0, *run, field.values, field.bit_offset)


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
