"""`ColumnNode`: the Arrow schema as a tree whose leaves have their physical column; `pruned` selects parts of it.

The container numbers the physical columns in pre-order (`container.schema.column_mapping`). Here its leaves are
attached to the Arrow types, and each leaf gets the `LeafType` for the binder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lance_arrow.arrays.blob_fields import PLACE_TYPE, bytes_field, stored_field
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.extension_types import is_binary_json, text_field
from lance_arrow.container.schema import Ancestor, AncestorKind, LeafColumn
from lance_arrow.errors import InternalError, UnsupportedError
from lance_arrow.spi import BlockShape, FixedSizeList, FixedWidth, LeafType, PackedStruct, VariableWidth
from lance_arrow.spi.leaf_type import NodeKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_VIEW_IDS = frozenset((pa.string_view().id, pa.binary_view().id))


# Not frozen: thousands are made of wide files, and making them so takes three times as long.
@dataclass(slots=True, eq=False)
class ColumnNode:
    """One node of the schema tree.

    Parameters
    ----------
    field
        Arrow field, with extension types.
    path
        Dotted path from the root.
    children
        Struct fields, or the one item of a list, map (its entries) or fixed-size list of structs; none for leaves.
    """

    field: pa.Field
    path: str
    children: tuple[ColumnNode, ...] = ()

    @property
    def storage(self) -> pa.DataType:
        """The type without its extension."""
        return storage_type(self.field.type)

    @property
    def kind(self) -> NodeKind:
        return _kind(self.storage)

    @property
    def shown(self) -> pa.Field:
        """The field in results; differs from `field` if blobs are returned as bytes."""
        shown = [child.shown for child in self.children]
        if all(mine is child.field for mine, child in zip(shown, self.children, strict=True)):
            return self.field
        return self.field.with_type(type_over(self.storage, shown))

    def child_named(self, name: str) -> int:
        """Return the number of the child with a name; -1 if there is none."""
        storage = self.storage
        if isinstance(storage, pa.StructType):
            # Arrow has a table of names: structs may have thousands of fields.
            number: int = storage.get_field_index(name)
            return number
        return 0 if self.children and self.children[0].field.name == name else -1

    def leaves(self) -> Iterator[LeafNode]:
        """Yield the leaves below (or this leaf), in physical order."""
        for child in self.children:
            yield from child.leaves()


@dataclass(frozen=True, slots=True)
class ListColumn:
    """The physical column of a list in a 2.0 file: its number, and the dotted path of the list."""

    column: int
    path: str


@dataclass(slots=True, eq=False, kw_only=True)
class LeafNode(ColumnNode):
    """A leaf: a node with a physical column.

    Parameters
    ----------
    column
        Number of the physical column.
    leaf
        Its type, for the binder.
    offset_bits
        Inner-most node first: width of a list's offsets, 0 for other nodes.
    dimensions
        Inner-most node first: items of a fixed-size list of structs, 0 for other nodes.
    nullable
        Inner-most node first: whether the schema allows nulls.
    lengths_per_row
        How many rows its pages count for one row of the file.
    tells_ancestors
        Whether its pages always hold the structure of the nodes above: before 2.3, structs without fields do not.
    refusal
        Why this column cannot be read, or None; raised only when the column is requested.
    list_columns
        Inner-most node first, as `offset_bits`: the columns of the lists above in a 2.0 file, whose leaves do not
        repeat their structure. None for other nodes. Empty in later files.
    is_blob
        Whether its values are descriptors of blobs.
    bytes_field
        For blobs that are returned as bytes: their field in results.
    is_json
        Whether its pages hold binary JSON, and its field is text.
    is_coded
        Whether its pages hold strings or bytes, and its field is a dictionary of these.
    is_viewed
        Whether its pages hold strings or bytes, and its field is views of these.
    may_be_coded
        Whether rows of pages that are dictionaries come as a dictionary array, for filters. The field has strings.
    judge
        A condition on the values, as for `engine.ReadForms`: rows of such pages come as flags.
    """

    column: int
    leaf: LeafType
    offset_bits: tuple[int, ...]
    dimensions: tuple[int, ...]
    nullable: tuple[bool, ...]
    lengths_per_row: int
    tells_ancestors: bool = True
    refusal: str | None = None
    list_columns: tuple[ListColumn | None, ...] = ()
    is_blob: bool = False
    bytes_field: pa.Field | None = None
    is_json: bool = False
    is_coded: bool = False
    is_viewed: bool = False
    may_be_coded: bool = False
    judge: ItemJudge | None = None

    @property
    def shown(self) -> pa.Field:
        return self.field if self.bytes_field is None else self.bytes_field

    @property
    def has_form(self) -> bool:
        """Whether values may come in another form than they are stored in."""
        return self.is_coded or self.is_viewed or self.may_be_coded or self.judge is not None

    @property
    def stored_type(self) -> pa.DataType:
        """The type of the values as pages hold them, in place of that of another form."""
        if self.is_coded:
            return self.field.type.value_type
        if not self.is_viewed:
            return self.field.type
        is_large = isinstance(self.leaf.shape, VariableWidth) and self.leaf.shape.offset_bits == 64
        if pa.types.is_string_view(self.field.type):
            return pa.large_string() if is_large else pa.string()
        return pa.large_binary() if is_large else pa.binary()

    @property
    def page_leaf(self) -> LeafType:
        """Type of the leaf for the binder of its pages: pages of 2.0 have no nodes above their column."""
        return replace(self.leaf, nodes=(NodeKind.ITEM,)) if self.list_columns else self.leaf

    def leaves(self) -> Iterator[LeafNode]:
        yield self


class ItemJudge(Protocol):
    """Judges items of dictionaries, and numbers; threads share it."""

    type: pa.DataType
    """Type of the values that are judged."""
    null: bool
    """Whether null satisfies the condition."""
    numbers: tuple[int, NDArray[np.uint64], NDArray[np.uint64], bool] | None
    """The ranges of numbers that satisfy it, as for `engine.ReadForms`; None where items alone are judged."""
    texts: list[tuple[bytes, bytes | None]] | tuple[bytes, bool, bool] | None
    """The same of strings, or what is looked for in them."""
    keeps_codes: bool
    """Whether pages of few items give codes rather than flags."""

    def __call__(self, offsets: bytes, offset_bits: int, values: bytes) -> bytes | None:
        """Return a byte for each item, 1 where it satisfies the condition; None where that cannot be told of items."""
        ...


def storage_type(type_: pa.DataType) -> pa.DataType:
    """Strip extension types."""
    while isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    return type_


def is_view(type_: pa.DataType) -> bool:
    """Whether values are views."""
    return type_.id in _VIEW_IDS


def holds_views(type_: pa.DataType) -> bool:
    """Whether values, at any depth, are views; what is below extension types is not looked at."""
    # Wide schemas are asked type by type.
    if type_.id in _VIEW_IDS:
        return True
    return type_.num_fields > 0 and any([holds_views(type_.field(number).type) for number in range(type_.num_fields)])


def type_over(storage: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """Return the same struct, list or map with other fields; a map with only keys or values becomes a list of them."""
    if isinstance(storage, pa.StructType):
        return pa.struct(fields)
    (item,) = fields
    if isinstance(storage, pa.MapType) and item.type.num_fields == 2:
        return pa.map_(item.type.field(0), item.type.field(1), keys_sorted=storage.keys_sorted)
    if isinstance(storage, pa.FixedSizeListType):
        return pa.list_(item, storage.list_size)
    return pa.large_list(item) if isinstance(storage, pa.LargeListType) else pa.list_(item)


def column_tree(
    fields: Iterable[pa.Field], columns: Sequence[LeafColumn], options: ReadOptions | None = None
) -> tuple[ColumnNode, ...]:
    """Attach physical columns to an Arrow schema.

    Parameters
    ----------
    fields
        The file's schema, or its fields.
    columns
        Leaf columns in physical order, as the container numbers them.
    options
        Options that decide the types in results; default options when None.
    """
    remaining = deque(columns)
    roots: list[ColumnNode] = []
    # Wide schemas have thousands of columns of few types: what follows from the type is found once.
    known: dict[tuple[pa.DataType, bool], LeafNode] = {}
    as_dictionaries = frozenset(() if options is None else options.read_dictionary)
    for field in fields:
        column = remaining[0] if remaining else None
        kind = None
        type_ = field.type
        is_plain = field.metadata is None and not isinstance(type_, pa.BaseExtensionType)
        is_plain = is_plain and field.name not in as_dictionaries
        if is_plain and column is not None and not column.ancestors and column.path == field.name:
            kind = type_, field.nullable
            like = known.get(kind)
            if like is not None:
                remaining.popleft()
                roots.append(
                    LeafNode(
                        field.with_type(like.field.type) if like.is_viewed else field,
                        column.path,
                        column=column.column,
                        leaf=like.leaf,
                        offset_bits=like.offset_bits,
                        dimensions=like.dimensions,
                        nullable=like.nullable,
                        lengths_per_row=like.lengths_per_row,
                        refusal=like.refusal,
                        is_viewed=like.is_viewed,
                    )
                )
                continue
        root = _root(field, remaining, options)
        if kind is not None and isinstance(root, LeafNode) and _is_like_others(root, field):
            known[kind] = root
        roots.append(root)
    _refuse_rest(remaining)
    return tuple(roots)


def _is_like_others(leaf: LeafNode, field: pa.Field) -> bool:
    """Return whether nothing but its type tells what a leaf is."""
    is_special = leaf.is_blob or leaf.is_json or leaf.list_columns or not leaf.tells_ancestors
    return (leaf.field is field or leaf.is_viewed) and not is_special


def leaves_of(nodes: Iterable[ColumnNode]) -> list[LeafNode]:
    """Return the leaves below some nodes, in physical order."""
    found: list[LeafNode] = []
    for node in nodes:
        if isinstance(node, LeafNode):
            found.append(node)
        else:
            found.extend(node.leaves())
    return found


def column_of(field: pa.Field, columns: Sequence[LeafColumn], options: ReadOptions) -> ColumnNode:
    """Attach physical columns to one top-level field; parameters are those of `column_tree`."""
    remaining = deque(columns)
    root = _root(field, remaining, options)
    _refuse_rest(remaining)
    return root


def _root(field: pa.Field, columns: deque[LeafColumn], options: ReadOptions | None) -> ColumnNode:
    root = _node(field, field.name, (), columns)
    if options is None:
        return root
    if options.blobs == "descriptors":
        root = _with_descriptors(root)
    if options.read_dictionary:
        from lance_arrow.arrays.coded_leaves import with_codes  # noqa: PLC0415 - for columns read as dictionaries alone

        root = with_codes(root, options.read_dictionary)
    if options.strings == "view":
        from lance_arrow.arrays.viewed_leaves import with_views  # noqa: PLC0415 - for columns read as views alone

        root = with_views(root)
    return _with_json_text(root) if options.json == "text" else root


def _refuse_rest(columns: deque[LeafColumn]) -> None:
    if columns:
        raise InternalError(f"physical column {columns[0].path!r} has no place in the schema")


def _node(field: pa.Field, path: str, above: tuple[pa.DataType, ...], columns: deque[LeafColumn]) -> ColumnNode:
    storage = storage_type(field.type)
    if not columns:
        raise InternalError(f"the schema node {path!r} has no physical column")
    if columns[0].path == path:
        return _leaf(field, storage, columns.popleft(), above)
    children = tuple(
        _node(child, f"{path}.{child.name}", (storage, *above), columns) for child in inner_fields(storage)
    )
    if any(child.shown is not child.field for child in children):
        field = field.with_type(type_over(storage, [child.field for child in children]))
    return ColumnNode(field, path, children)


def _with_descriptors(node: ColumnNode) -> ColumnNode:
    """Return blobs as their descriptors."""
    if isinstance(node, LeafNode):
        return node if node.bytes_field is None else replace(node, bytes_field=None)
    return replace(node, children=tuple(map(_with_descriptors, node.children)))


def _with_json_text(node: ColumnNode) -> ColumnNode:
    """Return columns of binary JSON as text."""
    if isinstance(node, LeafNode):
        return replace(node, field=text_field(node.field), is_json=True) if is_binary_json(node.field) else node
    children = tuple(map(_with_json_text, node.children))
    if all(child is own for child, own in zip(children, node.children, strict=True)):
        return node
    type_ = type_over(node.storage, [child.field for child in children])
    return replace(node, field=node.field.with_type(type_), children=children)


def _leaf(field: pa.Field, storage: pa.DataType, column: LeafColumn, above: tuple[pa.DataType, ...]) -> LeafNode:
    nodes = (NodeKind.ITEM, *map(_kind, above))
    shape = items = refusal = None
    shown = None
    if column.is_blob:
        stored = stored_field(field.with_type(storage))
        if stored is None:
            refusal = f"blob columns of type {storage}"
        elif any(isinstance(one, (pa.MapType, pa.FixedSizeListType)) for one in above):
            refusal = "blobs within maps or fixed-size lists"
        elif stored.type == PLACE_TYPE and NodeKind.LIST in nodes:
            # Their writer does not store the list to which a value belongs.
            refusal = "blobs of the first kind within lists"
        else:
            shown, field = bytes_field(field), stored
            shape = _shape(stored.type)
    elif isinstance(storage, pa.DictionaryType):
        shape, items = _shape(storage.index_type), _shape(storage.value_type)
        if items is None:
            refusal = f"dictionaries of {storage.value_type}"
    elif not pa.types.is_null(storage) and (column.is_packed or not isinstance(storage, pa.StructType)):
        shape = _shape(storage)
        if shape is None:
            refusal = f"columns of type {storage}"
    offset_bits, dimensions = (0, *map(_offset_bits, above)), (0, *map(_dimension, above))
    is_fieldless = isinstance(storage, pa.StructType) and storage.num_fields == 0
    has_columns_above = any(ancestor.header_column is not None for ancestor in column.ancestors)
    return LeafNode(
        field,
        column.path,
        column=column.column,
        leaf=_leaf_type(shape, nodes, items, _is_text(storage)),
        offset_bits=offset_bits,
        dimensions=dimensions,
        nullable=(field.nullable, *(ancestor.nullable for ancestor in column.ancestors)),
        lengths_per_row=column.lengths_per_row,
        tells_ancestors=not is_fieldless or not above or has_columns_above,
        refusal=refusal,
        list_columns=(None, *map(_list_column, column.ancestors)) if has_columns_above else (),
        is_blob=shown is not None,
        bytes_field=shown,
    )


@lru_cache(maxsize=1024)
def _leaf_type(
    shape: BlockShape | None, nodes: tuple[NodeKind, ...], items: BlockShape | None, is_text: bool
) -> LeafType:
    """Return one object for columns of equal types, so that pages of many columns are bound together."""
    return LeafType(shape, nodes, items, is_text)


def _list_column(ancestor: Ancestor) -> ListColumn | None:
    if ancestor.header_column is None or ancestor.kind not in (AncestorKind.LIST, AncestorKind.LARGE_LIST):
        return None
    return ListColumn(ancestor.header_column, ancestor.path)


def inner_fields(storage: pa.DataType) -> tuple[pa.Field, ...]:
    """Return fields below a type that have columns of their own; none if the type is one column."""
    if isinstance(storage, pa.StructType):
        return tuple(storage.field(i) for i in range(storage.num_fields))
    if isinstance(storage, pa.MapType):
        return (pa.field("entries", pa.struct([storage.key_field, storage.item_field]), nullable=False),)
    if isinstance(storage, (pa.ListType, pa.LargeListType)):
        return (storage.value_field,)
    if isinstance(storage, pa.FixedSizeListType) and isinstance(storage_type(storage.value_type), pa.StructType):
        return (storage.value_field,)
    return ()


def _kind(storage: pa.DataType) -> NodeKind:
    if isinstance(storage, (pa.ListType, pa.LargeListType, pa.MapType)):
        return NodeKind.LIST
    if isinstance(storage, pa.FixedSizeListType) and isinstance(storage_type(storage.value_type), pa.StructType):
        return NodeKind.FIXED_SIZE_LIST
    return NodeKind.ITEM


def _offset_bits(storage: pa.DataType) -> int:
    if isinstance(storage, pa.LargeListType):
        return 64
    return 32 if isinstance(storage, (pa.ListType, pa.MapType)) else 0


def _dimension(storage: pa.DataType) -> int:
    return storage.list_size if isinstance(storage, pa.FixedSizeListType) else 0


def _is_text(storage: pa.DataType) -> bool:
    storage = storage_type(storage)
    if isinstance(storage, pa.DictionaryType):
        return _is_text(storage.value_type)
    if isinstance(storage, pa.StructType):
        return any(_is_text(field.type) for field in storage)
    return bool(pa.types.is_string(storage) or pa.types.is_large_string(storage))


def _shape(storage: pa.DataType) -> BlockShape | None:
    storage = storage_type(storage)
    types = pa.types
    if types.is_string(storage) or types.is_binary(storage):
        return VariableWidth(32)
    if types.is_large_string(storage) or types.is_large_binary(storage):
        return VariableWidth(64)
    if isinstance(storage, pa.StructType):
        # Only a packed struct is a leaf.
        fields = [_shape(field.type) for field in storage]
        plain = tuple(field for field in fields if isinstance(field, (FixedWidth, VariableWidth, FixedSizeList)))
        return PackedStruct(plain) if len(plain) == len(fields) else None
    if isinstance(storage, pa.FixedSizeListType):
        # Lists of nulls are stored only as bitmaps; their values are not read, so any width is valid.
        items = FixedWidth(1) if pa.types.is_null(storage.value_type) else _shape(storage.value_type)
        if not isinstance(items, (FixedWidth, FixedSizeList)) or storage.list_size == 0:
            return None
        return FixedSizeList(items, storage.list_size)
    if types.is_fixed_size_binary(storage):
        # Values of no bytes have no place in a page: 0 stands for any width elsewhere.
        return FixedWidth(8 * storage.byte_width) if storage.byte_width > 0 else None
    if types.is_primitive(storage) or types.is_decimal(storage):
        return FixedWidth(storage.bit_width)
    return None


def refuse_unreadable(leaf: LeafNode) -> None:
    """Raise `UnsupportedError` for a leaf that cannot be read yet, naming it."""
    if leaf.refusal is not None:
        raise UnsupportedError(f"{leaf.refusal} cannot be read yet", column=leaf.path)
