"""Columns of blobs: the pages hold the place of each value (position and size), not the values.

Source: ColumnEncoding.Blob.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.message import Message

from lance_arrow.errors import CorruptFileError, InternalError
from lance_arrow.proto.encodings_v20_pb2 import Blob as BlobMessage
from lance_arrow.proto.encodings_v20_pb2 import ColumnEncoding
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.layouts import BoundColumnEncoding, ZoneMapPlace


@dataclass(frozen=True, slots=True)
class Blob:
    """Reads and writes `ColumnEncoding.blob`; since 2.1 pages also declare that they hold places."""

    key = EncodingKey("lance.encodings.ColumnEncoding", "blob")
    message_type = ColumnEncoding

    def bind(self, message: Any, num_column_buffers: int, scope: BindScope) -> BoundColumnEncoding:
        """Return the inner encoding, with the property that pages hold places."""
        inner = scope.column_encoding(message.inner, num_column_buffers)
        if inner.holds_descriptors:
            raise CorruptFileError("a blob column lies within a blob column")
        return replace(inner, holds_descriptors=True)

    def describe(self, inner: Message | None, zone_map: ZoneMapPlace | None) -> ColumnEncoding:
        """Wrap `inner`: its pages are descriptors."""
        if not isinstance(inner, ColumnEncoding):
            raise InternalError("a blob column lies around a column")
        return ColumnEncoding(blob=BlobMessage(inner=inner))


@hookimpl
def lance_provide_column_encodings():
    return [Blob()]
