"""The arrays on the path from a top-level column to one of its leaves, and their size for a range of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.spi import NO_BYTES, Bytes


def storage_array(array: pa.Array) -> pa.Array:
    """Strip extension types."""
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def buffer_view(buffer: pa.Buffer | None) -> Bytes:
    """Return the read-only bytes of a buffer; they keep it alive."""
    return NO_BYTES if buffer is None or buffer.size == 0 else np.frombuffer(buffer, np.uint8)


@dataclass(frozen=True)
class PathNode:
    """One array on the path; slots are counted from its first element, also for slices.

    Parameters
    ----------
    array
        Storage array, extension types stripped.
    dimension
        Items of a fixed-size list of structs; 0 for other types.
    is_list
        Whether it is a list, large list or map.
    """

    array: pa.Array
    dimension: int = 0
    is_list: bool = False

    @property
    def num_slots(self) -> int:
        return len(self.array)

    @property
    def first_item(self) -> int:
        """First item of slot 0 of a fixed-size list."""
        return self.array.offset * self.dimension

    @cached_property
    def offsets(self) -> NDArray[np.signedinteger]:
        """``(num_slots + 1,)`` offsets of a list, as stored in the array."""
        return offsets_of(self.array, 8 if pa.types.is_large_list(self.array.type) else 4)

    @cached_property
    def validity(self) -> Bytes | None:
        """Bitmap in which bit ``array.offset`` belongs to slot 0; None if no slot is null."""
        if pa.types.is_null(self.array.type):
            return np.zeros((self.array.offset + len(self.array) + 7) // 8, np.uint8)
        return buffer_view(self.array.buffers()[0]) if self.array.null_count else None

    def items(self, start: int, stop: int) -> tuple[int, int]:
        """Return the range of slots of the next node below slots ``start .. stop``, those under nulls included."""
        if self.is_list:
            return int(self.offsets[start]), int(self.offsets[stop])
        if self.dimension:
            return self.first_item + start * self.dimension, self.first_item + stop * self.dimension
        return start, stop

    def most_levels(self, num_levels: int, num_items: int) -> int:
        """Return the maximum of level entries after this node, for `num_levels` before; empty lists keep one."""
        return num_levels + num_items if self.is_list else num_levels * max(1, self.dimension)


def offsets_of(array: pa.Array, width_bytes: int) -> NDArray[np.signedinteger]:
    """Return the ``len(array) + 1`` offsets of a list, string or binary array.

    Raises
    ------
    InvalidArgumentError
        The array's buffer has fewer offsets.
    """
    dtype = f"i{width_bytes}"
    if len(array) == 0:
        # Arrow allows such arrays without an offsets buffer.
        return np.zeros(1, dtype)
    view = buffer_view(array.buffers()[1])
    start, stop = array.offset * width_bytes, (array.offset + len(array) + 1) * width_bytes
    if stop > len(view):
        raise InvalidArgumentError(f"an array of type {array.type} has fewer offsets than its {len(array)} rows need")
    return view[start:stop].view(dtype)


def path_to_leaf(leaf: LeafNode, array: pa.Array) -> tuple[PathNode, ...]:
    """Walk from a top-level column to the leaf.

    Parameters
    ----------
    leaf
        The leaf; only its path and the number of its nodes are used.
    array
        A chunk of its top-level column.

    Returns
    -------
    tuple of PathNode
        Outer-most first, the leaf last: one per node of `leaf`.

    Raises
    ------
    InvalidArgumentError
        The nesting of the array differs from the leaf's.
    UnsupportedError
        JSON text.
    """
    nodes = []
    rest = leaf.path.partition(".")[2]
    for _ in range(len(leaf.leaf.nodes) - 1):
        array = storage_array(array)
        node, array, rest = _step(leaf, array, rest)
        nodes.append(node)
    if isinstance(array.type, pa.JsonType):
        raise UnsupportedError("JSON text is stored as binary JSON: encode it first", column=leaf.path)
    return (*nodes, PathNode(storage_array(array)))


def _step(leaf: LeafNode, array: pa.Array, rest: str) -> tuple[PathNode, pa.Array, str]:
    """Return the node of `array`, the array below it, and the remaining path."""
    type_ = array.type
    if isinstance(type_, pa.StructType):
        for number, field in enumerate(type_):
            if rest == field.name or rest.startswith(f"{field.name}."):
                return PathNode(array), array.field(number), rest[len(field.name) + 1 :]
    elif isinstance(type_, pa.MapType):
        return PathNode(array, is_list=True), array.values, rest[len("entries.") :]
    elif isinstance(type_, (pa.ListType, pa.LargeListType)):
        return PathNode(array, is_list=True), array.values, rest[len(type_.value_field.name) + 1 :]
    elif isinstance(type_, pa.FixedSizeListType) and type_.list_size:
        dimension = type_.list_size
        return PathNode(array, dimension), array.values, rest[len(type_.value_field.name) + 1 :]
    raise InvalidArgumentError(f"an array of type {type_} has no {rest!r}", column=leaf.path)
