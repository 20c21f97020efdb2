"""Plain columns: the pages hold the values. Source: ColumnEncoding.values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from lance_arrow.errors import InternalError
from lance_arrow.proto.encodings_v20_pb2 import ColumnEncoding
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.layouts import BoundColumnEncoding, ZoneMapPlace


@dataclass(frozen=True, slots=True)
class Values:
    """Reads and writes `ColumnEncoding.values`."""

    key = EncodingKey("lance.encodings.ColumnEncoding", "values")
    message_type = ColumnEncoding

    def bind(self, message: Any, num_column_buffers: int, scope: BindScope) -> BoundColumnEncoding:
        return BoundColumnEncoding()

    def describe(self, inner: Message | None, zone_map: ZoneMapPlace | None) -> ColumnEncoding:
        """Return the innermost description."""
        if inner is not None:
            raise InternalError("plain columns are the innermost ones")
        column = ColumnEncoding()
        column.values.SetInParent()
        return column


@hookimpl
def lance_provide_column_encodings():
    return [Values()]
