"""Numpy twins of ``engine/door/streams.pxi``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Positions, each_chunk, each_part

_WIDEST_FIELD_BYTES = 1 << 40
_LZ4 = pa.Codec("lz4_raw")


def gather_streams(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, bytes_per_value: int, out: Bytes
) -> None:
    """Put values together whose byte b stands in stream b of their chunk."""
    if bytes_per_value < 1:
        raise InternalError("bytes_per_value is not positive")
    for chunk in each_chunk(data, starts, sizes, value_starts, len(out) // bytes_per_value):
        if len(chunk.bytes) != chunk.num_values * bytes_per_value:
            raise CorruptPageError("byte streams have another size than their values", detail=chunk.index)
        values = out[chunk.first_value * bytes_per_value : chunk.stop_value * bytes_per_value]
        values[:] = chunk.bytes.reshape(bytes_per_value, chunk.num_values).T.reshape(-1)


def scatter_streams(values: Bytes, value_starts: Positions, bytes_per_value: int, out: Bytes) -> None:
    """Take values apart: byte b of every value of a part goes to stream b of it."""
    if bytes_per_value < 1:
        raise InternalError("bytes_per_value is not positive")
    for index, start, stop in each_part(values, value_starts, bytes_per_value):
        part = slice(start * bytes_per_value, stop * bytes_per_value)
        if part.stop > len(out):
            raise InternalError("the output is too small", detail=index)
        out[part] = values[part].reshape(stop - start, bytes_per_value).T.reshape(-1)


def lz4_stream_bytes(values: Bytes, bytes_per_value: int) -> int:
    """Return how many bytes LZ4 frames of byte streams take, by compressing them."""
    if bytes_per_value not in (4, 8):
        raise InternalError("byte streams are sampled of values of 4 or 8 bytes")
    rows = values[: len(values) // bytes_per_value * bytes_per_value].reshape(-1, bytes_per_value)
    chunk_values = 4096 // bytes_per_value
    chunks = (rows[first : first + chunk_values] for first in range(0, len(rows), chunk_values))
    return sum(4 + len(_LZ4.compress(chunk.T.tobytes(), asbytes=True)) for chunk in chunks)


def split_rows(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    field_bytes: Positions,
    out: Sequence[Bytes],
) -> None:
    """Split rows that lie back to back in chunks into their fields."""
    if len(out) != len(field_bytes):
        raise InternalError("fields and destinations differ in number")
    widths = field_bytes.tolist()
    for field, width in enumerate(widths):
        if not 1 <= width <= _WIDEST_FIELD_BYTES:
            raise InternalError("a packed field has no bytes", detail=field)
    row_bytes = sum(widths)
    if row_bytes < 1:
        raise InternalError("packed rows have no bytes")
    room = min(len(values) // width for values, width in zip(out, widths, strict=True))
    for chunk in each_chunk(data, starts, sizes, value_starts, room):
        if len(chunk.bytes) // row_bytes < chunk.num_values:
            raise CorruptPageError("a chunk is shorter than its packed rows", detail=chunk.index)
        rows = chunk.bytes[: chunk.num_values * row_bytes].reshape(chunk.num_values, row_bytes)
        first = 0
        for values, width in zip(out, widths, strict=True):
            field = rows[:, first : first + width].reshape(-1)
            values[chunk.first_value * width : chunk.stop_value * width] = field
            first += width


def locate_fields(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    field_bytes: Positions,
    out_starts: Positions,
    out_sizes: Positions,
) -> int:
    """Find the fields of rows that lie one by one; return how many rows are not empty."""
    if not len(starts) == len(sizes) == out_starts.shape[1] == out_sizes.shape[1] or not len(field_bytes) == len(
        out_starts
    ) == len(out_sizes):
        raise InternalError("arrays over rows and fields have contradicting lengths")
    for field, width in enumerate(field_bytes.tolist()):
        if width < 1 and width not in (-4, -8):
            raise InternalError("a packed field has neither a width nor lengths of 4 or 8 bytes", detail=field)
    is_fixed = field_bytes > 0
    valid = []
    for row, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        if start < 0 or size < 0 or start + size > len(data):
            raise CorruptPageError("a packed row lies outside its page", detail=row)
        out_starts[:, row], out_sizes[:, row] = 0, np.where(is_fixed, field_bytes, 0)
        if size:
            _locate_row(data[: start + size], start, field_bytes, row, out_starts, out_sizes)
            valid.append(row)
    for row in np.flatnonzero(sizes == 0) if valid else ():
        before = [one for one in valid if one < row]
        out_starts[is_fixed, row] = out_starts[is_fixed, before[-1] if before else valid[0]]
    return len(valid)


def _locate_row(
    data: Bytes, position: int, field_bytes: Positions, row: int, out_starts: Positions, out_sizes: Positions
) -> None:
    for field, width in enumerate(field_bytes.tolist()):
        length = width
        if width < 0:
            if len(data) - position < -width:
                raise CorruptPageError("a packed row ends inside a field", detail=row)
            length = int.from_bytes(data[position : position - width].tobytes(), "little")
            position -= width
        if len(data) - position < length:
            raise CorruptPageError("a packed row ends inside a field", detail=row)
        out_starts[field, row], out_sizes[field, row] = position, length
        position += length
    if position != len(data):
        raise CorruptPageError("a packed row is longer than its fields", detail=row)
