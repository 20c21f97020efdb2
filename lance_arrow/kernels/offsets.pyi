"""Stored offsets checked and rewritten as Arrow offsets, with their bytes.

Chunk arguments and errors as in `bits`, variable-width outputs as in `gather`: the base is the offset at position
``value_starts[0]`` (position 0 for single values). Stored offsets are unsigned, of ``offset_bits`` 32 or 64.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def measure_variable_chunks(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, offset_bits: int
) -> int:
    """Return the bytes of values that `decode_variable_chunks` writes, after checking every offset."""

def decode_variable_chunks(
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    value_starts: _Positions,
    offset_bits: int,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
) -> None:
    """Decode mini-block chunks: n + 1 offsets counted from the start of the chunk, then the bytes.

    Source: CompressiveEncoding.Variable, mini-block form; spec 5.2.

    Raises
    ------
    CorruptPageError
        A chunk's first offset is not its header, or offsets descend or leave the chunk.
    """

def measure_variable_blocks(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, offset_bits: int
) -> int:
    """Return the bytes of values that `decode_variable_blocks` writes, after checking every offset."""

def decode_variable_blocks(
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    value_starts: _Positions,
    offset_bits: int,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
) -> None:
    """Decode blocks: offset width and position of the bytes as two words, n + 1 offsets from 0, then the bytes.

    Source: CompressiveEncoding.Variable, block form; spec 5.2.
    """

def measure_variable_values(sizes: _Positions) -> int:
    """Return the sum of sizes, all of which must be at least 0."""

def decode_variable_values(
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
) -> None:
    """Copy values that lie at arbitrary byte ranges of ``data`` back to back, with their offsets."""

def check_utf8(offsets: _Bytes, offset_bits: int, data: _Bytes) -> None:
    """Require that every value ``data[offsets[i] : offsets[i + 1]]`` is valid UTF-8 by itself.

    Raises
    ------
    CorruptPageError
        A value is not, or its offsets descend or leave ``data``; ``detail`` is its position.
    """
