"""Pages of sparse structure: values located by leaf slot, lists and nulls by positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.pages import NativePage
from lance_arrow.pages.native_pages import native_sparse
from lance_arrow.spi import BindScope, Limits
from lance_arrow.spi.layouts import BufferRole, BufferSlices, FetchedSlices, PageFacts
from lance_arrow.spi.slots import SlotLayer
from lance_arrow_layouts.planar.structure import BoundStructure
from lance_arrow_layouts.planar.value_planes import HeldPlane, Slots, ValuePlane, bind_values


def bind_sparse(structure: Any, values: Any, scope: BindScope) -> BoundSparse:
    """Bind the combinations with a sparse structure."""
    bound = BoundStructure.of(structure, scope)
    return BoundSparse(bound, bind_values(values, scope), bound.lengths_per_row, scope.limits)


@dataclass(frozen=True, slots=True, eq=False)
class SparseIndex:
    """Positions of a page, inner-most layer first, and its values; and the page for the engine."""

    layers: tuple[SlotLayer, ...]
    values: HeldPlane
    native: NativePage | None

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers) + self.values.nbytes


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
        values = self.values.load(Slots(layers, page.buffer_sizes, self.limits), fetched[:num_own])
        return SparseIndex(layers, values, native_sparse(num_rows, layers, values.native, self.lengths_per_row))
