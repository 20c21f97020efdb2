"""`as_views`: a dictionary array of strings as a view array: 16 bytes for each row, and items are not copied."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_VIEW = np.dtype(np.complex128)
"""16 bytes, which numpy takes as one."""


def as_views(array: pa.DictionaryArray, pool: pa.MemoryPool | None = None) -> pa.Array:
    """Return the values of a dictionary of strings or bytes as `string_view` or `binary_view`.

    Parameters
    ----------
    array
        Codes of valid rows lie in the dictionary, which has no nulls.
    pool
        Arrow memory pool of the result; the default one when None.
    """
    items = array.dictionary.cast(view_type(array.type))
    if not len(items):
        return pa.nulls(len(array), items.type, pool)
    _, views, *data = items.buffers()
    codes = np.frombuffer(array.indices.buffers()[1], np.int32)[array.offset : array.offset + len(array)]
    gathered = pa.allocate_buffer(len(array) * _VIEW.itemsize, pool)
    if len(array):
        own = np.frombuffer(views, _VIEW)[items.offset : items.offset + len(items)]
        own.take(codes, out=np.frombuffer(gathered, _VIEW), mode="clip")
    valid = array.indices.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(items.type, len(array), [valid, gathered, *data], array.null_count)


def view_type(type_: pa.DictionaryType) -> pa.DataType:
    """Return the type of views of a dictionary's values."""
    is_text = pa.types.is_string(type_.value_type) or pa.types.is_large_string(type_.value_type)
    return pa.string_view() if is_text else pa.binary_view()
