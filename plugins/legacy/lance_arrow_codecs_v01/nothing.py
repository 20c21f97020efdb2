"""Nothing: pages without bytes, for structs and nulls. Source: spec 0.1, 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, Nullable, SimpleStruct
from lance_arrow.spi import BindScope, EncodingKey, hookimpl
from lance_arrow.spi.arrays import LEGACY, BoundArray


@dataclass(frozen=True, slots=True)
class NoPage:
    """Binds ``nothing`` as the equivalent array encodings of 2.0."""

    key = EncodingKey(LEGACY, "nothing")

    def bind(self, message: Any, scope: BindScope) -> BoundArray:
        if message.is_null:
            return scope.array(ArrayEncoding(nullable=Nullable(all_nulls=Nullable.AllNull())))
        return scope.array(ArrayEncoding(struct=SimpleStruct()))


@hookimpl
def lance_provide_arrays() -> list[NoPage]:
    return [NoPage()]
