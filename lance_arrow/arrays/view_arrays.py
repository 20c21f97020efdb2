"""What is made of the codes of dictionary arrays; `as_views`: a view array, 16 bytes a row, without copies of items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
    gathered = pa.allocate_buffer(len(array) * _VIEW.itemsize, pool)
    if len(array):
        own = np.frombuffer(views, _VIEW)[items.offset : items.offset + len(items)]
        own.take(codes_of(array), out=np.frombuffer(gathered, _VIEW), mode="clip")
    valid = array.indices.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(items.type, len(array), [valid, gathered, *data], array.null_count)


def codes_of(column: pa.DictionaryArray) -> NDArray[Any]:
    """Return the codes of a dictionary array, ``(len(column),)``; those of nulls are any numbers."""
    indices = column.indices
    width = indices.type.bit_width // 8
    kind = "i" if pa.types.is_signed_integer(indices.type) else "u"
    start = indices.offset
    return np.frombuffer(indices.buffers()[1], f"{kind}{width}")[start : start + len(indices)]


def view_type(type_: pa.DictionaryType) -> pa.DataType:
    """Return the type of views of a dictionary's values."""
    is_text = pa.types.is_string(type_.value_type) or pa.types.is_large_string(type_.value_type)
    return pa.string_view() if is_text else pa.binary_view()
