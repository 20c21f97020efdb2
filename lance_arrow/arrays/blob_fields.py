"""Fields of a blob column, in the file and in results: descriptors, or the bytes to which they point."""

from __future__ import annotations

import pyarrow as pa

PLACE_TYPE = pa.struct([("position", pa.uint64()), ("size", pa.uint64())])
"""Descriptor of the first kind of blob: bytes of the same file."""

DESCRIPTOR_TYPE = pa.struct(
    [
        pa.field("kind", pa.uint8(), nullable=False),
        pa.field("position", pa.uint64(), nullable=False),
        pa.field("size", pa.uint64(), nullable=False),
        pa.field("blob_id", pa.uint32(), nullable=False),
        pa.field("blob_uri", pa.string(), nullable=False),
    ]
)
"""Descriptor of the second kind of blob: bytes of this file or of another."""

_PACKED_KEY = b"lance-encoding:packed"


def stored_field(field: pa.Field) -> pa.Field | None:
    """Return the field of a blob column as stored in pages; None if its type is not that of a blob."""
    if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
        return field.with_type(PLACE_TYPE)
    type_ = field.type
    if not isinstance(type_, pa.StructType):
        return None
    names_and_types = [(child.name, child.type) for child in type_]
    return field if names_and_types == [(child.name, child.type) for child in DESCRIPTOR_TYPE] else None


def bytes_field(field: pa.Field) -> pa.Field:
    """Return the field of a blob column for callers that want bytes, without the metadata that marks it as packed."""
    if not isinstance(field.type, pa.StructType):
        return field
    kept = {key: value for key, value in (field.metadata or {}).items() if key != _PACKED_KEY}
    return pa.field(field.name, pa.large_binary(), field.nullable, kept or None)
