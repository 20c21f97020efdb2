"""Packed structs in chunks: rows of fields of fixed width back to back, split into a block per field.

Source: CompressiveEncoding.PackedStruct; spec 5.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockShape,
    BlockSlice,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    PackedStruct,
    hookimpl,
)


@dataclass(frozen=True, slots=True)
class PackedStructs:
    """Binds ``packed_struct`` over flat rows: all that 2.1 and 2.2 write."""

    key = EncodingKey(COMPRESSIVE, "packed_struct")
    contexts = frozenset({DecodeContext.MINI_BLOCK})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundPackedStruct:
        """Check the widths against the fields of the schema and against the rows."""
        widths = tuple(message.bits_per_value)
        expected = scope.leaf.shape
        if not isinstance(expected, PackedStruct) or not 0 < len(widths) == len(expected.fields):
            raise CorruptFileError(f"a packed struct of {len(widths)} fields contradicts the schema", detail=expected)
        if message.values.WhichOneof("compression") != "flat" or message.values.flat.HasField("data"):
            raise UnsupportedError("packed structs whose rows are encoded themselves are not readable")
        for bits, field in zip(widths, expected.fields, strict=True):
            if bits == 0 or bits % 8:
                raise UnsupportedError(f"packed fields of {bits} bits are not readable, only whole bytes", detail=bits)
            if bits != _bits(field):
                raise CorruptFileError(f"a packed field has {bits} bits, the schema says {field}")
        if message.values.flat.bits_per_value != sum(widths):
            raise CorruptFileError(
                f"packed rows have {message.values.flat.bits_per_value} bits, their fields {sum(widths)}"
            )
        scope.limits.check("max_value_bytes", sum(widths) // 8)
        return BoundPackedStruct(expected, tuple(bits // 8 for bits in widths))


def _bits(field: BlockShape) -> int | None:
    """Bits of one value; None where values differ in width or have bitmaps."""
    if isinstance(field, FixedSizeList):
        return None if field.validity_dimensions else field.items_per_value * field.leaf.bits
    return field.bits if isinstance(field, FixedWidth) else None


@dataclass(frozen=True, slots=True)
class BoundPackedStruct:
    """Splits the rows of mini-block chunks."""

    shape: PackedStruct
    field_bytes: tuple[int, ...]
    num_buffers: int = 1

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        places = (chunks.data, chunks.starts[0], chunks.sizes[0], chunks.value_starts)
        # Fields are whole bytes, so bits too begin at a byte, wherever their block lies in its memory.
        memory = [field.values[field.bit_offset // 8 :] for field in out.fields]
        kernels.split_rows(*places, np.array(self.field_bytes, np.int64), memory)


@hookimpl
def lance_provide_codecs() -> list[PackedStructs]:
    return [PackedStructs()]
