"""What order row offsets come in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def smallest_step(rows: NDArray[np.int64], num_rows: int) -> int:
    """Tell how far apart neighbours among row offsets are at least.

    Parameters
    ----------
    rows
        ``(n,) int64``, any order.
    num_rows
        Rows there are.

    Returns
    -------
    int
        -1: there is no such row. 0: one is not above the one before it. 1: they ascend, some by one. 2: all leave rows
        out, or there are fewer than two.
    """
    if ((rows < 0) | (rows >= num_rows)).any():
        return -1
    return max(0, min(2, int(np.diff(rows).min(initial=2))))
