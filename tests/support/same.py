"""Exact comparison of Arrow data: bit patterns of floats, nulls, types; never what lies under a null."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array of a column."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])


def bits(array: pa.Array) -> pa.Array:
    """Replace floats by integers of the same bits (NaNs and zeros compare by pattern), dictionaries by their values."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    data_type = array.type
    if pa.types.is_floating(data_type):
        return array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[data_type.bit_width])
    if pa.types.is_struct(data_type) and data_type.num_fields:
        children = [bits(array.field(i)) for i in range(data_type.num_fields)]
        fields = [pa.field(field.name, child.type) for field, child in zip(data_type, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())
    if pa.types.is_fixed_size_list(data_type):
        size = data_type.list_size
        items = bits(array.values.slice(array.offset * size, len(array) * size))
        return pa.FixedSizeListArray.from_arrays(items, size, mask=array.is_null())
    return array


def take_rows(array: pa.Array, indices: np.ndarray) -> pa.Array:
    """Select rows without `Array.take` on lists: pyarrow 26 misplaces sliced fixed-size lists of lists."""
    data_type = array.type
    if pa.types.is_fixed_size_list(data_type):
        size = data_type.list_size
        items = (indices[:, None] * size + np.arange(size)).ravel()
        values = take_rows(array.values.slice(array.offset * size, len(array) * size), items)
        mask = array.is_null().take(pa.array(indices))
        return pa.FixedSizeListArray.from_arrays(values, type=data_type, mask=mask)
    if pa.types.is_struct(data_type) and data_type.num_fields:
        children = [take_rows(array.field(i), indices) for i in range(data_type.num_fields)]
        mask = array.is_null().take(pa.array(indices))
        return pa.StructArray.from_arrays(children, fields=list(data_type), mask=mask)
    return array.take(pa.array(indices, pa.int64()))


def taken(table: pa.Table, indices: Sequence[int]) -> pa.Table:
    """Rows of `table` at `indices`, in that order."""
    picks = np.asarray(indices, np.int64)
    arrays = [take_rows(whole(column), picks) for column in table.columns]
    return pa.table(arrays, schema=table.schema) if arrays else table


def difference(expected: pa.Array, actual: pa.Array) -> str | None:
    """Say where two columns differ first; None when they are the same."""
    if expected.type != actual.type:
        return f"type {actual.type}, expected {expected.type}"
    if len(expected) != len(actual):
        return f"{len(actual)} rows, expected {len(expected)}"
    if bits(expected).equals(bits(actual)):
        return None
    low, high = 0, len(expected)
    while high - low > 1:
        middle = (low + high) // 2
        if bits(expected.slice(low, middle - low)).equals(bits(actual.slice(low, middle - low))):
            low = middle
        else:
            high = middle
    shown = [str(array[low])[:200] for array in (actual, expected)]
    return f"row {low} of {len(expected)} is {shown[0]}, expected {shown[1]}"


def assert_same(expected: pa.Table, actual: pa.Table) -> None:
    """Fail with each column that differs, unless both tables hold the same columns and values."""
    assert actual.column_names == expected.column_names
    actual.validate(full=actual.num_rows <= 2048)
    assert actual.num_rows == expected.num_rows
    found = {}
    for name, left, right in zip(expected.column_names, expected.columns, actual.columns, strict=True):
        text = difference(whole(left), whole(right))
        if text is not None:
            found[name] = text
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())
