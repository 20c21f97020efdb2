"""Values and structure to `pyarrow.Array`, without a copy: buffers are handed over as they were decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_arrow import kernels
from lance_arrow.assembly.column_destination import LeafBuffers
from lance_arrow.assembly.column_tree import ColumnNode, LeafNode, storage_type
from lance_arrow.assembly.unravel import NodeStructure
from lance_arrow.errors import CorruptPageError, located
from lance_arrow.spi import NO_BYTES, NodeKind


@dataclass(frozen=True, slots=True, eq=False)
class DecodedLeaf:
    """A leaf column's selected rows: its values, and the structure of every node on its path.

    Parameters
    ----------
    values
        Decoded values; for dictionary leaves an Arrow array instead.
    structure
        Inner-most first: the leaf itself, then its ancestors.
    """

    values: LeafBuffers | pa.Array
    structure: tuple[NodeStructure, ...]


def build_array(node: ColumnNode, leaves: Mapping[int, DecodedLeaf]) -> pa.Array:
    """Assemble one column.

    Parameters
    ----------
    node
        The column; its leaves are the physical columns to take.
    leaves
        Decoded leaves by physical column.

    Raises
    ------
    CorruptPageError
        Sibling leaves disagree about rows, or text is not UTF-8.
    """
    return _build(node, leaves, 0)


def _build(node: ColumnNode, leaves: Mapping[int, DecodedLeaf], depth: int) -> pa.Array:
    storage = node.storage
    if isinstance(node, LeafNode):
        decoded = leaves[node.column]
        with located(column=node.path):
            array = _leaf_array(storage, decoded.values, decoded.structure[0])
    else:
        array = _inner_array(node, storage, leaves, depth)
    return array if node.field.type == storage else _with_extensions(array, node.field.type)


def _inner_array(node: ColumnNode, storage: pa.DataType, leaves: Mapping[int, DecodedLeaf], depth: int) -> pa.Array:
    first = next((leaf for leaf in node.leaves() if leaf.tells_ancestors), next(node.leaves()))
    own = leaves[first.column].structure[-1 - depth]
    children = [_build(child, leaves, depth + 1) for child in node.children]
    if node.kind is NodeKind.LIST:
        expected = own.num_items
        buffers = [own.validity, own.offsets]
    elif node.kind is NodeKind.FIXED_SIZE_LIST:
        expected = own.num_slots * storage.list_size
        buffers = [own.validity]
    else:
        expected = own.num_slots
        buffers = [own.validity]
    for child, array in zip(node.children, children, strict=True):
        if len(array) != expected:
            raise CorruptPageError(
                f"{len(array)} items, expected {expected} as in column {first.path!r} beside it", column=child.path
            )
    return pa.Array.from_buffers(storage, own.num_slots, buffers, own.null_count, children=children)


def _leaf_array(type_: pa.DataType, values: LeafBuffers | pa.Array, own: NodeStructure) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_null(type_):
        return pa.nulls(own.num_slots)
    if isinstance(type_, pa.StructType):
        children = [
            _leaf_array(storage_type(field.type), packed, NodeStructure(own.num_slots))
            for field, packed in zip(type_, values.fields, strict=True)
        ]
        return _struct_array(type_, own, children)
    if values.num_values != own.num_slots:
        raise CorruptPageError(f"{values.num_values} values for {own.num_slots} slots")
    if isinstance(type_, pa.FixedSizeListType):
        return _list_array(type_, values, own.num_slots, own.validity, own.null_count, 0)
    if values.offsets is None:
        return pa.Array.from_buffers(type_, own.num_slots, [own.validity, values.values], own.null_count)
    check_text(type_, values)
    return pa.Array.from_buffers(type_, own.num_slots, [own.validity, values.offsets, values.values], own.null_count)


def check_text(type_: pa.DataType, values: LeafBuffers) -> None:
    """Raise `CorruptPageError` for values of a string type that are not UTF-8; other types pass."""
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        offsets = np.frombuffer(values.offsets, np.uint8)
        data = np.frombuffer(values.values, np.uint8) if values.values.size else NO_BYTES
        kernels.check_utf8(offsets, values.shape.offset_bits, data)


def _struct_array(type_: pa.StructType, own: NodeStructure, children: list[pa.Array]) -> pa.Array:
    """A struct of storage arrays, each put under the extension type its field may have."""
    typed = [
        child if child.type == field.type else _with_extensions(child, field.type)
        for field, child in zip(type_, children, strict=True)
    ]
    return pa.Array.from_buffers(type_, own.num_slots, [own.validity], own.null_count, children=typed)


def _list_array(
    type_: pa.FixedSizeListType,
    values: LeafBuffers,
    num_lists: int,
    validity: pa.Buffer | None,
    null_count: int,
    layer: int,
) -> pa.Array:
    """Nest the innermost items into lists, layer by layer from the outside."""
    num_items = num_lists * type_.list_size
    item_type = storage_type(type_.value_type)
    item_validity = values.item_validity[layer]
    unknown = 0 if item_validity is None else -1
    if isinstance(item_type, pa.FixedSizeListType):
        items = _list_array(item_type, values, num_items, item_validity, unknown, layer + 1)
    elif pa.types.is_null(item_type):
        items = pa.nulls(num_items)
    else:
        items = pa.Array.from_buffers(item_type, num_items, [item_validity, values.values], unknown)
    plain = pa.list_(type_.value_field.with_type(items.type), type_.list_size)
    return pa.Array.from_buffers(plain, num_lists, [validity], null_count, children=[items])


def _with_extensions(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Put extension types back on top of storage arrays."""
    if isinstance(type_, pa.BaseExtensionType):
        return type_.wrap_array(array)
    return array.cast(type_) if array.type != type_ else array
