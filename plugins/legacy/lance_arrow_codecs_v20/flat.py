"""Flat: values of one width back to back, or one bit per value; the whole buffer may be compressed.

A compressed buffer is decompressed once per page and kept, within the budget of indices. Source: ArrayEncoding.Flat;
spec 2.0, 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.pages.arrays import page_buffer
from lance_arrow.pages.one_buffer import ValidValues
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, Buffer
from lance_arrow.proto.encodings_v20_pb2 import Flat as FlatMessage
from lance_arrow.proto.encodings_v21_pb2 import LZ4, ZSTD, BufferCompression
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodeScope, EncodingKey, FixedWidth, Limits, hookimpl
from lance_arrow.spi.arrays import ARRAY, ArrayContent, EncodedArray
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)

if TYPE_CHECKING:
    # For annotations: writing needs no such module.
    from lance_arrow.spi.compression import BoundBufferScheme

_UNCOMPRESSED = ("", "none")
# Schemes have names here, and numbers since 2.1; their frames are the same.
_SCHEMES = {"zstd": ZSTD, "lz4": LZ4}


@dataclass(frozen=True, slots=True)
class Flat:
    """Binds and writes ``flat``; only `binary` writes compressed buffers."""

    key = EncodingKey(ARRAY, "flat")

    def bind(self, message: Any, scope: BindScope) -> BoundFlat:
        """Check the width, and find the scheme of a compressed buffer."""
        bits = message.bits_per_value
        if bits != 1 and (bits == 0 or bits % 8):
            raise CorruptFileError(f"flat values of {bits} bits, expected 1 or a multiple of 8", detail=bits)
        scope.limits.check("max_value_bytes", bits // 8)
        buffer, name = page_buffer(message.buffer), message.compression.scheme
        plain = BoundFlat(FixedWidth(bits), buffer, scope.limits)
        if name in _UNCOMPRESSED:
            return plain
        scheme = _SCHEMES.get(name)
        if scheme is None:
            raise UnsupportedError(f"unknown buffer compression {name!r}, expected {', '.join(_SCHEMES)}", detail=name)
        return replace(plain, scheme=scope.buffer_scheme(BufferCompression(scheme=scheme)))

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for fixed-width values whose nulls are already stored, and None for others."""
        if content.values is None or content.items is not None or not content.knows_nulls:
            return None
        shape = content.values.shape
        return float(shape.num_bytes(content.num_values)) if isinstance(shape, FixedWidth) else None

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Return the values unchanged; bits start at a byte border."""
        if content.values is None or not isinstance(content.values.shape, FixedWidth):
            raise UnsupportedError("flat values need a fixed width")
        shape, values = content.values.shape, content.values.values
        if shape.bits == 1:
            values = np.zeros(shape.num_bytes(content.num_values), np.uint8)
            if content.num_values:
                start = np.array([content.values.bit_offset])
                kernels.take_bit_runs(content.values.values, 0, start, start + content.num_values, values, 0)
        message = FlatMessage(bits_per_value=shape.bits, buffer=Buffer(buffer_index=first_buffer))
        return EncodedArray(ArrayEncoding(flat=message), (values,))


@dataclass(frozen=True, slots=True, eq=False)
class _Expanded:
    """The bytes of a decompressed buffer."""

    values: Bytes

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


@dataclass(frozen=True, slots=True)
class BoundFlat:
    """Reads only the bytes of selected values, unless the buffer is compressed."""

    shape: FixedWidth
    buffer: int
    limits: Limits
    scheme: BoundBufferScheme | None = None
    has_nulls = False

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return ((self.buffer, BufferRole.DATA),)

    @property
    def plain_buffer(self) -> int | None:
        return self.buffer if self.scheme is None else None

    @property
    def framed_buffer(self) -> tuple[int, BoundBufferScheme] | None:
        return None if self.scheme is None else (self.buffer, self.scheme)

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return () if self.scheme is None else (self.buffer,)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> _Expanded | None:
        """Decompress a compressed buffer."""
        if self.scheme is None:
            return None
        data = buffers[self.buffer]
        starts, sizes = np.zeros(1, np.int64), np.array([len(data)], np.int64)
        (size,) = self.scheme.sizes(data, starts, sizes).tolist()
        # For sliced arrays, some writers also stored the bytes after the values.
        if size < self.shape.num_bytes(page.num_rows):
            raise CorruptPageError(
                f"a compressed buffer has {size} bytes, {page.num_rows} values take "
                f"{self.shape.num_bytes(page.num_rows)}"
            )
        self.limits.check("max_batch_bytes", size)
        values = np.empty(size, np.uint8)
        self.scheme.decompress(data, starts, sizes, values, np.array([0, size], np.int64))
        return _Expanded(values)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        """Return the bytes of the rows; runs of bits may share a byte."""
        if self.scheme is not None:
            return PageReadPlan((), rows)
        needed, size = self.shape.num_bytes(page.num_rows), page.buffer_sizes[self.buffer]
        if size < needed:
            raise CorruptPageError(f"buffer {self.buffer} has {size} bytes, {page.num_rows} values take {needed}")
        starts, stops = rows.starts, rows.stops
        if self.shape.bits != 1:
            width = self.shape.bytes_per_value
            return PageReadPlan((BufferSlices(self.buffer, starts * width, stops * width),), rows)
        starts, stops = starts // 8, (stops + 7) // 8
        is_first = np.append(True, starts[1:] >= stops[:-1])[: len(starts)]
        is_last = np.append(is_first[1:], True)[: len(starts)]
        return PageReadPlan((BufferSlices(self.buffer, starts[is_first], stops[is_last]),), rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        rows: RowRanges = plan.notes
        if index is not None:
            return LoadedFlat(self.shape, rows.num_rows, index.values, rows.starts * self.shape.bits, rows)
        (part,) = fetched
        if self.shape.bits != 1:
            return LoadedFlat(self.shape, rows.num_rows, part.data, part.starts * 8, rows)
        (slices,) = plan.slices
        owners = np.searchsorted(slices.starts, rows.starts // 8, "right") - 1
        bits = (part.starts[owners] - slices.starts[owners]) * 8 + rows.starts
        return LoadedFlat(self.shape, rows.num_rows, part.data, bits, rows)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFlat(ValidValues):
    """Runs of values at bit positions `first_bits` of `data`."""

    shape: FixedWidth
    num_values: int
    data: Bytes
    first_bits: Any
    rows: RowRanges

    def decode(self, out: BlockSlice) -> None:
        if not self.num_values:
            return
        counts = self.rows.stops - self.rows.starts
        if self.shape.bits == 1:
            kernels.take_bit_runs(self.data, 0, self.first_bits, self.first_bits + counts, out.values, out.bit_offset)
            return
        width = self.shape.bytes_per_value
        if len(counts) == 1:
            start = int(self.first_bits[0]) // 8
            out.values[:] = self.data[start : start + self.num_values * width]
            return
        value_starts = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=value_starts[1:])
        kernels.copy_fixed(self.data, self.first_bits // 8, counts * width, value_starts, width, out.values)


@hookimpl
def lance_provide_arrays() -> list[Flat]:
    return [Flat()]
