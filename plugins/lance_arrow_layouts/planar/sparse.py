"""Pages of sparse structure: values found by leaf slot, levels made from positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.spi import (
    BindScope,
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)
from lance_arrow_layouts.planar.slots import levels_of, slot_runs
from lance_arrow_layouts.planar.structure import BoundStructure, LoadedLayer
from lance_arrow_layouts.planar.value_planes import SlotLevels, Slots, ValuePlane, bind_values


def bind_sparse(structure: Any, values: Any, scope: BindScope) -> BoundSparse:
    """Bind the cells of a sparse structure."""
    return BoundSparse(BoundStructure.of(structure, scope), bind_values(values, scope))


@dataclass(frozen=True, slots=True, eq=False)
class SparseIndex:
    """Positions of a page, and what its value plane keeps."""

    layers: tuple[LoadedLayer, ...]
    values: Any

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers) + (0 if self.values is None else int(self.values.nbytes))

    @property
    def num_slots(self) -> int:
        """Leaf slots."""
        return self.layers[-1].validity.num_slots


@dataclass(frozen=True, slots=True)
class BoundSparse:
    """A validated description; structure buffers follow those of the values."""

    structure: BoundStructure
    values: ValuePlane

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = (*self.values.roles, *(BufferRole.STRUCTURE,) * self.structure.num_buffers)
        if len(roles) != len(page.buffer_sizes):
            raise CorruptFileError(f"a page has {len(page.buffer_sizes)} buffers, expected {len(roles)}")
        return roles

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return tuple(BufferSlices.whole(page, n) for n, role in enumerate(roles) if role is not BufferRole.DATA)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> SparseIndex:
        num_own = len(fetched) - self.structure.num_buffers
        layers = self.structure.load([slices.one() for slices in fetched[num_own:]], page.num_rows)
        facts = Slots(layers[-1].validity, page.buffer_sizes)
        return SparseIndex(layers, self.values.load_index(facts, fetched[:num_own]))

    def plan(self, page: PageFacts, index: SparseIndex, rows: RowRanges) -> PageReadPlan:
        facts = Slots(index.layers[-1].validity, page.buffer_sizes)
        plan = self.values.plan(facts, index.values, slot_runs(index.layers, rows))
        return PageReadPlan(plan.slices, (rows, plan))

    def load(
        self, page: PageFacts, index: SparseIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        rows, inner = plan.notes
        kinds = self.structure.kinds
        levels, slots, slot_levels = levels_of(index.layers, kinds, rows, self.structure.limits)
        facts = Slots(index.layers[-1].validity, page.buffer_sizes)
        return self.values.load(facts, index.values, inner, fetched, SlotLevels(levels, slots, slot_levels))
