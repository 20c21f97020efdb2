"""Build `pyarrow.Array` from values and structure without a copy of the decoded buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.arrays.column_destination import LeafBuffers
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, storage_type
from lance_arrow.arrays.unravel import NodeStructure
from lance_arrow.errors import CorruptPageError, located
from lance_arrow.spi import NO_BYTES, FixedWidth
from lance_arrow.spi.leaf_type import NodeKind


class DecodedLeaf(NamedTuple):
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


# Not frozen: thousands are made of wide files, and making them so takes three times as long.
@dataclass(slots=True, eq=False)
class ArrayBuilder:
    """Assembly of one schema node: types are examined once, because small takes are built many times.

    Parameters
    ----------
    node, storage
        The node, and its type without extension types.
    extended
        The extension type to restore on top of the storage; None if the types are equal.
    column, depth
        Physical column with the node's structure, and the node's distance from the root.
    items_per_slot
        Items of its only child per slot; 0 for lists, which have offsets.
    is_plain
        Whether a leaf is one buffer of fixed-width values with a validity bitmap.
    children
        Builders of its children; none for leaves.
    """

    node: ColumnNode
    storage: pa.DataType
    extended: pa.DataType | None
    column: int
    depth: int
    items_per_slot: int
    is_plain: bool
    children: tuple[ArrayBuilder, ...]

    @classmethod
    def of(cls, node: ColumnNode, depth: int = 0) -> ArrayBuilder:
        """Create the builder of a node and of the nodes below."""
        storage, kind = node.storage, node.kind
        if isinstance(node, LeafNode):
            first = node
        else:
            leaves = list(node.leaves())
            first = next((leaf for leaf in leaves if leaf.tells_ancestors), leaves[0])
        sizes = {NodeKind.LIST: 0, NodeKind.FIXED_SIZE_LIST: getattr(storage, "list_size", 1)}
        is_plain = isinstance(node, LeafNode) and isinstance(node.leaf.shape, FixedWidth) and not node.leaf.items
        extended = None if node.field.type == storage else node.field.type
        children = tuple([cls.of(child, depth + 1) for child in node.children])
        return cls(node, storage, extended, first.column, depth, sizes.get(kind, 1), is_plain, children)

    @classmethod
    def all_of(cls, nodes: Sequence[ColumnNode]) -> tuple[ArrayBuilder, ...]:
        """Create the builders of columns, as `of` does; types of many columns are examined once."""
        made: list[ArrayBuilder] = []
        known: dict[tuple[int, pa.DataType], ArrayBuilder] = {}
        for node in nodes:
            type_ = node.field.type
            # Extension types that are defined in Python need not be hashable.
            if not isinstance(node, LeafNode) or isinstance(type_, pa.BaseExtensionType):
                made.append(cls.of(node))
                continue
            kind = id(node.leaf), type_
            like = known.get(kind)
            if like is None:
                like = known[kind] = cls.of(node)
                made.append(like)
                continue
            made.append(cls(node, like.storage, like.extended, node.column, 0, like.items_per_slot, like.is_plain, ()))
        return tuple(made)

    def build(self, leaves: Mapping[int, DecodedLeaf]) -> pa.Array:
        """Assemble the column from its decoded leaves.

        Raises
        ------
        CorruptPageError
            The rows of sibling leaves differ, or text is not UTF-8.
        """
        decoded = leaves[self.column]
        if isinstance(self.node, LeafNode):
            values, own = decoded.values, decoded.structure[0]
            if self.is_plain and values.num_values == own.num_slots:
                array = pa.Array.from_buffers(
                    self.storage, own.num_slots, [own.validity, values.values], own.null_count
                )
            else:
                with located(column=self.node.path):
                    array = _leaf_array(self.storage, values, own, self.node)
        else:
            array = self._inner(leaves, decoded.structure[-1 - self.depth])
        return array if self.extended is None else _with_extensions(array, self.extended)

    def _inner(self, leaves: Mapping[int, DecodedLeaf], own: NodeStructure) -> pa.Array:
        children = [child.build(leaves) for child in self.children]
        expected = own.num_slots * self.items_per_slot if self.items_per_slot else own.num_items
        for child, array in zip(self.children, children, strict=True):
            if len(array) != expected:
                beside = next(leaf.path for leaf in self.node.leaves() if leaf.column == self.column)
                raise CorruptPageError(
                    f"{len(array)} items, expected {expected} as in column {beside!r} beside it", column=child.node.path
                )
        buffers = [own.validity] if self.items_per_slot else [own.validity, own.offsets]
        return pa.Array.from_buffers(self.storage, own.num_slots, buffers, own.null_count, children=children)


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
        The rows of sibling leaves differ, or text is not UTF-8.
    """
    return ArrayBuilder.of(node).build(leaves)


