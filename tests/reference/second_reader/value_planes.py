"""Values beside a sparse structure, read in the two rounds of layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.pages.loaded_values import StructuredPage
from lance_arrow.spi import BlockShape, BlockSlice, NumBytes, PackedStruct, VariableWidth, new_block
from lance_arrow.spi.block_runs import copy_runs
from lance_arrow.spi.layouts import FetchedSlices, LoadedPage, PageFacts, PageIndex, PageReadPlan, RowRanges
from lance_arrow.spi.scratch import Scratch
from lance_arrow.spi.slots import SlotStructure, Structure
from lance_arrow_layouts.planar import value_planes as planes
from lance_arrow_layouts.planar.value_planes import Slots
from second_reader import kernels
from second_reader.chunked import ReadChunks
from second_reader.fields import SCRATCH
from second_reader.loaded_chunks import DictionaryPage, IndexPage
from second_reader.repeated import RepeatedPage
from second_reader.zipped import ReadZipped


def second_plane(plane: Any) -> Any:
    """Return a value plane that reads its slots itself."""
    if isinstance(plane, planes.RepeatedSlots):
        return RepeatedSlots(plane.shape, plane.scalar)
    if isinstance(plane, planes.ChunkedSlots):
        return ChunkedSlots(ReadChunks.of(plane.pages))
    if isinstance(plane, planes.ZippedSlots):
        return ZippedSlots(ReadZipped.of(plane.pages), plane.num_values)
    assert isinstance(plane, planes.IndexedSlots)
    items = ReadZipped.of(plane.items)
    return IndexedSlots(plane.indices, items, plane.num_items, plane.keeps_items, plane.limits)


@dataclass(frozen=True, slots=True)
class RepeatedSlots(planes.RepeatedSlots):
    """One scalar for all valid slots; without a scalar every slot is null, or the column has no values."""

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> None:
        if self.scalar is None and self.shape is not None and page.validity.num_valid and (found := page.num_reached()):
            raise CorruptPageError(f"a page without values has {found} valid slots")

    def plan(self, page: Slots, index: None, slots: RowRanges) -> PageReadPlan:
        return PageReadPlan(())

    def load(
        self, page: Slots, index: None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage:
        return RepeatedPage(selected, self.shape, selected.num_slots, self.scalar)


@dataclass(frozen=True, slots=True)
class ChunkedSlots(planes.ChunkedSlots):
    """A value for every slot, also for nulls, in chunks."""

    pages: ReadChunks

    def _facts(self, page: Slots) -> PageFacts:
        return page.facts(page.validity.num_slots, 0, len(self.roles))

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> PageIndex:
        self.pages.roles(self._facts(page))
        return self.pages.load_index(self._facts(page), fetched)

    def plan(self, page: Slots, index: Any, slots: RowRanges) -> PageReadPlan:
        return self.pages.plan(self._facts(page), index, slots) if len(slots) else PageReadPlan(())

    def load(
        self, page: Slots, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage:
        if not selected.num_slots:
            return RepeatedPage(selected, self.pages.shape, 0, None)
        return StructuredPage(selected, self.pages.load_slots(index, plan, fetched, selected.null_flags()))


@dataclass(frozen=True, slots=True)
class ZippedSlots(planes.ZippedSlots):
    """Values of only the valid slots, one after the other; `num_values` is the number in the description."""

    pages: ReadZipped

    def _facts(self, page: Slots) -> PageFacts:
        return page.facts(self.num_values, 0, len(self.roles))

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
        if page.validity.num_valid != self.num_values:
            raise CorruptPageError(f"{self.num_values} values are zipped for {page.validity.num_valid} valid slots")
        self.pages.roles(self._facts(page))
        return self.pages.load_index(self._facts(page), fetched)

    def plan(self, page: Slots, index: Any, slots: RowRanges) -> PageReadPlan:
        validity = page.validity
        starts, stops = validity.valid_before(slots.starts), validity.valid_before(slots.stops)
        stored = RowRanges(starts[stops > starts], stops[stops > starts])
        return self.pages.plan(self._facts(page), index, stored) if len(stored) else PageReadPlan(())

    def load(
        self, page: Slots, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage:
        num_slots = selected.num_slots
        if not plan.slices:
            return RepeatedPage(selected, self.pages.values.shape, num_slots, None)
        stored = self.pages.load(self._facts(page), index, plan, fetched)
        flags = selected.null_flags()
        if flags is None:
            return StructuredPage(selected, stored)
        return SpreadPage(selected, stored, np.cumsum(flags == 0), SCRATCH)


@dataclass(frozen=True, slots=True, eq=False)
class ItemIndex:
    """Distinct items of a page, and an index for every slot."""

    items: BlockSlice
    indices: BlockSlice

    @property
    def nbytes(self) -> int:
        return self.items.values.nbytes + self.items.offsets.nbytes + self.indices.values.nbytes


@dataclass(frozen=True, slots=True)
class IndexedSlots(planes.IndexedSlots):
    """An index for every slot into distinct items, which are zipped."""

    items: ReadZipped

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> ItemIndex:
        first = self.indices.num_buffers
        indices = self._indices(page.validity.num_slots, fetched[:first])
        everything = SlotStructure.select(page.layers, RowRanges.one(0, page.layers[-1].num_slots))
        # Of nulls they may be anything.
        kernels.clear_null_indices(indices.values, self.indices.shape.bits, self.num_items, 0, everything.null_flags())
        return ItemIndex(self._items(page, fetched[first:]), indices)

    def _items(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> BlockSlice:
        if not self.num_items:
            return new_block(self.items.values.shape, 0)
        first = self.indices.num_buffers
        facts = page.facts(self.num_items, first, len(self.roles))
        self.items.roles(facts)
        index = self.items.load_index(facts, fetched[1:])
        plan = self.items.plan(facts, index, RowRanges.one(0, self.num_items))
        loaded = self.items.load(facts, index, plan, fetched[:1])
        self.limits.check("max_dictionary_bytes", loaded.num_bytes)
        block = new_block(loaded.shape, self.num_items, loaded.num_bytes)
        loaded.decode(block)
        return block

    def plan(self, page: Slots, index: ItemIndex, slots: RowRanges) -> PageReadPlan:
        return PageReadPlan((), slots)

    def load(
        self,
        page: Slots,
        index: ItemIndex,
        plan: PageReadPlan,
        fetched: tuple[FetchedSlices, ...],
        selected: SlotStructure,
    ) -> LoadedPage:
        slots: RowRanges = plan.notes
        chosen = new_block(self.indices.shape, selected.num_slots)
        copy_runs(index.indices, slots.starts, slots.stops, chosen)
        if self.keeps_items:
            return IndexPage(selected, chosen, index.items)
        if not self.num_items:
            return RepeatedPage(selected, self.items.values.shape, selected.num_slots, None)
        return DictionaryPage.of(selected, chosen, index.items)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadPage:
    """Values of the valid slots, spread to all slots; `valid_through` counts valid slots up to and including each."""

    levels: Structure
    stored: LoadedPage
    valid_through: NDArray[np.int64]
    scratch: Scratch
    dictionary = None

    @property
    def shape(self) -> BlockShape | None:
        return self.stored.shape

    @property
    def num_values(self) -> int:
        return len(self.valid_through)

    @property
    def num_bytes(self) -> NumBytes:
        return self.stored.num_bytes

    def decode(self, out: BlockSlice) -> None:
        with self.scratch.block(out.shape, self.stored.num_values, self.num_bytes) as block:
            self.stored.decode(block)
            _spread(block, self.valid_through, out)


def _spread(block: BlockSlice, valid_through: NDArray[np.int64], out: BlockSlice) -> None:
    """Copy the value of each slot; nulls get the value of the valid slot before, since their content is undefined."""
    shape = out.shape
    if isinstance(shape, PackedStruct):
        for own, field in zip(block.fields, out.fields, strict=True):
            _spread(own, valid_through, field)
    elif isinstance(shape, VariableWidth):
        offsets, own_offsets = (one.view(f"i{shape.offset_bits // 8}") for one in (out.offsets, block.offsets))
        offsets[1:] = offsets[0] + own_offsets[valid_through]
        out.values[:] = block.values
    else:
        places = np.maximum(valid_through - 1, 0)
        copy_runs(block, places, places + 1, out)
