"""Fixed-size binary: byte strings of one length, without offsets; written by pre-releases.

Source: ArrayEncoding.FixedSizeBinary; spec 2.0, 3.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.pages.arrays import require_width
from lance_arrow.pages.one_buffer import ValidValues
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodingKey, FixedWidth, VariableWidth, hookimpl
from lance_arrow.spi.arrays import ARRAY, BoundArray
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageIndex, PageReadPlan, RowRanges

_BYTE = FixedWidth(8)
_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class FixedSizeBinary:
    """Binds ``fixed_size_binary``."""

    key = EncodingKey(ARRAY, "fixed_size_binary")

    def bind(self, message: Any, scope: BindScope) -> BoundFixedSizeBinary:
        """Check that the schema has byte strings, and bind their bytes."""
        shape = scope.leaf.shape
        if not isinstance(shape, VariableWidth):
            raise CorruptFileError(f"byte strings where the schema has {shape}", detail=shape)
        if not message.byte_width:
            raise CorruptFileError("byte strings of one length have the length 0")
        scope.limits.check("max_value_bytes", message.byte_width)
        values = require_width(scope.for_shape(_BYTE).array(message.bytes), 8, "bytes of byte strings")
        return BoundFixedSizeBinary(shape, values, message.byte_width)


@dataclass(frozen=True, slots=True)
class BoundFixedSizeBinary:
    """Byte strings as runs of bytes."""

    shape: VariableWidth
    values: BoundArray
    byte_width: int
    has_nulls = False

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return self.values.buffers

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return self.values.index_buffers

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> PageIndex | None:
        return self.values.load_index(self._bytes(page), buffers)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        runs = RowRanges(rows.starts * self.byte_width, rows.stops * self.byte_width)
        return self.values.plan(self._bytes(page), index, runs)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        values = self.values.load(self._bytes(page), index, plan, fetched)
        return LoadedFixedSizeBinary(self.shape, values, self.byte_width)

    def _bytes(self, page: PageFacts) -> PageFacts:
        num_bytes = page.num_rows * self.byte_width
        if num_bytes > _INT64_MAX:
            raise CorruptPageError(f"a page declares {num_bytes} bytes, more than 63 bits hold")
        return PageFacts(num_bytes, page.buffer_sizes)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFixedSizeBinary(ValidValues):
    """Selected byte strings."""

    shape: VariableWidth
    values: LoadedPage
    byte_width: int

    @property
    def num_values(self) -> int:
        return self.values.num_values // self.byte_width

    @property
    def num_bytes(self) -> int:
        return self.values.num_values

    def decode(self, out: BlockSlice) -> None:
        offsets = out.offsets.view(f"<i{self.shape.offset_bits // 8}")
        steps = np.arange(1, self.num_values + 1) * self.byte_width
        np.add(steps, int(offsets[0]), out=offsets[1:], casting="unsafe")
        self.values.decode(BlockSlice(_BYTE, self.num_bytes, out.values))


@hookimpl
def lance_provide_arrays() -> list[FixedSizeBinary]:
    return [FixedSizeBinary()]
