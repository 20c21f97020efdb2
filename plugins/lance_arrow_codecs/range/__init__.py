"""Range: values at equal distances, without buffers.

Source: CompressiveEncoding.Range; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import Range as RangeMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    hookimpl,
)
from lance_arrow_codecs import native

_DESCRIPTION_BYTES = 16
_LEAST_VALUES = 2
_GLANCED_VALUES = 64


@dataclass(frozen=True, slots=True)
class Range:
    """Binds ``range`` of 32- and 64-bit values; writes it for blocks."""

    key = EncodingKey(COMPRESSIVE, "range")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.3"})
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundRange:
        """Check the width; start and step are unsigned and wrap around, like the values."""
        bits = message.uncompressed_bits_per_value
        if bits not in (32, 64):
            raise CorruptFileError(f"a range of {bits}-bit values, expected 32 or 64", detail=bits)
        if (message.start | message.step) >> bits:
            raise CorruptFileError(f"a range from {message.start} by {message.step} in {bits} bits")
        return BoundRange(FixedWidth(bits), message.start, message.step)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the description; None if distances differ, or are 0, which is a constant."""
        step = None if scope.options.stores_plainly else _step(block)
        if step is None or not step:
            return None
        # Readers of the reference only count upwards.
        values = block.values.view(step.dtype)
        return float(_DESCRIPTION_BYTES) if int(values[0]) + (len(values) - 1) * int(step) == int(values[-1]) else None

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedBlock:
        """Describe the first value and the distance."""
        step = _step(block)
        if step is None:
            raise UnsupportedError(f"{block.num_values} values of {block.shape} are not a range")
        message = RangeMessage(
            uncompressed_bits_per_value=8 * step.nbytes, start=int(block.values.view(step.dtype)[0]), step=int(step)
        )
        return spi.EncodedBlock(CompressiveEncoding(range=message), None)


def _step(block: BlockSlice) -> Any:
    """Return the distance of neighbours, unsigned like the values; None if there are several."""
    if block.shape not in (FixedWidth(32), FixedWidth(64)) or block.num_values < _LEAST_VALUES:
        return None
    values = block.values.view(f"<u{len(block.values) // block.num_values}")
    step = (values[1:2] - values[:1])[0]
    # For most blocks, a few values show that they are not a range.
    for some in (values[:_GLANCED_VALUES], values):
        if (some[1:] - some[:-1] != step).any():
            return None
    return step


@dataclass(frozen=True, slots=True)
class BoundRange:
    """Counts ``start + i * step`` in each chunk or block."""

    shape: FixedWidth
    start: int
    step: int
    num_buffers: int = 0

    def native(self) -> object:
        return native.range_codec(self.shape.bits, self.start, self.step)

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
