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
        ``(n,)`` integers below 2^32, in any order.
    """
    if not len(numbers):
        return pyroaring.BitMap()
    first, count = int(numbers[0]), len(numbers)
    if int(numbers[-1]) - first == count - 1 and (numbers[1:] > numbers[:-1]).all():
        return pyroaring.BitMap(range(first, first + count))
    # Of an array of numpy's, each number would become an object of Python.
    return pyroaring.BitMap(array("I", numbers.astype(np.uint32, copy=False).tobytes()))
