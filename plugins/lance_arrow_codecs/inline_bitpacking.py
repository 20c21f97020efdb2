"""Inline bit packing: chunks of at most 1024 integers, each with its own bit width in its first word.

Chunks with a buffer compression of their own are bound as a general codec around them: it is the same bytes.
Source: CompressiveEncoding.InlineBitpacking; spec 5.3, 5.4, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, General
from lance_arrow.proto.encodings_v21_pb2 import InlineBitpacking as InlineBitpackingMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    hookimpl,
)


@dataclass(frozen=True, slots=True)
class InlineBitpacking:
    """Binds ``inline_bitpacking`` of 8- to 128-bit values."""

    key = EncodingKey(COMPRESSIVE, "inline_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.1"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundChunkCodec:
        """Check the width of unpacked values; the packed width is in each chunk."""
        bits = message.uncompressed_bits_per_value
        if bits not in (8, 16, 32, 64, 128):
            raise UnsupportedError(f"bit-packed values of {bits} bits, expected 8, 16, 32, 64 or 128", detail=bits)
        if message.HasField("values"):
            plain = CompressiveEncoding(inline_bitpacking=InlineBitpackingMessage(uncompressed_bits_per_value=bits))
            outer = General(compression=message.values, values=plain)
            return scope.chunk_codec(CompressiveEncoding(general=outer), context)
        return BoundInlineBitpacking(FixedWidth(bits))


@dataclass(frozen=True, slots=True)
class BoundInlineBitpacking:
    """Unpacks chunks."""

    shape: FixedWidth
    num_buffers: int = 1

    def native(self) -> object | None:
        return native_codecs.inline_bitpacking(self.shape.bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        kernels.unpack_inline(
            chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts, self.shape.bits, out.values
        )


@hookimpl
def lance_provide_codecs() -> list[InlineBitpacking]:
    return [InlineBitpacking()]
