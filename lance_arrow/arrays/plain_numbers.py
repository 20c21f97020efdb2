"""Numbers between Arrow and numpy without pandas.

`pyarrow.array`, `pyarrow.scalar` and `Array.to_numpy` import pandas where it is installed, on their first call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def as_numbers(array: pa.Array) -> NDArray[Any]:
    """View integers or floats without nulls as a read-only numpy array, without a copy.

    Parameters
    ----------
    array
        ``(n,)`` integers or floats; its `null_count` is 0.
    """
    if not len(array):
        return np.empty(0, array.type.to_pandas_dtype())
    found: NDArray[Any] = np.from_dlpack(array)
    return found


def as_array(numbers: NDArray[Any]) -> pa.Array:
    """Wrap numpy integers or floats as an Arrow array without nulls.

    Parameters
    ----------
    numbers
        ``(n,)``; the array refers to its memory where that is contiguous.
    """
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, data])
