"""Plain: values of the schema's width back to back, like flat in 2.0, also in fixed-size lists.

Source: lance.file.Encoding.PLAIN; spec 0.1, 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, Buffer
from lance_arrow.proto.encodings_v20_pb2 import FixedSizeList as FixedSizeListMessage
from lance_arrow.proto.encodings_v20_pb2 import Flat as FlatMessage
from lance_arrow.spi import BindScope, BlockShape, EncodingKey, FixedSizeList, FixedWidth, hookimpl
from lance_arrow.spi.arrays import LEGACY, BoundArray


@dataclass(frozen=True, slots=True)
class PlainPage:
    """Binds ``plain`` as the equivalent array encodings of 2.0."""

    key = EncodingKey(LEGACY, "plain")

    def bind(self, message: Any, scope: BindScope) -> BoundArray:
        return scope.array(_described(scope.leaf.shape, message.buffer))


def _described(shape: BlockShape | None, buffer: int) -> ArrayEncoding:
    if isinstance(shape, FixedSizeList):
        items = _described(shape.items, buffer)
        return ArrayEncoding(fixed_size_list=FixedSizeListMessage(dimension=shape.dimension, items=items))
    if not isinstance(shape, FixedWidth):
        raise CorruptFileError(f"plain values of shape {shape}, expected one width")
    return ArrayEncoding(flat=FlatMessage(bits_per_value=shape.bits, buffer=Buffer(buffer_index=buffer)))


@hookimpl
def lance_provide_arrays() -> list[PlainPage]:
    return [PlainPage()]
