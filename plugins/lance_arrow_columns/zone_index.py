"""Columns with a zone map: bounds of runs of rows are in a column buffer, the pages are those of the inner encoding.

Source: ColumnEncoding.ZoneIndex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.message import Message

from lance_arrow.errors import CorruptFileError, InternalError, UnsupportedError
from lance_arrow.proto.encodings_v20_pb2 import Buffer, ColumnEncoding
from lance_arrow.proto.encodings_v20_pb2 import ZoneIndex as ZoneIndexMessage
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.layouts import BoundColumnEncoding, ZoneMapPlace


@dataclass(frozen=True, slots=True)
class ZoneIndex:
    """Reads and writes `ColumnEncoding.zone_index`."""

    key = EncodingKey("lance.encodings.ColumnEncoding", "zone_index")
    message_type = ColumnEncoding

    def bind(self, message: Any, num_column_buffers: int, scope: BindScope) -> BoundColumnEncoding:
        inner = scope.column_encoding(message.inner, num_column_buffers)
        if inner.zone_map is not None:
            raise CorruptFileError("a zone index lies within a zone index")
        if message.rows_per_zone == 0:
            raise CorruptFileError("the zones of a zone index have no rows")
        place = message.zone_map_buffer
        if place.buffer_type != Buffer.BufferType.column:
            raise UnsupportedError("the zone map of a zone index is outside the column's buffers")
        if place.buffer_index >= num_column_buffers:
            raise CorruptFileError(
                f"a zone index names column buffer {place.buffer_index}, there are {num_column_buffers}"
            )
        return replace(inner, zone_map=ZoneMapPlace(message.rows_per_zone, place.buffer_index))

    def describe(self, inner: Message | None, zone_map: ZoneMapPlace | None) -> ColumnEncoding:
        """Wrap `inner`: its zone map lies in a column buffer."""
        if not isinstance(inner, ColumnEncoding) or zone_map is None:
            raise InternalError("a zone index lies around a column and has a zone map")
        return ColumnEncoding(
            zone_index=ZoneIndexMessage(
                rows_per_zone=zone_map.rows_per_zone,
                zone_map_buffer=Buffer(buffer_index=zone_map.column_buffer, buffer_type=Buffer.BufferType.column),
                inner=inner,
            )
        )


@hookimpl
def lance_provide_column_encodings():
    return [ZoneIndex()]
