"""Dictionary: distinct values and an index for each value, both in their own encodings.

A block stores the byte counts of both parts as two 64-bit words, the indices, the items. If neither part has bytes,
there is no block. A chunk is one block. Source: CompressiveEncoding.Dictionary; spec 11.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import Dictionary as DictionaryMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    Limits,
    NumBytes,
    hookimpl,
    new_block,
)
from lance_arrow.spi.block_runs import copy_runs, measure_runs
from lance_arrow.spi.scratch import block_bytes

Positions = NDArray[np.int64]
_HEADER_BYTES = 16
_INDEX_BITS = (8, 16, 32, 64)
_WRITTEN_INDEX_BITS = 32


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Binds ``dictionary`` of blocks; a chunk is one block. Writes fixed-width values, if the caller names it."""

    key = EncodingKey(COMPRESSIVE, "dictionary")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    since = MappingProxyType({DecodeContext.BLOCK: "2.3"})
    writes = since
    kinds = (FixedWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundDictionary:
        """Bind both children as blocks, in both contexts."""
        indices = scope.chunk_codec(message.indices, DecodeContext.BLOCK)
        if not isinstance(indices.shape, FixedWidth) or indices.shape.bits not in _INDEX_BITS:
            raise CorruptFileError(f"indices into a dictionary are {indices.shape}, expected integers")
        items = scope.chunk_codec(message.items, DecodeContext.BLOCK)
        num_items = message.num_dictionary_items
        scope.limits.check("max_dictionary_bytes", block_bytes(items.shape, num_items))
        return BoundDictionary(indices, items, num_items, scope.limits)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return None: dictionary items are distinct, positions ascend, and a search for duplicates needs a sort."""
        return math.inf if isinstance(block.shape, FixedWidth) and block.shape.bits > 1 else None

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedBlock:
        """Sort the distinct values and encode both parts as blocks."""
        if not isinstance(block.shape, FixedWidth) or block.shape.bits == 1:
            raise UnsupportedError(f"dictionaries of blocks need values of whole bytes, not {block.shape}")
        width = block.shape.bytes_per_value
        type_ = f"<u{width}" if width in (1, 2, 4, 8) else f"V{width}"
        distinct, places = np.unique(block.values.view(type_), return_inverse=True)
        places = places.astype("<u4").reshape(-1).view(np.uint8)
        parts = [
            scope.encode_child(part, DecodeContext.BLOCK)
            for part in (
                BlockSlice(FixedWidth(_WRITTEN_INDEX_BITS), block.num_values, places),
                BlockSlice(block.shape, len(distinct), distinct.view(np.uint8)),
            )
        ]
        indices, items = (part.description for part in parts)
        message = DictionaryMessage(indices=indices, items=items, num_dictionary_items=len(distinct))  # type: ignore[arg-type]
        description = CompressiveEncoding(dictionary=message)
        buffers = [part.buffer if isinstance(part, spi.EncodedBlock) else None for part in parts]
        present = [buffer for buffer in buffers if buffer is not None]
        if not present:
            return spi.EncodedBlock(description, None)
        header = np.array([0 if buffer is None else len(buffer) for buffer in buffers], "<u8").view(np.uint8)
        return spi.EncodedBlock(description, np.concatenate([header, *present]))


@dataclass(frozen=True, slots=True)
class BoundDictionary:
    """Expands chunks or blocks, each with its own items."""

    indices: BoundChunkCodec
    items: BoundChunkCodec
    num_items: int
    limits: Limits

    @property
    def shape(self) -> BlockShape:
        return self.items.shape

    @property
    def num_buffers(self) -> int:
        return int(self.indices.num_buffers + self.items.num_buffers > 0)

    def measure(self, chunks: ChunkBatch) -> NumBytes:
        items, places = self._parts(chunks)
        return measure_runs(items, places, places + 1)

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        items, places = self._parts(chunks)
        shape = self.items.shape
        if isinstance(shape, FixedWidth) and shape.bits > 1:
            kernels.take_fixed(items.values, shape.bytes_per_value, places.view(np.uint8), 64, out.values)
        else:
            copy_runs(items, places, places + 1, out)

    def _parts(self, chunks: ChunkBatch) -> tuple[BlockSlice, Positions]:
        """Return the items of all blocks, and the position of each value among them."""
        return chunks.derive(self, lambda: self._decode_parts(chunks))

    def _decode_parts(self, chunks: ChunkBatch) -> tuple[BlockSlice, Positions]:
        total = chunks.num_chunks * self.num_items
        self.limits.check("max_batch_bytes", block_bytes(self.items.shape, total))
        of_indices, of_items = self._split(chunks)
        indices = new_block(self.indices.shape, chunks.num_values)
        self.indices.decode(of_indices, indices)
        items = new_block(self.items.shape, total, self.items.measure(of_items))
        self.items.decode(of_items, items)
        places = indices.values.view(f"u{self.indices.shape.bits // 8}")
        beyond = places >= self.num_items
        if beyond.any():
            raise CorruptPageError("an index lies outside its dictionary", detail=int(np.argmax(beyond)))
        bases = np.repeat(np.arange(chunks.num_chunks) * self.num_items, np.diff(chunks.value_starts))
        return items, places.astype(np.int64) + bases

    def _split(self, chunks: ChunkBatch) -> tuple[ChunkBatch, ChunkBatch]:
        """Return the same blocks as batches of indices and of items."""
        items_starts = np.arange(chunks.num_chunks + 1) * self.num_items
        if self.num_buffers == 0:
            return chunks, ChunkBatch(chunks.data, chunks.starts, chunks.sizes, items_starts)
        starts, sizes = chunks.starts[0], chunks.sizes[0]
        if (sizes < _HEADER_BYTES).any():
            raise CorruptPageError("a dictionary block is too short for its header")
        words = np.empty((chunks.num_chunks, 2), np.int64)
        kernels.copy_values(chunks.data, starts, _HEADER_BYTES, words.view(np.uint8).reshape(-1))
        indices_bytes, items_bytes = np.ascontiguousarray(words.T)
        rest = sizes - _HEADER_BYTES
        wrong = (indices_bytes < 0) | (indices_bytes > rest) | (items_bytes != rest - indices_bytes)
        if wrong.any():
            raise CorruptPageError(
                "the size of a dictionary block differs from its parts", detail=int(np.argmax(wrong))
            )
        first = starts + _HEADER_BYTES
        return (
            _part(self.indices, chunks, first, indices_bytes, chunks.value_starts),
            _part(self.items, chunks, first + indices_bytes, items_bytes, items_starts),
        )


def _part(
    codec: BoundChunkCodec, chunks: ChunkBatch, starts: Positions, sizes: Positions, value_starts: Positions
) -> ChunkBatch:
    """Return one part of each block; a codec without buffers has no bytes."""
    if codec.num_buffers == 0 and sizes.any():
        raise CorruptPageError("a part of a dictionary block has bytes, expected none", detail=int(np.argmax(sizes)))
    whole = ChunkBatch(chunks.data, starts[np.newaxis], sizes[np.newaxis], value_starts)
    return whole.buffers(0, codec.num_buffers)


@hookimpl
def lance_provide_codecs() -> list[Dictionary]:
    return [Dictionary()]
