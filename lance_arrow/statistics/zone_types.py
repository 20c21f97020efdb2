"""Which leaves have zone maps, and the columns of these: shared by who builds maps and who reads them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode, storage_type
from lance_arrow.spi import NodeKind

DEFAULT_ROWS_PER_ZONE = 8192

MAX_FIXED_BYTES = 64
"""Widest fixed-size binary values that are bounded: their bounds cannot be cut."""

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
_PLAIN = frozenset(type_.id for type_ in (*_INTEGERS, pa.float32(), pa.float64()))
_COUNTED = {
    **dict.fromkeys((type_.id for type_ in (pa.date32(), pa.time32("s"))), pa.int32()),
    **dict.fromkeys(
        (type_.id for type_ in (pa.date64(), pa.time64("us"), pa.timestamp("us"), pa.duration("us"))), pa.int64()
    ),
}
"""Types that count units of time, and the integers they are."""

COUNTS = ("null_count", "nan_count", "row_count", "value_count")


def bounds_type(leaf: LeafNode) -> pa.DataType | None:
    """Return the Arrow type of a leaf's bounds; None for leaves without a zone map.

    Numbers, booleans, temporal values, decimals, strings and binary have the order that Arrow's comparisons use. For
    dictionaries it is the type of their values, for extension types that of their storage. Structs packed into one
    column, fixed-size lists, nulls, blobs and wide fixed-size binary have none.
    """
    if leaf.is_blob or leaf.refusal is not None or pa.types.is_null(leaf.storage):
        return None
    storage = leaf.storage
    if isinstance(storage, pa.DictionaryType):
        storage = storage_type(storage.value_type)
    return storage if has_order(storage) else None


def has_order(type_: pa.DataType) -> bool:
    """Whether values of a type are bounded."""
    types = pa.types
    if types.is_fixed_size_binary(type_):
        return bool(0 < type_.byte_width <= MAX_FIXED_BYTES)
    return bool(
        types.is_integer(type_)
        or types.is_floating(type_)
        or types.is_boolean(type_)
        or (types.is_temporal(type_) and not types.is_interval(type_))
        or types.is_decimal128(type_)
        or types.is_decimal256(type_)
        or is_variable(type_)
    )


def is_variable(type_: pa.DataType) -> bool:
    """Whether values are strings or binary of any length."""
    return is_text(type_) or bool(pa.types.is_binary(type_) or pa.types.is_large_binary(type_))


def is_text(type_: pa.DataType) -> bool:
    """Whether values are UTF-8."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def is_repeated(leaf: LeafNode) -> bool:
    """Whether a row may hold any number of the leaf's values: it lies within a list, map or fixed-size list."""
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


def plain_numbers(bounds: pa.Array) -> NDArray[Any] | None:
    """Return bounds as numbers that numpy compares as Arrow does; None where they are none, or one is missing.

    Of a zone or two, which is what small files have, calling Arrow costs more than anything else.
    """
    if bounds.null_count:
        return None
    own = bounds.type.id
    if own in _PLAIN:
        return bounds.to_numpy()  # type: ignore[no-any-return]
    view = _COUNTED.get(own)
    return None if view is None else bounds.view(view).to_numpy()  # type: ignore[no-any-return]
