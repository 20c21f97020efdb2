"""Byte stream split: byte b of every value of a chunk in stream b, so that what compresses around it finds likeness.

The streams of a chunk or block are one buffer, in the encoding of the child (so far always flat).
Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import UnsupportedError
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
    new_block,
)


@dataclass(frozen=True, slots=True)
class ByteStreamSplit:
    """Binds ``byte_stream_split`` over values of 32 or 64 bits; only flat ones in chunks are written."""

    key = EncodingKey(COMPRESSIVE, "byte_stream_split")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundByteStreamSplit:
        """Check the width of the values."""
        is_plain = message.values.WhichOneof("compression") == "flat" and not message.values.flat.HasField("data")
        streams = scope.chunk_codec(message.values, context)
        if streams.shape not in (FixedWidth(32), FixedWidth(64)):
            raise UnsupportedError(f"byte streams of values {streams.shape}, expected 32 or 64 bits")
        return BoundByteStreamSplit(streams.shape, None if is_plain else streams)


@dataclass(frozen=True, slots=True)
class BoundByteStreamSplit:
    """Puts the values of chunks together, which are exactly their streams; `streams` decodes those first."""

    shape: FixedWidth
    streams: BoundChunkCodec | None = None

    @property
    def num_buffers(self) -> int:
        return 1 if self.streams is None else self.streams.num_buffers

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        width = self.shape.bytes_per_value
        if self.streams is None:
            data, starts, sizes = chunks.data, chunks.starts[0], chunks.sizes[0]
        else:
            block = new_block(self.shape, chunks.num_values)
            self.streams.decode(chunks, block)
            data, starts, sizes = block.values, chunks.value_starts[:-1] * width, np.diff(chunks.value_starts) * width
        kernels.gather_streams(data, starts, sizes, chunks.value_starts, width, out.values)


@hookimpl
def lance_provide_codecs() -> list[ByteStreamSplit]:
    return [ByteStreamSplit()]
