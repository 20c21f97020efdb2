"""What is made of the codes of dictionary arrays; `as_views`: a view array, 16 bytes a row, without copies of items."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import engine

_VIEW_BYTES = 16


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
    gathered = pa.allocate_buffer(len(array) * _VIEW_BYTES, pool)
    if len(array):
        codes, width = codes_of(array)
        own = np.frombuffer(views, np.uint8)[items.offset * _VIEW_BYTES :][: len(items) * _VIEW_BYTES]
        engine.views_of_codes(codes, width, own, np.frombuffer(gathered, np.uint8))
    valid = array.indices.is_valid().buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(items.type, len(array), [valid, gathered, *data], array.null_count)


def codes_of(column: pa.DictionaryArray) -> tuple[NDArray[np.uint8], int]:
    """Return the bytes of the codes of a dictionary array, and of how many a code consists; nulls have any codes."""
    indices = column.indices
    width = indices.type.bit_width // 8
    start = indices.offset * width
    return np.frombuffer(indices.buffers()[1], np.uint8)[start : start + len(indices) * width], width


def view_type(type_: pa.DictionaryType) -> pa.DataType:
    """Return the type of views of a dictionary's values."""
    is_text = pa.types.is_string(type_.value_type) or pa.types.is_large_string(type_.value_type)
    return pa.string_view() if is_text else pa.binary_view()
