"""Numpy twins of ``kernels/frames.pyx``."""

from __future__ import annotations

from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.kernels.reference.chunks import Bytes, Positions


def _length(block: bytes, position: int, length: int) -> tuple[int, int]:
    """Length of literals or match with its continuation bytes, and the position after them."""
    more = length == 15
    while more:
        more = block[position] == 255
        length += block[position]
        position += 1
    return length, position


def _block_size(block: bytes) -> int:
    """Bytes one block decodes to; IndexError or ValueError when it is malformed."""
    position = produced = 0
    while True:
        token = block[position]
        literals, position = _length(block, position + 1, token >> 4)
        position += literals
        produced += literals
        if position == len(block):
            return produced
        offset = block[position] | block[position + 1] << 8
        if not 0 < offset <= produced:
            raise ValueError("a match reaches before the start")
        match, position = _length(block, position + 2, token & 15)
        produced += match + 4


def measure_lz4_blocks(data: Bytes, starts: Positions, sizes: Positions, out_sizes: Positions) -> None:
    """Write what each raw LZ4 block decodes to."""
    if not len(starts) == len(sizes) == len(out_sizes):
        raise InternalError("starts, sizes and out_sizes have different lengths")
    for number, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        if start < 0 or size < 0 or start + size > len(data):
            raise CorruptPageError("a frame lies outside its page", detail=number)
        try:
            out_sizes[number] = _block_size(data[start : start + size].tobytes())
        except (IndexError, ValueError) as error:
            raise CorruptPageError("an LZ4 block is malformed", detail=number) from error
