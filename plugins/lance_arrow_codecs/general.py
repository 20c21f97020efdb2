"""General compression around another codec: of a chunk's first buffer, of a block, or of each zipped value.

Source: CompressiveEncoding.General; spec 5.11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    Frames,
    NumBytes,
    ValueBatch,
    hookimpl,
    native_side,
)

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class General:
    """Binds ``general`` around any child."""

    key = EncodingKey(COMPRESSIVE, "general")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.2", DecodeContext.PER_VALUE: "2.1"}
    )

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundGeneral | BoundGeneralValues:
        """Bind the scheme and the child; zipped values that are compressed always have variable width."""
        frames = Frames.bind(message.compression, context, scope)
        if context is not DecodeContext.PER_VALUE:
            return BoundGeneral(frames, scope.chunk_codec(message.values, context))
        return BoundGeneralValues(frames, scope.value_codec(message.values))


@dataclass(frozen=True, slots=True)
class BoundGeneral:
    """Decompresses buffer 0 of each chunk and hands the child a batch of plain bytes."""

    frames: Frames
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

    frames: Frames
    child: BoundPerValueCodec
    value_bits: None = None

    @property
    def shape(self) -> BlockShape:
        return self.child.shape

    def native(self) -> object | None:
        if self.child.value_bits is not None or not native_codecs.is_plain(native_side(self.child)):
            return None
        # The content of a frame is the value: a batch is decompressed in one go, and nothing is left to decode.
        return native_codecs.called(0, self._open)

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
        # A null has no bytes here, but a child of fixed width wants some: zeros behind the last value.
        width = self.child.value_bits // 8
        plain, starts = self.frames.open(values.data, values.starts, values.sizes, width)
        plain[len(plain) - width :] = 0
        is_null = values.sizes == 0
        sizes = np.where(is_null, width, np.diff(starts))
        return ValueBatch(plain, np.where(is_null, len(plain) - width, starts[:-1]), sizes)


@hookimpl
def lance_provide_codecs() -> list[General]:
    return [General()]
