"""Arrays of views, 16 bytes a value: made of strings and dictionaries without a copy of long values; filtered, taken.

Arrow has no kernels that filter or take views. Their 16 bytes are values of one width, which it does filter and take:

    string_view ─► fixed_size_binary(16) ─► filter, take ─► string_view, over the same bytes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.arrays.column_tree import holds_views, is_view, type_over
from lance_arrow.arrays.plain_numbers import empty_batch
from lance_arrow.late_arrow import pc

_VIEW_BYTES = 16
_BUFFER_BYTES = 1 << 30
_PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_BYTES = dict.fromkeys(_PLAIN, pa.binary(_VIEW_BYTES))


def as_views(array: pa.Array, pool: pa.MemoryPool | None = None) -> pa.Array:
    """Return strings or bytes, or the values of a dictionary of them, as `string_view` or `binary_view`.

    Parameters
    ----------
    array
        Strings or bytes, or a dictionary of them: codes of valid rows lie in it, and it has no nulls. Views stay as
        they are.
    pool
        Arrow memory pool of the result; the default one when None.
    """
    if is_view(array.type):
        return array
    if isinstance(array, pa.DictionaryArray):
        return _views_of_codes(array, pool)
    type_ = view_type(array.type)
    if not len(array):
        return pa.nulls(0, type_, pool)
    validity, offsets, data = array.buffers()
    bits = 64 if pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type) else 32
    width = bits // 8
    own = np.frombuffer(offsets, np.uint8)[array.offset * width : (array.offset + len(array) + 1) * width]
    values = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    views = pa.allocate_buffer(len(array) * _VIEW_BYTES, pool)
    bitmap = None if validity is None else np.frombuffer(validity, np.uint8)
    behind = engine.views_of_values(
        own, bits, values, bitmap, array.offset, _BUFFER_BYTES, np.frombuffer(views, np.uint8)
    )
    buffers = [data.slice(start) for start in range(0, data.size, _BUFFER_BYTES)] if behind else []
    return pa.Array.from_buffers(type_, len(array), [_bits_of(array), views, *buffers], array.null_count)


def _views_of_codes(array: pa.DictionaryArray, pool: pa.MemoryPool | None) -> pa.Array:
    items = as_views(array.dictionary, pool)
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


def view_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of views of strings or bytes, or of a dictionary's values."""
    values = type_.value_type if isinstance(type_, pa.DictionaryType) else type_
    is_text = pa.types.is_string(values) or pa.types.is_large_string(values) or pa.types.is_string_view(values)
    return pa.string_view() if is_text else pa.binary_view()


def without_views(schema: pa.Schema) -> pa.Schema:
    """Return a schema with strings and bytes in place of views, at any depth."""
    if not any(map(holds_views, schema.types)):
        return schema
    return pa.schema([field.with_type(_changed(field.type, _PLAIN)) for field in schema], schema.metadata)


def filtered(batch: pa.RecordBatch, mask: pa.BooleanArray, pool: pa.MemoryPool | None = None) -> pa.RecordBatch:
    """Keep the rows of a batch that are marked, null is not; views among its columns point to the same bytes."""
    return through_bytes(batch, lambda rows: pc.filter(rows, mask, memory_pool=pool))


def taken(table: pa.Table, positions: pa.Array) -> pa.Table:
    """Return rows of a table; views among its columns point to the same bytes."""
    if not any([holds_views(field.type) for field in table.schema]):
        return table.take(positions)
    whole = table.combine_chunks().to_batches()
    rows = whole[0] if whole else empty_batch(table.schema)
    return pa.Table.from_batches([through_bytes(rows, lambda rows: rows.take(positions))])


