"""Offsets of a caller's arrays, checked before anything follows them: Arrow's quick validation sees the ends alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.leaf_path import offsets_of, storage_array
from lance_arrow.errors import InvalidArgumentError


def check_offsets(array: pa.Array, path: str) -> None:
    """Refuse lists and byte strings whose offsets go back, and views that point outside their bytes, at any depth.

    Parameters
    ----------
    array
        Has passed ``Array.validate()``.
    path
        Of its column, for errors.

    Raises
    ------
    InvalidArgumentError
        Offsets go back, or views lead nowhere.
    """
    array = storage_array(array)
    types, type_ = pa.types, array.type
    if types.is_string_view(type_) or types.is_binary_view(type_):
        _check_views(array, path)
    elif isinstance(type_, pa.ListType | pa.LargeListType | pa.MapType):
        first, last = _check(array, 8 if isinstance(type_, pa.LargeListType) else 4, path)
        if isinstance(array, pa.MapArray):
            check_offsets(array.keys.slice(first, last - first), path)
            check_offsets(array.items.slice(first, last - first), path)
        else:
            check_offsets(array.values.slice(first, last - first), path)
    elif isinstance(type_, pa.FixedSizeListType):
        size = type_.list_size
        check_offsets(array.values.slice(array.offset * size, len(array) * size), path)
    elif isinstance(type_, pa.StructType):
        for number in range(type_.num_fields):
            check_offsets(array.field(number), path)
    elif isinstance(type_, pa.DictionaryType):
        check_offsets(array.dictionary, path)
    elif types.is_string(type_) or types.is_binary(type_):
        _check(array, 4, path)
    elif types.is_large_string(type_) or types.is_large_binary(type_):
        _check(array, 8, path)


def _check(array: pa.Array, width_bytes: int, path: str) -> tuple[int, int]:
    """Return the first and the last offset."""
    offsets = offsets_of(array, width_bytes)
    if (offsets[1:] < offsets[:-1]).any():
        row = int(np.argmax(offsets[1:] < offsets[:-1]))
        raise InvalidArgumentError(
            f"the array contradicts itself: its offsets go back at slot {row}", column=path, detail=row
        )
    return int(offsets[0]), int(offsets[-1])


def _check_views(array: pa.Array, path: str) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(f"the array contradicts itself: {error}", column=path) from error
