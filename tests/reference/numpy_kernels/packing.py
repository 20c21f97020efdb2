"""Numpy twins of ``engine/door/encode/packing.pxi``."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, Positions, each_part, words

_BLOCK_VALUES = 1024
_ORDER = np.array([0, 4, 2, 6, 1, 5, 3, 7])


def _pack_block(values: Bytes, word_bits: int, packed_bits: int) -> Bytes:
    """Pack at most 1024 words, as bytes, to ``128 * packed_bits`` bytes; None where one of them is wider."""
    lanes = _BLOCK_VALUES // word_bits
    row, lane = np.arange(word_bits)[:, None], np.arange(lanes)[None, :]
    block = np.zeros(_BLOCK_VALUES, f"<u{word_bits // 8}")
    block[: len(values) * 8 // word_bits] = words(values, word_bits)
    ordered = np.ascontiguousarray(block[_ORDER[row // 8] * 16 + row % 8 * 128 + lane].T)
    bits = np.unpackbits(ordered.view(np.uint8), axis=1, bitorder="little").reshape(lanes, word_bits, word_bits)
    streams = np.packbits(bits[:, :, :packed_bits].reshape(lanes, -1), axis=1, bitorder="little")
    return np.ascontiguousarray(streams.view(block.dtype).T).view(np.uint8).reshape(-1)


def _is_wider(values: Bytes, word_bits: int, packed_bits: int) -> bool:
    return int(words(values, word_bits).max(initial=0)).bit_length() > packed_bits


def _require_word_bits(word_bits: int) -> None:
    if word_bits not in (8, 16, 32, 64):
        raise InternalError("word_bits is none of 8, 16, 32, 64")


def pack_inline(values: Bytes, value_starts: Positions, word_bits: int, packed_bits: Positions, out: Bytes) -> None:
    """Write chunks of at most 1024 values: a header word with the bit width, then one FastLanes block."""
    if len(packed_bits) != len(value_starts) - 1:
        raise InternalError("packed_bits and value_starts have contradicting lengths")
    _require_word_bits(word_bits)
    width, position = word_bits // 8, 0
    for index, start, stop in each_part(values, value_starts, width):
        bits = int(packed_bits[index])
        if not 0 <= bits <= word_bits:
            raise InternalError("packed_bits is outside 0..word_bits", detail=index)
        if stop - start > _BLOCK_VALUES:
            raise InternalError("a chunk has more than 1024 values", detail=index)
        size = width + 128 * bits
        if size > len(out) - position:
            raise InternalError("the output is too small", detail=index)
        chunk = values[start * width : stop * width]
        if _is_wider(chunk, word_bits, bits):
            raise InternalError("a value is wider than its chunk", detail=index)
        out[position : position + width] = np.frombuffer(bits.to_bytes(width, "little"), np.uint8)
        out[position + width : position + size] = _pack_block(chunk, word_bits, bits)
        position += size
    if position != len(out):
        raise InternalError("the output is too large")


def pack_out_of_line(values: Bytes, value_starts: Positions, word_bits: int, packed_bits: int, out: Bytes) -> None:
    """Write blocks packed to one width; the tail is packed where that is shorter."""
    _require_word_bits(word_bits)
    if not 0 <= packed_bits <= word_bits:
        raise InternalError("packed_bits is outside 0..word_bits")
    width, group_bytes, position = word_bits // 8, 128 * packed_bits, 0
    for index, start, stop in each_part(values, value_starts, width):
        num_groups, tail_values = divmod(stop - start, _BLOCK_VALUES)
        packs_tail = group_bytes < tail_values * width
        size = num_groups * group_bytes + (group_bytes if packs_tail else tail_values * width)
        if size > len(out) - position:
            raise InternalError("the output is too small", detail=index)
        packed_stop = stop if packs_tail else stop - tail_values
        parts = [np.empty(0, np.uint8)]
        for first in range(start, packed_stop, _BLOCK_VALUES):
            group = values[first * width : min(first + _BLOCK_VALUES, packed_stop) * width]
            if _is_wider(group, word_bits, packed_bits):
                raise InternalError("a value is wider than its block", detail=index)
            parts.append(_pack_block(group, word_bits, packed_bits))
        parts.append(values[packed_stop * width : stop * width])
        out[position : position + size] = np.concatenate(parts)
        position += size
    if position != len(out):
        raise InternalError("the output is too large")
