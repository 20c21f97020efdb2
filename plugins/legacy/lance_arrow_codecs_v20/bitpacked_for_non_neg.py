"""Bitpacked for non-negatives: integers in FastLanes blocks of 1024, the last one padded; written by pre-releases.

Source: ArrayEncoding.BitpackedForNonNeg; spec 2.0, 3.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError
from lance_arrow.pages.arrays import page_buffer
from lance_arrow.pages.one_buffer import OneBufferArray, SelectedValues
from lance_arrow.spi import BindScope, BlockSlice, EncodingKey, FixedWidth, hookimpl
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges
from lance_arrow.spi.scratch import Scratch
from lance_arrow_codecs import native

_WIDTHS = (8, 16, 32, 64)
_BLOCK_VALUES = 1024


@dataclass(frozen=True, slots=True)
class BitpackedForNonNeg:
    """Binds ``bitpacked_for_non_neg``."""

    key = EncodingKey(ARRAY, "bitpacked_for_non_neg")

    def bind(self, message: Any, scope: BindScope) -> BoundBlocks:
        """Check both widths."""
        bits, packed = message.uncompressed_bits_per_value, message.compressed_bits_per_value
        if bits not in _WIDTHS or packed > bits:
            raise CorruptFileError(f"values of {bits} bits are packed to {packed}")
        return BoundBlocks(FixedWidth(bits), page_buffer(message.buffer), packed, scope.scratch)


@dataclass(frozen=True, slots=True)
class BoundBlocks(OneBufferArray):
    """Blocks of one packed width; all blocks from the first to the last selected value are read."""

    packed_bits: int
    scratch: Scratch

    @property
    def block_bytes(self) -> int:
        return _BLOCK_VALUES // 8 * self.packed_bits

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        self.check_size(page, -(-page.num_rows // _BLOCK_VALUES) * self.block_bytes)
        first = int(rows.starts[0]) // _BLOCK_VALUES if len(rows) else 0
        last = -(-int(rows.stops[-1]) // _BLOCK_VALUES) if len(rows) else 0
        start, stop = np.array([first * self.block_bytes]), np.array([last * self.block_bytes])
        return PageReadPlan((BufferSlices(self.buffer, start, stop),), (rows, (first, last)))

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        rows, blocks = plan.notes
        return LoadedBlocks(self.shape, rows, self, fetched[0], *blocks)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedBlocks(SelectedValues):
    """Packed blocks ``first .. last`` that hold the selected integers."""

    bound: BoundBlocks
    fetched: FetchedSlices
    first: int
    last: int

    def decode(self, out: BlockSlice) -> None:
        num_blocks, size = self.last - self.first, self.bound.block_bytes
        starts = int(self.fetched.starts[0]) + np.arange(num_blocks) * size
        value_starts = np.arange(num_blocks + 1) * _BLOCK_VALUES
        with self.bound.scratch.block(self.shape, num_blocks * _BLOCK_VALUES) as whole:
            sizes = np.full(num_blocks, size, np.int64)
            native.unpack_out_of_line(
                self.fetched.data, starts, sizes, value_starts, self.shape.bits, self.bound.packed_bits, whole.values
            )
            shift = self.first * _BLOCK_VALUES
            runs = self.rows.starts - shift, self.rows.stops - shift
            kernels.take_runs_fixed(whole.values, self.shape.bytes_per_value, *runs, out.values)


@hookimpl
def lance_provide_arrays() -> list[BitpackedForNonNeg]:
    return [BitpackedForNonNeg()]
