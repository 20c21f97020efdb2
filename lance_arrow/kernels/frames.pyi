"""Sizes that compressed frames really decode to; errors as in `bits`."""

import numpy as np
from numpy.typing import NDArray

def measure_lz4_blocks(
    data: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64], out_sizes: NDArray[np.int64]
) -> None:
    """Write the number of bytes each raw LZ4 block ``data[starts[i] : starts[i] + sizes[i]]`` decodes to.

    Nothing is decoded: the sequences are walked. A declared size that equals the measured one is proven, so it may be
    allocated and a decoder given exactly that room fills it.

    Raises
    ------
    CorruptPageError
        A block is malformed: lengths leave it, a match reaches before the start, or it does not end in literals.
    """
