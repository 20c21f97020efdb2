"""Flat: fixed-width values back to back, or one bit per value.

Values with a buffer compression are bound as a general codec around flat ones: the bytes are the same.

Source: CompressiveEncoding.Flat; spec 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, General
from lance_arrow.proto.encodings_v21_pb2 import Flat as FlatMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    ValueBatch,
    hookimpl,
)
from lance_arrow_codecs import native

Positions = NDArray[np.int64]
_CHUNK_BYTES = 8185
"""Most bytes in a chunk, the limit of the reference, unless the rules allow more. Source: spec 10."""


@dataclass(frozen=True, slots=True)
class Flat:
    """Binds and writes ``flat`` in every context; written values are views of the block if bit offsets allow it."""

    key = EncodingKey(COMPRESSIVE, "flat")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType(
        {DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.1", DecodeContext.PER_VALUE: "2.1"}
    )
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Check the width; single bits cannot be zipped."""
        bits = message.bits_per_value
        if bits != 1 and (bits == 0 or bits % 8):
            raise CorruptFileError(f"flat values of {bits} bits, expected 1 or a multiple of 8", detail=bits)
        scope.limits.check("max_value_bytes", bits // 8)
        if message.HasField("data"):
            plain = CompressiveEncoding(flat=FlatMessage(bits_per_value=bits))
            outer = CompressiveEncoding(general=General(compression=message.data, values=plain))
            return scope.value_codec(outer) if context is DecodeContext.PER_VALUE else scope.chunk_codec(outer, context)
        if context is not DecodeContext.PER_VALUE:
            return BoundFlat(FixedWidth(bits))
        if bits == 1:
            raise UnsupportedError("single bits cannot be zipped values")
        return BoundFlatValues(FixedWidth(bits))

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the values; None if two do not fit a chunk."""
        if not isinstance(block.shape, FixedWidth):
            return None
        bits = block.shape.bits
        if context is DecodeContext.PER_VALUE and bits == 1:
            return None
        if context is DecodeContext.MINI_BLOCK and _chunk_values(bits, block.num_values, scope) is None:
            return None
        return float(block.shape.num_bytes(block.num_values))

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.Encoded:
        """Return the values unchanged."""
        if not isinstance(block.shape, FixedWidth):
            raise UnsupportedError(f"flat values need a fixed width, not {block.shape}")
        bits = block.shape.bits
        description = CompressiveEncoding(flat=FlatMessage(bits_per_value=bits))
        values = _bitmap(block) if bits == 1 else block.values
        if context is DecodeContext.BLOCK:
            return spi.EncodedBlock(description, values)
        if context is DecodeContext.PER_VALUE:
            if bits == 1:
                raise UnsupportedError("single bits cannot be zipped values")
            return spi.EncodedValues(description, values, value_bits=bits)
        chunk_values = _chunk_values(bits, block.num_values, scope)
        if chunk_values is None:
            raise UnsupportedError(f"flat values of {bits} bits do not fit chunks of {scope.chunk_rules}")
        counts = spi.chunk_cuts.cut_evenly(block.num_values, chunk_values)
        return spi.EncodedChunks(description, (values,), ((counts * bits + 7) // 8)[np.newaxis], counts)

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return the C side of both encoders."""
        if not isinstance(shape, FixedWidth):
            return None
        description = CompressiveEncoding(flat=FlatMessage(bits_per_value=shape.bits)).SerializeToString()
        is_chunked = context is DecodeContext.MINI_BLOCK
        return (native.flat_encoder if is_chunked else native.flat_blocks_encoder)(description)

    def score_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> float | None:
        """Return the bytes of the values; None for bits, whose blocks would start within a byte."""
        if not isinstance(block.shape, FixedWidth) or block.shape.bits == 1:
            return None
        return float(len(block.values))

    def encode_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> spi.EncodedChunks:
        """Return the values unchanged."""
        if not isinstance(block.shape, FixedWidth) or block.shape.bits == 1:
            raise UnsupportedError(f"blocks of whole bytes cannot hold {block.shape}")
        counts = np.diff(value_starts)
        description = CompressiveEncoding(flat=FlatMessage(bits_per_value=block.shape.bits))
        return spi.EncodedChunks(
            description, (block.values,), (counts * block.shape.bytes_per_value)[np.newaxis], counts
        )


def _chunk_values(bits: int, num_values: int, scope: EncodeScope) -> int | None:
    """Return the values of a full chunk, a power of two; None if two do not fit."""
    rules = scope.chunk_rules
    num_bytes = min(max(_CHUNK_BYTES, rules.target_bytes), rules.max_bytes & ~7)
    chunk_values = spi.chunk_cuts.largest_power_of_two(min(8 * num_bytes // bits, rules.max_values))
    # The bitmap of a chunk starts at a byte border.
    smallest = 8 if bits == 1 else 2
    return chunk_values if chunk_values >= min(smallest, max(num_values, 1)) else None


def _bitmap(block: BlockSlice) -> Bytes:
    """Return the bits of a block from the first bit of a byte, with zeros after the last one."""
    num_bytes, spare_bits = (block.num_values + 7) // 8, -block.num_values % 8
    if block.bit_offset % 8 == 0:
        values = block.values[block.bit_offset // 8 :][:num_bytes]
        if not spare_bits or values[-1] >> (8 - spare_bits) == 0:
            return values
    bits = np.zeros(num_bytes, np.uint8)
    start, stop = np.array([block.bit_offset]), np.array([block.bit_offset + block.num_values])
    kernels.take_bit_runs(block.values, 0, start, stop, bits, 0)
    return bits


@dataclass(frozen=True, slots=True)
class BoundFlat:
    """Copies the values of chunks or blocks; a buffer may be longer than its values."""

    shape: FixedWidth
    num_buffers: int = 1

    def native(self) -> object:
        return native.flat_codec(self.shape.bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        if self.shape.bits == 1:
            kernels.copy_bits(*places, out.values, out.bit_offset)
        else:
            kernels.copy_fixed(*places, self.shape.bytes_per_value, out.values)


@dataclass(frozen=True, slots=True)
class BoundFlatValues:
    """Copies zipped values, each of exactly the described width."""

    shape: FixedWidth

    @property
    def value_bits(self) -> int:
        return self.shape.bits

    def native(self) -> object:
        return native_codecs.zipped(self.shape.bits)

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        width = self.shape.bytes_per_value
        if (values.sizes != width).any():
            raise CorruptPageError(f"the size of a zipped value differs from the {width} bytes of its description")
        kernels.copy_values(values.data, values.starts, width, out.values)


@hookimpl
def lance_provide_codecs() -> list[Flat]:
    return [Flat()]
