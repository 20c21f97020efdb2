"""Columns of strings that are read as dictionaries: a form of output of leaves that pages and codecs do not see.

    pages of strings ─► codes into one dictionary ─► dictionary<int32, string>

The engine gives codes where a page has some, and encodes other pages. Strings that it does not read are encoded here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, ItemJudge, LeafNode, type_over
from lance_arrow.arrays.view_arrays import view_type
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.late_arrow import pc
from lance_arrow.spi import VariableWidth


def with_codes(node: ColumnNode, paths: Collection[str]) -> ColumnNode:
    """Return the column with the leaves at some dotted paths as dictionaries.

    Leaves that are dictionaries already stay as they are.

    Raises
    ------
    InvalidArgumentError
        A path leads to a leaf that holds neither strings nor binary values, or to a column with several leaves.
    """
    if node.path in paths and not isinstance(node, LeafNode):
        raise InvalidArgumentError(
            f"read_dictionary names {node.path!r}, which is {node.field.type}: name the strings below it",
            column=node.path,
        )
    if isinstance(node, LeafNode):
        return coded(node) if node.path in paths else node
    return over(node, [with_codes(child, paths) for child in node.children])


def over(node: ColumnNode, children: Sequence[ColumnNode]) -> ColumnNode:
    """Return a node with other children of other types."""
    if all(child is own for child, own in zip(children, node.children, strict=True)):
        return node
    field = node.field.with_type(type_over(node.storage, [child.field for child in children]))
    return replace(node, field=field, children=tuple(children))


def coded(leaf: LeafNode) -> LeafNode:
    """Return a leaf of strings as a dictionary; raises as `with_codes`."""
    if leaf.is_coded or isinstance(leaf.field.type, pa.DictionaryType):
        return leaf
    if not can_be_coded(leaf):
        raise InvalidArgumentError(
            f"read_dictionary names {leaf.path!r}, which is {leaf.shown.type}: only strings and binary values can be "
            "read as dictionaries",
            column=leaf.path,
        )
    return replace(leaf, field=leaf.field.with_type(coded_type(leaf.field.type)), is_coded=True)


def plain(leaf: LeafNode) -> LeafNode:
    """Return a leaf with its values as they are stored."""
    if not leaf.is_coded and not leaf.is_viewed:
        return leaf
    return replace(leaf, field=leaf.field.with_type(leaf.stored_type), is_coded=False, is_viewed=False)


def coded_as_stored(leaf: LeafNode, judge: ItemJudge | None = None) -> LeafNode:
    """Return a leaf of strings whose rows come as a dictionary, or as flags, where pages are dictionaries."""
    return replace(leaf, may_be_coded=judge is None, judge=judge)


def formed(node: ColumnNode, like: Mapping[int, LeafNode]) -> ColumnNode:
    """Return a column whose leaves have the forms that others have, by physical column; others are as stored.

    Of leaves that hold no strings, items may be judged.
    """
    if isinstance(node, LeafNode):
        bare, other = plain(node), like.get(node.column)
        if other is None:
            return bare
        if not can_be_coded(bare):
            # Numbers are counted by their items.
            return replace(bare, judge=other.judge) if bare.field.type == other.field.type else bare
        if other.may_be_coded or other.judge is not None:
            judge = other.judge if view_type(bare.field.type) == view_type(other.field.type) else None
            return coded_as_stored(bare, judge)
        if (node.is_coded, node.is_viewed) == (other.is_coded, other.is_viewed):
            return node
        from lance_arrow.arrays.viewed_leaves import viewed  # noqa: PLC0415 - for columns read as views alone

        return coded(bare) if other.is_coded else viewed(bare) if other.is_viewed else bare
    return over(node, [formed(child, like) for child in node.children])


def coded_type(type_: pa.DataType) -> pa.DictionaryType:
    """Return the type of a column of strings that is read as a dictionary."""
    return pa.dictionary(pa.int32(), type_)


def with_coded_fields(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Return a schema with some top-level columns of strings as dictionaries; others stay as they are."""
    fields = [
        field.with_type(coded_type(field.type))
        if field.name in names and not pa.types.is_nested(field.type) and not pa.types.is_dictionary(field.type)
        else field
        for field in schema
    ]
    return pa.schema(fields, schema.metadata)


def can_be_coded(leaf: LeafNode) -> bool:
    """Whether a leaf holds strings or binary values."""
    is_plain = leaf.field.type == leaf.storage and not leaf.is_blob and leaf.refusal is None
    return is_plain and isinstance(leaf.leaf.shape, VariableWidth) and leaf.leaf.items is None


def encoded(array: pa.Array, type_: pa.DictionaryType) -> pa.Array:
    """Encode strings anew; the dictionary holds no null and no item twice."""
    found = pc.dictionary_encode(array if array.type == type_.value_type else array.cast(type_.value_type))
    return found if found.type == type_ else found.cast(type_)


def from_codes(
    type_: pa.DictionaryType, codes: pa.Buffer, validity: pa.Buffer | None, counts: tuple[int, int], items: Any
) -> pa.Array:
    """Make the array of what the engine laid out.

    Parameters
    ----------
    type_
        Its type.
    codes, validity
        Buffers.
    counts
        Rows, and nulls among them.
    items
        The dictionary: number of items, offsets, values.
    """
    num_items, offsets, values = items
    value_type = type_.value_type
    dictionary = pa.Array.from_buffers(value_type, num_items, [None, offsets, values], 0)
    num_rows, null_count = counts
    indices = pa.Array.from_buffers(type_.index_type, num_rows, [validity, codes], null_count)
    return pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)
