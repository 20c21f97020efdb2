"""Pages of chunks, read in the two rounds of layouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.pages import ChunkedPages
from lance_arrow.pages.bound_pages import BoundChunks
from lance_arrow.spi import FixedWidth, VariableWidth
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)
from second_reader.chunk_index import ChunkIndex, ChunkSelection, chunk_table, row_table
from second_reader.fields import SCRATCH, copied
from second_reader.loaded_chunks import DictionaryPage, IndexPage, ValuePage, decode_items, with_empty_item
from second_reader.open_chunks import OpenChunks, visible_levels


@dataclass(frozen=True, slots=True)
class ReadChunks(BoundChunks):
    """Pages of chunks."""

    @classmethod
    def of(cls, pages: BoundChunks) -> ReadChunks:
        """Return the same pages."""
        return copied(pages, cls)

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return copied(self, ChunkedPages).roles(page)

    def _values_of(self, page: PageFacts) -> int:
        return page.num_rows if self.num_values is None else self.num_values

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return tuple(BufferSlices.whole(page, n) for n, role in enumerate(roles) if role is not BufferRole.DATA)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> ChunkIndex:
        data_bytes = page.buffer_sizes[1]
        chunk_starts, value_starts = chunk_table(fetched[0].one(), self.large, self._values_of(page), data_bytes)
        rows = None
        if self.rep is not None:
            rows = row_table(fetched[-1].one(), len(chunk_starts) - 1, page.num_rows)
        items = None
        if self.items is not None:
            items = decode_items(self.items, fetched[1].one(), self.num_items, self.limits)
            if self._adds_empty_item:
                items = with_empty_item(items)
        return ChunkIndex(chunk_starts, value_starts, rows, items)

    def plan(self, page: PageFacts, index: ChunkIndex, rows: RowRanges) -> PageReadPlan:
        selection = index.select(rows)
        starts, stops = selection.byte_runs(index)
        return PageReadPlan((BufferSlices(1, starts, stops),), selection)

    def load(
        self, page: PageFacts, index: ChunkIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        return self.load_slots(index, plan, fetched, None)

    def load_slots(
        self,
        index: ChunkIndex,
        plan: PageReadPlan,
        fetched: tuple[FetchedSlices, ...],
        slot_levels: NDArray[np.uint16] | None,
    ) -> LoadedPage:
        """Open the bytes; `slot_levels` above 0 mark null slots of a structure that is stored elsewhere."""
        selection: ChunkSelection = plan.notes
        chunks = self.open(index, selection, fetched[0])
        levels, runs = chunks.levels(self, index, selection)
        if index.items is None:
            return ValuePage.of(self.values, chunks.values, levels, runs, SCRATCH)
        if slot_levels is None:
            slot_levels = visible_levels(levels)
        null_index = self.num_items if self._adds_empty_item else 0
        indices = chunks.indices(self.values, slot_levels, runs, self.num_items, null_index, SCRATCH)
        if self.keeps_items:
            return IndexPage(levels, indices, index.items)
        return DictionaryPage.of(levels, indices, index.items)

    def open(self, index: ChunkIndex, selection: ChunkSelection, fetched: FetchedSlices) -> OpenChunks:
        """Locate the parts of the selected chunks; layouts with other chunk headers override it."""
        return OpenChunks.of(self, index, selection, fetched)

    @property
    def _adds_empty_item(self) -> bool:
        """Return whether null slots expand to an empty item behind the dictionary.

        Nulls that expand to item 0 would take its bytes: a gigabyte for 30,000 nulls and one long text.
        """
        if self.items is None or self.keeps_items or not isinstance(self.items.shape, VariableWidth):
            return False
        assert isinstance(self.values.shape, FixedWidth)
        return self.num_items < 1 << min(self.values.shape.bits, 32)
