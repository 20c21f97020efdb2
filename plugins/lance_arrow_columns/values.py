"""Plain columns: the pages hold the values. Source: ColumnEncoding.values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.proto.encodings_v20_pb2 import ColumnEncoding
from lance_arrow.spi import BindScope, BoundColumnEncoding, EncodingKey, hookimpl


@dataclass(frozen=True, slots=True)
class Values:
    """Reads `ColumnEncoding.values`."""

    key = EncodingKey("lance.encodings.ColumnEncoding", "values")
    message_type = ColumnEncoding

    def bind(self, message: Any, num_column_buffers: int, scope: BindScope) -> BoundColumnEncoding:
        return BoundColumnEncoding()


@hookimpl
def lance_provide_column_encodings():
    return [Values()]
