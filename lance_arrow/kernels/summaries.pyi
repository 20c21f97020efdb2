"""Facts about values that encodings are chosen by. Every mistake is the caller's: InternalError."""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def measure_groups(
    values: _Bytes, value_starts: _Positions, word_bits: int, out_bits: _Positions, out_changes: _Positions
) -> None:
    """Find in one pass how many bits the largest value of each group needs, and how often values change.

    Parameters
    ----------
    values
        Little-endian unsigned integers of `word_bits` 8, 16, 32 or 64.
    value_starts
        ``(num_groups + 1,) int64``: where each group begins.
    out_bits
        ``(num_groups,) int64``: bits of the largest value; 0 for a group of zeros or of nothing.
    out_changes
        ``(num_groups,) int64``: values of the group that differ from the one before them, which may be the last one
        before the group. (The first of all has none before it.)
    """

def all_equal(values: _Bytes, bytes_per_value: int) -> bool:
    """Tell whether all values are the same bytes; stops at the first that is not. No values are equal."""
