"""Constant: one value in the description for all rows of a page, which has no buffers and no nulls.

No release of the reference writes or reads it in a page of 2.0. Its drafts of 2.1 store the value as the little-endian
bytes of one value in memory (a level of 16 bits: two bytes). The same form is read here, for values of one width in
whole bytes. Other forms are not documented, so they are rejected. Source: ArrayEncoding.Constant;
docs/format/deviations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.pages.one_buffer import ValidValues
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodingKey, FixedWidth, Limits, hookimpl
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges


@dataclass(frozen=True, slots=True)
class Constant:
    """Binds ``constant``."""

    key = EncodingKey(ARRAY, "constant")

    def bind(self, message: Any, scope: BindScope) -> BoundConstant:
        """Check that the value is one of the schema's."""
        shape = scope.leaf.shape
        if not isinstance(shape, FixedWidth) or not shape.bytes_per_value or scope.leaf.items is not None:
            raise UnsupportedError(
                f"a constant for values of shape {shape}; only values of one width in whole bytes are supported, "
                "because no other encoding is documented"
            )
        if len(message.value) != shape.bytes_per_value:
            raise CorruptFileError(
                f"a constant of {len(message.value)} bytes, but values of the schema have {shape.bytes_per_value}",
                detail=len(message.value),
            )
        return BoundConstant(shape, np.frombuffer(message.value, np.uint8), scope.limits)


@dataclass(frozen=True, slots=True, eq=False)
class BoundConstant:
    """The value, repeated for any number of rows."""

    shape: FixedWidth
    value: Bytes
    limits: Limits
    has_nulls = False
    buffers: tuple[tuple[int, BufferRole], ...] = ()
    index_buffers: tuple[int, ...] = ()

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> None:
        """Do nothing: there is no index."""

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows.num_rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        # No bytes limit the number of rows, and callers allocate memory for all requested rows.
        self.limits.check("max_batch_bytes", self.shape.num_bytes(plan.notes))
        return LoadedConstant(self.shape, self.value, plan.notes)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedConstant(ValidValues):
    """Selected rows."""

    shape: FixedWidth
    value: Bytes
    num_values: int

    def decode(self, out: BlockSlice) -> None:
        out.values.reshape(self.num_values, self.shape.bytes_per_value)[:] = self.value


@hookimpl
def lance_provide_arrays() -> list[Constant]:
    return [Constant()]
