"""Inline bit packing: chunks of at most 1024 integers, each with its own bit width in its first word.

Chunks with a buffer compression are bound as a general codec around plain ones: the bytes are the same.
Source: CompressiveEncoding.InlineBitpacking; spec 5.3, 5.4, 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import spi
from lance_arrow.errors import UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, General
from lance_arrow.proto.encodings_v21_pb2 import InlineBitpacking as InlineBitpackingMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    hookimpl,
)
from lance_arrow_codecs import native

Positions = NDArray[np.int64]
_CHUNK_VALUES = 1024
"""Source: spec 5.4."""
_BYTES_PER_BIT = _CHUNK_VALUES // 8


@dataclass(frozen=True, slots=True)
class InlineBitpacking:
    """Binds ``inline_bitpacking`` of 8- to 128-bit values; writes it for 8- to 64-bit values."""

    key = EncodingKey(COMPRESSIVE, "inline_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1", DecodeContext.BLOCK: "2.1"})
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundChunkCodec:
        """Check the width of unpacked values; the packed width is in each chunk."""
        bits = message.uncompressed_bits_per_value
        if bits not in (8, 16, 32, 64, 128):
            raise UnsupportedError(f"bit-packed values of {bits} bits, expected 8, 16, 32, 64 or 128", detail=bits)
        if message.HasField("values"):
            plain = CompressiveEncoding(inline_bitpacking=InlineBitpackingMessage(uncompressed_bits_per_value=bits))
            outer = General(compression=message.values, values=plain)
            return scope.chunk_codec(CompressiveEncoding(general=outer), context)
        return BoundInlineBitpacking(FixedWidth(bits))

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of all chunks; None if the rules forbid them, or if packing saves nothing."""
        rules = scope.chunk_rules
        if context is DecodeContext.MINI_BLOCK and rules.max_values < _CHUNK_VALUES:
            return None
        if context is DecodeContext.BLOCK and block.num_values > _CHUNK_VALUES:
            return None
        summary = scope.summary(block)
        if summary.integers is None:
            return None
        found = summary.groups(summary.group_starts)
        largest = summary.integers.itemsize + _BYTES_PER_BIT * found.max_bits
        if context is DecodeContext.MINI_BLOCK and largest > rules.max_bytes & ~7:
            return None
        return self._score(block, found, scope)

    def encode(
        self, block: BlockSlice, context: DecodeContext, scope: EncodeScope
    ) -> spi.EncodedChunks | spi.EncodedBlock:
        """Pack each group of 1024 values to the width of its largest value."""
        starts = scope.summary(block).group_starts
        if context is DecodeContext.BLOCK and len(starts) > 2:
            raise UnsupportedError(f"a block of {block.num_values} values does not fit one chunk")
        chunks = self.encode_blocks(block, starts, scope)
        return spi.EncodedBlock(chunks.description, chunks.buffers[0]) if context is DecodeContext.BLOCK else chunks

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return the C side of both encoders."""
        if not isinstance(shape, FixedWidth):
            return None
        message = InlineBitpackingMessage(uncompressed_bits_per_value=shape.bits)
        is_chunked = context is DecodeContext.MINI_BLOCK
        make = native.inline_bitpacking_encoder if is_chunked else native.inline_bitpacking_blocks_encoder
        return make(
            CompressiveEncoding(inline_bitpacking=message).SerializeToString(),
            factor=scope.options.cost(1.0),
            stores_plainly=scope.options.stores_plainly,
        )

    def score_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> float | None:
        """Return the bytes of all blocks; each must fit one chunk."""
        summary = scope.summary(block)
        if summary.integers is None or np.diff(value_starts).max(initial=0) > _CHUNK_VALUES:
            return None
        return self._score(block, summary.groups(value_starts), scope)

    def encode_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> spi.EncodedChunks:
        """Pack each block to the width of its largest value."""
        if not isinstance(block.shape, FixedWidth) or scope.summary(block).integers is None:
            raise UnsupportedError(f"bit packing needs integers of 8 to 64 bits, not {block.shape}")
        word_bits = block.shape.bits
        found = scope.summary(block).groups(value_starts)
        out = np.empty(_num_bytes(block, found), np.uint8)
        native.pack_inline(block.values, value_starts, word_bits, found.bits, out)
        message = InlineBitpackingMessage(uncompressed_bits_per_value=word_bits)
        description = CompressiveEncoding(inline_bitpacking=message)
        sizes = word_bits // 8 + _BYTES_PER_BIT * found.bits
        return spi.EncodedChunks(description, (out,), sizes[np.newaxis], value_starts[1:] - value_starts[:-1])

    def _score(self, block: BlockSlice, found: spi.block_summary.GroupSummary, scope: EncodeScope) -> float | None:
        num_bytes = _num_bytes(block, found)
        # A codec that the caller named is used even if it saves nothing.
        is_named = scope.options.codec == self.key.case
        if not is_named and (scope.options.stores_plainly or num_bytes >= len(block.values)):
            return None
        return scope.options.cost(num_bytes)


def _num_bytes(block: BlockSlice, found: spi.block_summary.GroupSummary) -> int:
    """Return the bytes of all chunks: a header word, and 1024 values even if there are fewer."""
    assert isinstance(block.shape, FixedWidth)
    return len(found.bits) * block.shape.bytes_per_value + _BYTES_PER_BIT * found.total_bits


@dataclass(frozen=True, slots=True)
class BoundInlineBitpacking:
    """Unpacks chunks."""

    shape: FixedWidth
    num_buffers: int = 1

    def native(self) -> object | None:
        return native.inline_bitpacking_codec(self.shape.bits)

    def native_marks(self) -> object | None:
        return native.inline_bitpacking_marks(self.shape.bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        native.unpack_inline(
            chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts, self.shape.bits, out.values
        )


@hookimpl
def lance_provide_codecs() -> list[InlineBitpacking]:
    return [InlineBitpacking()]
