"""Blob pages: where each value lies in the file, instead of the values; the inner layout holds the places.

    (position, size)   size > 0            bytes of the file
                       (0, 0)              an empty value
                       size 0, else        no value: position is (definition level << 16) | repetition level

The buffers are the inner layout's. Its entries have no structure: nulls are told by the places, in the layers named
here. Source: lance.encodings21.BlobLayout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import PageLayout
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BlockSlice,
    BoundLayout,
    BufferRole,
    BufferSlices,
    EncodingKey,
    FetchedSlices,
    FixedWidth,
    LayerKind,
    Levels,
    LoadedPage,
    PackedStruct,
    PageFacts,
    PageIndex,
    PageReadPlan,
    RowRanges,
    hookimpl,
    new_block,
)

PLACES = PackedStruct((FixedWidth(64), FixedWidth(64)))
"""Position and size of a value, both unsigned."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Reads `PageLayout.blob_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "blob_layout")
    message_type = PageLayout

    def bind(self, message: Any, scope: BindScope) -> BoundBlob:
        """Bind the inner layout, which holds the places."""
        layers = scope.layers(message.layers)
        if any(layer.is_list for layer in layers):
            raise UnsupportedError("blobs within lists: their pages do not tell which list a value belongs to")
        if scope.leaf.shape != PLACES:
            raise CorruptFileError(f"a page of blobs in a column of {scope.leaf.shape}")
        return BoundBlob(layers, scope.for_entries().layout(message.inner_layout))


@dataclass(frozen=True, slots=True)
class BoundBlob:
    """A validated description of places; reading is the inner layout's."""

    layers: tuple[LayerKind, ...]
    inner: BoundLayout

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
        """Decode the places: only they tell which values are null."""
        inner = self.inner.load(page, index, plan, fetched)
        if inner.shape != PLACES:
            raise CorruptPageError(f"the places of blobs are {inner.shape}, expected {PLACES}")
        if inner.levels.rep is not None or (inner.levels.def_ is not None and inner.levels.def_.any()):
            raise CorruptPageError("the places of blobs have a structure of their own")
        places = new_block(PLACES, inner.num_values, inner.num_bytes)
        inner.decode(places)
        position, size = (field.values.view("<u8") for field in places.fields)
        levels = Levels(self.layers, len(position), None, _null_levels(position, size, self.layers))
        return PlacesPage(levels, places)


def _null_levels(
    position: NDArray[np.uint64], size: NDArray[np.uint64], layers: tuple[LayerKind, ...]
) -> NDArray[np.uint16] | None:
    """Definition levels of ``(n,)`` places, None where all are valid; the places of nulls become (0, 0)."""
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


@hookimpl
def lance_provide_layouts() -> list[Blob]:
    return [Blob()]