def _leaf_array(
    type_: pa.DataType, values: LeafBuffers | pa.Array, own: NodeStructure, node: LeafNode | None = None
) -> pa.Array:
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
    if node is not None and node.is_coded:
        from lance_arrow.arrays.coded_leaves import encoded  # noqa: PLC0415 - for columns read as dictionaries alone

        return encoded(_leaf_array(type_.value_type, values, own), type_)
    if node is not None and node.is_viewed:
        from lance_arrow.arrays.view_arrays import as_views  # noqa: PLC0415 - for columns read as views alone

        return as_views(_leaf_array(node.stored_type, values, own))
    if node is not None and node.is_json:
        from lance_arrow.arrays.json_texts import text_array  # noqa: PLC0415 - for JSON alone

        return text_array(values, own)
    if values.offsets is None:
        return pa.Array.from_buffers(type_, own.num_slots, [own.validity, values.values], own.null_count)
    check_text(type_, values)
    return pa.Array.from_buffers(type_, own.num_slots, [own.validity, values.offsets, values.values], own.null_count)


def check_text(type_: pa.DataType, values: LeafBuffers) -> None:
    """Raise `CorruptPageError` for values of a string type that are not UTF-8; other types pass."""
    if not values.is_checked and (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
        offsets = np.frombuffer(values.offsets, np.uint8)
        data = np.frombuffer(values.values, np.uint8) if values.values.size else NO_BYTES
        kernels.check_utf8(offsets, values.shape.offset_bits, data)


def _struct_array(type_: pa.StructType, own: NodeStructure, children: list[pa.Array]) -> pa.Array:
    """Build a struct of storage arrays, each with the extension type of its field."""
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
    value_type = type_.value_type
    item_type = storage_type(value_type)
    item_validity = values.item_validity[layer]
    unknown = 0 if item_validity is None else -1
    if isinstance(item_type, pa.FixedSizeListType):
        items = _list_array(item_type, values, num_items, item_validity, unknown, layer + 1)
    elif pa.types.is_null(item_type):
        items = pa.nulls(num_items)
    else:
        items = pa.Array.from_buffers(item_type, num_items, [item_validity, values.values], unknown)
    plain = type_
    if items.type != value_type:
        plain = pa.list_(type_.value_field.with_type(items.type), type_.list_size)
    return pa.Array.from_buffers(plain, num_lists, [validity], null_count, children=[items])


def _with_extensions(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Restore extension types on top of storage arrays."""
    if isinstance(type_, pa.BaseExtensionType):
        return type_.wrap_array(array)
    return array.cast(type_) if array.type != type_ else array


def typed_schema(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.Schema:
    """Return a schema with the types of arrays that are dictionaries, or flags, where it says strings."""
    for place, array in enumerate(arrays):
        if array.type != schema.field(place).type and isinstance(array, pa.DictionaryArray | pa.BooleanArray):
            schema = schema.set(place, schema.field(place).with_type(array.type))
    return schema


def batch_of(nodes: Sequence[ColumnNode], decoded: dict[int, DecodedLeaf], num_rows: int) -> pa.RecordBatch:
    """Assemble a batch from the decoded leaves of its columns."""
    arrays = [build_array(node, decoded) for node in nodes]
    for node, array in zip(nodes, arrays, strict=True):
        if len(array) != num_rows:
            raise CorruptPageError(f"{len(array)} rows were decoded, {num_rows} selected", column=node.path)
    if not arrays:
        return batch_without_columns(num_rows)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([node.field for node in nodes]))


def batch_without_columns(num_rows: int) -> pa.RecordBatch:
    """Return a batch without columns."""
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), num_rows, [None], 0, children=[]))


def true_flags(mask: pa.BooleanArray) -> NDArray[np.bool_]:
    """Return ``(len(mask),)`` flags of true values; null counts as false. Arrow's own conversion is slower."""
    known = mask.fill_null(False) if mask.null_count else mask
    start = known.offset
    bits = np.frombuffer(known.buffers()[1], np.uint8)[start // 8 :] if len(known) else np.empty(0, np.uint8)
    flags = np.unpackbits(bits, count=start % 8 + len(known), bitorder="little")
    return flags[start % 8 :].view(np.bool_)


class _Described:
    """An array that is exported with another type of the same layout."""

    def __init__(self, array: pa.Array, type_: pa.DataType) -> None:
        self._array = array
        self._type = type_

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._type.__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def retyped(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return an array with another type: only names of items, nullability and metadata differ; any for nulls."""
    if array.type.equals(type_, check_metadata=True):
        return array
    # A column of nulls has no type of its own.
    return pa.nulls(len(array), type_) if pa.types.is_null(array.type) else pa.array(_Described(array, type_))
