"""`bitmap_of`: roaring bitmaps of many numbers at once."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pyroaring
from numpy.typing import NDArray


def bitmap_of(numbers: NDArray[Any]) -> pyroaring.BitMap:
    """Return a bitmap of some numbers.

    Parameters
    ----------
    numbers
        ``(n,)`` integers in any order; of larger ones, such as addresses of rows, the low 32 bits count.
    """
    low = numbers.astype(np.uint32, copy=False)
    if not len(low):
        return pyroaring.BitMap()
    first, last = int(low[0]), int(low[-1])
    if last - first == len(low) - 1 and (low[1:] > low[:-1]).all():
        return pyroaring.BitMap(range(first, last + 1))
    # Of an array of numpy's, each number would become an object of Python.
    return pyroaring.BitMap(array("I", low.tobytes()))
