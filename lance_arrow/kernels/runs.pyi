"""Run-length encoded values expanded; chunk arguments and errors as in `bits`."""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def expand_runs(
    data: _Bytes,
    values_starts: _Positions,
    values_sizes: _Positions,
    lengths_starts: _Positions,
    lengths_sizes: _Positions,
    value_starts: _Positions,
    bytes_per_value: int,
    out: _Bytes,
) -> None:
    """Expand mini-block chunks of two buffers: run values of 1, 2, 4 or 8 bytes, and as many 8-bit run lengths.

    Source: CompressiveEncoding.Rle, mini-block form; spec 5.7.

    Raises
    ------
    CorruptPageError
        The buffers differ in number of runs, a length is 0, or the lengths do not sum to the chunk's values. (The last
        run may reach past them: release 4.0.0 of the reference writes such chunks.)
    """

def expand_run_blocks(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, bytes_per_value: int, out: _Bytes
) -> None:
    """Expand blocks: the bytes of run values as u64, the run values, then as many 8-bit run lengths.

    Source: CompressiveEncoding.Rle, block form; spec 5.7.
    """
