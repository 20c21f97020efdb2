"""Delta: a first value, and the differences between neighbours in an encoding of their own.

Source: CompressiveEncoding.Delta; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError
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
class Delta:
    """Binds ``delta`` of 32- and 64-bit values."""

    key = EncodingKey(COMPRESSIVE, "delta")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.3"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundDelta:
        """Bind the differences, a block of the width of the values in either context."""
        bits = message.uncompressed_bits_per_value
        if bits not in (32, 64):
            raise CorruptFileError(f"differences of {bits}-bit values, expected 32 or 64", detail=bits)
        deltas = scope.chunk_codec(message.deltas, DecodeContext.BLOCK)
        if deltas.shape != FixedWidth(bits):
            raise CorruptFileError(f"differences are {deltas.shape}, expected {bits} bits")
        if message.base >> bits:
            raise CorruptFileError(f"a first value {message.base} in {bits} bits")
        return BoundDelta(FixedWidth(bits), message.base, deltas)


@dataclass(frozen=True, slots=True)
class BoundDelta:
    """Sums the differences of each chunk or block up; like all unsigned integers, sums wrap around."""

    shape: FixedWidth
    base: int
    deltas: BoundChunkCodec

    @property
    def num_buffers(self) -> int:
        return self.deltas.num_buffers

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        number = np.dtype(f"u{self.shape.bytes_per_value}").type
        counts = np.diff(chunks.value_starts)
        delta_starts = np.zeros_like(chunks.value_starts)
        np.cumsum(np.maximum(counts - 1, 0), out=delta_starts[1:])
        block = new_block(self.shape, int(delta_starts[-1]))
        self.deltas.decode(ChunkBatch(chunks.data, chunks.starts, chunks.sizes, delta_starts), block)
        values = np.zeros(out.num_values, number)
        is_first = np.zeros(out.num_values, bool)
        firsts = chunks.value_starts[:-1][counts > 0]
        is_first[firsts] = True
        values[~is_first] = block.values.view(number)
        np.cumsum(values, out=values)
        values += number(self.base) - np.repeat(values[firsts], counts[counts > 0])
        out.values[:] = values.view(np.uint8)


@hookimpl
def lance_provide_codecs() -> list[Delta]:
    return [Delta()]
