"""General compression around another codec: of a chunk's first buffer, of a block, or of each zipped value.

Source: CompressiveEncoding.General; spec 5.11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import UnsupportedError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundBufferScheme,
    BoundChunkCodec,
    BoundPerValueCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    NumBytes,
    ValueBatch,
    VariableWidth,
    hookimpl,
)

Positions = NDArray[np.int64]

_LARGEST_FRAME = {
    DecodeContext.MINI_BLOCK: "max_chunk_bytes",
    DecodeContext.BLOCK: "max_dictionary_bytes",
    DecodeContext.PER_VALUE: "max_value_bytes",
}


@dataclass(frozen=True, slots=True)
class General:
    """Binds ``general`` around any child."""

    key = EncodingKey(COMPRESSIVE, "general")
    contexts = frozenset(DecodeContext)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundGeneral | BoundGeneralValues:
        """Bind the scheme and the child; zipped values that are compressed always have variable width."""
        frames = _Frames(scope.buffer_scheme(message.compression), scope.limits.check, _LARGEST_FRAME[context])
        if context is not DecodeContext.PER_VALUE:
            return BoundGeneral(frames, scope.chunk_codec(message.values, context))
        child = scope.value_codec(message.values)
        if not isinstance(child.shape, VariableWidth):
            raise UnsupportedError("compressed zipped values of fixed width are not readable")
        return BoundGeneralValues(frames, child)


@dataclass(frozen=True, slots=True)
class _Frames:
    """Decompresses frames after checking what they declare."""

    scheme: BoundBufferScheme
    check: Callable[[str, int], int]
    largest: str

    def open(self, data: Bytes, starts: Positions, sizes: Positions, spare_bytes: int) -> tuple[Bytes, Positions]:
        """Return the frames' content back to back with `spare_bytes` after it, and where each begins (and ends)."""
        plain_sizes = self.scheme.sizes(data, starts, sizes)
        self.check(self.largest, int(plain_sizes.max(initial=0)))
        plain_starts = np.zeros(len(plain_sizes) + 1, np.int64)
        np.cumsum(plain_sizes, out=plain_starts[1:])
        total = int(plain_starts[-1])
        plain = np.empty(self.check("max_batch_bytes", total + spare_bytes), np.uint8)
        self.scheme.decompress(data, starts, sizes, plain[:total], plain_starts)
        return plain, plain_starts


@dataclass(frozen=True, slots=True)
class BoundGeneral:
    """Decompresses buffer 0 of each chunk and hands the child a batch of plain bytes."""

    frames: _Frames
    child: BoundChunkCodec

    @property
    def shape(self) -> BlockShape:
        return self.child.shape

    @property
    def num_buffers(self) -> int:
        return self.child.num_buffers

    def measure(self, chunks: ChunkBatch) -> NumBytes:
        return self.child.measure(self._plain(chunks))

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        self.child.decode(self._plain(chunks), out)

    def _plain(self, chunks: ChunkBatch) -> ChunkBatch:
        return chunks.derive(self, lambda: self._decompress(chunks))

    def _decompress(self, chunks: ChunkBatch) -> ChunkBatch:
        if self.num_buffers == 0:
            return chunks
        # One batch has one array: the buffers that were never compressed move behind those that were.
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
class BoundGeneralValues:
    """Decompresses each zipped value and hands the child a batch of plain ones."""

    frames: _Frames
    child: BoundPerValueCodec
    value_bits: None = None

    @property
    def shape(self) -> BlockShape:
        return self.child.shape

    def measure(self, values: ValueBatch) -> NumBytes:
        return self.child.measure(self._plain(values))

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        self.child.decode(self._plain(values), out)

    def _plain(self, values: ValueBatch) -> ValueBatch:
        return values.derive(self, lambda: self._decompress(values))

    def _decompress(self, values: ValueBatch) -> ValueBatch:
        plain, starts = self.frames.open(values.data, values.starts, values.sizes, 0)
        return ValueBatch(plain, starts[:-1], np.diff(starts))


@hookimpl
def lance_provide_codecs() -> list[General]:
    return [General()]
