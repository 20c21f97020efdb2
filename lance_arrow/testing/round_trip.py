"""Round trips for tests of encoders: blocks through a codec, in every context, without a file."""

from __future__ import annotations

from functools import cache

import numpy as np

from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import (
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    Encoded,
    EncodedBlock,
    EncodedChunks,
    EncodeOptions,
    EncodingKey,
    LeafType,
    ValueBatch,
    new_block,
)
from lance_arrow.structure.page_encoder import PageEncoder
from lance_arrow.structure.page_scope import PageScope


@cache
def _runtime() -> Runtime:
    return Runtime(Settings())


def encode_scope(
    leaf: LeafType, *, file_version: str = "2.2", options: EncodeOptions | None = None, allow_private: bool = False
) -> PageScope:
    """Return the scope of a codec or layout encoder for a leaf, with the installed plugins."""
    runtime = _runtime()
    encoder = PageEncoder(runtime.table, runtime.settings.limits, runtime.scratch, file_version, allow_private)
    return encoder.scope(leaf, options if options is not None else EncodeOptions())


def encode_by(key: EncodingKey, block: BlockSlice, context: DecodeContext, scope: PageScope) -> Encoded:
    """Encode `block` with the codec of `key`, which must return a score."""
    score = _runtime().table.codec(key).score(block, context, scope)
    assert score is not None, f"{key} returns no score for {block.shape} in the {context.value} context"
    return scope.encode_with(key, block, context)


def decode(encoded: Encoded, block: BlockSlice, scope: PageScope) -> BlockSlice:
    """Decode into new memory, with the codecs that a reader binds to the description.

    Parameters
    ----------
    encoded
        Chunks, a block or values.
    block
        The encoded block, for its shape and number of values.
    scope
        The scope of the encoding.
    """
    bind = _runtime().binder.scope(scope.leaf)
    if isinstance(encoded, EncodedChunks):
        codec = bind.chunk_codec(encoded.description, DecodeContext.MINI_BLOCK)
        data, starts = _laid_out(encoded)
        batch = ChunkBatch(data, starts, encoded.sizes, np.append(0, np.cumsum(encoded.value_counts)))
    elif isinstance(encoded, EncodedBlock):
        codec = bind.chunk_codec(encoded.description, DecodeContext.BLOCK)
        data = encoded.buffer if encoded.buffer is not None else np.empty(0, np.uint8)
        places = np.zeros((codec.num_buffers, 1), np.int64)
        batch = ChunkBatch(data, places, places + len(data), np.array([0, block.num_values]))
    else:
        codec = bind.value_codec(encoded.description)
        offsets = encoded.offsets
        if offsets is None:
            offsets = np.arange(block.num_values + 1) * ((encoded.value_bits or 0) // 8)
        batch = ValueBatch(encoded.data, offsets[:-1], np.diff(offsets))
    out = new_block(codec.shape, block.num_values, codec.measure(batch))
    codec.decode(batch, out)
    return out


def decode_blocks(encoded: EncodedChunks, block: BlockSlice, scope: PageScope) -> BlockSlice:
    """Decode the result of `EncodeScope.encode_blocks`, with the codec that a reader binds in the BLOCK context."""
    codec = _runtime().binder.scope(scope.leaf).chunk_codec(encoded.description, DecodeContext.BLOCK)
    data, starts = _laid_out(encoded)
    batch = ChunkBatch(data, starts, encoded.sizes, np.append(0, np.cumsum(encoded.value_counts)))
    out = new_block(codec.shape, block.num_values, codec.measure(batch))
    codec.decode(batch, out)
    return out


def _laid_out(encoded: EncodedChunks) -> tuple[np.ndarray, np.ndarray]:
    """Join the buffers; return the start of each chunk's buffers."""
    starts = np.zeros_like(encoded.sizes)
    begin = 0
    for number, buffer in enumerate(encoded.buffers):
        starts[number] = begin + np.cumsum(encoded.sizes[number]) - encoded.sizes[number]
        assert int(encoded.sizes[number].sum()) == len(buffer), "the sum of the sizes is not the size of the buffer"
        begin += len(buffer)
    data = np.concatenate(encoded.buffers) if encoded.buffers else np.empty(0, np.uint8)
    return data, starts
