"""Convert extension types to metadata of their storage fields, which is their form in files, and back."""

from __future__ import annotations

import ctypes
import struct
from types import MappingProxyType

import pyarrow as pa

from lance_arrow.errors import CorruptFileError

EXTENSION_NAME = "ARROW:extension:name"
EXTENSION_METADATA = "ARROW:extension:metadata"
BINARY_JSON = b"lance.json"
JSON_METADATA = MappingProxyType({EXTENSION_NAME: BINARY_JSON, EXTENSION_METADATA: b""})
"""Metadata of a large_binary field with binary JSON."""
_JSON_KEYS = (EXTENSION_NAME.encode(), EXTENSION_METADATA.encode())


class _ArrowSchema(ctypes.Structure):
    """``struct ArrowSchema`` of the Arrow C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


def extension_metadata(type_: pa.BaseExtensionType) -> dict[str, bytes]:
    """Return the metadata that marks a storage field as this extension type.

    pyarrow exports the parameters of its own extension types only by the C interface.
    """
    exported = _ArrowSchema()
    type_._export_to_c(ctypes.addressof(exported))
    try:
        return _parse_metadata(exported.metadata)
    finally:
        exported.release(ctypes.addressof(exported))


def _parse_metadata(address: int) -> dict[str, bytes]:
    """Decode the C interface's key-value list: a count, then length and bytes of each key and value, all int32."""
    (count,) = struct.unpack("=i", ctypes.string_at(address, 4))
    address += 4
    texts = []
    for _ in range(2 * count):
        (size,) = struct.unpack("=i", ctypes.string_at(address, 4))
        texts.append(ctypes.string_at(address + 4, size))
        address += 4 + size
    return {key.decode(): value for key, value in zip(texts[::2], texts[1::2], strict=True)}


def with_extension_types(schema: pa.Schema) -> pa.Schema:
    """Turn metadata into extension types that are registered with pyarrow, at every level.

    Raises
    ------
    CorruptFileError
        An extension type does not fit its storage, or its parameters do not parse.
    """
    try:
        # pyarrow does this only when it reads a schema.
        return pa.ipc.read_schema(schema.serialize())
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise CorruptFileError(f"an extension type does not fit its storage: {error}") from error


def is_binary_json(field: pa.Field) -> bool:
    """Return whether a field holds binary JSON."""
    metadata = field.metadata
    if metadata is None or metadata.get(_JSON_KEYS[0]) != BINARY_JSON:
        return False
    return bool(pa.types.is_large_binary(field.type) or pa.types.is_binary(field.type))


def text_field(field: pa.Field) -> pa.Field:
    """Return the field of a column of binary JSON in results: its type is ``arrow.json``."""
    metadata = {key: value for key, value in field.metadata.items() if key not in _JSON_KEYS}
    found = field.with_type(pa.json_()).remove_metadata()
    return found.with_metadata(metadata) if metadata else found


def text_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with text for columns of binary JSON that are no part of others; the same one without any."""
    if not any(map(is_binary_json, schema)):
        return schema
    return pa.schema([text_field(field) if is_binary_json(field) else field for field in schema], schema.metadata)


def holds_json(field: pa.Field) -> bool:
    """Return whether a field, or one below it, is binary JSON."""
    type_ = field.type
    count = type_.num_fields if pa.types.is_nested(type_) else 0
    return is_binary_json(field) or any(holds_json(type_.field(number)) for number in range(count))


def lacks_json(wanted: pa.Field, given: pa.Field) -> str | None:
    """Return the path of a field of binary JSON that is no JSON in `given`; or None.

    Fields of structs are found by name: some may be absent, or in another order.
    """
    if is_binary_json(wanted):
        return None if is_binary_json(given) or pa.types.is_null(given.type) else wanted.name
    count = min(wanted.type.num_fields, given.type.num_fields)
    pairs = [(wanted.type.field(number), given.type.field(number)) for number in range(count)]
    if pa.types.is_struct(wanted.type) and pa.types.is_struct(given.type):
        named = {given.type.field(number).name: given.type.field(number) for number in range(given.type.num_fields)}
        own = [wanted.type.field(number) for number in range(wanted.type.num_fields)]
        pairs = [(field, named[field.name]) for field in own if field.name in named]
    for field, other in pairs:
        found = lacks_json(field, other)
        if found is not None:
            return f"{wanted.name}.{found}"
    return None
