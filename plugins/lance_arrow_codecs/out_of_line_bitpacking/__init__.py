"""Out-of-line bit packing: blocks of integers packed to one width, which is in the description.

Packed words with a buffer compression are bound as a general codec around plain ones. A chunk is one block.

Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.3, 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import spi
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat, General
from lance_arrow.proto.encodings_v21_pb2 import OutOfLineBitpacking as OutOfLineBitpackingMessage
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
_GROUP_VALUES = 1024


@dataclass(frozen=True, slots=True)
class OutOfLineBitpacking:
    """Binds ``out_of_line_bitpacking`` of 8- to 64-bit values; writes it for levels and dictionary items."""

    key = EncodingKey(COMPRESSIVE, "out_of_line_bitpacking")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.1"})
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundChunkCodec:
        """Check both widths; the packed one is that of the flat child, and 0 means that all values are 0."""
        bits = message.uncompressed_bits_per_value
        if bits not in (8, 16, 32, 64):
            raise UnsupportedError(f"bit-packed values of {bits} bits, expected 8, 16, 32 or 64", detail=bits)
        if message.values.WhichOneof("compression") != "flat":
            raise UnsupportedError("bit-packed values whose packed words have another encoding are not supported")
        packed_bits = message.values.flat.bits_per_value
        if packed_bits > bits:
            raise CorruptFileError(f"{bits}-bit values are packed to {packed_bits} bits", detail=packed_bits)
        if message.values.flat.HasField("data"):
            words = CompressiveEncoding(flat=Flat(bits_per_value=packed_bits))
            plain = OutOfLineBitpackingMessage(uncompressed_bits_per_value=bits, values=words)
            inner = CompressiveEncoding(out_of_line_bitpacking=plain)
            outer = General(compression=message.values.flat.data, values=inner)
            return scope.chunk_codec(CompressiveEncoding(general=outer), context)
        return BoundOutOfLineBitpacking(FixedWidth(bits), packed_bits)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the packed words and the tail; None if the plain values have as few."""
        return self.score_blocks(block, np.array([0, block.num_values]), scope)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedBlock:
        """Pack all values to the width of the largest."""
        blocks = self.encode_blocks(block, np.array([0, block.num_values]), scope)
        return spi.EncodedBlock(blocks.description, blocks.buffers[0])

    def score_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> float | None:
        """Return the bytes of all blocks, packed to the width of the largest value of all blocks."""
        if scope.summary(block).integers is None:
            return None
        sizes, packed_bits = _sizes(block, value_starts, scope)
        if packed_bits == 0 and scope.file_version >= "2.3":
            # Zeros are a constant there; 14.0.2 rejects a width of 0.
            return None
        num_bytes = int(sizes.sum())
        # A codec that the caller named is used even if it saves nothing.
        is_named = scope.options.codec == self.key.case
        if not is_named and (scope.options.stores_plainly or num_bytes >= len(block.values)):
            return None
        return scope.options.cost(num_bytes)

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return the C side of the encoder of many blocks."""
        if not isinstance(shape, FixedWidth) or shape.bits not in (8, 16, 32, 64):
            return None
        messages = [_message(shape.bits, packed_bits) for packed_bits in range(shape.bits + 1)]
        return native.out_of_line_bitpacking_blocks_encoder(
            [CompressiveEncoding(out_of_line_bitpacking=one).SerializeToString() for one in messages],
            factor=scope.options.cost(1.0),
            stores_plainly=scope.options.stores_plainly,
            packs_zeros=scope.file_version < "2.3",
        )

    def encode_blocks(self, block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> spi.EncodedChunks:
        """Pack the values of all blocks to the width of the largest value of all blocks."""
        if not isinstance(block.shape, FixedWidth) or scope.summary(block).integers is None:
            raise UnsupportedError(f"bit packing needs integers of 8 to 64 bits, not {block.shape}")
        sizes, packed_bits = _sizes(block, value_starts, scope)
        out = np.empty(int(sizes.sum()), np.uint8)
        native.pack_out_of_line(block.values, value_starts, block.shape.bits, packed_bits, out)
        description = CompressiveEncoding(out_of_line_bitpacking=_message(block.shape.bits, packed_bits))
        return spi.EncodedChunks(description, (out,), sizes[np.newaxis], np.diff(value_starts))


def _message(word_bits: int, packed_bits: int) -> OutOfLineBitpackingMessage:
    values = CompressiveEncoding(flat=Flat(bits_per_value=packed_bits))
    return OutOfLineBitpackingMessage(uncompressed_bits_per_value=word_bits, values=values)


def _sizes(block: BlockSlice, value_starts: Positions, scope: EncodeScope) -> tuple[Positions, int]:
    """Return the bytes of each block, and the bits of a packed value. Source: spec 5.5."""
    summary = scope.summary(block)
    packed_bits = 0 if summary.integers is None else summary.groups(summary.group_starts).max_bits
    width = 0 if summary.integers is None else summary.integers.itemsize
    num_groups, tails = np.divmod(np.diff(value_starts), _GROUP_VALUES)
    return num_groups * 128 * packed_bits + np.minimum(tails * width, 128 * packed_bits), packed_bits


@dataclass(frozen=True, slots=True)
class BoundOutOfLineBitpacking:
    """Unpacks blocks of one width."""

    shape: FixedWidth
    packed_bits: int
    num_buffers: int = 1

    def native(self) -> object:
        return native.out_of_line_bitpacking_codec(self.shape.bits, self.packed_bits)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        native.unpack_out_of_line(*places, self.shape.bits, self.packed_bits, out.values)


@hookimpl
def lance_provide_codecs() -> list[OutOfLineBitpacking]:
    return [OutOfLineBitpacking()]
