"""Numbers between Arrow and numpy, values as scalars, and batches of no rows, without pandas.

`pyarrow.array`, `pyarrow.scalar` and `Array.to_numpy` import pandas where it is installed, on their first call: a
quarter of a second.
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


def as_binary(value: bytes) -> pa.Array:
    """Return an array of one value of large_binary."""
    ends = pa.py_buffer(np.array([0, len(value)], np.int64))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(value)], 0)


def as_scalar(value: object) -> pa.Scalar:
    """Return a Python value as `pyarrow.scalar` does, which is asked for others than truths, numbers and texts.

    Raises
    ------
    OverflowError
        An integer has more than 64 bits, or 63 without a sign.
    UnicodeEncodeError
        A text has half of a surrogate pair.
    """
    if value is None:
        return pa.nulls(1)[0]
    if type(value) is bool:
        return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\x01" if value else b"\x00")], 0)[0]
    if type(value) in (int, float):
        return as_array(np.array([value], np.int64 if type(value) is int else np.float64))[0]
    if type(value) is str:
        data = value.encode()
        ends = pa.py_buffer(np.array([0, len(data)], np.int32))
        return pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)], 0)[0]
    return pa.scalar(value)


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of no rows."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
