"""Flat: fixed-width values back to back, or one bit per value.

Values with a buffer compression of their own are bound as a general codec around them: it is the same bytes.

Source: CompressiveEncoding.Flat; spec 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, General
from lance_arrow.proto.encodings_v21_pb2 import Flat as FlatMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    hookimpl,
)


@dataclass(frozen=True, slots=True)
class Flat:
    """Binds ``flat`` in every context."""

    key = EncodingKey(COMPRESSIVE, "flat")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.1", DecodeContext.PER_VALUE: "2.1"}
    )

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Check the width; bits have no place of their own among zipped values."""
        bits = message.bits_per_value
        if bits != 1 and (bits == 0 or bits % 8):
            raise CorruptFileError(f"flat values of {bits} bits, expected 1 or a multiple of 8", detail=bits)
        scope.limits.check("max_value_bytes", bits // 8)
        if message.HasField("data"):
            plain = CompressiveEncoding(flat=FlatMessage(bits_per_value=bits))
            outer = CompressiveEncoding(general=General(compression=message.data, values=plain))
            return scope.value_codec(outer) if context is DecodeContext.PER_VALUE else scope.chunk_codec(outer, context)
        if context is not DecodeContext.PER_VALUE:
            return BoundFlat(FixedWidth(bits))
        if bits == 1:
            raise UnsupportedError("zipped values of a single bit do not exist")
        return BoundFlatValues(FixedWidth(bits))


@dataclass(frozen=True, slots=True)
class BoundFlat:
    """Copies the values of chunks or blocks; a buffer may be longer than its values."""

    shape: FixedWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native_codecs.flat(self.shape.bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        if self.shape.bits == 1:
            kernels.copy_bits(*places, out.values, out.bit_offset)
        else:
            kernels.copy_fixed(*places, self.shape.bytes_per_value, out.values)


@dataclass(frozen=True, slots=True)
class BoundFlatValues:
    """Copies zipped values, each of exactly the described width."""

    shape: FixedWidth

    @property
    def value_bits(self) -> int:
        return self.shape.bits

    def native(self) -> object:
        return native_codecs.zipped(self.shape.bits)

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        width = self.shape.bytes_per_value
        if (values.sizes != width).any():
            raise CorruptPageError(f"a zipped value has another size than the {width} bytes of its description")
        kernels.copy_values(values.data, values.starts, width, out.values)


@hookimpl
def lance_provide_codecs() -> list[Flat]:
    return [Flat()]
