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
