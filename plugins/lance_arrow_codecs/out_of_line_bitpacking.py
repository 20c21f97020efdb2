"""Out-of-line bit packing: blocks of integers packed to one width, which the description holds.

Packed words with a buffer compression are bound as a general codec around plain ones. A chunk is one block.

Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.3, 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat, General
from lance_arrow.proto.encodings_v21_pb2 import OutOfLineBitpacking as OutOfLineBitpackingMessage
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
class OutOfLineBitpacking:
    """Binds ``out_of_line_bitpacking`` of 8- to 64-bit values; written for levels and dictionary items."""

    key = EncodingKey(COMPRESSIVE, "out_of_line_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.1"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundChunkCodec:
        """Check both widths; the packed one is the flat child's, and 0 means that all values are 0."""
        bits = message.uncompressed_bits_per_value
        if bits not in (8, 16, 32, 64):
            raise UnsupportedError(f"bit-packed values of {bits} bits, expected 8, 16, 32 or 64", detail=bits)
        if message.values.WhichOneof("compression") != "flat":
            raise UnsupportedError("bit-packed values whose packed words are encoded again are not readable")
        packed_bits = message.values.flat.bits_per_value
        if packed_bits > bits:
            raise CorruptFileError(f"{bits}-bit values are packed to {packed_bits} bits", detail=packed_bits)
        if message.values.flat.HasField("data"):
            words = CompressiveEncoding(flat=Flat(bits_per_value=packed_bits))
            plain = OutOfLineBitpackingMessage(uncompressed_bits_per_value=bits, values=words)
            inner = CompressiveEncoding(out_of_line_bitpacking=plain)
            outer = General(compression=message.values.flat.data, values=inner)
            return scope.chunk_codec(CompressiveEncoding(general=outer), context)
        return BoundOutOfLineBitpacking(FixedWidth(bits), packed_bits)


@dataclass(frozen=True, slots=True)
class BoundOutOfLineBitpacking:
    """Unpacks blocks of one width."""

    shape: FixedWidth
    packed_bits: int
    num_buffers: int = 1

    def native(self) -> object:
        return native_codecs.out_of_line_bitpacking(self.shape.bits, self.packed_bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        kernels.unpack_out_of_line(*places, self.shape.bits, self.packed_bits, out.values)


@hookimpl
def lance_provide_codecs() -> list[OutOfLineBitpacking]:
    return [OutOfLineBitpacking()]
