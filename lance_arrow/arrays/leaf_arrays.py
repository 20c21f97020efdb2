"""`leaf_arrays`: a nested column as one narrow column for each of its leaves; they share its buffers.

Arrow's operations on a struct array take time for each of its fields. A writer handles a column once for each leaf, so
it needs arrays that hold the path to one leaf alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import true_flags
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, type_over
from lance_arrow.arrays.leaf_path import storage_array
from lance_arrow.late_arrow import pc


def leaf_arrays(root: ColumnNode, array: pa.Array) -> list[pa.Array]:
    """Return the arrays of the leaves of a column, in their order.

    Parameters
    ----------
    root
        The column.
    array
        A chunk of it, of its nesting; may be a slice.

    Returns
    -------
    list
        For each leaf a column of the same rows, whose structs have one field. An entry of a map has its key or its
        value alone; it is an item of a list then.
    """
    return list(_narrow(root, array))


def arrays_by_leaf(roots: Iterable[ColumnNode], batch: pa.RecordBatch) -> dict[int, pa.Array]:
    """Return `leaf_arrays` of some columns of a batch, found by name, by physical column."""
    return {
        leaf.column: array
        for root in roots
        for leaf, array in zip(root.leaves(), leaf_arrays(root, batch.column(root.field.name)), strict=True)
    }


def _narrow(node: ColumnNode, array: pa.Array) -> Iterator[pa.Array]:
    if isinstance(node, LeafNode) or _is_narrow(node):
        yield array
        return
    array = storage_array(array)
    type_, num_rows, null_count = array.type, len(array), array.null_count
    if isinstance(type_, pa.StructType):
        validity = own_validity(array)
        for number, child in enumerate(node.children):
            field = type_.field(number)
            # `field` regards the offset of the array, so the struct around it begins at 0.
            for below in _narrow(child, array.field(number)):
                narrow = pa.struct([field.with_type(below.type)])
                yield pa.Array.from_buffers(narrow, num_rows, [validity], null_count, children=[below])
        return
    (item,) = node.children
    buffers = array.buffers()[: 1 if isinstance(type_, pa.FixedSizeListType) else 2]
    field = item.field if isinstance(type_, pa.MapType) else type_.value_field
    for below in _narrow(item, array.values):
        narrow = type_over(type_, [field.with_type(below.type)])
        yield pa.Array.from_buffers(narrow, num_rows, buffers, null_count, array.offset, children=[below])


def _is_narrow(node: ColumnNode) -> bool:
    """Return whether a node has one leaf."""
    while len(node.children) == 1:
        (node,) = node.children
    return isinstance(node, LeafNode)


def own_validity(array: pa.Array) -> pa.Buffer | None:
    """Return the validity of an array from bit 0 on; None without nulls. `buffers` would list those of all fields."""
    if not array.null_count:
        return None
    return pa.py_buffer(np.packbits(true_flags(pc.is_valid(array)), bitorder="little"))


class StructFields:
    """Fields of a struct array, null where the struct is.

    Parameters
    ----------
    array
        The struct array.
    """

    def __init__(self, array: pa.StructArray) -> None:
        self._array = array
        self._validity = own_validity(array)

    def named(self, name: str) -> pa.Array:
        """Return the field of a name."""
        array = self._array
        number = array.type.get_field_index(name)
        child = array.field(number)
        if self._validity is None:
            return child
        one = pa.struct([array.type.field(number)])
        alone = pa.Array.from_buffers(one, len(array), [self._validity], array.null_count, children=[child])
        return pc.struct_field(alone, [0])
