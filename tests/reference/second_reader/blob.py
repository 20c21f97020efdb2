"""Blob pages, read in the two rounds of layouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.spi import BlockShape, BlockSlice, new_block
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LayerKind,
    Levels,
    LoadedPage,
    PageFacts,
    PageIndex,
    PageReadPlan,
    PythonLayout,
    RowRanges,
)
from lance_arrow_layouts.blob import PLACES


@dataclass(frozen=True, slots=True)
class ReadBlob:
    """Pages of places; the inner layout reads them."""

    layers: tuple[LayerKind, ...]
    inner: PythonLayout

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return self.inner.roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return self.inner.index_slices(page)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
        return self.inner.load_index(page, fetched)

    def plan(self, page: PageFacts, index: PageIndex | None, rows: RowRanges) -> PageReadPlan:
        return self.inner.plan(page, index, rows)

    def load(
        self, page: PageFacts, index: PageIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        """Decode the places, because only they mark nulls."""
        inner = self.inner.load(page, index, plan, fetched)
        if inner.shape != PLACES:
            raise CorruptPageError(f"the places of blobs are {inner.shape}, expected {PLACES}")
        if inner.levels.rep is not None or (inner.levels.def_ is not None and inner.levels.def_.any()):
            raise CorruptPageError("the places of blobs must not have a structure")
        places = new_block(PLACES, inner.num_values, inner.num_bytes)
        inner.decode(places)
        position, size = (field.values.view("<u8") for field in places.fields)
        levels = Levels(self.layers, len(position), None, _null_levels(position, size, self.layers))
        return PlacesPage(levels, places)


def _null_levels(
    position: NDArray[np.uint64], size: NDArray[np.uint64], layers: tuple[LayerKind, ...]
) -> NDArray[np.uint16] | None:
    """Return definition levels of ``(n,)`` places, None if all are valid; places of nulls become (0, 0)."""
    null = (size == 0) & (position != 0)
    if not null.any():
        return None
    told = position[null]
    highest = sum(layer.num_def_levels for layer in layers)
    wrong = (told & np.uint64(0xFFFF) != 0) | (told >> np.uint64(16) > highest) | (told >> np.uint64(16) == 0)
    if wrong.any():
        bad = int(told[np.argmax(wrong)])
        raise CorruptPageError(
            f"a blob of no bytes has the levels {bad:#x}, expected at most {highest} << 16 from its layers", detail=bad
        )
    def_ = np.zeros(len(position), np.uint16)
    def_[null] = told >> np.uint64(16)
    position[null] = 0
    return def_


@dataclass(frozen=True, slots=True, eq=False)
class PlacesPage:
    """Places of the selected rows."""

    levels: Levels
    places: BlockSlice
    num_bytes = 0
    dictionary = None

    @property
    def shape(self) -> BlockShape:
        return PLACES

    @property
    def num_values(self) -> int:
        return self.places.num_values

    def decode(self, out: BlockSlice) -> None:
        for field, held in zip(out.fields, self.places.fields, strict=True):
            field.values[:] = held.values
