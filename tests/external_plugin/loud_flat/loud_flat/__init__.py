"""Flat values back to back, decoded by the public kernels; counts what it is asked for.

It provides the key of the built-in codec, so a preference has to choose between both:
``LANCE_ARROW_PREFER='lance.encodings21.CompressiveEncoding/flat=codec.loud.flat'``.
Source: CompressiveEncoding.Flat.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.spi import (
    COMPRESSIVE,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    hookimpl,
)

calls: Counter[str] = Counter()
"""How often each method ran in this process."""


@dataclass(frozen=True, slots=True)
class FlatChunks:
    """Whole chunks and opaque blocks."""

    shape: FixedWidth
    num_buffers: int = 1

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        calls["decode chunks"] += 1
        starts, sizes = chunks.starts[0], chunks.sizes[0]
        if self.shape.bits == 1:
            kernels.copy_bits(chunks.data, starts, sizes, chunks.value_starts, out.values, out.bit_offset)
        else:
            width = self.shape.bytes_per_value
            kernels.copy_fixed(chunks.data, starts, sizes, chunks.value_starts, width, out.values)


@dataclass(frozen=True, slots=True)
class FlatValues:
    """Single values of a full-zip page."""

    shape: FixedWidth

    @property
    def value_bits(self) -> int:
        return self.shape.bits

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        calls["decode values"] += 1
        kernels.copy_values(values.data, values.starts, self.shape.bytes_per_value, out.values)


class LoudFlat:
    """The factory: one description in, one decoder out."""

    key = EncodingKey(COMPRESSIVE, "flat")
    contexts = frozenset(DecodeContext)

    def bind(self, message: Any, context: DecodeContext, scope: Any) -> BoundChunkCodec | BoundPerValueCodec:
        calls["bind"] += 1
        width = message.bits_per_value
        if width != 1 and (width == 0 or width % 8):
            raise CorruptFileError(f"flat values of {width} bits, expected 1 or a multiple of 8")
        if message.HasField("data"):
            raise UnsupportedError("flat values with a compression of their own")
        shape = FixedWidth(width)
        return FlatValues(shape) if context is DecodeContext.PER_VALUE else FlatChunks(shape)


@hookimpl
def lance_provide_codecs() -> list[LoudFlat]:
    return [LoudFlat()]
