"""Leaves that have zone maps, and the columns of zone maps; shared by builders and readers."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

from lance_arrow.arrays.column_tree import LeafNode, storage_type
from lance_arrow.spi.leaf_type import NodeKind

DEFAULT_ROWS_PER_ZONE = 8192

MAX_FIXED_BYTES = 64
"""Widest fixed-size binary values with bounds: such bounds cannot be cut."""

Form: TypeAlias = tuple[str, int]
"""Kind and width of values, as in ``engine/prune/bound_values.hpp``."""

_SMALL_DECIMALS = (pa.decimal32(1), pa.decimal64(1))
_COUNTED = (pa.date32(), pa.time32("s"), pa.date64(), pa.time64("us"), pa.timestamp("us"), pa.duration("us"))
_FORMS: dict[int, Form] = {
    pa.bool_().id: ("i", 0),
    **{type_.id: ("i", type_.byte_width) for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{type_.id: ("i", type_.byte_width) for type_ in (*_COUNTED, *_SMALL_DECIMALS)},
    **{type_.id: ("u", type_.byte_width) for type_ in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{type_.id: ("f", type_.byte_width) for type_ in (pa.float16(), pa.float32(), pa.float64())},
    **{type_.id: ("d", type_.byte_width) for type_ in (pa.decimal128(1), pa.decimal256(1))},
    **{type_.id: ("b", 4) for type_ in (pa.string(), pa.binary())},
    **{type_.id: ("b", 8) for type_ in (pa.large_string(), pa.large_binary())},
}
_TEXTS = (pa.string().id, pa.large_string().id)
_BINARY = (pa.binary().id, pa.large_binary().id)
_LARGE = (pa.large_string().id, pa.large_binary().id)
_FIXED = pa.binary(1).id
_UNBOUNDED = {type_.id for type_ in _SMALL_DECIMALS}

COUNTS = ("null_count", "nan_count", "row_count", "value_count")


def bounds_type(leaf: LeafNode) -> pa.DataType | None:
    """Return the Arrow type of a leaf's bounds; None for leaves without a zone map.

    Numbers, booleans, temporal values, decimals, strings and binary have the order of Arrow's comparisons. For
    dictionaries the result is the type of their values, for extension types that of their storage. Structs packed into
    one column, fixed-size lists, nulls, blobs, JSON read as text, and wide fixed-size binary have no bounds.
    """
    if leaf.is_blob or leaf.is_json or leaf.refusal is not None or pa.types.is_null(leaf.storage):
        return None
    storage = leaf.stored_type if leaf.is_viewed else leaf.storage
    if isinstance(storage, pa.DictionaryType):
        storage = storage_type(storage.value_type)
    return storage if has_order(storage) else None


def form_of(type_: pa.DataType) -> Form | None:
    """Return how values of a type are compared; None for types without comparison."""
    if type_.id == _FIXED:
        return ("x", type_.byte_width) if 0 < type_.byte_width <= MAX_FIXED_BYTES else None
    return _FORMS.get(type_.id)


def has_order(type_: pa.DataType) -> bool:
    """Return whether values of a type have bounds."""
    return form_of(type_) is not None and type_.id not in _UNBOUNDED


def is_variable(type_: pa.DataType) -> bool:
    """Return whether values are strings or binary of any length."""
    return type_.id in _TEXTS or type_.id in _BINARY


def is_text(type_: pa.DataType) -> bool:
    """Return whether values are UTF-8 text."""
    return type_.id in _TEXTS


def is_large(type_: pa.DataType) -> bool:
    """Return whether offsets of values have 64 bits."""
    return type_.id in _LARGE


def is_repeated(leaf: LeafNode) -> bool:
    """Return whether a row may hold several values of the leaf: it is inside a list, map or fixed-size list."""
    return any(kind in (NodeKind.LIST, NodeKind.FIXED_SIZE_LIST) for kind in leaf.leaf.nodes)


def zones_schema(bounds: pa.DataType) -> pa.Schema:
    """Return the schema of a zone map: one row per zone."""
    return pa.schema(
        [
            pa.field("min", bounds),
            pa.field("max", bounds),
            pa.field("min_exact", pa.bool_(), nullable=False),
            pa.field("max_exact", pa.bool_(), nullable=False),
            *(pa.field(name, pa.int64(), nullable=False) for name in COUNTS),
        ]
    )
