"""Byte stream split: byte b of every value of a chunk in stream b, so that what compresses around it finds likeness.

Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import UnsupportedError
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
class ByteStreamSplit:
    """Binds ``byte_stream_split`` over flat values of 32 or 64 bits: all that is written."""

    key = EncodingKey(COMPRESSIVE, "byte_stream_split")
    contexts = frozenset({DecodeContext.MINI_BLOCK})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundByteStreamSplit:
        """Check the width of the values."""
        if message.values.WhichOneof("compression") != "flat" or message.values.flat.HasField("data"):
            raise UnsupportedError("byte streams of values that are encoded themselves are not readable")
        bits = message.values.flat.bits_per_value
        if bits not in (32, 64):
            raise UnsupportedError(f"byte streams of values of {bits} bits, expected 32 or 64", detail=bits)
        return BoundByteStreamSplit(FixedWidth(bits))


@dataclass(frozen=True, slots=True)
class BoundByteStreamSplit:
    """Puts the values of mini-block chunks together; a chunk is exactly its streams."""

    shape: FixedWidth
    num_buffers: int = 1

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        kernels.gather_streams(*places, self.shape.bytes_per_value, out.values)


@hookimpl
def lance_provide_codecs() -> list[ByteStreamSplit]:
    return [ByteStreamSplit()]
