"""Positional reads of many ranges of one file, with the GIL released."""

import numpy as np
from numpy.typing import NDArray

def read_ranges(
    fd: int,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    out_starts: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> int: ...
def read_files(
    paths: list[bytes],
    sizes: NDArray[np.int64],
    out_starts: NDArray[np.int64],
    out: NDArray[np.uint8],
    flags: NDArray[np.uint8],
) -> None: ...
