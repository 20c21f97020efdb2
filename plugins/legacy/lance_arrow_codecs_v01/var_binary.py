"""Byte strings with borders that are positions in the file; an empty string may stand for a null.

All borders of a page are read before any value, and kept. Source: lance.file.Encoding.VAR_BINARY; spec 0.1, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodingKey, VariableWidth, hookimpl
from lance_arrow.spi.arrays import LEGACY
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)
from lance_arrow.spi.slots import ItemValidity

_OFFSET_BYTES = 8


@dataclass(frozen=True, slots=True)
class VarBinary:
    """Binds ``var_binary``."""

    key = EncodingKey(LEGACY, "var_binary")

    def bind(self, message: Any, scope: BindScope) -> BoundVarBinary:
        """Check that the schema has byte strings."""
        shape = scope.leaf.shape
        if not isinstance(shape, VariableWidth):
            raise CorruptFileError(f"byte strings where the schema has {shape}", detail=shape)
        return BoundVarBinary(shape, message.buffer, message.empty_is_null)


@dataclass(frozen=True, slots=True, eq=False)
class _Borders:
    """Start of each value within the bytes, and the end of the last."""

    values: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


@dataclass(frozen=True, slots=True)
class BoundVarBinary:
    """Byte strings of one batch."""

    shape: VariableWidth
    first_buffer: int
    has_nulls: bool

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return (self.first_buffer, BufferRole.INDICES), (self.first_buffer + 1, BufferRole.DATA)

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return (self.first_buffer,)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> _Borders:
        """Rebase borders to the first, and check that they ascend within the bytes."""
        data = buffers[self.first_buffer]
        if not page.num_rows:
            return _Borders(np.zeros(1, np.int64))
        if len(data) < (page.num_rows + 1) * _OFFSET_BYTES:
            raise CorruptPageError(f"{len(data)} bytes of positions for {page.num_rows} byte strings")
        stored = np.frombuffer(data.tobytes(), "<i8", page.num_rows + 1)
        # Unsigned, so that a border below the first wraps to one far above the last.
        borders = stored.view(np.uint64) - stored.view(np.uint64)[0]
        size = page.buffer_sizes[self.first_buffer + 1]
        wrong = (borders[1:] < borders[:-1]) | (borders[1:] > np.uint64(size))
        if wrong.any():
            bad = int(np.argmax(wrong))
            raise CorruptPageError(f"byte string {bad} lies from {stored[bad]} to {stored[bad + 1]}", detail=bad)
        return _Borders(borders.astype(np.int64))

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        starts, stops = index.values[rows.starts], index.values[rows.stops]
        kept = stops > starts
        return PageReadPlan((BufferSlices(self.first_buffer + 1, starts[kept], stops[kept]),), rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        rows: RowRanges = plan.notes
        return LoadedVarBinary(self, rows, index.values, fetched[0])


class LoadedVarBinary:
    """Selected byte strings."""

    dictionary = None

    def __init__(
        self, bound: BoundVarBinary, rows: RowRanges, borders: NDArray[np.int64], fetched: FetchedSlices
    ) -> None:
        self.shape, self.num_values = bound.shape, rows.num_rows
        self.num_bytes = int(fetched.sizes.sum())
        self._fetched = fetched
        parts = [np.diff(borders[a : b + 1]) for a, b in zip(rows.starts.tolist(), rows.stops.tolist(), strict=True)]
        self._lengths = np.concatenate(parts) if parts else np.empty(0, np.int64)
        empty = self._lengths == 0
        bits = np.packbits(~empty, bitorder="little") if bound.has_nulls and empty.any() else None
        self.levels = ItemValidity(self.num_values, bits)

    def decode(self, out: BlockSlice) -> None:
        offsets = out.offsets.view(f"<i{self.shape.offset_bits // 8}")
        np.add(np.cumsum(self._lengths), int(offsets[0]), out=offsets[1:], casting="unsafe")
        sizes = self._fetched.sizes
        value_starts = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=value_starts[1:])
        kernels.copy_fixed(self._fetched.data, self._fetched.starts, sizes, value_starts, 1, out.values)


@hookimpl
def lance_provide_arrays() -> list[VarBinary]:
    return [VarBinary()]
