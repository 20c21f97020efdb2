"""The walk over chunks that the numpy twins share: bounds first, then one chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]


class Chunk(NamedTuple):
    """One chunk: its number, its bytes, and the half-open range of values it produces."""

    index: int
    bytes: Bytes
    first_value: int
    stop_value: int

    @property
    def num_values(self) -> int:
        """Values the chunk promises."""
        return self.stop_value - self.first_value


def each_chunk(
    data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, out_values: int
) -> Iterator[Chunk]:
    """Yield each chunk after checking that its bytes lie in ``data`` and its values in the output."""
    if not len(starts) == len(sizes) == len(value_starts) - 1:
        raise InternalError("starts, sizes and value_starts have contradicting lengths")
    for index in range(len(starts)):
        first, stop = int(value_starts[index]), int(value_starts[index + 1])
        if not 0 <= first <= stop <= out_values:
            raise InternalError("value_starts leave the output", detail=index)
        start, size = int(starts[index]), int(sizes[index])
        if start < 0 or size < 0 or start + size > len(data):
            raise CorruptPageError("a chunk lies outside its page", detail=index)
        yield Chunk(index, data[start : start + size], first, stop)


def each_part(values: Bytes, value_starts: Positions, bytes_per_value: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, first value and stop of each part of a caller's values, checked to lie inside them."""
    if len(value_starts) == 0:
        raise InternalError("value_starts is empty")
    for index, (start, stop) in enumerate(pairwise(value_starts.tolist())):
        if not 0 <= start <= stop <= len(values) // bytes_per_value:
            raise InternalError("value_starts leave the values", detail=index)
        yield index, start, stop


def words(raw: Bytes, word_bits: int) -> NDArray[np.unsignedinteger]:
    """View bytes as unsigned little-endian words of 8, 16, 32 or 64 bits, whatever the alignment."""
    return np.frombuffer(raw.tobytes(), f"<u{word_bits // 8}")
