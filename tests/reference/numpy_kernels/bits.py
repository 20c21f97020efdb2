"""Numpy twins of ``engine/door/bits.pxi``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Positions, each_chunk

_BLOCK_VALUES = 1024
_ORDER = np.array([0, 4, 2, 6, 1, 5, 3, 7])


def _lane_elements(word_bits: int) -> NDArray[np.int64]:
    """Element number of row r of lane l, shape ``(word_bits, lanes)``."""
    row = np.arange(word_bits)[:, None]
    lane = np.arange(_BLOCK_VALUES // word_bits)[None, :]
    return _ORDER[row // 8] * 16 + row % 8 * 128 + lane


def _unpack_block(packed: Bytes, word_bits: int, packed_bits: int) -> Bytes:
    """Decode one block of ``128 * packed_bits`` bytes into 1024 words, as bytes."""
    lanes = _BLOCK_VALUES // word_bits
    streams = packed.view(f"<u{word_bits // 8}").reshape(packed_bits, lanes)
    # (lanes, packed_bits * word_bits) single bits of each lane's stream, least significant first
    bits = np.unpackbits(np.ascontiguousarray(streams.T).view(np.uint8), axis=1, bitorder="little")
    padded = np.zeros((lanes, word_bits, word_bits), np.uint8)
    padded[:, :, :packed_bits] = bits.reshape(lanes, word_bits, packed_bits)
    values = np.packbits(padded.reshape(lanes, -1), axis=1, bitorder="little").view(f"<u{word_bits // 8}")
    out = np.empty(_BLOCK_VALUES, values.dtype)
    out[_lane_elements(word_bits)] = values.T
    return out.view(np.uint8)


def _require_word_bits(word_bits: int) -> None:
    if word_bits not in (8, 16, 32, 64):
        raise InternalError("word_bits is none of 8, 16, 32, 64")


def _unpack_wide_block(packed: Bytes, packed_bits: int) -> Bytes:
    """Decode one block of ``128 * packed_bits`` bytes into 1024 values of 128 bits, as bytes."""
    if packed_bits == 128:
        return packed
    values = np.zeros((_BLOCK_VALUES, 16), np.uint8)
    if packed_bits > 64:
        bits = np.unpackbits(packed, bitorder="little").reshape(_BLOCK_VALUES, packed_bits)
        some = np.packbits(bits, axis=1, bitorder="little")
    else:
        word_bits = 32 if packed_bits <= 32 else 64
        some = _unpack_block(packed, word_bits, packed_bits).reshape(_BLOCK_VALUES, word_bits // 8)
    values[:, : some.shape[1]] = some
    return values.reshape(-1)


def unpack_inline(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, word_bits: int, out: Bytes
) -> None:
    """Decode inline bit-packed chunks: a header word holding the width, then one FastLanes block."""
    if word_bits not in (8, 16, 32, 64, 128):
        raise InternalError("word_bits is none of 8, 16, 32, 64, 128")
    width = word_bits // 8
    for chunk in each_chunk(data, starts, sizes, value_starts, len(out) // width):
        if chunk.num_values > _BLOCK_VALUES:
            raise CorruptPageError("a bit-packed chunk declares more than 1024 values", detail=chunk.index)
        if len(chunk.bytes) < width:
            raise CorruptPageError("a bit-packed chunk is shorter than its header", detail=chunk.index)
        packed_bits = int.from_bytes(chunk.bytes[:width].tobytes(), "little")
        if packed_bits > word_bits:
            raise CorruptPageError("a bit-packed chunk is wider than its values", detail=chunk.index)
        if len(chunk.bytes) != width + 128 * packed_bits:
            raise CorruptPageError("a bit-packed chunk's size contradicts its bit width", detail=chunk.index)
        packed = chunk.bytes[width:].copy()
        values = (
            _unpack_wide_block(packed, packed_bits)
            if word_bits == 128
            else _unpack_block(packed, word_bits, packed_bits)
        )
        out[chunk.first_value * width : chunk.stop_value * width] = values[: chunk.num_values * width]


def unpack_out_of_line(
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    value_starts: Positions,
    word_bits: int,
    packed_bits: int,
    out: Bytes,
) -> None:
    """Decode runs of FastLanes blocks of one width; the tail is raw words or one padded block."""
    _require_word_bits(word_bits)
    if not 0 <= packed_bits <= word_bits:
        raise InternalError("packed_bits is outside 0..word_bits")
    width, block_bytes = word_bits // 8, 128 * packed_bits
    for chunk in each_chunk(data, starts, sizes, value_starts, len(out) // width):
        num_blocks, tail_values = divmod(chunk.num_values, _BLOCK_VALUES)
        tail_bytes = len(chunk.bytes) - num_blocks * block_bytes
        raw_tail = tail_bytes == tail_values * width
        if not raw_tail and (tail_values == 0 or tail_bytes != block_bytes):
            raise CorruptPageError("a bit-packed block's size contradicts its value count", detail=chunk.index)
        blocks = chunk.bytes[: num_blocks * block_bytes].reshape(num_blocks, block_bytes)
        parts = [_unpack_block(block.copy(), word_bits, packed_bits) for block in blocks]
        tail = chunk.bytes[num_blocks * block_bytes :].copy()
        parts.append(tail if raw_tail else _unpack_block(tail, word_bits, packed_bits)[: tail_values * width])
        out[chunk.first_value * width : chunk.stop_value * width] = np.concatenate(parts)


def _write_bits(out: Bytes, bit_offset: int, bits: NDArray[np.uint8]) -> None:
    every = np.unpackbits(out, bitorder="little")
    every[bit_offset : bit_offset + len(bits)] = bits
    out[:] = np.packbits(every, bitorder="little")


def copy_bits(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, out: Bytes, out_bit_offset: int
) -> None:
    """Copy bitmap chunks into one bitmap; bits outside the written range keep their value."""
    if not 0 <= out_bit_offset <= 8 * len(out):
        raise InternalError("out_bit_offset leaves the output")
    for chunk in each_chunk(data, starts, sizes, value_starts, 8 * len(out) - out_bit_offset):
        if len(chunk.bytes) < (chunk.num_values + 7) // 8:
            raise CorruptPageError("a bitmap is shorter than its values", detail=chunk.index)
        bits = np.unpackbits(chunk.bytes, bitorder="little")[: chunk.num_values]
        _write_bits(out, out_bit_offset + chunk.first_value, bits)


def take_bit_runs(
    src: Bytes,
    src_bit_offset: int,
    run_starts: Positions,
    run_stops: Positions,
    out: Bytes,
    out_bit_offset: int,
) -> None:
    """Copy runs of bits back to back."""
    if len(run_starts) != len(run_stops):
        raise InternalError("run_starts and run_stops have different lengths")
    if not 0 <= src_bit_offset <= 8 * len(src):
        raise InternalError("src_bit_offset leaves the source")
    if not 0 <= out_bit_offset <= 8 * len(out):
        raise InternalError("out_bit_offset leaves the output")
    bits = np.unpackbits(src, bitorder="little")[src_bit_offset:]
    out_bit = out_bit_offset
    for run, (start, stop) in enumerate(zip(run_starts.tolist(), run_stops.tolist(), strict=True)):
        if not 0 <= start <= stop <= len(bits):
            raise InternalError("a run leaves the source", detail=run)
        if stop - start > 8 * len(out) - out_bit:
            raise InternalError("the output is too small", detail=run)
        _write_bits(out, out_bit, bits[start:stop])
        out_bit += stop - start


def fill_bits(out: Bytes, bit_offset: int, num_bits: int, value: bool) -> None:
    """Set or clear a range of bits."""
    if bit_offset < 0 or num_bits < 0 or bit_offset + num_bits > 8 * len(out):
        raise InternalError("the bits to fill leave the output")
    _write_bits(out, bit_offset, np.full(num_bits, value, np.uint8))


def fill_bit_runs(run_starts: Positions, run_stops: Positions, out: Bytes, first_bit: int = 0) -> None:
    """Set the bits of runs, which are numbered from `first_bit` on."""
    if first_bit < 0:
        raise InternalError("the first bit is negative")
    if len(run_starts) != len(run_stops):
        raise InternalError("starts and stops have different lengths")
    for run, (start, stop) in enumerate(zip(run_starts.tolist(), run_stops.tolist(), strict=True)):
        if start < first_bit or stop < start or stop - first_bit > 8 * len(out):
            raise InternalError("a run leaves the output", detail=run)
        fill_bits(out, start - first_bit, stop - start, True)


def count_bits(src: Bytes, bit_offset: int, num_bits: int) -> int:
    """Count the set bits of a range."""
    if bit_offset < 0 or num_bits < 0 or bit_offset + num_bits > 8 * len(src):
        raise InternalError("the bits to count leave the source")
    return int(np.unpackbits(src, bitorder="little")[bit_offset : bit_offset + num_bits].sum())


def count_marked_runs(src: Bytes, src_bit_offset: int, range_starts: Positions, range_stops: Positions) -> int:
    """Count the runs of marked rows."""
    return len(_marked_runs(src, src_bit_offset, range_starts, range_stops)[0])


def mark_runs(
    src: Bytes,
    src_bit_offset: int,
    range_starts: Positions,
    range_stops: Positions,
    out_starts: Positions,
    out_stops: Positions,
) -> None:
    """Write the runs of marked rows of ranges."""
    if len(out_starts) != len(out_stops):
        raise InternalError("starts and stops have different lengths")
    starts, stops = _marked_runs(src, src_bit_offset, range_starts, range_stops)
    if len(starts) > len(out_starts):
        raise InternalError("the output is too small")
    out_starts[: len(starts)], out_stops[: len(stops)] = starts, stops


def _marked_runs(
    src: Bytes, bit_offset: int, range_starts: Positions, range_stops: Positions
) -> tuple[list[int], list[int]]:
    if len(range_starts) != len(range_stops):
        raise InternalError("starts and stops have different lengths")
    if bit_offset < 0 or (range_stops < range_starts).any():
        raise InternalError("the marks leave the source")
    rows = np.concatenate([np.arange(0), *map(np.arange, range_starts, range_stops)]).astype(np.int64)
    if bit_offset + len(rows) > 8 * len(src):
        raise InternalError("the marks leave the source")
    flags = np.unpackbits(src, bitorder="little")[bit_offset : bit_offset + len(rows)] != 0
    kept = rows[flags]
    breaks = np.flatnonzero(np.diff(kept) != 1) + 1
    runs = [run for run in np.split(kept, breaks) if len(run)]
    return [int(run[0]) for run in runs], [int(run[-1]) + 1 for run in runs]
