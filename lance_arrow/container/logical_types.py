"""Logical type strings, the format's names of Arrow types: they are parsed and printed only here.

Source: lance.file.Field.logical_type; every name was found in files of the reference writer, versions 2.0 to 2.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa

from lance_arrow.errors import CorruptFileError, UnsupportedError

_MAX_NESTING = 64
_INT32_MAX = 2**31 - 1
_BFLOAT16 = "lance.bfloat16"

_PLAIN: dict[str, pa.DataType] = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "halffloat": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "date32:day": pa.date32(),
    "date64:ms": pa.date64(),
    "time32:s": pa.time32("s"),
    "time32:ms": pa.time32("ms"),
    "time64:us": pa.time64("us"),
    "time64:ns": pa.time64("ns"),
    **{f"duration:{unit}": pa.duration(unit) for unit in ("s", "ms", "us", "ns")},
    # The payload is binary JSON, so this is the exact storage; the name of the extension is in the metadata.
    "json": pa.large_binary(),
}
_SPELLING = {type_: text for text, type_ in _PLAIN.items() if text != "json"}
# Views are converted when they are written.
_SPELLING |= {pa.string_view(): "string", pa.binary_view(): "binary"}
_NUMBER = re.compile(r"-?[0-9]{1,10}")
_DECIMALS = {"128": (pa.decimal128, 38), "256": (pa.decimal256, 76)}


def parse_logical_type(text: str, children: Sequence[pa.Field]) -> pa.DataType:
    """Return the Arrow (storage) type of a logical type string.

    Parameters
    ----------
    text
        The string.
    children
        Arrow fields of the child fields.

    Raises
    ------
    CorruptFileError
        A known type with invalid parameters, or with wrong children.
    UnsupportedError
        An unknown type, or one that no writer encodes.
    """
    if text in ("struct", "list", "list.struct", "large_list", "large_list.struct", "map"):
        return _parse_nested(text, children)
    kind = text.split(":", 1)[0]
    if kind == "fixed_size_list" and children:
        return _parse_list_of_structs(text, children)
    if children:
        raise CorruptFileError(f"the type {text!r} has {len(children)} child fields, expected none")
    return _parse_leaf(text, 0)


def format_logical_type(type_: pa.DataType) -> str:
    """Return the logical type string of an Arrow storage type (for extension types: of their storage).

    Raises
    ------
    UnsupportedError
        The format has no such type.
    """
    if isinstance(type_, pa.StructType):
        return "struct"
    if isinstance(type_, pa.MapType):
        if type_.keys_sorted:
            raise UnsupportedError("maps with sorted keys cannot be stored")
        return "map"
    if isinstance(type_, (pa.ListType, pa.LargeListType)):
        name = "list" if isinstance(type_, pa.ListType) else "large_list"
        return f"{name}.struct" if isinstance(_storage(type_.value_type), pa.StructType) else name
    return _format_leaf(type_)


def child_fields(type_: pa.DataType) -> tuple[pa.Field, ...]:
    """Return the Arrow fields that are the children of a schema field of this storage type."""
    if isinstance(type_, pa.StructType):
        return tuple(type_.field(i) for i in range(type_.num_fields))
    if isinstance(type_, pa.MapType):
        return (pa.field("entries", pa.struct([type_.key_field, type_.item_field]), nullable=False),)
    if isinstance(type_, (pa.ListType, pa.LargeListType)):
        return (type_.value_field,)
    if isinstance(type_, pa.FixedSizeListType) and isinstance(_storage(type_.value_type), pa.StructType):
        return (type_.value_field,)
    return ()


def _storage(type_: pa.DataType) -> pa.DataType:
    return type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_


def _parse_nested(text: str, children: Sequence[pa.Field]) -> pa.DataType:
    if text == "struct":
        return pa.struct(list(children))
    if len(children) != 1:
        raise CorruptFileError(f"the type {text!r} has {len(children)} child fields, expected one")
    item = children[0]
    if text == "map":
        entries = item.type
        if not isinstance(entries, pa.StructType) or entries.num_fields != 2 or entries.field(0).nullable:
            raise CorruptFileError(
                f"the entries of a map are {entries}, expected a struct of a key, never null, and a value"
            )
        return pa.map_(entries.field(0), entries.field(1))
    if text.endswith(".struct") and not isinstance(item.type, pa.StructType):
        raise CorruptFileError(f"the type {text!r} has items of type {item.type}, expected a struct")
    return pa.list_(item) if text.startswith("list") else pa.large_list(item)


def _parse_list_of_structs(text: str, children: Sequence[pa.Field]) -> pa.DataType:
    head, _, size = text.rpartition(":")
    if head != "fixed_size_list:struct" or len(children) != 1 or not isinstance(children[0].type, pa.StructType):
        raise CorruptFileError(f"the type {text!r} has {len(children)} child fields that do not fit it")
    return pa.list_(children[0], _number(size, text, low=1, high=_INT32_MAX))


def _parse_leaf(text: str, depth: int) -> pa.DataType:
    plain = _PLAIN.get(text)
    if plain is not None:
        return plain
    kind, _, rest = text.partition(":")
    parse = _PARAMETRIC.get(kind)
    if parse is None or not rest:
        raise UnsupportedError(f"the logical type {text[:200]!r} is not known", detail=text)
    if depth > _MAX_NESTING:
        raise CorruptFileError(f"a logical type is nested deeper than {_MAX_NESTING}")
    return parse(text, rest, depth)


def _parse_timestamp(text: str, rest: str, depth: int) -> pa.DataType:
    # A time zone may contain colons, such as +01:00.
    unit, colon, zone = rest.partition(":")
    if unit not in ("s", "ms", "us", "ns") or not colon or not zone:
        raise CorruptFileError(f"the type {text!r} does not parse, expected timestamp:<unit>:<zone or ->")
    return pa.timestamp(unit, None if zone == "-" else zone)


def _parse_decimal(text: str, rest: str, depth: int) -> pa.DataType:
    parts = rest.split(":")
    if len(parts) != 3 or parts[0] not in _DECIMALS:
        raise CorruptFileError(f"the type {text!r} does not parse, expected decimal:<128 or 256>:<precision>:<scale>")
    make, most = _DECIMALS[parts[0]]
    return make(_number(parts[1], text, low=1, high=most), _number(parts[2], text, low=-128, high=127))


def _parse_fixed_size_binary(text: str, rest: str, depth: int) -> pa.DataType:
    return pa.binary(_number(rest, text, low=0, high=_INT32_MAX))


def _parse_dictionary(text: str, rest: str, depth: int) -> pa.DataType:
    parts = rest.rsplit(":", 2)
    if len(parts) != 3 or parts[2] not in ("true", "false"):
        raise CorruptFileError(f"the type {text!r} does not parse, expected dict:<values>:<keys>:<ordered>")
    keys = _PLAIN.get(parts[1])
    if keys is None or not pa.types.is_integer(keys):
        raise CorruptFileError(f"the keys of the type {text!r} are not integers")
    return pa.dictionary(keys, _parse_leaf(parts[0], depth + 1), ordered=parts[2] == "true")


def _parse_fixed_size_list(text: str, rest: str, depth: int) -> pa.DataType:
    item, _, size = rest.rpartition(":")
    dimension = _number(size, text, low=1, high=_INT32_MAX)
    if item == "struct":
        raise CorruptFileError(f"the type {text!r} has no child field, expected a struct")
    if item == _BFLOAT16:
        metadata = {"ARROW:extension:name": _BFLOAT16, "ARROW:extension:metadata": ""}
        return pa.list_(pa.field("item", pa.binary(2), metadata=metadata), dimension)
    type_ = _parse_leaf(item, depth + 1)
    if not _fits_fixed_size_list(type_):
        raise UnsupportedError(f"fixed-size lists of {type_} cannot be stored", detail=text)
    return pa.list_(pa.field("item", type_), dimension)


def _fits_fixed_size_list(type_: pa.DataType) -> bool:
    types = pa.types
    if isinstance(type_, pa.FixedSizeListType) or types.is_null(type_):
        return True
    return types.is_fixed_size_binary(type_) or types.is_decimal(type_) or types.is_primitive(type_)


_PARAMETRIC: dict[str, Callable[[str, str, int], pa.DataType]] = {
    "timestamp": _parse_timestamp,
    "decimal": _parse_decimal,
    "fixed_size_binary": _parse_fixed_size_binary,
    "dict": _parse_dictionary,
    "fixed_size_list": _parse_fixed_size_list,
}


def _number(digits: str, text: str, *, low: int, high: int) -> int:
    if not _NUMBER.fullmatch(digits) or not low <= int(digits) <= high:
        raise CorruptFileError(f"the type {text[:200]!r} has the number {digits[:20]!r}, expected {low} to {high}")
    return int(digits)


def _format_leaf(type_: pa.DataType) -> str:
    spelling = _SPELLING.get(type_)
    if spelling is not None:
        return spelling
    types = pa.types
    if types.is_timestamp(type_):
        return f"timestamp:{type_.unit}:{type_.tz or '-'}"
    if types.is_decimal128(type_) or types.is_decimal256(type_):
        return f"decimal:{type_.bit_width}:{type_.precision}:{type_.scale}"
    if types.is_fixed_size_binary(type_):
        return f"fixed_size_binary:{type_.byte_width}"
    if isinstance(type_, pa.DictionaryType):
        # Files do not store the ordered flag: it is always written as false.
        return f"dict:{_format_leaf(type_.value_type)}:{_format_leaf(type_.index_type)}:false"
    if isinstance(type_, pa.FixedSizeListType):
        return f"fixed_size_list:{_format_item(type_)}:{type_.list_size}"
    raise UnsupportedError(f"the type {type_} cannot be stored", detail=type_)


def _format_item(type_: pa.FixedSizeListType) -> str:
    item = type_.value_field
    if (item.metadata or {}).get(b"ARROW:extension:name") == _BFLOAT16.encode():
        return _BFLOAT16
    storage = _storage(item.type)
    if isinstance(storage, pa.StructType):
        return "struct"
    if not _fits_fixed_size_list(storage):
        raise UnsupportedError(f"fixed-size lists of {storage} cannot be stored", detail=type_)
    return _format_leaf(storage)
