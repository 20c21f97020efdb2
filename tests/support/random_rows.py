"""Random rows of any Arrow type that files can hold, nulls at every level, as Python values first."""

from __future__ import annotations

import datetime
import decimal
import random
from typing import Any

import pyarrow as pa

_EPOCH = datetime.date(1970, 1, 1)


def random_array(type_: pa.DataType, num_rows: int, chance: random.Random) -> pa.Array:
    """Return rows of a storage or extension type."""
    if isinstance(type_, pa.BaseExtensionType):
        return type_.wrap_array(random_array(type_.storage_type, num_rows, chance))
    if isinstance(type_, pa.DictionaryType):
        values = random_array(type_.value_type, 9, chance).drop_null().unique()
        indices = [None if chance.random() < 0.2 else chance.randrange(len(values)) for _ in range(num_rows)]
        return pa.DictionaryArray.from_arrays(pa.array(indices, type_.index_type), values)
    if isinstance(type_, pa.StructType):
        children = [random_array(field.type, num_rows, chance) for field in type_]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=_mask(num_rows, chance))
    if isinstance(type_, pa.FixedSizeListType):
        items = random_array(type_.value_type, num_rows * type_.list_size, chance)
        return pa.FixedSizeListArray.from_arrays(items, type=type_, mask=_mask(num_rows, chance))
    if isinstance(type_, (pa.ListType, pa.LargeListType, pa.MapType)):
        return _lists(type_, num_rows, chance)
    rows = [None if chance.random() < 0.2 else _value(type_, chance) for _ in range(num_rows)]
    return pa.array(rows, type_)


def _mask(num_rows: int, chance: random.Random) -> pa.Array:
    return pa.array([chance.random() < 0.2 for _ in range(num_rows)], pa.bool_())


def _lists(type_: pa.DataType, num_rows: int, chance: random.Random) -> pa.Array:
    """Null lists hold nothing, so that nested ones do not explode."""
    nulls = [chance.random() < 0.2 for _ in range(num_rows)]
    longest = 3 if num_rows < 2000 else 1
    sizes = [0 if null else chance.randrange(longest + 1) for null in nulls]
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    offset_type = pa.int64() if isinstance(type_, pa.LargeListType) else pa.int32()
    if isinstance(type_, pa.MapType):
        keys = random_array(type_.key_type, offsets[-1] + 200, chance).drop_null()
        keys = pa.concat_arrays([keys] * (1 + offsets[-1] // max(1, len(keys)))).slice(0, offsets[-1])
        values = random_array(type_.item_type, offsets[-1], chance)
        mask = pa.array(nulls, pa.bool_())
        return pa.MapArray.from_arrays(pa.array(offsets, offset_type), keys, values, type=type_, mask=mask)
    items = random_array(type_.value_type, offsets[-1], chance)
    kind = pa.LargeListArray if isinstance(type_, pa.LargeListType) else pa.ListArray
    return kind.from_arrays(pa.array(offsets, offset_type), items, type=type_, mask=pa.array(nulls, pa.bool_()))


def _value(type_: pa.DataType, chance: random.Random) -> Any:
    types = pa.types
    if types.is_null(type_):
        return None
    if types.is_boolean(type_):
        return chance.random() < 0.5
    if types.is_floating(type_):
        return chance.choice([0.0, -1.5, 0.25, 2.0**9, float("inf")])
    if types.is_decimal(type_):
        return decimal.Decimal(chance.randrange(-999, 999)).scaleb(-type_.scale)
    if types.is_string(type_) or types.is_large_string(type_):
        return chance.choice(["", "a", "déf", "longer than the others", "東京"])
    if types.is_binary(type_) or types.is_large_binary(type_):
        return chance.choice([b"", b"\0", b"\xff\xfe", b"bytes"])
    if types.is_fixed_size_binary(type_):
        return bytes(chance.randrange(256) for _ in range(type_.byte_width))
    if types.is_date(type_):
        return _EPOCH + datetime.timedelta(days=chance.randrange(20000))
    if types.is_time32(type_) or types.is_time64(type_):
        return chance.randrange(80_000)
    return chance.randrange(100)
