"""Variable-width values cut into mini-block chunks.

Values are as Arrow has them: ``offsets`` are the bytes of ``num_values + 1`` ascending offsets of ``offset_bits`` 32 or
64, of which the first is the base, and the bytes of value 0 begin at ``data[0]``. Source: CompressiveEncoding.Variable,
mini-block form; spec 5.2, 10. Every mistake is the caller's: InternalError.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def plan_variable_chunks(
    offsets: _Bytes,
    offset_bits: int,
    data_bytes: int,
    out_offset_bits: int,
    target_bytes: int,
    max_bytes: int,
    max_values: int,
    out_counts: _Positions,
) -> int:
    """Decide how many values each chunk gets; return the number of chunks, or -1 where two values do not fit one.

    Parameters
    ----------
    out_offset_bits
        Width of the offsets in the chunks.
    target_bytes, max_bytes, max_values
        As in `ChunkRules`; a chunk gets twice as many values as long as it stays within the target.
    out_counts
        Room for a number per chunk, ``num_values // 2 + 1`` at most.
    """

def write_variable_chunks(
    offsets: _Bytes,
    offset_bits: int,
    data: _Bytes,
    counts: _Positions,
    out_offset_bits: int,
    out_sizes: _Positions,
    out: _Bytes,
) -> int:
    """Write chunks of ``counts[i]`` values one after another; return the sum of their bytes.

    Each chunk is padded to whole offsets with 0x48. Where ``out`` has no room for a chunk it is left out of it, but
    counts in the sum.

    Parameters
    ----------
    out_sizes
        ``(num_chunks,) int64``: bytes of each chunk.
    """
