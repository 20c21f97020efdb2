"""Binary: the end of each byte string, and the bytes; the end of a null is increased by the adjustment.

    adjustment 19   ends  19  3  8  22      values  null  [0, 3)  [3, 8)  null

All ends of a page are read before any value, and kept. Source: ArrayEncoding.Binary; spec 2.0, 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.pages.arrays import (
    decode_integers,
    fetched_parts,
    joined_plan,
    load_whole,
    native_strings,
    require_width,
)
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, Buffer, Compression, Flat
from lance_arrow.proto.encodings_v20_pb2 import Binary as BinaryMessage
from lance_arrow.spi import (
    BindScope,
    BlockSlice,
    Bytes,
    EncodeScope,
    EncodingKey,
    FixedWidth,
    LeafType,
    Limits,
    VariableWidth,
    hookimpl,
)
from lance_arrow.spi.arrays import ARRAY, ArrayContent, BoundArray, EncodedArray
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges
from lance_arrow.spi.slots import ItemValidity

_BYTE = FixedWidth(8)
_END_BYTES = 8
_SCHEMES = {"zstd": "ZSTD", "lz4": "LZ4"}
_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Binary:
    """Binds and writes ``binary``."""

    key = EncodingKey(ARRAY, "binary")

    def bind(self, message: Any, scope: BindScope) -> BoundBinary:
        """Check that the schema has byte strings, and check both children."""
        shape = scope.leaf.shape
        if not isinstance(shape, VariableWidth):
            raise CorruptFileError(f"byte strings where the schema has {shape}", detail=shape)
        ends = scope.for_shape(FixedWidth(64)).array(message.indices)
        width = ends.shape.bits if isinstance(ends.shape, FixedWidth) else 0
        require_width(ends, 32 if width == 32 else 64, "ends of byte strings")
        values = require_width(scope.for_shape(_BYTE).array(message.bytes), 8, "bytes of byte strings")
        return BoundBinary(shape, ends, values, width // 8, message.null_adjustment, scope.limits)

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for byte strings, and None for other values."""
        if content.values is None or not isinstance(content.values.shape, VariableWidth):
            return None
        return float(len(content.values.values) + _END_BYTES * content.num_values)

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Write ends and bytes; the bytes are one compressed frame if the options require it."""
        if content.values is None or not isinstance(content.values.shape, VariableWidth):
            raise UnsupportedError("expected byte strings, not values of a fixed width")
        stored = content.values.offsets.view(f"<i{content.values.shape.offset_bits // 8}")
        ends = stored[1:].astype(np.int64) - int(stored[0])
        data = content.values.values
        adjustment = len(data) + 1
        if content.nulls is not None:
            ends = ends + content.nulls * adjustment
        block = BlockSlice(FixedWidth(64), content.num_values, ends.view(np.uint8))
        indices = scope.encode_array(ArrayContent(LeafType(FixedWidth(64)), content.num_values, block), first_buffer)
        buffer = Buffer(buffer_index=first_buffer + len(indices.buffers))
        values = Flat(bits_per_value=8, buffer=buffer)
        name = scope.options.compression
        if name in _SCHEMES:
            level = scope.options.compression_level
            whole = np.zeros(1, np.int64), np.array([len(data)], np.int64)
            data, _ = scope.scheme(_SCHEMES[name]).compress(data, *whole, level)
            values.compression.CopyFrom(Compression(scheme=name, level=level))
        message = BinaryMessage(
            indices=indices.description,  # type: ignore[arg-type]
            bytes=ArrayEncoding(flat=values),
            null_adjustment=adjustment,
        )
        return EncodedArray(ArrayEncoding(binary=message), (*indices.buffers, data))


@dataclass(slots=True, eq=False)
class _Ends:
    """Borders of values, their validity, and the index of the bytes."""

    borders: NDArray[np.int64]
    validity: Bytes | None
    values: Any = None

    @property
    def nbytes(self) -> int:
        own = self.borders.nbytes + (0 if self.validity is None else self.validity.nbytes)
        return own + (0 if self.values is None else self.values.nbytes)


@dataclass(frozen=True, slots=True)
class BoundBinary:
    """Byte strings of one page."""

    shape: VariableWidth
    ends: BoundArray
    values: BoundArray
    end_bytes: int
    null_adjustment: int
    limits: Limits
    has_nulls = True

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return tuple((buffer, BufferRole.INDICES) for buffer, _ in self.ends.buffers) + self.values.buffers

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return tuple(buffer for buffer, _ in self.ends.buffers) + self.values.index_buffers

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> _Ends:
        """Remove the adjustment, and check that no end lies before the previous one."""
        # Before memory is allocated for the declared number of ends: the bytes show that they exist.
        loaded = load_whole(self.ends, page, buffers)
        borders = np.empty(page.num_rows + 1, np.int64)
        borders[0] = 0
        if self.end_bytes == _END_BYTES:
            # In place: pages hold millions of ends, and new memory costs more than this computation.
            loaded.decode(BlockSlice(FixedWidth(64), page.num_rows, borders[1:].view(np.uint8)))
        else:
            borders[1:] = decode_integers(loaded, self.end_bytes)
        ends = self._ends(borders)
        ends.values = self.values.load_index(_bytes_of(page, ends.borders), buffers)
        return ends

    def native_page(self, page: PageFacts) -> Any | None:
        """Return a native page if ends are plain, and bytes too, or in one frame."""
        return native_strings(page, self.shape, self.ends, self.values, self.null_adjustment, self.limits)

    def native_coded(self, page: PageFacts, shape: VariableWidth, codes: object) -> Any | None:
        """Return a native page of what these byte strings are codes of; `codes` is the capsule of a value codec."""
        return native_strings(page, shape, self.ends, self.values, self.null_adjustment, self.limits, codes)

    def _ends(self, borders: NDArray[np.int64]) -> _Ends:
        """Remove the adjustment from borders, in place, and check that they ascend."""
        stored = borders.view(np.uint64)
        last = int(stored.max(initial=0))
        validity = None
        if self.null_adjustment and last >= self.null_adjustment:
            nulls = stored >= np.uint64(self.null_adjustment)
            np.subtract(stored, np.uint64(self.null_adjustment), out=stored, where=nulls)
            validity = np.packbits(~nulls[1:], bitorder="little")
            last = int(stored.max(initial=0))
        if last > _INT64_MAX:
            raise CorruptPageError("a byte string ends beyond 63 bits", detail=int(np.argmax(stored)))
        if (borders[1:] < borders[:-1]).any():
            wrong = int(np.argmax(borders[1:] < borders[:-1]))
            raise CorruptPageError(f"byte string {wrong} ends before it begins", detail=wrong)
        return _Ends(borders, validity)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        starts, stops = index.borders[rows.starts], index.borders[rows.stops]
        kept = stops > starts
        of_bytes = self.values.plan(_bytes_of(page, index.borders), index.values, RowRanges(starts[kept], stops[kept]))
        plan = joined_plan([of_bytes])
        return PageReadPlan(plan.slices, (plan.notes, rows))

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        inner, rows = plan.notes
        (part,) = fetched_parts(PageReadPlan(plan.slices, inner), fetched)
        values = self.values.load(_bytes_of(page, index.borders), index.values, *part)
        validity = ItemValidity(len(index.borders) - 1, index.validity)
        return LoadedBinary(self.shape, values, index.borders, validity, rows)


def _bytes_of(page: PageFacts, borders: NDArray[np.int64]) -> PageFacts:
    return PageFacts(int(borders[-1]), page.buffer_sizes)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedBinary:
    """Selected byte strings."""

    shape: VariableWidth
    values: LoadedPage
    borders: NDArray[np.int64]
    validity: ItemValidity
    rows: RowRanges
    dictionary = None

    @property
    def num_values(self) -> int:
        return self.rows.num_rows

    @property
    def num_bytes(self) -> int:
        return self.values.num_values

    @property
    def levels(self) -> ItemValidity:
        return self.validity.selected(self.rows)

    def decode(self, out: BlockSlice) -> None:
        offsets = out.offsets.view(f"<i{self.shape.offset_bits // 8}")
        position, place = int(offsets[0]), 1
        if len(self.rows) == 1:
            start, stop = int(self.rows.starts[0]), int(self.rows.stops[0])
            shift = position - int(self.borders[start])
            np.add(self.borders[start + 1 : stop + 1], shift, out=offsets[1:], casting="unsafe")
        elif len(self.rows):
            lengths = np.diff(self.borders)[_numbers(self.rows)]
            np.add(np.cumsum(lengths), position, out=offsets[place:], casting="unsafe")
        self.values.decode(BlockSlice(_BYTE, self.num_bytes, out.values))


def _numbers(rows: RowRanges) -> NDArray[np.int64]:
    """Return all numbers in the ranges."""
    counts = rows.stops - rows.starts
    shifts = rows.starts - np.concatenate(([0], np.cumsum(counts)[:-1]))
    return np.arange(int(counts.sum())) + np.repeat(shifts, counts)


@hookimpl
def lance_provide_arrays() -> list[Binary]:
    return [Binary()]
