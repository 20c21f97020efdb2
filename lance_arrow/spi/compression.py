"""Compression around another codec: of a chunk's first buffer, of a block, or of each zipped value.

The format's codec ``general`` is built from these parts. A private codec can build another compression from them.
Source: CompressiveEncoding.General; spec 5.11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, NumBytes
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch
from lance_arrow.spi.codecs import BoundBufferScheme, BoundChunkCodec, BoundCodec, BoundPerValueCodec
from lance_arrow.spi.encoding import Encoded, EncodedBlock, EncodedChunks, EncodedValues, SchemeEncoder
from lance_arrow.spi.frames import Frames
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.native import native_side, prefixes_side, stored_side
from lance_arrow.spi.scopes import BindScope, EncodeScope

__all__ = ["BoundBufferScheme", "Frames", "SchemeEncoder", "bind_compressed", "compressed", "with_room"]

Positions = NDArray[np.int64]
Compress: TypeAlias = Callable[[Bytes, Any, Any, int | None], tuple[Bytes, NDArray[np.int64]]]
_LARGEST_GROWTH = 255
_FRAME_BYTES = 64
"""Overhead of frames whose bytes do not compress: one byte in so many, and the header of each frame."""


def bind_compressed(frames: Frames, child: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
    """Bind a codec that decompresses frames and passes their content to the codec of `child`, a description."""
    if context is DecodeContext.PER_VALUE:
        return CompressedValues(frames, scope.value_codec(child))
    return CompressedChunks(frames, scope.chunk_codec(child, context))


def with_room(scope: EncodeScope) -> EncodeScope:
    """Return a scope whose chunks obey the rules even if compression makes them larger."""
    rules = scope.chunk_rules
    most = max(rules.max_bytes - rules.max_bytes // _LARGEST_GROWTH - _FRAME_BYTES, 0)
    return scope.with_rules(replace(rules, max_bytes=most, target_bytes=min(rules.target_bytes, most)))


def compressed(child: Encoded, compress: Compress, level: int | None, description: Message) -> Encoded:
    """Compress the output of a child: the first buffer of each chunk, the block, or each value.

    Parameters
    ----------
    child
        Output of the child, in chunks that leave room (`with_room`).
    compress
        As `SchemeEncoder.compress`.
    level
        Compression level, passed to `compress`.
    description
        Description of the result. If there are no bytes to compress, the result is `child`, with its own description.

    Raises
    ------
    UnsupportedError
        The child encoded zipped values of one width.
    """
    if isinstance(child, EncodedChunks):
        if not child.buffers:
            return child
        starts = np.cumsum(child.sizes[0]) - child.sizes[0]
        frames, offsets = compress(child.buffers[0], starts, child.sizes[0], level)
        sizes = np.concatenate([np.diff(offsets)[np.newaxis], child.sizes[1:]])
        return EncodedChunks(description, (frames, *child.buffers[1:]), sizes, child.value_counts)
    if isinstance(child, EncodedBlock):
        if child.buffer is None:
            return child
        whole = np.zeros(1, np.int64), np.array([len(child.buffer)])
        return EncodedBlock(description, compress(child.buffer, *whole, level)[0])
    if child.offsets is None:
        raise UnsupportedError("zipped values of one width are not compressed one by one")
    frames, offsets = compress(child.data, child.offsets[:-1], np.diff(child.offsets), level)
    return EncodedValues(description, frames, offsets=offsets, length_bits=child.length_bits)


@dataclass(frozen=True, slots=True)
class CompressedChunks:
    """Decompresses buffer 0 of each chunk and passes a batch of plain bytes to the child."""

    frames: Frames
    child: BoundChunkCodec

    @property
    def shape(self) -> BlockShape:
        return self.child.shape

    @property
    def num_buffers(self) -> int:
        return self.child.num_buffers

    def native(self) -> object | None:
        if self.num_buffers == 0:
            return None
        child, scheme = native_side(self.child), self.frames.scheme
        return native_codecs.compressed(child, native_side(scheme), self.frames.most_bytes, prefixes_side(scheme))

    def measure(self, chunks: ChunkBatch) -> NumBytes:
        return self.child.measure(self._plain(chunks))

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        self.child.decode(self._plain(chunks), out)

    def _plain(self, chunks: ChunkBatch) -> ChunkBatch:
        return chunks.derive(self, lambda: self._decompress(chunks))

    def _decompress(self, chunks: ChunkBatch) -> ChunkBatch:
        if self.num_buffers == 0:
            return chunks
        # One batch has one array: buffers that are not compressed move behind the decompressed ones.
        spare = sum(kernels.measure_variable_values(sizes) for sizes in chunks.sizes[1:])
        plain, plain_starts = self.frames.open(chunks.data, chunks.starts[0], chunks.sizes[0], spare)
        starts, sizes = np.empty_like(chunks.starts), chunks.sizes.copy()
        starts[0], sizes[0] = plain_starts[:-1], np.diff(plain_starts)
        position = int(plain_starts[-1])
        for buffer in range(1, len(starts)):
            offsets = np.zeros(chunks.num_chunks + 1, np.int64)
            places = (chunks.data, chunks.starts[buffer], chunks.sizes[buffer])
            kernels.decode_variable_values(*places, offsets.view(np.uint8), 64, plain[position:])
            starts[buffer] = offsets[:-1] + position
            position += int(offsets[-1])
        return ChunkBatch(plain, starts, sizes, chunks.value_starts)


@dataclass(frozen=True, slots=True)
class CompressedValues:
    """Decompresses each zipped value and passes a batch of plain values to the child."""

    frames: Frames
    child: BoundPerValueCodec
    value_bits: None = None

    @property
    def shape(self) -> BlockShape:
        return self.child.shape

    def native(self) -> object | None:
        if self.child.value_bits is not None or not native_codecs.is_plain(native_side(self.child)):
            return None
        # The content of a frame is the value: one call decompresses a batch, and no decoding is left.
        scheme = native_side(self.frames.scheme)
        if scheme is None:
            return native_codecs.called(0, self._open)
        return native_codecs.compressed_values(scheme, self.frames.most_bytes)

    def native_stored(self) -> object | None:
        return None if self.native() is None else stored_side(self.frames.scheme)

    def _open(self, data: Any, starts: Any, sizes: Any, first: int) -> tuple[Callable[[Any], None], Positions]:
        frames = np.frombuffer(data, np.uint8), np.asarray(starts) - first, np.asarray(sizes)
        places = self.frames.places(*frames)

        def fill(out: Any) -> None:
            self.frames.scheme.decompress(*frames, np.frombuffer(out, np.uint8), places)

        return fill, places

    def measure(self, values: ValueBatch) -> NumBytes:
        return self.child.measure(self._plain(values))

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        self.child.decode(self._plain(values), out)

    def _plain(self, values: ValueBatch) -> ValueBatch:
        return values.derive(self, lambda: self._decompress(values))

    def _decompress(self, values: ValueBatch) -> ValueBatch:
        if self.child.value_bits is None:
            plain, starts = self.frames.open(values.data, values.starts, values.sizes)
            return ValueBatch(plain, starts[:-1], np.diff(starts))
        # A null has no bytes here, but a child of fixed width needs some: zeros behind the last value.
        width = self.child.value_bits // 8
        plain, starts = self.frames.open(values.data, values.starts, values.sizes, width)
        plain[len(plain) - width :] = 0
        is_null = values.sizes == 0
        sizes = np.where(is_null, width, np.diff(starts))
        return ValueBatch(plain, np.where(is_null, len(plain) - width, starts[:-1]), sizes)
