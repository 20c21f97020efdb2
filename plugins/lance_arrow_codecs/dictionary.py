"""Dictionary: distinct values and an index for each value, both in encodings of their own.

A block holds the byte counts of both parts as two 64-bit words, the indices, the items; where neither part has bytes
there is no block at all. Source: CompressiveEncoding.Dictionary; spec 11.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedWidth,
    Limits,
    hookimpl,
    new_block,
)

_HEADER_BYTES = 16
_INDEX_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Binds ``dictionary`` in the block context."""

    key = EncodingKey(COMPRESSIVE, "dictionary")
    contexts = frozenset({DecodeContext.BLOCK})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundDictionary:
        """Bind both children; items have a fixed width of whole bytes."""
        indices = scope.chunk_codec(message.indices, context)
        if not isinstance(indices.shape, FixedWidth) or indices.shape.bits not in _INDEX_BITS:
            raise CorruptFileError(f"indices into a dictionary are {indices.shape}, expected whole numbers")
        items = scope.chunk_codec(message.items, context)
        if not isinstance(items.shape, FixedWidth) or items.shape.bits == 1:
            raise UnsupportedError(f"a dictionary block of {items.shape} is not readable")
        item_bytes = message.num_dictionary_items * items.shape.bytes_per_value
        scope.limits.check("max_dictionary_bytes", item_bytes)
        return BoundDictionary(indices, items, message.num_dictionary_items, scope.limits)


@dataclass(frozen=True, slots=True)
class BoundDictionary:
    """Expands blocks, each with its own items."""

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

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        width = self.items.shape.bytes_per_value
        starts, sizes = (chunks.starts[0], chunks.sizes[0]) if self.num_buffers else (None, None)
        for number in range(chunks.num_chunks):
            block = None
            if starts is not None:
                block = chunks.data[int(starts[number]) : int(starts[number] + sizes[number])]
            first, stop = int(chunks.value_starts[number]), int(chunks.value_starts[number + 1])
            indices, items = self._parts(block, stop - first)
            bits = indices.shape.bits
            kernels.take_fixed(items.values, width, indices.values, bits, out.values[first * width : stop * width])

    def _parts(self, block: Any, num_values: int) -> tuple[BlockSlice, BlockSlice]:
        indices_bytes = items_bytes = 0
        if block is not None:
            if block.size < _HEADER_BYTES:
                raise CorruptPageError(f"a dictionary block of {block.size} bytes has no room for its header")
            indices_bytes, items_bytes = (int.from_bytes(block[at : at + 8].tobytes(), "little") for at in (0, 8))
            if _HEADER_BYTES + indices_bytes + items_bytes != block.size:
                raise CorruptPageError(
                    f"a dictionary block of {block.size} bytes says {indices_bytes} of indices, {items_bytes} of items"
                )
            block = block[_HEADER_BYTES:]
        indices = _decode_part(self.indices, block, 0, indices_bytes, num_values)
        return indices, _decode_part(self.items, block, indices_bytes, items_bytes, self.num_items)


def _decode_part(codec: BoundChunkCodec, data: Any, start: int, size: int, num_values: int) -> BlockSlice:
    """Decode one block that lies at ``data[start : start + size]``; a codec without buffers has no bytes."""
    if codec.num_buffers == 0 and size:
        raise CorruptPageError(f"a part of a dictionary block has {size} bytes, expected none")
    places = np.full((codec.num_buffers, 1), start, np.int64), np.full((codec.num_buffers, 1), size, np.int64)
    block = new_block(codec.shape, num_values)
    data = np.empty(0, np.uint8) if data is None else data
    codec.decode(ChunkBatch(data, *places, np.array([0, num_values], np.int64)), block)
    return block


@hookimpl
def lance_provide_codecs() -> list[Dictionary]:
    return [Dictionary()]
