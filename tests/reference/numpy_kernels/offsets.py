"""Numpy twins of ``engine/door/offsets.pxi``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Chunk, Positions, each_chunk
from numpy_kernels.variable import VariableWriter, stored_offsets

_LARGEST = 2**63 - 1


class _Opened(NamedTuple):
    offsets: list[int]
    bytes_at: Bytes  # what offset 0 of this chunk refers to

    @property
    def num_bytes(self) -> int:
        return self.offsets[-1] - self.offsets[0]


def _open_chunk(chunk: Chunk, offset_bits: int) -> _Opened:
    width = offset_bits // 8
    if chunk.num_values >= len(chunk.bytes) // width:
        raise CorruptPageError("a chunk is shorter than its offsets", detail=chunk.index)
    header = (chunk.num_values + 1) * width
    offsets = stored_offsets(chunk.bytes[:header], offset_bits)
    if offsets[0] != header:
        raise CorruptPageError("a chunk's first offset is not its header", detail=chunk.index)
    if offsets[-1] > len(chunk.bytes):
        raise CorruptPageError("a chunk's offsets leave the chunk", detail=chunk.index)
    if offsets != sorted(offsets):
        raise CorruptPageError("a chunk's offsets descend", detail=chunk.index)
    return _Opened(offsets, chunk.bytes)


def _open_block(chunk: Chunk, offset_bits: int) -> _Opened:
    width = offset_bits // 8
    if chunk.num_values >= len(chunk.bytes) // width - 2:
        raise CorruptPageError("a block is shorter than its offsets", detail=chunk.index)
    header = (chunk.num_values + 3) * width
    stored_bits, bytes_start, *offsets = stored_offsets(chunk.bytes[:header], offset_bits)
    if stored_bits != offset_bits:
        raise CorruptPageError("a block's offset width is wrong", detail=chunk.index)
    if bytes_start != header:
        raise CorruptPageError("a block's bytes do not follow its offsets", detail=chunk.index)
    if offsets[0] != 0:
        raise CorruptPageError("a block's first offset is not 0", detail=chunk.index)
    if offsets[-1] > len(chunk.bytes) - header:
        raise CorruptPageError("a block's offsets leave it", detail=chunk.index)
    if offsets != sorted(offsets):
        raise CorruptPageError("a block's offsets descend", detail=chunk.index)
    return _Opened(offsets, chunk.bytes[header:])


_Open = Callable[[Chunk, int], _Opened]


def _require_offset_bits(offset_bits: int) -> None:
    if offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")


def _measure(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, offset_bits: int, open_one: _Open
) -> int:
    _require_offset_bits(offset_bits)
    total = 0
    for chunk in each_chunk(data, starts, sizes, value_starts, _LARGEST):
        total += open_one(chunk, offset_bits).num_bytes
    return total


def _decode(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    offset_bits: int,
    out: tuple[Bytes, int, Bytes],
    open_one: _Open,
) -> None:
    if not len(starts) == len(sizes) == len(value_starts) - 1:
        raise InternalError("starts, sizes and value_starts have contradicting lengths")
    _require_offset_bits(out[1])
    _require_offset_bits(offset_bits)
    first = int(value_starts[0])
    writer = VariableWriter(*out, first=first)
    for chunk in each_chunk(data, starts, sizes, value_starts, first + writer.num_values):
        opened = open_one(chunk, offset_bits)
        writer.require(chunk.num_values, opened.num_bytes, chunk.index)
        for start, stop in pairwise(opened.offsets):
            writer.append(opened.bytes_at[start:stop])


def measure_variable_chunks(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, offset_bits: int
) -> int:
    """Return the data bytes of mini-block chunks of strings."""
    return _measure(data, starts, sizes, value_starts, offset_bits, _open_chunk)


def decode_variable_chunks(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    offset_bits: int,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> None:
    """Decode mini-block chunks of strings: offsets from the chunk's start, then bytes."""
    out = (out_offsets, out_offset_bits, out_data)
    _decode(data, starts, sizes, value_starts, offset_bits, out, _open_chunk)


def measure_variable_blocks(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, offset_bits: int
) -> int:
    """Return the data bytes of blocks of strings."""
    return _measure(data, starts, sizes, value_starts, offset_bits, _open_block)


def decode_variable_blocks(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    offset_bits: int,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> None:
    """Decode blocks of strings: a header of two words, offsets from 0, then bytes."""
    out = (out_offsets, out_offset_bits, out_data)
    _decode(data, starts, sizes, value_starts, offset_bits, out, _open_block)


def _locate(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    offset_bits: int,
    out: tuple[Positions, Positions],
    open_one: _Open,
) -> None:
    if len(out[0]) != len(out[1]):
        raise InternalError("out_starts and out_sizes have different lengths")
    _require_offset_bits(offset_bits)
    for chunk in each_chunk(data, starts, sizes, value_starts, len(out[0])):
        opened = open_one(chunk, offset_bits)
        # What offset 0 refers to ends where the chunk ends.
        base = int(starts[chunk.index]) + len(chunk.bytes) - len(opened.bytes_at)
        for number, (start, stop) in enumerate(pairwise(opened.offsets), int(value_starts[chunk.index])):
            out[0][number], out[1][number] = base + start, stop - start


def locate_variable_chunks(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    offset_bits: int,
    out_starts: Positions,
    out_sizes: Positions,
) -> None:
    """Tell where each value of mini-block chunks of strings lies in `data`."""
    _locate(data, starts, sizes, value_starts, offset_bits, (out_starts, out_sizes), _open_chunk)


def locate_variable_blocks(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    offset_bits: int,
    out_starts: Positions,
    out_sizes: Positions,
) -> None:
    """Tell where each value of blocks of strings lies in `data`."""
    _locate(data, starts, sizes, value_starts, offset_bits, (out_starts, out_sizes), _open_block)


def measure_variable_values(sizes: Positions) -> int:
    """Sum the sizes of single values."""
    total = 0
    for value, size in enumerate(sizes.tolist()):
        if size < 0:
            raise CorruptPageError("a value has a negative size", detail=value)
        total += size
        if total > _LARGEST:
            raise CorruptPageError("too many bytes", detail=value)
    return total


def decode_variable_values(
    data: Bytes, starts: Positions, sizes: Positions, out_offsets: Bytes, out_offset_bits: int, out_data: Bytes
) -> None:
    """Copy values from arbitrary byte ranges back to back."""
    if len(starts) != len(sizes):
        raise InternalError("starts and sizes have different lengths")
    writer = VariableWriter(out_offsets, out_offset_bits, out_data)
    for value, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        if start < 0 or size < 0 or start + size > len(data):
            raise CorruptPageError("a value lies outside its page", detail=value)
        writer.require(1, size, value)
        writer.append(data[start : start + size])


def check_utf8(offsets: Bytes, offset_bits: int, data: Bytes) -> None:
    """Refuse values that are not valid UTF-8 each by itself."""
    stored = stored_offsets(offsets, offset_bits)
    spans = list(pairwise(stored))
    for value, (start, stop) in enumerate(spans):
        if not start <= stop <= len(data):
            raise CorruptPageError("the offsets of strings are wrong", detail=value)
    for value, (start, stop) in enumerate(spans):
        try:
            data[start:stop].tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorruptPageError("a string is not valid UTF-8", detail=value) from error
