"""Run-length encoding: run values and 8-bit run lengths.

In a mini-block chunk they are two buffers; a block holds the byte count of the values, the values, the lengths.
Source: CompressiveEncoding.Rle; spec 5.7.
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
class Rle:
    """Binds ``rle`` with flat children: all that 2.1 and 2.2 write."""

    key = EncodingKey(COMPRESSIVE, "rle")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundRleChunks | BoundRleBlocks:
        """Check the widths of both children; encoded children occur in 2.3 only."""
        for child in (message.values, message.run_lengths):
            if child.WhichOneof("compression") != "flat" or child.flat.HasField("data"):
                raise UnsupportedError("runs whose values or lengths are encoded are not readable")
        bits, length_bits = message.values.flat.bits_per_value, message.run_lengths.flat.bits_per_value
        if bits not in (8, 16, 32, 64):
            raise UnsupportedError(f"run values of {bits} bits, expected 8, 16, 32 or 64", detail=bits)
        if length_bits != 8:
            raise UnsupportedError(f"run lengths of {length_bits} bits, expected 8", detail=length_bits)
        shape = FixedWidth(bits)
        return BoundRleChunks(shape) if context is DecodeContext.MINI_BLOCK else BoundRleBlocks(shape)


@dataclass(frozen=True, slots=True)
class BoundRleChunks:
    """Expands mini-block chunks of two buffers."""

    shape: FixedWidth
    num_buffers: int = 2

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

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        kernels.expand_run_blocks(*places, self.shape.bytes_per_value, out.values)


@hookimpl
def lance_provide_codecs() -> list[Rle]:
    return [Rle()]
