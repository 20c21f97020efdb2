"""List offsets: the start of the items of each list of a batch, and the end of the last; no list is null.

Source: spec 0.1, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.pages.arrays import LoadedLists
from lance_arrow.spi import BindScope, Bytes, EncodingKey, hookimpl
from lance_arrow.spi.arrays import LEGACY
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, NodeKind, PageFacts, PageReadPlan, RowRanges
from lance_arrow.spi.slots import SlotLayer, SlotStructure

_NONE = np.empty(0, np.int64)
_OFFSET_BITS = (32, 64)


@dataclass(frozen=True, slots=True)
class ListOffsets:
    """Binds ``list_offsets``."""

    key = EncodingKey(LEGACY, "list_offsets")

    def bind(self, message: Any, scope: BindScope) -> BoundListOffsets:
        """Check that this is the column of a list."""
        if scope.leaf.nodes != (NodeKind.LIST,) or message.offset_bits not in _OFFSET_BITS:
            raise CorruptFileError("a page has lists, but the schema has none there")
        return BoundListOffsets(message.offset_bits // 8, message.num_items)


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """The lists of a batch, and their items below."""

    layers: tuple[SlotLayer, SlotLayer]

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class BoundListOffsets:
    """Lists of one batch."""

    offset_bytes: int
    num_items: int
    shape = None
    has_nulls = False
    buffers: tuple[tuple[int, BufferRole], ...] = ((0, BufferRole.REPETITION),)
    index_buffers: tuple[int, ...] = (0,)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> _Lists:
        """Rebase offsets to the first, and check that they ascend within the items."""
        offsets = np.zeros(1, np.int64)
        if page.num_rows:
            if len(buffers[0]) < (page.num_rows + 1) * self.offset_bytes:
                raise CorruptPageError(f"{len(buffers[0])} bytes of offsets for {page.num_rows} lists")
            stored = np.frombuffer(buffers[0].tobytes(), f"<i{self.offset_bytes}", page.num_rows + 1)
            offsets = stored.astype(np.int64)
        lengths = np.diff(offsets)
        descends = (lengths < 0) | (offsets[:-1] < 0)
        if descends.any():
            wrong = int(np.argmax(descends))
            raise CorruptPageError(f"list {wrong} ends before it begins", detail=wrong)
        offsets = offsets - offsets[0]
        if int(offsets[-1]) > self.num_items:
            raise CorruptPageError(f"the lists hold {int(offsets[-1])} items, the batch below has {self.num_items}")
        filled = np.flatnonzero(lengths)
        starts = np.append(offsets[filled], offsets[-1])
        return _Lists((SlotLayer(self.num_items, True, _NONE), SlotLayer(page.num_rows, True, _NONE, filled, starts)))

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return LoadedLists(SlotStructure.select(index.layers, plan.notes))


@hookimpl
def lance_provide_arrays() -> list[ListOffsets]:
    return [ListOffsets()]
