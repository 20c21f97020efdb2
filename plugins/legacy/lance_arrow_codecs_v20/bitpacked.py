"""Bitpacked: integers of fewer bits back to back, least significant bit first; written by pre-releases of 2.1.

Pages are read completely. Source: ArrayEncoding.Bitpacked; spec 2.0, 3.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError
from lance_arrow.pages.arrays import page_buffer
from lance_arrow.pages.one_buffer import OneBufferArray, SelectedValues
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodingKey, FixedWidth, hookimpl
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges

_WIDTHS = (8, 16, 32, 64)
_SPAN_BYTES = 9
"""Most bytes that contain a value of 64 bits."""


@dataclass(frozen=True, slots=True)
class Bitpacked:
    """Binds ``bitpacked``."""

    key = EncodingKey(ARRAY, "bitpacked")

    def bind(self, message: Any, scope: BindScope) -> BoundBitpacked:
        """Check both widths."""
        bits, packed = message.uncompressed_bits_per_value, message.compressed_bits_per_value
        if bits not in _WIDTHS or packed > bits:
            raise CorruptFileError(f"values of {bits} bits are packed to {packed}")
        return BoundBitpacked(FixedWidth(bits), page_buffer(message.buffer), packed, message.signed)


@dataclass(frozen=True, slots=True)
class BoundBitpacked(OneBufferArray):
    """Integers of one packed width."""

    packed_bits: int
    is_signed: bool

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        self.check_size(page, (page.num_rows * self.packed_bits + 7) // 8)
        return PageReadPlan((BufferSlices.whole(page, self.buffer),), rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return LoadedBitpacked(self.shape, plan.notes, self, fetched[0].one())


@dataclass(frozen=True, slots=True, eq=False)
class LoadedBitpacked(SelectedValues):
    """Selected integers, still packed."""

    bound: BoundBitpacked
    data: Bytes

    def decode(self, out: BlockSlice) -> None:
        width = self.shape.bytes_per_value
        place = 0
        for start, stop in zip(self.rows.starts.tolist(), self.rows.stops.tolist(), strict=True):
            values = self._unpacked(start, stop).astype(f"<u{width}")
            out.values[place : place + len(values) * width] = values.view(np.uint8)
            place += len(values) * width

    def _unpacked(self, start: int, stop: int) -> NDArray[np.uint64]:
        packed = self.bound.packed_bits
        if packed == 0:
            return np.zeros(stop - start, np.uint64)
        first = start * packed // 8
        part = np.concatenate([self.data[first : (stop * packed + 7) // 8], np.zeros(_SPAN_BYTES, np.uint8)])
        bits = np.arange(start, stop) * packed - 8 * first
        spans = part[(bits // 8)[:, np.newaxis] + np.arange(_SPAN_BYTES)]
        low = np.ascontiguousarray(spans[:, :8]).view("<u8")[:, 0]
        shifts = (bits % 8).astype(np.uint64)
        # A shift by 64 bits is not defined, so the ninth byte is shifted in two steps.
        high = (spans[:, 8].astype(np.uint64) << (np.uint64(63) - shifts)) << np.uint64(1)
        values = ((low >> shifts) | high) & np.uint64((1 << packed) - 1)
        if self.bound.is_signed:
            sign = np.uint64(1 << (packed - 1))
            values = (values ^ sign) - sign
        return values


@hookimpl
def lance_provide_arrays() -> list[Bitpacked]:
    return [Bitpacked()]
