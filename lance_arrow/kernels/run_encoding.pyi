"""Values to runs of at most 255, many chunks or blocks per call; the way back of `runs`.

``values`` have ``bytes_per_value`` 1, 2, 4 or 8; ``value_starts`` ``(num_parts + 1,) int64`` is where each part of them
begins. Runs end with their part. Every mistake is the caller's: InternalError.

Source: CompressiveEncoding.Rle; spec 5.7.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def count_run_entries(values: _Bytes, value_starts: _Positions, bytes_per_value: int, out_counts: _Positions) -> None:
    """Count the runs of each part, a longer one than 255 as several, into ``(num_parts,) int64``."""

def encode_runs(
    values: _Bytes,
    value_starts: _Positions,
    bytes_per_value: int,
    out_values: _Bytes,
    out_lengths: _Bytes,
    out_counts: _Positions,
) -> int:
    """Write run values and run lengths of all parts, each one after another; return the number of runs.

    Parameters
    ----------
    out_values, out_lengths
        Room for the runs: at most as many as values change, parts, and a 255th of the values, taken together.
    out_counts
        ``(num_parts,) int64``: runs of each part.
    """

def encode_run_blocks(
    values: _Bytes, value_starts: _Positions, bytes_per_value: int, out_sizes: _Positions, out: _Bytes
) -> int:
    """Write each part as a block: u64 bytes of the run values, run values, run lengths; return the sum of their bytes.

    Parameters
    ----------
    out_sizes
        ``(num_parts,) int64``: bytes of each block; one without values is a header.
    out
        Room for the blocks, which lie one after another.
    """
