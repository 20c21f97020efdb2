"""Numpy twins of ``engine/door/encode/variable_chunks.pxi``."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, Positions
from numpy_kernels.variable import stored_offsets

_PADDING = 0x48
_LARGEST = 2**32 - 1


def plan_variable_chunks(
    offsets: Bytes,
    offset_bits: int,
    data_bytes: int,
    out_offset_bits: int,
    target_bytes: int,
    max_bytes: int,
    max_values: int,
    out_counts: Positions,
) -> int:
    """Decide how many values each chunk gets."""
    if max_values < 2 or max_bytes < 0:
        raise InternalError("chunks hold at least 2 values")
    if out_offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    ends = plain_offsets(offsets, offset_bits, data_bytes)
    target = min(target_bytes, max_bytes)

    def size(first: int, count: int) -> int:
        return _padded((count + 1) * out_offset_bits // 8 + ends[first + count] - ends[first], 8)

    first = chunks = 0
    while first < len(ends) - 1:
        if chunks == len(out_counts):
            raise InternalError("the output is too small", detail=chunks)
        rest = count = len(ends) - 1 - first
        if rest > max_values or size(first, rest) > target:
            count = min(rest, 2)
            if size(first, count) > max_bytes:
                return -1
            while count * 2 < rest and count * 2 <= max_values and size(first, count * 2) <= target:
                count *= 2
        out_counts[chunks] = count
        chunks += 1
        first += count
    return chunks


def write_variable_chunks(
    offsets: Bytes,
    offset_bits: int,
    data: Bytes,
    counts: Positions,
    out_offset_bits: int,
    out_sizes: Positions,
    out: Bytes,
) -> int:
    """Write the chunks one after another."""
    if len(out_sizes) != len(counts):
        raise InternalError("counts and out_sizes have different lengths")
    if offset_bits in (32, 64) and out_offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    ends = plain_offsets(offsets, offset_bits, len(data))
    width = out_offset_bits // 8
    first = total = 0
    for chunk, count in enumerate(counts.tolist()):
        if not 0 <= count < len(ends) - first:
            raise InternalError("counts leave the values", detail=chunk)
        begin, end = ends[first], ends[first + count]
        header = (count + 1) * width
        size = _padded(header + end - begin, width)
        out_sizes[chunk] = size
        if out_offset_bits == 32 and size > _LARGEST:
            raise InternalError("a chunk is too large for its offsets", detail=chunk)
        if size <= len(out) - total:
            own = np.array(ends[first : first + count + 1], np.int64) - begin + header
            written = own.astype(f"<u{width}").tobytes() + data[begin:end].tobytes()
            out[total : total + size] = np.frombuffer(written.ljust(size, bytes([_PADDING])), np.uint8)
        total += size
        first += count
    if first != len(ends) - 1:
        raise InternalError("counts do not reach the last value")
    return total


def plain_offsets(offsets: Bytes, offset_bits: int, data_bytes: int) -> list[int]:
    """Return checked offsets counted from the first."""
    if offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    if len(offsets) == 0 or len(offsets) % (offset_bits // 8):
        raise InternalError("offsets are not a positive whole number of words")
    found = stored_offsets(offsets, offset_bits)
    if found != sorted(found):
        raise InternalError("offsets descend")
    if found[-1] - found[0] > data_bytes:
        raise InternalError("offsets leave the data")
    return [one - found[0] for one in found]


def _padded(num_bytes: int, width: int) -> int:
    return -(-num_bytes // width) * width
