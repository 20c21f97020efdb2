"""Blocks of compressed frames; errors as in `bits`."""

import numpy as np
from numpy.typing import NDArray

def decode_lz4_blocks(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    out: NDArray[np.uint8],
    out_starts: NDArray[np.int64],
) -> None:
    """Decode raw LZ4 blocks, ``data[starts[i] : starts[i] + sizes[i]]`` to ``out[out_starts[i] : out_starts[i + 1]]``.

    Raises
    ------
    CorruptPageError
        A block is malformed (lengths leave it, a match reaches before the start, it does not end in literals) or yields
        another number of bytes than it has room for.
    """
