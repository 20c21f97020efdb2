"""Packed structs: rows of fields of fixed width, back to back or zipped, split into a block per field.

Source: CompressiveEncoding.PackedStruct; spec 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels, spi
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, Flat
from lance_arrow.proto.encodings_v21_pb2 import PackedStruct as PackedStructMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    PackedStruct,
    ValueBatch,
    hookimpl,
    new_block,
)
from lance_arrow.spi.block_runs import split_rows
from lance_arrow.spi.native import native_side

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PackedStructs:
    """Binds ``packed_struct``: flat rows in chunks since 2.1, zipped rows since 2.3; writes only rows in chunks."""

    key = EncodingKey(COMPRESSIVE, "packed_struct")
    contexts = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.PER_VALUE})
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1", DecodeContext.PER_VALUE: "2.3"})
    writes = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1"})
    kinds = (PackedStruct,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundPackedStruct | BoundPackedValues:
        """Check the widths against the fields of the schema and against the rows."""
        widths = tuple(message.bits_per_value)
        expected = scope.leaf.shape
        if not isinstance(expected, PackedStruct) or not 0 < len(widths) == len(expected.fields):
            raise CorruptFileError(f"a packed struct of {len(widths)} fields contradicts the schema", detail=expected)
        for bits, field in zip(widths, expected.fields, strict=True):
            if bits == 0 or bits % 8:
                # The reference writes such files without the bits: a field gets only its whole bytes.
                raise UnsupportedError(f"packed fields of {bits} bits are not supported, only whole bytes", detail=bits)
            if bits != _bits(field):
                raise CorruptFileError(f"a packed field has {bits} bits, the schema has {field}")
        scope.limits.check("max_value_bytes", sum(widths) // 8)
        is_zipped = context is DecodeContext.PER_VALUE
        is_flat = message.values.WhichOneof("compression") == "flat" and not message.values.flat.HasField("data")
        rows = scope.value_codec(message.values) if is_zipped else scope.chunk_codec(message.values, context)
        if rows.shape != FixedWidth(sum(widths)):
            raise CorruptFileError(f"packed rows are {rows.shape}, but their fields have {sum(widths)} bits")
        splitter = _RowSplitter(expected, tuple(bits // 8 for bits in widths))
        if is_zipped:
            return BoundPackedValues(splitter, rows, is_flat)
        return BoundPackedStruct(splitter, rows, is_flat)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the bytes of the rows; None if fields are not whole bytes, or if two rows do not fit a chunk."""
        if not isinstance(block.shape, PackedStruct) or _chunk_values(block, scope) is None:
            return None
        return float(block.num_values * sum(_field_bytes(block.shape) or ()))

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.EncodedChunks:
        """Join the fields of each row."""
        widths = _field_bytes(block.shape)
        chunk_values = _chunk_values(block, scope)
        if widths is None or chunk_values is None:
            raise UnsupportedError(f"{block.shape} does not fit rows of fixed width in chunks of {scope.chunk_rules}")
        row_bytes = sum(widths)
        out = np.empty(block.num_values * row_bytes, np.uint8)
        kernels.join_rows([one.values for one in block.fields], np.array(widths, np.int64), block.num_values, out)
        counts = spi.chunk_cuts.cut_evenly(block.num_values, chunk_values)
        rows = CompressiveEncoding(flat=Flat(bits_per_value=8 * row_bytes))
        message = PackedStructMessage(bits_per_value=[8 * width for width in widths], values=rows)
        description = CompressiveEncoding(packed_struct=message)
        return spi.EncodedChunks(description, (out,), (counts * row_bytes)[np.newaxis], counts)


def _field_bytes(shape: BlockShape) -> tuple[int, ...] | None:
    """Return the bytes of each field; None if one is a list, or has no fixed width in whole bytes.

    The reference fails for fixed-size lists here ("Expected 0 buffers in array"); since 2.2 it zips such structs.
    """
    if not isinstance(shape, PackedStruct) or not shape.fields:
        return None
    widths = [field.bits if isinstance(field, FixedWidth) else None for field in shape.fields]
    return tuple(bits // 8 for bits in widths if bits) if all(bits and bits % 8 == 0 for bits in widths) else None


def _chunk_values(block: BlockSlice, scope: EncodeScope) -> int | None:
    """Return the rows of a full chunk, a power of two; None if two do not fit."""
    widths, rules = _field_bytes(block.shape), scope.chunk_rules
    if widths is None:
        return None
    chunk_values = spi.chunk_cuts.largest_power_of_two(min((rules.max_bytes & ~7) // sum(widths), rules.max_values))
    return chunk_values if chunk_values >= min(2, max(block.num_values, 1)) else None


def _bits(field: BlockShape) -> int | None:
    """Return the bits of one value; None if values differ in width or have bitmaps."""
    if isinstance(field, FixedSizeList):
        return None if field.validity_dimensions else field.items_per_value * field.leaf.bits
    return field.bits if isinstance(field, FixedWidth) else None


@dataclass(frozen=True, slots=True)
class _RowSplitter:
    """Splits rows into fields."""

    shape: PackedStruct
    field_bytes: tuple[int, ...]

    def split(self, data: Bytes, starts: Positions, sizes: Positions, value_starts: Positions, out: BlockSlice) -> None:
        split_rows(data, starts, sizes, value_starts, self.field_bytes, out)

    def split_decoded(self, rows: Any, batch: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        """Decode the rows with their codec, then split them."""
        block = new_block(rows.shape, batch.num_values)
        rows.decode(batch, block)
        one_chunk = np.zeros(1, np.int64), np.array([block.values.size]), np.array([0, batch.num_values])
        self.split(block.values, *one_chunk, out)


@dataclass(frozen=True, slots=True)
class BoundPackedStruct:
    """Splits the rows of mini-block chunks."""

    splitter: _RowSplitter
    rows: BoundChunkCodec
    is_flat: bool

    @property
    def shape(self) -> PackedStruct:
        return self.splitter.shape

    @property
    def num_buffers(self) -> int:
        return self.rows.num_buffers

    def native(self) -> object | None:
        # Rows as their codec stores them: the engine splits the rows that it decoded.
        return native_side(self.rows)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        if self.is_flat:
            self.splitter.split(chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts, out)
        else:
            self.splitter.split_decoded(self.rows, chunks, out)


@dataclass(frozen=True, slots=True)
class BoundPackedValues:
    """Splits zipped rows."""

    splitter: _RowSplitter
    rows: BoundPerValueCodec
    is_flat: bool

    @property
    def shape(self) -> PackedStruct:
        return self.splitter.shape

    @property
    def value_bits(self) -> int | None:
        return self.rows.value_bits

    def native(self) -> object | None:
        return native_side(self.rows)

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        if not self.is_flat:
            self.splitter.split_decoded(self.rows, values, out)
            return
        if (values.sizes != sum(self.splitter.field_bytes)).any():
            raise CorruptPageError("the size of a zipped struct differs from its fields")
        # Each row is a chunk with one value.
        self.splitter.split(values.data, values.starts, values.sizes, np.arange(values.num_values + 1), out)


@hookimpl
def lance_provide_codecs() -> list[PackedStructs]:
    return [PackedStructs()]
