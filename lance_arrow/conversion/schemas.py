"""One schema for all inputs, field by field: a type is widened only where every value of both types stays the same.

| Types | Result |
|---|---|
| null and another | the other |
| integers | the smallest that holds both; uint64 with signed ones: refused |
| integers and floats | the float that holds every integer: int16 with float, int32 with double; int64: refused |
| floats | the wider |
| decimals, also with integers | digits enough on both sides of the point; above 76: refused |
| string, large_string, views | string, or large_string where one is; likewise binary |
| timestamps of one time zone, durations, times | the finer unit; a value that overflows it stops the conversion |
| date32, date64 | date64 |
| a dictionary and values, or dictionaries of different values | the values |
| dictionaries of the same values | a dictionary with the wider index, of 32 bits at least |
| lists, fixed-size lists, maps, structs | the same, of merged items and fields; a field that one lacks is null there |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

Loosely = Callable[[pa.DataType, pa.DataType], pa.DataType | None]
"""Chooses the type for two types without an exact common one; None refuses them. Text is parsed again as that type."""
_MAX_DECIMAL_128 = 38
_MAX_DECIMAL_256 = 76
_ROOMY_BITS = 32
_UNITS = ("s", "ms", "us", "ns")
_SIGNED = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
_UNSIGNED = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}
_FLOATS = {16: pa.float16(), 32: pa.float32(), 64: pa.float64()}
# Bits of an integer type whose every value a float of so many bits holds.
_EXACT_BITS = {16: 8, 32: 16, 64: 32}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_DECIMALS = (pa.Decimal32Type, pa.Decimal64Type, pa.Decimal128Type, pa.Decimal256Type)


class Mismatch(Exception):
    """Two types for which no type holds every value of both.

    Parameters
    ----------
    path
        Dotted path of the column.
    one, other
        The types.
    """

    def __init__(self, path: str, one: pa.DataType, other: pa.DataType) -> None:
        super().__init__(f"{path}: {one} and {other}")
        self.path = path
        self.one = one
        self.other = other


def merge_fields(one: pa.Field, other: pa.Field, path: str, loosely: Loosely | None = None) -> pa.Field:
    """Return a field that holds every value of both, named and described as the first.

    Raises
    ------
    Mismatch
        There is none.
    """
    type_ = merge_types(one.type, other.type, path, loosely)
    return pa.field(one.name, type_, one.nullable or other.nullable, one.metadata)


def merge_types(one: pa.DataType, other: pa.DataType, path: str, loosely: Loosely | None = None) -> pa.DataType:
    """Return the type that holds every value of both.

    Raises
    ------
    Mismatch
        There is none.
    """
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if isinstance(one, pa.BaseExtensionType) or isinstance(other, pa.BaseExtensionType):
        raise Mismatch(path, one, other)
    if isinstance(one, pa.DictionaryType) or isinstance(other, pa.DictionaryType):
        return _merge_dictionaries(one, other, path)
    found = _merge_numbers(one, other) or _merge_bytes(one, other) or _merge_times(one, other)
    found = found or _merge_nested(one, other, path, loosely)
    if found is None and loosely is not None:
        found = loosely(one, other)
    if found is None:
        raise Mismatch(path, one, other)
    return found


def _merge_dictionaries(one: pa.DataType, other: pa.DataType, path: str) -> pa.DataType:
    if isinstance(one, pa.DictionaryType) and isinstance(other, pa.DictionaryType):
        if one.value_type == other.value_type and one.ordered == other.ordered:
            index = _merge_numbers(one.index_type, other.index_type) if one.index_type != other.index_type else None
            return pa.dictionary(index or one.index_type, one.value_type, one.ordered)
        return merge_types(one.value_type, other.value_type, path)
    if isinstance(one, pa.DictionaryType):
        return merge_types(one.value_type, other, path)
    return merge_types(one, other.value_type, path)


def with_roomy_dictionaries(type_: pa.DataType) -> pa.DataType:
    """Return a type whose dictionaries have indices of 32 bits at least: many inputs have many values."""
    if isinstance(type_, pa.DictionaryType):
        if type_.index_type.bit_width >= _ROOMY_BITS:
            return type_
        return pa.dictionary(pa.int32(), type_.value_type, type_.ordered)
    if isinstance(type_, pa.StructType):
        return pa.struct([one.with_type(with_roomy_dictionaries(one.type)) for one in _children(type_)])
    if not isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return type_
    item = type_.value_field.with_type(with_roomy_dictionaries(type_.value_type))
    if isinstance(type_, pa.FixedSizeListType):
        return pa.list_(item, type_.list_size)
    return pa.large_list(item) if isinstance(type_, pa.LargeListType) else pa.list_(item)


def _merge_numbers(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    types = pa.types
    pair = (one, other)
    if all(types.is_integer(item) for item in pair):
        return _merge_integers(one, other)
    if all(types.is_floating(item) for item in pair):
        return _FLOATS[max(one.bit_width, other.bit_width)]
    if all(types.is_integer(item) or types.is_floating(item) for item in pair):
        number, float_ = pair if types.is_integer(one) else (other, one)
        fits = (bits for bits, exact in _EXACT_BITS.items() if bits >= float_.bit_width and number.bit_width <= exact)
        bits = next(fits, None)
        return None if bits is None else _FLOATS[bits]
    if all(isinstance(item, _DECIMALS) or types.is_integer(item) for item in pair):
        return _merge_decimals(one, other)
    return None


def _merge_integers(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    types = pa.types
    width = max(one.bit_width, other.bit_width)
    if types.is_signed_integer(one) == types.is_signed_integer(other):
        return (_SIGNED if types.is_signed_integer(one) else _UNSIGNED)[width]
    unsigned = one if types.is_unsigned_integer(one) else other
    # A signed integer needs one bit more than an unsigned one.
    return _SIGNED.get(max(width, 2 * unsigned.bit_width))


def _merge_decimals(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    shapes = [
        (item.precision - item.scale, item.scale) if isinstance(item, _DECIMALS) else (_DIGITS[item.bit_width], 0)
        for item in (one, other)
    ]
    scale = max(scale for _, scale in shapes)
    precision = max(whole for whole, _ in shapes) + scale
    is_wide = any(isinstance(item, pa.Decimal256Type) for item in (one, other)) or precision > _MAX_DECIMAL_128
    if precision > _MAX_DECIMAL_256:
        return None
    return pa.decimal256(precision, scale) if is_wide else pa.decimal128(precision, scale)


def _merge_bytes(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    types = pa.types
    pair = (one, other)
    if all(types.is_string(item) or types.is_large_string(item) or types.is_string_view(item) for item in pair):
        return pa.large_string() if any(types.is_large_string(item) for item in pair) else pa.string()
    if all(
        types.is_binary(item)
        or types.is_large_binary(item)
        or types.is_binary_view(item)
        or types.is_fixed_size_binary(item)
        for item in pair
    ):
        return pa.large_binary() if any(types.is_large_binary(item) for item in pair) else pa.binary()
    return None


def _merge_times(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    types = pa.types
    if types.is_timestamp(one) and types.is_timestamp(other):
        return pa.timestamp(_finer(one, other), one.tz) if one.tz == other.tz else None
    if types.is_duration(one) and types.is_duration(other):
        return pa.duration(_finer(one, other))
    if types.is_time(one) and types.is_time(other):
        unit = _finer(one, other)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return pa.date64() if types.is_date(one) and types.is_date(other) else None


def _finer(one: pa.DataType, other: pa.DataType) -> str:
    return str(max(one.unit, other.unit, key=_UNITS.index))


def _merge_nested(one: pa.DataType, other: pa.DataType, path: str, loosely: Loosely | None) -> pa.DataType | None:
    types = pa.types
    if isinstance(one, pa.StructType) and isinstance(other, pa.StructType):
        return pa.struct(merge_schemas([_children(one), _children(other)], path=f"{path}.", loosely=loosely))
    if isinstance(one, pa.MapType) and isinstance(other, pa.MapType):
        key = merge_fields(one.key_field, other.key_field, f"{path}.{one.key_field.name}", loosely)
        item = merge_fields(one.item_field, other.item_field, f"{path}.{one.item_field.name}", loosely)
        return pa.map_(key, item, one.keys_sorted and other.keys_sorted)
    if not (_is_list(one) and _is_list(other)):
        return None
    item = merge_fields(one.value_field, other.value_field, f"{path}.{one.value_field.name}", loosely)
    if all(isinstance(kind, pa.FixedSizeListType) for kind in (one, other)) and one.list_size == other.list_size:
        return pa.list_(item, one.list_size)
    is_large = any(types.is_large_list(kind) or types.is_large_list_view(kind) for kind in (one, other))
    return pa.large_list(item) if is_large else pa.list_(item)


def _is_list(type_: pa.DataType) -> bool:
    kinds = (pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ListViewType, pa.LargeListViewType)
    return isinstance(type_, kinds)


def _children(type_: pa.StructType) -> list[pa.Field]:
    return [type_.field(i) for i in range(type_.num_fields)]


def merge_schemas(
    schemas: Sequence[Sequence[pa.Field]], *, path: str = "", loosely: Loosely | None = None
) -> list[pa.Field]:
    """Merge fields by name, in the order in which names are first seen; one that a schema lacks may be null.

    Parameters
    ----------
    schemas
        Fields of each; names do not repeat within one.
    path
        What the path of a column begins with.
    loosely
        Asked where no type holds both exactly.

    Raises
    ------
    Mismatch
        A column has types without an exact common type.
    """
    merged: dict[str, pa.Field] = {}
    counts: dict[str, int] = {}
    for fields in schemas:
        for field in fields:
            name = field.name
            merged[name] = _joined(merged.get(name), field, f"{path}{name}", loosely)
            counts[name] = counts.get(name, 0) + 1
    return [
        field if counts[name] == len(schemas) or field.nullable else field.with_nullable(True)
        for name, field in merged.items()
    ]


def _joined(known: pa.Field | None, field: pa.Field, path: str, loosely: Loosely | None) -> pa.Field:
    return field if known is None else merge_fields(known, field, path, loosely)
