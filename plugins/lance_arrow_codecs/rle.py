"""Run-length encoding: run values and run lengths, of 8 bits or in encodings of their own.

In a mini-block chunk they are two buffers; a block holds the byte count of the values, the values, the lengths. A child
that takes no bytes (2.3) has no buffer in a chunk; a block with one such child still holds the byte count.
Source: CompressiveEncoding.Rle; spec 5.7, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundBufferScheme,
    BoundChunkCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    hookimpl,
    new_block,
)

Places: TypeAlias = list[tuple[int, int]]
_LENGTH_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Rle:
    """Binds ``rle``: flat children, all that 2.1 and 2.2 write, or children of any encoding."""

    key = EncodingKey(COMPRESSIVE, "rle")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})

    def bind(
        self, message: Any, context: DecodeContext, scope: BindScope
    ) -> BoundRleChunks | BoundRleBlocks | BoundEncodedRuns:
        """Check the widths of both children; encoded children occur in 2.3 only."""
        values, lengths = message.values, message.run_lengths
        if not (_is_flat(values) and _is_flat(lengths) and lengths.flat.bits_per_value == 8):
            return BoundEncodedRuns.of(values, lengths, context is DecodeContext.BLOCK, scope)
        shape = FixedWidth(_checked_bits(values.flat.bits_per_value))
        return BoundRleChunks(shape) if context is DecodeContext.MINI_BLOCK else BoundRleBlocks(shape)


def _is_flat(message: Any) -> bool:
    return message.WhichOneof("compression") == "flat" and not message.flat.HasField("data")


def _checked_bits(bits: int) -> int:
    if bits not in (8, 16, 32, 64):
        raise UnsupportedError(f"run values of {bits} bits, expected 8, 16, 32 or 64", detail=bits)
    return bits


@dataclass(frozen=True, slots=True)
class BoundRleChunks:
    """Expands mini-block chunks of two buffers."""

    shape: FixedWidth
    num_buffers: int = 2

    def native(self) -> object:
        return native_codecs.run_lengths(self.shape.bits, False)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        values = (chunks.starts[0], chunks.sizes[0])
        lengths = (chunks.starts[1], chunks.sizes[1])
        width = self.shape.bytes_per_value
        kernels.expand_runs(chunks.data, *values, *lengths, chunks.value_starts, width, out.values)


@dataclass(frozen=True, slots=True)
class BoundRleBlocks:
    """Expands blocks."""

    shape: FixedWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native_codecs.run_lengths(self.shape.bits, True)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        kernels.expand_run_blocks(*places, self.shape.bytes_per_value, out.values)


@dataclass(frozen=True, slots=True)
class RunCounter:
    """How many runs a child's bytes hold: of a flat child, or of a flat one that is compressed."""

    bytes_per_run: int
    scheme: BoundBufferScheme | None

    @classmethod
    def of(cls, message: Any, scope: BindScope) -> RunCounter | None:
        """Return None where bytes do not tell."""
        scheme = None
        if message.WhichOneof("compression") == "general":
            scheme = scope.buffer_scheme(message.general.compression)
            message = message.general.values
        if not _is_flat(message) or message.flat.bits_per_value < 8:
            return None
        return cls(message.flat.bits_per_value // 8, scheme)

    def count(self, data: Bytes, start: int, size: int) -> int:
        if self.scheme is not None:
            size = int(self.scheme.sizes(data, np.array([start], np.int64), np.array([size], np.int64))[0])
        if size % self.bytes_per_run:
            raise CorruptPageError(f"{size} bytes hold no whole number of runs of {self.bytes_per_run} bytes")
        return size // self.bytes_per_run


@dataclass(frozen=True, slots=True)
class BoundEncodedRuns:
    """Expands runs whose values, lengths or both have an encoding of their own, chunk by chunk.

    `is_block` tells that both parts, if either has bytes, lie in one buffer behind the byte count of the first.
    """

    values: BoundChunkCodec
    lengths: BoundChunkCodec
    values_counter: RunCounter | None
    lengths_counter: RunCounter | None
    is_block: bool

    @classmethod
    def of(cls, values: Any, lengths: Any, is_block: bool, scope: BindScope) -> BoundEncodedRuns:
        """Bind both children as blocks, which they are in either context."""
        bound = [scope.chunk_codec(one, DecodeContext.BLOCK) for one in (values, lengths)]
        if not all(isinstance(one.shape, FixedWidth) for one in bound):
            raise CorruptFileError(f"runs have values {bound[0].shape} and lengths {bound[1].shape}")
        _checked_bits(bound[0].shape.bits)
        if bound[1].shape.bits not in _LENGTH_BITS:
            raise CorruptFileError(f"run lengths of {bound[1].shape.bits} bits, expected 8, 16, 32 or 64")
        counters = RunCounter.of(values, scope), RunCounter.of(lengths, scope)
        if counters == (None, None) and bound[1].num_buffers:
            raise UnsupportedError("runs of which neither values nor lengths tell the number are not readable")
        return cls(*bound, *counters, is_block)

    @property
    def shape(self) -> BlockShape:
        return self.values.shape

    @property
    def num_buffers(self) -> int:
        parts = self.values.num_buffers + self.lengths.num_buffers
        return min(parts, 1) if self.is_block else parts

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        width = self.values.shape.bytes_per_value
        target = out.values.view(f"u{width}")
        for number in range(chunks.num_chunks):
            first, stop = int(chunks.value_starts[number]), int(chunks.value_starts[number + 1])
            self._expand(chunks, number, target[first:stop])

    def _expand(self, chunks: ChunkBatch, number: int, out: Any) -> None:
        places = [
            (int(starts[number]), int(sizes[number])) for starts, sizes in zip(chunks.starts, chunks.sizes, strict=True)
        ]
        if self.is_block and places:
            parts = zip(_split(chunks.data, *places[0]), (self.values, self.lengths), strict=True)
            places = [place for place, codec in parts if _has_bytes(codec, place, number)]
        of_values, of_lengths = places[: self.values.num_buffers], places[self.values.num_buffers :]
        num_runs = self._num_runs(chunks.data, of_values, of_lengths, len(out))
        lengths = _decode_runs(self.lengths, chunks.data, of_lengths, num_runs).astype(np.int64)
        if (lengths <= 0).any() or (lengths > len(out)).any() or int(lengths.sum()) != len(out):
            raise CorruptPageError("run lengths do not sum to the number of values, or one is 0", detail=number)
        out[:] = np.repeat(_decode_runs(self.values, chunks.data, of_values, num_runs), lengths)

    def _num_runs(self, data: Bytes, of_values: Places, of_lengths: Places, num_values: int) -> int:
        """Count runs; never more than values, since no run is empty."""
        counts = [
            counter.count(data, *places[0])
            for counter, places in ((self.values_counter, of_values), (self.lengths_counter, of_lengths))
            if counter is not None
        ]
        if counts:
            if max(counts) != min(counts) or counts[0] > num_values:
                raise CorruptPageError(f"{counts} run values and lengths for {num_values} values")
            return counts[0]
        # Lengths without bytes are a rule: as many of them as it takes to reach the number of values.
        lengths = _decode_runs(self.lengths, data, [], num_values).astype(np.int64)
        reached = np.cumsum(np.clip(lengths, 0, num_values))
        return min(int(np.searchsorted(reached, num_values)) + 1, num_values)


def _has_bytes(codec: BoundChunkCodec, place: tuple[int, int], number: int) -> bool:
    if codec.num_buffers == 0 and place[1]:
        raise CorruptPageError(f"a part of a run block has {place[1]} bytes, expected none", detail=number)
    return codec.num_buffers > 0


def _split(data: Bytes, start: int, size: int) -> Places:
    """Return the places of run values and run lengths in a block."""
    values_bytes = int.from_bytes(data[start : start + 8].tobytes(), "little") if size >= 8 else size
    if values_bytes > size - 8:
        raise CorruptPageError(f"a run block of {size} bytes says {values_bytes} of values")
    return [(start + 8, values_bytes), (start + 8 + values_bytes, size - 8 - values_bytes)]


def _decode_runs(codec: BoundChunkCodec, data: Bytes, places: Places, num_runs: int) -> NDArray[Any]:
    starts = np.array([[start] for start, _ in places], np.int64).reshape(len(places), 1)
    sizes = np.array([[size] for _, size in places], np.int64).reshape(len(places), 1)
    block = new_block(codec.shape, num_runs)
    codec.decode(ChunkBatch(data, starts, sizes, np.array([0, num_runs], np.int64)), block)
    return block.values.view(f"u{codec.shape.bytes_per_value}")


@hookimpl
def lance_provide_codecs() -> list[Rle]:
    return [Rle()]
