"""Convert JSON text to binary JSON, the storage of columns of the extension type ``arrow.json``.

    container   u32 kind and number of entries, u32 per entry (kind and bytes; for objects keys first), contents
    scalar      u32 0x20000000, one entry, its content
    number      a byte that names its kind, then the fewest big-endian bytes that hold it

Keys are sorted by their bytes. Integers beyond 64 bits are stored as doubles. Source: logical type ``json``; compared
byte by byte with files of release 14.0.2.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.errors import InvalidArgumentError

_ARRAY, _OBJECT, _SCALAR = 0x80000000, 0x40000000, 0x20000000
_NULL, _STRING, _NUMBER, _FALSE, _TRUE, _CONTAINER = (kind << 28 for kind in range(6))
_MOST_BYTES = (1 << 28) - 1
_INTEGER_BYTES = (1, 2, 4, 8)


def encode_json(text: str) -> bytes:
    """Encode one JSON text.

    Raises
    ------
    InvalidArgumentError
        The text is not JSON, repeats a key, nests too deeply, or has a number too large for a double.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
        kind, content = _encoded(value)
    except InvalidArgumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"not JSON: {error}") from error
    return content if kind == _CONTAINER else struct.pack(">II", _SCALAR, kind | len(content)) + content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InvalidArgumentError(f"a JSON object has the key {repeated!r} twice", detail=repeated)
    return found


def _refuse_constant(name: str) -> Any:
    raise InvalidArgumentError(f"{name} is not a JSON number", detail=name)


def _encoded(value: Any) -> tuple[int, bytes]:
    """Return the kind of an entry, and its content."""
    if value is None:
        return _NULL, b""
    if isinstance(value, bool):
        return (_TRUE if value else _FALSE), b""
    if isinstance(value, str):
        return _STRING, value.encode()
    if isinstance(value, int | float):
        return _NUMBER, _number(value)
    if isinstance(value, list):
        return _CONTAINER, _container(_ARRAY | len(value), [_encoded(one) for one in value])
    # Keys are unique, so values are never compared.
    pairs = sorted((key.encode(), one) for key, one in value.items())
    entries = [(_STRING, key) for key, _ in pairs] + [_encoded(one) for _, one in pairs]
    return _CONTAINER, _container(_OBJECT | len(pairs), entries)


def _number(value: int | float) -> bytes:
    if isinstance(value, int):
        if value == 0:
            return b"\x00"
        for width in _INTEGER_BYTES:
            if 0 < value < 1 << 8 * width:
                return b"\x50" + value.to_bytes(width)
            if -(1 << 8 * width - 1) <= value < 0:
                return b"\x40" + value.to_bytes(width, signed=True)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise InvalidArgumentError("a JSON number is too large for a double")
    return b"\x60" + struct.pack(">d", found)


def _container(header: int, entries: list[tuple[int, bytes]]) -> bytes:
    contents = [content for _, content in entries]
    if sum(map(len, contents)) > _MOST_BYTES:
        raise InvalidArgumentError(f"a JSON value takes more than {_MOST_BYTES} bytes")
    words = [kind | len(content) for kind, content in entries]
    return struct.pack(f">{1 + len(words)}I", header, *words) + b"".join(contents)


def holds_json(type_: pa.DataType) -> bool:
    """Return whether a type is JSON text, or has JSON text below it."""
    if isinstance(type_, pa.JsonType):
        return True
    return any(holds_json(type_.field(i).type) for i in range(type_.num_fields))


def with_binary_json(array: pa.Array, stored: pa.DataType) -> pa.Array:
    """Return the array with its JSON text encoded; values below nulls are ignored.

    Parameters
    ----------
    array
        Its type has JSON text, alone or within structs and lists, where `stored` has binary values.
    stored
        The type to return.

    Raises
    ------
    InvalidArgumentError
        A text cannot be encoded; `detail` has its place among the texts.
    """
    if isinstance(array.type, pa.JsonType):
        return _encoded_texts(array.storage)
    if not holds_json(array.type):
        return array
    if isinstance(array, pa.StructArray):
        # Flattened fields are null where the struct is null.
        fields = [with_binary_json(child, one.type) for child, one in zip(array.flatten(), stored, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(stored), mask=array.is_null())
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32() if pa.types.is_list(stored) else pa.int64())
    items = with_binary_json(array.flatten(), stored.value_type)
    return type(array).from_arrays(offsets, items, type=stored, mask=array.is_null())


def _encoded_texts(texts: pa.Array) -> pa.Array:
    found = []
    for number, text in enumerate(texts.to_pylist()):
        try:
            found.append(None if text is None else encode_json(text))
        except InvalidArgumentError as error:
            error.detail = number
            raise
    return pa.array(found, pa.large_binary())
