"""Numpy twins of ``engine/door/frames.pxi``."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Positions


def _length(block: bytes, position: int, length: int) -> tuple[int, int]:
    """Length of literals or match with its continuation bytes, and the position after them."""
    more = length == 15
    while more:
        more = block[position] == 255
        length += block[position]
        position += 1
    return length, position


def _decoded(block: bytes, room: int) -> bytearray:
    """What one block decodes to; IndexError or ValueError when it is malformed, or that is not as long as its room."""
    out = bytearray()
    position = 0
    while True:
        token = block[position]
        literals, position = _length(block, position + 1, token >> 4)
        if literals > len(block) - position or literals > room - len(out):
            raise ValueError("literals leave the block or its room")
        out += block[position : position + literals]
        position += literals
        if position == len(block):
            if len(out) != room:
                raise ValueError("the block is too short")
            return out
        offset = block[position] | block[position + 1] << 8
        if not 0 < offset <= len(out):
            raise ValueError("a match reaches before the start")
        match, position = _length(block, position + 2, token & 15)
        if match + 4 > room - len(out):
            raise ValueError("a match leaves the room")
        for _ in range(match + 4):
            out.append(out[-offset])


def decode_lz4_blocks(data: Bytes, starts: Positions, sizes: Positions, out: Bytes, out_starts: Positions) -> None:
    """Decode each raw LZ4 block to its place."""
    if not len(starts) == len(sizes) == len(out_starts) - 1:
        raise InternalError("starts, sizes and out_starts have contradicting lengths")
    places = zip(starts.tolist(), sizes.tolist(), out_starts.tolist(), out_starts[1:].tolist(), strict=False)
    for number, (start, size, out_start, out_stop) in enumerate(places):
        if not 0 <= out_start <= out_stop <= len(out):
            raise InternalError("a block has no room in the output", detail=number)
        if start < 0 or size < 0 or start + size > len(data):
            raise CorruptPageError("a frame lies outside its page", detail=number)
        try:
            plain = _decoded(data[start : start + size].tobytes(), out_stop - out_start)
        except (IndexError, ValueError) as error:
            raise CorruptPageError(
                "an LZ4 block is malformed, or has another size than its frame declares", detail=number
            ) from error
        out[out_start:out_stop] = np.frombuffer(plain, np.uint8)
