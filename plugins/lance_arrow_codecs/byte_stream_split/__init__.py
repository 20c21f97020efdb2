"""Byte stream split: byte b of every value of a chunk is stored in stream b, which compresses better.

The streams of a chunk or block are one buffer, in the encoding of the child (so far always flat).
Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import spi
from lance_arrow.errors import UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import ByteStreamSplit as ByteStreamSplitMessage
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    hookimpl,
    new_block,
)
from lance_arrow_codecs import native

_SHAPES = (FixedWidth(32), FixedWidth(64))
_GENERAL = EncodingKey(COMPRESSIVE, "general")
_CHUNK_BYTES = 4096
"""Source: spec 5.10."""
_SAMPLED_VALUES = 8192
_WORTHWHILE = 0.9
"""Streams must have at most this part of the joint entropy of the bytes. A guess: the reference's test is unknown."""


@dataclass(frozen=True, slots=True)
class ByteStreamSplit:
    """Binds ``byte_stream_split`` of 32- or 64-bit values; writes flat streams in chunks that will be compressed."""

    key = EncodingKey(COMPRESSIVE, "byte_stream_split")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1"})
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundByteStreamSplit:
        """Check the width of the values."""
        is_plain = message.values.WhichOneof("compression") == "flat" and not message.values.flat.HasField("data")
        streams = scope.chunk_codec(message.values, context)
        if streams.shape not in (FixedWidth(32), FixedWidth(64)):
            raise UnsupportedError(f"byte streams of values {streams.shape}, expected 32 or 64 bits")
        return BoundByteStreamSplit(streams.shape, None if is_plain else streams)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Estimate the compressed size of the streams; None without a compression around them."""
        is_named = scope.options.codec == self.key.case
        if scope.options.bss == "off" or not (is_named or _GENERAL in scope.excluded):
            return None
        if block.shape not in _SHAPES or _chunk_values(block, scope) < 2:
            return None
        if is_named:
            return float(len(block.values))
        if block.num_values == 0:
            return None
        split, together = _entropies(block)
        if scope.options.bss == "on":
            return 0.0
        return split * len(block.values) if split < _WORTHWHILE * together else None

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return an encoder that fits no block: without compression around them, streams are never chosen."""
        is_wanted = scope.options.codec == self.key.case or _GENERAL in scope.excluded
        return None if is_wanted and shape in _SHAPES else native_codecs.unfit_encoder()

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedChunks:
        """Split the values of each chunk into streams."""
        if not isinstance(block.shape, FixedWidth) or block.shape not in _SHAPES:
            raise UnsupportedError(f"byte streams need values of 32 or 64 bits, not {block.shape}")
        chunk_values = _chunk_values(block, scope)
        if chunk_values < 2:
            raise UnsupportedError(f"byte streams do not fit chunks of {scope.chunk_rules}")
        counts = spi.chunk_cuts.cut_evenly(block.num_values, chunk_values)
        width = block.shape.bytes_per_value
        out = np.empty(len(block.values), np.uint8)
        native.scatter_streams(block.values, spi.chunk_cuts.starts_of(counts), width, out)
        streams = CompressiveEncoding(flat=Flat(bits_per_value=block.shape.bits))
        description = CompressiveEncoding(byte_stream_split=ByteStreamSplitMessage(values=streams))
        return spi.EncodedChunks(description, (out,), (counts * width)[np.newaxis], counts)


def _chunk_values(block: BlockSlice, scope: EncodeScope) -> int:
    width = len(block.values) // max(block.num_values, 1) or 8
    rules = scope.chunk_rules
    return spi.chunk_cuts.largest_power_of_two(min(min(_CHUNK_BYTES, rules.max_bytes & ~7) // width, rules.max_values))


def _entropies(block: BlockSlice) -> tuple[float, float]:
    """Return the order-0 entropy of a sample's bytes, as a part of their bits: per stream, and for all bytes."""
    rows = block.values.reshape(block.num_values, -1)
    step = max(block.num_values // _SAMPLED_VALUES, 1)
    some = rows[::step]
    streams = [_entropy(np.bincount(some[:, stream], minlength=256)) for stream in range(rows.shape[1])]
    return sum(streams) / len(streams), _entropy(np.bincount(some.reshape(-1), minlength=256))


def _entropy(histogram: NDArray[np.int64]) -> float:
    shares = histogram[histogram > 0] / histogram.sum()
    return float(-(shares * np.log2(shares)).sum()) / 8


@dataclass(frozen=True, slots=True)
class BoundByteStreamSplit:
    """Joins the values of chunks from their streams, which `streams` decodes first."""

    shape: FixedWidth
    streams: BoundChunkCodec | None = None

    @property
    def num_buffers(self) -> int:
        return 1 if self.streams is None else self.streams.num_buffers

    def native(self) -> object | None:
        return native.byte_streams_codec(self.shape.bits) if self.streams is None else None

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
        native.gather_streams(data, starts, sizes, chunks.value_starts, width, out.values)


@hookimpl
def lance_provide_codecs() -> list[ByteStreamSplit]:
    return [ByteStreamSplit()]
