"""Pages of sparse structure: values located by leaf slot, lists and nulls by positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.pages import native_sparse
from lance_arrow.spi import (
    BindScope,
    BufferRole,
    BufferSlices,
    FetchedSlices,
    Limits,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
    SlotLayer,
    SlotStructure,
)
from lance_arrow_layouts.planar.structure import BoundStructure
from lance_arrow_layouts.planar.value_planes import Slots, ValuePlane, bind_values


def bind_sparse(structure: Any, values: Any, scope: BindScope) -> BoundSparse:
    """Bind the combinations with a sparse structure."""
    bound = BoundStructure.of(structure, scope)
    return BoundSparse(bound, bind_values(values, scope), bound.lengths_per_row, scope.limits)


@dataclass(frozen=True, slots=True, eq=False)
class SparseIndex:
    """Positions of a page, inner-most layer first, and the index of its value plane; and the page for the engine."""

    layers: tuple[SlotLayer, ...]
    values: Any
    native: Any

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers) + (0 if self.values is None else int(self.values.nbytes))


@dataclass(frozen=True, slots=True)
class BoundSparse:
    """A validated description; structure buffers follow those of the values."""

    structure: BoundStructure
    values: ValuePlane
    lengths_per_row: int
    limits: Limits

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
        native = native_sparse(num_rows, layers, self.values.native(facts, index), self.lengths_per_row)
        return SparseIndex(layers, index, native)

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
