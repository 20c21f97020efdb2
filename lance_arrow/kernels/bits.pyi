"""Fixed-bit-width integers and single bits, many chunks per call.

Chunk arguments are the same everywhere in `kernels`: ``data`` ``(total_bytes,) uint8``; ``starts`` and ``sizes``
``(num_chunks,) int64``, the byte range of one buffer of each chunk inside ``data``; ``value_starts``
``(num_chunks + 1,) int64``, where the values of each chunk lie in the output. Every kernel raises CorruptPageError
(``detail``: chunk or value number) for bytes that contradict themselves and InternalError for a caller's mistake, such
as too small an output; after either, the contents of the output are unspecified.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def unpack_inline(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, word_bits: int, out: _Bytes
) -> None:
    """Decode chunks of at most 1024 values: a header word with the bit width, then one FastLanes block.

    Parameters
    ----------
    word_bits
        Width of a decoded value, 8, 16, 32, 64 or 128. Of 128 bits, values packed to at most 32 or 64 bits are a
        block of 32- or 64-bit words, and wider ones one sequential stream, least significant bit first.
    out
        Decoded values, little-endian.

    Raises
    ------
    CorruptPageError
        A chunk promises more than 1024 values, or its width or size is wrong.

    Notes
    -----
    Source: CompressiveEncoding.InlineBitpacking; spec 5.3, 5.4, 11.5.
    """

def unpack_out_of_line(
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    value_starts: _Positions,
    word_bits: int,
    packed_bits: int,
    out: _Bytes,
) -> None:
    """Decode blocks of any number of values packed to one width that the description knows.

    Each chunk is whole FastLanes blocks, then a tail of raw words or of one padded block; where both have the same
    length it is raw. Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.5.

    Parameters
    ----------
    word_bits
        Width of a decoded value, 8, 16, 32 or 64.
    packed_bits
        Width of a packed value, ``0 <= packed_bits <= word_bits``.
    """

def copy_bits(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, out: _Bytes, out_bit_offset: int
) -> None:
    """Copy bitmap chunks, each starting at its first bit, into one bitmap whose values start at ``out_bit_offset``.

    Bits of ``out`` outside the written range keep their value. Source: CompressiveEncoding.Flat with 1 bit; spec 5.1.
    """

def take_bit_runs(
    src: _Bytes, src_bit_offset: int, run_starts: _Positions, run_stops: _Positions, out: _Bytes, out_bit_offset: int
) -> None:
    """Copy the bit ranges ``run_starts[i] .. run_stops[i]`` of ``src`` back to back.

    Runs count from ``src_bit_offset``. A run outside ``src`` is the caller's mistake.
    """

def fill_bits(out: _Bytes, bit_offset: int, num_bits: int, value: bool) -> None:
    """Set (or clear) ``num_bits`` bits; others keep their value."""

def fill_bit_runs(run_starts: _Positions, run_stops: _Positions, out: _Bytes) -> None:
    """Set the bits ``run_starts[i] .. run_stops[i]``, leave others alone; runs outside are the caller's mistake."""

def count_bits(src: _Bytes, bit_offset: int, num_bits: int) -> int:
    """Return how many of ``num_bits`` bits are set."""

def count_marked_runs(src: _Bytes, src_bit_offset: int, range_starts: _Positions, range_stops: _Positions) -> int:
    """Return how many runs `mark_runs` writes."""

def mark_runs(
    src: _Bytes,
    src_bit_offset: int,
    range_starts: _Positions,
    range_stops: _Positions,
    out_starts: _Positions,
    out_stops: _Positions,
) -> None:
    """Write the runs of marked rows of ascending ranges; runs that touch across ranges are one.

    Row i of all ranges taken together is marked by bit ``src_bit_offset + i``. Marks outside ``src``, or more runs than
    the output holds, are the caller's mistake.
    """
