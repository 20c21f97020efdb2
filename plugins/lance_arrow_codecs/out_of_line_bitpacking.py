"""Out-of-line bit packing: blocks of integers packed to one width, which the description holds.

Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.3, 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    hookimpl,
)


@dataclass(frozen=True, slots=True)
class OutOfLineBitpacking:
    """Binds ``out_of_line_bitpacking`` of 8- to 64-bit values, for levels and dictionary items."""

    key = EncodingKey(COMPRESSIVE, "out_of_line_bitpacking")
    contexts = frozenset({DecodeContext.BLOCK})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundOutOfLineBitpacking:
        """Check both widths; the packed one is the flat child's, and 0 means that all values are 0."""
        bits = message.uncompressed_bits_per_value
        if bits not in (8, 16, 32, 64):
            raise UnsupportedError(f"bit-packed values of {bits} bits, expected 8, 16, 32 or 64", detail=bits)
        if message.values.WhichOneof("compression") != "flat" or message.values.flat.HasField("data"):
            raise UnsupportedError("bit-packed values whose packed words are encoded again are not readable")
        packed_bits = message.values.flat.bits_per_value
        if packed_bits > bits:
            raise CorruptFileError(f"{bits}-bit values are packed to {packed_bits} bits", detail=packed_bits)
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
