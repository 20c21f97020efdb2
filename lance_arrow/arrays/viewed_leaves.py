"""Columns of strings that are read as views: a form of output of leaves that pages and codecs do not see."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from lance_arrow.arrays.coded_leaves import can_be_coded, over
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.view_arrays import view_type


def with_views(node: ColumnNode) -> ColumnNode:
    """Return a column with its strings and binary values as views, but for those that are dictionaries."""
    if isinstance(node, LeafNode):
        return viewed(node) if can_be_coded(node) and not node.is_coded else node
    return over(node, [with_views(child) for child in node.children])


def viewed(leaf: LeafNode) -> LeafNode:
    """Return a leaf of strings or binary values as views."""
    return replace(leaf, field=leaf.field.with_type(view_type(leaf.field.type)), is_viewed=True)


def unviewed(node: ColumnNode) -> ColumnNode:
    """Return a column with its strings and binary values as they are stored, in place of views."""
    if isinstance(node, LeafNode):
        return replace(node, field=node.field.with_type(node.stored_type), is_viewed=False) if node.is_viewed else node
    return over(node, [unviewed(child) for child in node.children])


def from_views(
    type_: pa.DataType,
    views: pa.Buffer,
    validity: pa.Buffer | None,
    counts: tuple[int, int],
    data: tuple[pa.Buffer, ...],
) -> pa.Array:
    """Make the array of what the engine laid out.

    Parameters
    ----------
    type_
        Its type.
    views, validity, data
        Buffers; `data` are those that views point to.
    counts
        Rows, and nulls among them.
    """
    num_rows, null_count = counts
    return pa.Array.from_buffers(type_, num_rows, [validity, views, *data], null_count)