def through_bytes(batch: pa.RecordBatch, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> pa.RecordBatch:
    """Filter or take rows by `change`, which sees views as 16 bytes each; they point to the same bytes after it."""
    schema = batch.schema
    places = [place for place, field in enumerate(schema) if holds_views(field.type)]
    if not places:
        return change(batch)
    columns = batch.columns
    data = [_data_of(columns[place]) for place in places]
    for place in places:
        columns[place] = _rebuilt(columns[place], _changed(schema.field(place).type, _BYTES), _over)
    names = [str(place) for place in range(len(columns))]
    columns = change(pa.RecordBatch.from_arrays(columns, names)).columns
    for place, buffers in zip(places, data, strict=True):
        over = partial(_over, data=iter(buffers))
        columns[place] = _rebuilt(columns[place], schema.field(place).type, over)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _changed(type_: pa.DataType, other: Mapping[pa.DataType, pa.DataType]) -> pa.DataType:
    """Return a type with others in place of its views."""
    if is_view(type_):
        return other[type_]
    if not holds_views(type_):
        return type_
    if isinstance(type_, pa.MapType):
        key, item = [_changed(field.type, other) for field in (type_.key_field, type_.item_field)]
        return pa.map_(type_.key_field.with_type(key), type_.item_field.with_type(item), type_.keys_sorted)
    fields = [type_.field(number) for number in range(type_.num_fields)]
    return type_over(type_, [field.with_type(_changed(field.type, other)) for field in fields])


def _data_of(array: pa.Array) -> list[list[pa.Buffer]]:
    """Return the buffers that views point to, for each array of views in pre-order."""
    if is_view(array.type):
        return [array.buffers()[2:]]
    return [data for child in _children(array) for data in _data_of(child)] if holds_views(array.type) else []


def _over(array: pa.Array, type_: pa.DataType, data: Iterator[list[pa.Buffer]] | None = None) -> pa.Array:
    """Return views as their bytes; or bytes as views, which point to the next of `data`."""
    buffers = [*array.buffers()[:2], *(next(data) if data is not None else ())]
    return pa.Array.from_buffers(type_, len(array), buffers, array.null_count, array.offset)


def in_views(array: pa.Array, type_: pa.DataType, pool: pa.MemoryPool | None = None) -> pa.Array:
    """Return an array with views in place of its strings and bytes, at any depth, where `type_` has some."""
    return _rebuilt(array, type_, lambda values, _: as_views(values, pool)) if array.type != type_ else array


def in_form(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return an array as views, as `in_views` does, or the values of a dictionary as strings."""
    if isinstance(array, pa.DictionaryArray) and not is_view(type_) and array.type != type_:
        decoded = array.dictionary_decode()
        return decoded if decoded.type == type_ else decoded.cast(type_)
    return in_views(array, type_)


def _rebuilt(array: pa.Array, type_: pa.DataType, leaf: Callable[[pa.Array, pa.DataType], pa.Array]) -> pa.Array:
    """Return an array of another type of the same nesting, whose leaves of another type `leaf` makes."""
    if array.type == type_:
        return array
    if not isinstance(array.type, (pa.StructType, pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.MapType)):
        return leaf(array, type_)
    num_rows, null_count = len(array), array.null_count
    fields = [type_.field(number) for number in range(type_.num_fields)]
    children = [_rebuilt(child, field.type, leaf) for child, field in zip(_children(array), fields, strict=True)]
    if isinstance(type_, pa.StructType):
        return pa.Array.from_buffers(type_, num_rows, [_bits_of(array)], null_count, children=children)
    own = array.buffers()[: 1 if isinstance(type_, pa.FixedSizeListType) else 2]
    return pa.Array.from_buffers(type_, num_rows, own, null_count, array.offset, children=children)


def _children(array: pa.Array) -> list[pa.Array]:
    """Fields of a struct, of its slots; or the items of lists, of all slots there are."""
    if isinstance(array, pa.StructArray):
        return [array.field(number) for number in range(array.type.num_fields)]
    return [array.values]


def _bits_of(array: pa.Array) -> pa.Buffer | None:
    """Return the validity of an array from bit 0 on; None without nulls."""
    if not array.null_count:
        return None
    return array.buffers()[0] if array.offset == 0 else pc.is_valid(array).buffers()[1]
