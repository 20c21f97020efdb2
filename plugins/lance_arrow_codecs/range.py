"""Range: values at equal distances, without any buffer.

Source: CompressiveEncoding.Range; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, CorruptPageError
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
class Range:
    """Binds ``range`` of 32- and 64-bit values."""

    key = EncodingKey(COMPRESSIVE, "range")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.3"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundRange:
        """Check the width; start and step are unsigned and wrap around, like the values."""
        bits = message.uncompressed_bits_per_value
        if bits not in (32, 64):
            raise CorruptFileError(f"a range of {bits}-bit values, expected 32 or 64", detail=bits)
        if (message.start | message.step) >> bits:
            raise CorruptFileError(f"a range from {message.start} by {message.step} in {bits} bits")
        return BoundRange(FixedWidth(bits), message.start, message.step)


@dataclass(frozen=True, slots=True)
class BoundRange:
    """Counts ``start + i * step`` in each chunk or block."""

    shape: FixedWidth
    start: int
    step: int
    num_buffers: int = 0

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        if chunks.sizes.any():
            raise CorruptPageError("a range has bytes, expected none")
        number = np.dtype(f"u{self.shape.bytes_per_value}").type
        counts = np.diff(chunks.value_starts)
        places = np.arange(out.num_values) - np.repeat(chunks.value_starts[:-1], counts)
        out.values[:] = (places.astype(number) * number(self.step) + number(self.start)).view(np.uint8)


@hookimpl
def lance_provide_codecs() -> list[Range]:
    return [Range()]
