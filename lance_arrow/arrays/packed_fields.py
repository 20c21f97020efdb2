"""Fields of packed structs of any length, out of the rows that the engine read: see `lance_arrow.pages.packed_rows`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.arrays.column_destination import LeafBuffers
from lance_arrow.pages.packed_rows import packed_parts, packed_widths
from lance_arrow.spi import BlockShape, Bytes, FixedSizeList, PackedStruct, VariableWidth


def packed_fields(shape: PackedStruct, num_values: int, rows: pa.Buffer, offsets: pa.Buffer) -> LeafBuffers:
    """Split rows into the buffers of each field.

    Parameters
    ----------
    shape
        The fields, as the schema has them.
    num_values, rows, offsets
        How many rows; their bytes; where each begins, and the last one ends: 64 bits each.

    Raises
    ------
    CorruptPageError
        A row ends inside a field, or after the last one.
    """
    data = np.frombuffer(rows, np.uint8) if rows.size else np.empty(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int64)[: num_values + 1]
    widths = packed_widths(shape)
    starts, sizes = np.empty((2, len(widths), num_values), np.int64)
    num_valid = kernels.locate_fields(data, bounds[:-1], np.diff(bounds), widths, starts, sizes)
    if not num_valid:
        # Fields of one width have a place in a neighbour, of which there is none.
        data, starts[:] = np.zeros(max(1, int(widths.max(initial=1))), np.uint8), 0
    fields = tuple(
        _field(field, num_values, data, field_starts, field_sizes)
        for field, field_starts, field_sizes in zip(shape.fields, starts, sizes, strict=True)
    )
    return LeafBuffers(shape, num_values, fields=fields)


def _field(
    shape: BlockShape, num_values: int, data: Bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> LeafBuffers:
    if isinstance(shape, VariableWidth):
        ends = np.concatenate(([0], np.cumsum(sizes)))
        offsets = pa.py_buffer(ends.astype(f"i{shape.offset_bits // 8}"))
        return LeafBuffers(shape, num_values, _gathered(data, starts, starts + sizes), offsets)
    parts, at = [], starts
    for bits in packed_parts(shape):
        stops = at + (bits + 7) // 8
        parts.append(_bits(_gathered(data, at, stops), bits, num_values))
        at = stops
    *bitmaps, values = parts
    dimensions = packed_parts(shape)[:-1] if isinstance(shape, FixedSizeList) else ()
    validity = tuple(
        None if _all_set(bitmap, bits * num_values) else bitmap
        for bitmap, bits in zip(bitmaps, dimensions, strict=True)
    )
    return LeafBuffers(shape, num_values, values, item_validity=validity)


def _gathered(data: Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> pa.Buffer:
    buffer = pa.allocate_buffer(int((stops - starts).sum()))
    if buffer.size:
        kernels.take_runs_fixed(data, 1, starts, stops, np.frombuffer(buffer, np.uint8))
    return buffer


def _bits(buffer: pa.Buffer, bits: int, num_values: int) -> pa.Buffer:
    """Put the bits of values together, each of which begins a byte."""
    if bits % 8 == 0 or not num_values:
        return buffer
    whole = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little").reshape(num_values, -1)[:, :bits]
    return pa.py_buffer(np.packbits(whole, bitorder="little"))


def _all_set(bitmap: pa.Buffer, num_bits: int) -> bool:
    return bool(np.unpackbits(np.frombuffer(bitmap, np.uint8), count=num_bits, bitorder="little").all())
