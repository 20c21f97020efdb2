"""Integers packed to the bits they need, many chunks per call; the way back of `bits`.

``values`` are little-endian unsigned integers, ``value_starts`` ``(num_parts + 1,) int64`` where each part of them
begins. Parts are written one after another and must fill ``out`` exactly. Every mistake is the caller's: InternalError.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def pack_inline(values: _Bytes, value_starts: _Positions, word_bits: int, packed_bits: _Positions, out: _Bytes) -> None:
    """Write chunks of at most 1024 values: a header word with the bit width, then one FastLanes block.

    Source: CompressiveEncoding.InlineBitpacking; spec 5.3, 5.4.

    Parameters
    ----------
    word_bits
        Width of a value, 8, 16, 32 or 64.
    packed_bits
        ``(num_parts,) int64``: width of each chunk; a chunk takes ``word_bits / 8 + 128 * packed_bits`` bytes.

    Raises
    ------
    InternalError
        A value is wider than its chunk, a chunk has more than 1024 values, or the output is not as large.
    """

def pack_out_of_line(values: _Bytes, value_starts: _Positions, word_bits: int, packed_bits: int, out: _Bytes) -> None:
    """Write blocks of any number of values, packed to one width: FastLanes blocks, then a tail.

    The last values of a block are one padded FastLanes block where that is shorter than the values themselves.
    Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.5.
    """
