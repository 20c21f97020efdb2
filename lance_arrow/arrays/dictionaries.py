"""Dictionary columns: indices and items of each page become one Arrow dictionary array per batch, or plain values.

To get plain values, a reader only needs another schema: pages expand the dictionary of a leaf that does not keep it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import check_text
from lance_arrow.arrays.column_destination import Allocator, LeafBuffers, decode_values
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.unravel import NodeStructure
from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.late_arrow import pc
from lance_arrow.spi import BlockShape, BlockSlice
from lance_arrow.spi.blocks import Levels
from lance_arrow.spi.layouts import DictionaryItems, LoadedPage


def decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with each dictionary type, at any depth, replaced by the type of its items.

    Extension types do not change.
    """
    return pa.schema([decoded_field(field) for field in schema], metadata=schema.metadata)


def decoded_field(field: pa.Field) -> pa.Field:
    """Return the field with each dictionary type replaced, as `decoded_schema` does."""
    type_ = _decoded_type(field.type)
    return field if type_.equals(field.type) else field.with_type(type_)


def _decoded_type(type_: pa.DataType) -> pa.DataType:
    if isinstance(type_, pa.DictionaryType):
        return _decoded_type(type_.value_type)
    if isinstance(type_, pa.StructType):
        return pa.struct([decoded_field(type_.field(n)) for n in range(type_.num_fields)])
    if isinstance(type_, pa.MapType):
        return pa.map_(decoded_field(type_.key_field), decoded_field(type_.item_field), type_.keys_sorted)
    if isinstance(type_, pa.FixedSizeListType):
        return pa.list_(decoded_field(type_.value_field), type_.list_size)
    if isinstance(type_, pa.ListType):
        return pa.list_(decoded_field(type_.value_field))
    return pa.large_list(decoded_field(type_.value_field)) if isinstance(type_, pa.LargeListType) else type_


class _ItemsAsPage:
    """A page's dictionary in the form of a page of values, so that one decoder is enough."""

    dictionary = None

    def __init__(self, items: DictionaryItems) -> None:
        self._items = items
        self.levels = Levels((), items.num_items)

    @property
    def shape(self) -> BlockShape:
        return self._items.shape

    @property
    def num_values(self) -> int:
        return self._items.num_items

    @property
    def num_bytes(self) -> int:
        return self._items.num_bytes

    def decode(self, out: BlockSlice) -> None:
        self._items.decode(out)


def decode_dictionary(
    pages: Sequence[LoadedPage], leaf: LeafNode, own: NodeStructure, allocator: Allocator
) -> pa.Array:
    """Decode pages that keep their dictionary, and unify different dictionaries of pages.

    Parameters
    ----------
    pages
        Opened pages, in row order.
    leaf
        The column: index type and item type come from its Arrow type.
    own
        Slots and validity of the whole selection.
    allocator
        Allocates the memory.

    Raises
    ------
    CorruptPageError
        A valid slot's index has no item, or a text is not UTF-8.
    UnsupportedError
        The items of all pages together are too many for the index type.
    """
    type_ = leaf.storage
    validity = own.validity
    chunks = []
    start = 0
    for page in pages:
        if page.dictionary is None and _has_no_value(page):
            # No item was written: every slot is null, or inside a null.
            chunks.append(pa.nulls(page.num_values, type_))
            start += page.num_values
            continue
        indices = _array(type_.index_type, decode_values([page], leaf.leaf.shape, allocator), validity, start)
        items = pa.array([], type_.value_type)
        if page.dictionary is not None:
            items = _items(page.dictionary, type_.value_type, leaf.leaf.items, allocator)
        chunks.append(_checked(pa.DictionaryArray.from_arrays(indices, items, safe=False), type_))
        start += page.num_values
    return _unified(chunks, type_)


def kept_dictionary(
    leaf: LeafNode,
    indices: pa.Buffer,
    own: NodeStructure,
    dictionaries: Sequence[tuple[int, int, pa.Buffer | None, pa.Buffer]],
) -> pa.Array:
    """Put indices and dictionaries together that the engine laid out, and unify different dictionaries of pages.

    Parameters
    ----------
    leaf
        The column, as for `decode_dictionary`.
    indices, own
        Indices of all slots, and which slots are valid.
    dictionaries
        For neighbouring slots: how many, and number, offsets and bytes of items. Without items no slot is valid.

    Raises
    ------
    UnsupportedError
        As `decode_dictionary`.
    """
    type_, shape = leaf.storage, leaf.leaf.items
    assert shape is not None
    chunks = []
    start = 0
    for num_values, num_items, offsets, data in dictionaries:
        buffers = [own.validity, indices]
        codes = pa.Array.from_buffers(type_.index_type, num_values, buffers, offset=start)
        items = pa.array([], type_.value_type)
        if num_items:
            items = _array(type_.value_type, LeafBuffers(shape, num_items, data, offsets), None, 0)
        array = pa.DictionaryArray.from_arrays(codes, items, safe=False)
        chunks.append(array if array.type == type_ else array.cast(type_))
        start += num_values
    return _unified(chunks, type_)


def _unified(chunks: list[pa.Array], type_: pa.DictionaryType) -> pa.Array:
    if len(chunks) == 1:
        return chunks[0]
    if not chunks:
        return pa.array([], type_)
    try:
        return pa.chunked_array(chunks, type_).unify_dictionaries().combine_chunks()
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"the different dictionaries of pages have more items together than {type_.index_type} indices can count"
        ) from error


def _has_no_value(page: LoadedPage) -> bool:
    """Return whether all slots of a page are null, or inside a null."""
    flags = page.levels.def_ if isinstance(page.levels, Levels) else page.levels.null_flags()
    return flags is not None and bool(flags.all())


def _items(items: DictionaryItems, type_: pa.DataType, shape: BlockShape | None, allocator: Allocator) -> pa.Array:
    values = decode_values([_ItemsAsPage(items)], shape, allocator)
    check_text(type_, values)
    return _array(type_, values, None, 0)


def _array(type_: pa.DataType, values: LeafBuffers, validity: pa.Buffer | None, start: int) -> pa.Array:
    """Build a plain array; its validity starts at bit `start` of that of the whole selection."""
    buffers = [None, values.values] if values.offsets is None else [None, values.offsets, values.values]
    array = pa.Array.from_buffers(type_, values.num_values, buffers)
    if validity is None:
        return array
    bits = pa.Array.from_buffers(pa.bool_(), values.num_values, [None, validity], offset=start)
    return pc.if_else(bits, array, pa.scalar(None, type_))


def _checked(array: pa.DictionaryArray, type_: pa.DictionaryType) -> pa.DictionaryArray:
    valid = array.indices.drop_null()
    if len(valid):
        largest, smallest = pc.max(valid).as_py(), pc.min(valid).as_py()
        if largest >= len(array.dictionary) or smallest < 0:
            wrong = largest if largest >= len(array.dictionary) else smallest
            raise CorruptPageError(f"index {wrong} into a dictionary of {len(array.dictionary)} items", detail=wrong)
    return array if array.type == type_ else array.cast(type_)
