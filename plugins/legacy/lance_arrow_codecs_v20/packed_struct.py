"""Packed structs: the fields of each row side by side, without padding and without nulls.

The descriptions of the fields name no buffers. Source: ArrayEncoding.PackedStruct; spec 2.0, 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.pages.arrays import page_buffer
from lance_arrow.pages.one_buffer import OneBufferArray, SelectedValues
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, Buffer, Flat, Nullable
from lance_arrow.proto.encodings_v20_pb2 import PackedStruct as PackedStructMessage
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BlockSlice,
    EncodeScope,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    PackedStruct,
    hookimpl,
)
from lance_arrow.spi.arrays import ARRAY, ArrayContent, EncodedArray
from lance_arrow.spi.block_runs import split_rows
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges


@dataclass(frozen=True, slots=True)
class PackedStructs:
    """Binds and writes ``packed_struct``."""

    key = EncodingKey(ARRAY, "packed_struct")

    def bind(self, message: Any, scope: BindScope) -> BoundPackedStruct:
        """Read the widths of the fields from the schema."""
        expected = scope.leaf.shape
        if not isinstance(expected, PackedStruct) or len(message.inner) != len(expected.fields):
            raise CorruptFileError(f"a packed struct of {len(message.inner)} fields contradicts the schema: {expected}")
        widths = tuple(_field_bytes(field) for field in expected.fields)
        scope.limits.check("max_value_bytes", sum(widths))
        return BoundPackedStruct(expected, page_buffer(message.buffer), widths)

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for packed structs without nulls, and None for others."""
        is_packed = content.values is not None and isinstance(content.values.shape, PackedStruct)
        return 0.0 if is_packed and content.nulls is None else None

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Join the fields of each row."""
        block = content.values
        if block is None or not isinstance(block.shape, PackedStruct):
            raise UnsupportedError("expected a block of packed structs")
        widths = [_field_bytes(field) for field in block.shape.fields]
        if any(isinstance(one, FixedSizeList) and one.validity_dimensions for one in block.shape.fields):
            raise UnsupportedError("fields of packed structs must not have nulls")
        rows = np.empty(content.num_values * sum(widths), np.uint8)
        memory = []
        for field, width in zip(block.fields, widths, strict=True):
            data = field.values[field.bit_offset // 8 :]
            if field.bit_offset % 8:
                data = np.empty(content.num_values * width, np.uint8)
                kernels.spread_bits(field.values, field.bit_offset, 8 * len(data), 8, data)
            memory.append(data)
        kernels.join_rows(memory, np.array(widths, np.int64), content.num_values, rows)
        buffer = Buffer(buffer_index=first_buffer)
        inner = [
            ArrayEncoding(
                nullable=Nullable(
                    no_nulls=Nullable.NoNull(values=ArrayEncoding(flat=Flat(bits_per_value=8 * width, buffer=Buffer())))
                )
            )
            for width in widths
        ]
        message = PackedStructMessage(inner=inner, buffer=buffer)
        return EncodedArray(ArrayEncoding(packed_struct=message), (rows,))


def _field_bytes(field: BlockShape) -> int:
    if isinstance(field, FixedSizeList):
        bits = field.leaf.bits * field.items_per_value
    else:
        bits = field.bits if isinstance(field, FixedWidth) else 0
    if bits == 0 or bits % 8:
        raise UnsupportedError(f"packed fields of shape {field} are not supported, only whole bytes of one width")
    return bits // 8


@dataclass(frozen=True, slots=True)
class BoundPackedStruct(OneBufferArray):
    """Rows of one width."""

    field_bytes: tuple[int, ...]

    @property
    def plain_buffer(self) -> int:
        return self.buffer

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        width, size = sum(self.field_bytes), page.buffer_sizes[self.buffer]
        if size < page.num_rows * width:
            raise CorruptPageError(
                f"buffer {self.buffer} has {size} bytes, {page.num_rows} rows of {width} bytes do not fit"
            )
        return PageReadPlan((BufferSlices(self.buffer, rows.starts * width, rows.stops * width),), rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return LoadedRows(self.shape, plan.notes, self.field_bytes, fetched[0])


@dataclass(frozen=True, slots=True, eq=False)
class LoadedRows(SelectedValues):
    """Selected rows, not split yet."""

    field_bytes: tuple[int, ...]
    fetched: FetchedSlices

    def decode(self, out: BlockSlice) -> None:
        starts = np.zeros(len(self.rows) + 1, np.int64)
        np.cumsum(self.rows.stops - self.rows.starts, out=starts[1:])
        split_rows(self.fetched.data, self.fetched.starts, self.fetched.sizes, starts, self.field_bytes, out)


@hookimpl
def lance_provide_arrays() -> list[PackedStructs]:
    return [PackedStructs()]
