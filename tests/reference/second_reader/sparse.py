"""Pages of sparse structure, read in the two rounds of layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.settings import Limits
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)
from lance_arrow.spi.slots import SlotLayer, SlotStructure
from lance_arrow_layouts.planar.sparse import BoundSparse
from lance_arrow_layouts.planar.structure import BoundStructure
from lance_arrow_layouts.planar.value_planes import Slots
from second_reader.value_planes import second_plane


@dataclass(frozen=True, slots=True, eq=False)
class SparseIndex:
    """Positions of a page, inner-most layer first, and the index of its value plane."""

    layers: tuple[SlotLayer, ...]
    values: Any

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers) + (0 if self.values is None else int(self.values.nbytes))


@dataclass(frozen=True, slots=True)
class ReadSparse:
    """Pages of such structure."""

    structure: BoundStructure
    values: Any
    lengths_per_row: int
    limits: Limits

    @classmethod
    def of(cls, layout: BoundSparse) -> ReadSparse:
        """Return the same pages."""
        return cls(layout.structure, second_plane(layout.values), layout.lengths_per_row, layout.limits)

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = (*self.values.roles, *(BufferRole.STRUCTURE,) * self.structure.num_buffers)
        if len(roles) != len(page.buffer_sizes):
            raise CorruptFileError(f"a page has {len(page.buffer_sizes)} buffers, expected {len(roles)}")
        return roles

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return tuple(BufferSlices.whole(page, n) for n, role in enumerate(roles) if role is not BufferRole.DATA)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> SparseIndex:
        num_rows, rest = divmod(page.num_rows, self.lengths_per_row)
        if rest:
            raise CorruptPageError(
                f"a page of {page.num_rows} items is not a multiple of {self.lengths_per_row} per list"
            )
        num_own = len(fetched) - self.structure.num_buffers
        layers = self.structure.load([slices.one() for slices in fetched[num_own:]], num_rows)
        facts = Slots(layers, page.buffer_sizes, self.limits)
        index = self.values.load_index(facts, fetched[:num_own])
        return SparseIndex(layers, index)

    def plan(self, page: PageFacts, index: SparseIndex, rows: RowRanges) -> PageReadPlan:
        selected = SlotStructure.select(index.layers, self._whole(rows))
        facts = Slots(index.layers, page.buffer_sizes, self.limits)
        plan = self.values.plan(facts, index.values, selected.runs[0])
        return PageReadPlan(plan.slices, (selected, plan))

    def _whole(self, rows: RowRanges) -> RowRanges:
        """Convert the units of page lengths to slots of the outer-most layer."""
        if self.lengths_per_row == 1:
            return rows
        if (rows.starts % self.lengths_per_row).any() or (rows.stops % self.lengths_per_row).any():
            raise CorruptPageError("the rows of a page begin or end inside a fixed-size list")
        return RowRanges(rows.starts // self.lengths_per_row, rows.stops // self.lengths_per_row)

    def load(
        self, page: PageFacts, index: SparseIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        selected, inner = plan.notes
        for count in selected.counts:
            # A few bytes may declare any number of items for a row.
            self.limits.check("max_batch_bytes", count)
        facts = Slots(index.layers, page.buffer_sizes, self.limits)
        return self.values.load(facts, index.values, inner, fetched, selected)
