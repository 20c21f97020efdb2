"""The native side of bound codecs, with their methods in Python behind it: these decode what the native side does not.

A codec without a native side is decoded by its methods alone. All chunks of a read are one call, as is each batch of
zipped values.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow.kernels import native_codecs
from lance_arrow.pages.value_rows import (
    has_rows_of_any_length,
    in_bytes,
    joined_parts,
    row_bits,
    row_parts,
    struct_field_bytes,
    whole_bytes,
    wide_offsets,
)
from lance_arrow.settings import above_limit
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, NumBytes, PackedStruct, VariableWidth
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch
from lance_arrow.spi.codecs import BoundChunkCodec, BoundPerValueCodec
from lance_arrow.spi.native import marks_side, native_side
from lance_arrow.spi.scratch import block_bytes, field_bytes, new_block

_INT32_MAX = np.iinfo(np.int32).max
_Decoded: TypeAlias = tuple[Bytes, NDArray[np.int64] | None]


def value_side(codec: BoundPerValueCodec, most_bytes: int) -> object | None:
    """Return a capsule of a codec of zipped values; None if the engine has no form of its values.

    Its methods in Python decode no more than `most_bytes` at once, which is ``max_batch_bytes``.
    """
    bits = row_bits(codec.shape)
    own = native_side(codec)
    if bits is None or (bits == 1 and own is None):
        return None

    def decode(data: Any, starts: Any, sizes: Any, first: int) -> _Decoded:
        values = ValueBatch(np.frombuffer(data, np.uint8), np.asarray(starts) - first, np.array(sizes))
        return _decoded(codec, values, most_bytes, "max_batch_bytes")

    return native_codecs.called(bits, decode, own)


def chunk_side(codec: BoundChunkCodec, most_bytes: int, limit: str = "max_batch_bytes") -> object | None:
    """Return a capsule of a codec of chunks, or of blocks; None if the engine has no form of its values.

    Its methods in Python decode no more than `most_bytes` at once, which is a limit of this name.
    """
    bits = row_bits(codec.shape)
    if bits is None:
        return None
    own = native_side(codec)

    def decode(data: Any, starts: Any, sizes: Any, value_starts: Any) -> _Decoded:
        values = ChunkBatch(np.frombuffer(data, np.uint8), starts, sizes, value_starts)
        return _decoded(codec, values, most_bytes, limit)

    return native_codecs.called_chunks(bits, codec.num_buffers, decode, own, marks_side(codec))


def _decoded(codec: Any, values: ChunkBatch | ValueBatch, most_bytes: int, limit: str) -> _Decoded:
    """Decode values as the engine has them, those of any length with offsets of 64 bits."""
    num_bytes = codec.measure(values)
    wanted = block_bytes(codec.shape, values.num_values, num_bytes)
    if wanted > most_bytes:
        raise above_limit(f"values take {wanted:,} bytes", limit, most_bytes)
    block = new_block(_wide(codec.shape, num_bytes), values.num_values, num_bytes)
    codec.decode(values, block)
    if has_rows_of_any_length(block.shape):
        from lance_arrow.pages.packed_rows import joined_fields  # noqa: PLC0415 - for such structs alone

        return joined_fields(block)
    if isinstance(block.shape, VariableWidth):
        return block.values, wide_offsets(block)
    return rows_of(block), None


def _wide(shape: BlockShape, num_bytes: NumBytes) -> BlockShape:
    """Return a shape with offsets of 64 bits where 32 bits cannot count the bytes."""
    if not isinstance(shape, PackedStruct):
        return VariableWidth(64) if _is_long(shape, num_bytes) else shape
    sizes = field_bytes(shape, num_bytes)
    fields = zip(shape.fields, sizes, strict=True)
    return PackedStruct(tuple([VariableWidth(64) if _is_long(field, size) else field for field, size in fields]))


def _is_long(shape: BlockShape, num_bytes: NumBytes) -> bool:
    return isinstance(shape, VariableWidth) and isinstance(num_bytes, int) and num_bytes > _INT32_MAX


def rows_of(block: BlockSlice) -> Bytes:
    """Return values of one width as the engine has them: those of packed structs, and of lists, are rows of parts."""
    shape, count = block.shape, block.num_values
    if isinstance(shape, PackedStruct):
        return joined_parts([field.values for field in block.fields], struct_field_bytes(shape), count)
    *layers, item_bits = [bits for bits in row_parts(shape) if bits] or [0]
    if not item_bits:
        return block.values
    bitmaps = [in_bytes(one.values, count, bits) for one, bits in zip(block.validity, layers, strict=True)]
    items = in_bytes(block.values, count, item_bits)
    return joined_parts([*bitmaps, items], [whole_bytes(bits) for bits in (*layers, item_bits)], count)
