"""Fixed-size lists stored item by item, as in releases 0.22 to 0.25: a page of items, several per list.

The levels of an item mark nulls of the item, of its list, and of outer nodes. Files of 2.1 store levels of lists, and a
bitmap for the items. The engine makes pages of that form out of the items. Source: lance.encodings.MiniBlockLayout,
FullZipLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.pages import NativePage, index_of, index_slices_of
from lance_arrow.pages.native_pages import native_flattened
from lance_arrow.spi import FixedSizeList
from lance_arrow.spi.layouts import BufferRole, BufferSlices, FetchedSlices, LayerKind, PageFacts


@dataclass(frozen=True, slots=True, eq=False)
class ItemsIndex:
    """The index of the page of items, and the page of lists for the engine."""

    items: Any
    native: NativePage | None

    @property
    def nbytes(self) -> int:
        return 0 if self.items is None else int(self.items.nbytes)


@dataclass(frozen=True, slots=True)
class FlattenedLists:
    """Pages of lists over pages of their items.

    Parameters
    ----------
    items
        The pages of items, with all layers.
    shape
        Shape of the lists in the schema.
    layers
        Inner-most first: items, inner lists, the lists themselves, then outer nodes.
    """

    items: Any
    shape: FixedSizeList
    layers: tuple[LayerKind, ...]

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles: tuple[BufferRole, ...] = self.items.roles(self._of_items(page))
        return roles

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return index_slices_of(self.items, self._of_items(page))

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> ItemsIndex:
        items = index_of(self.items, self._of_items(page), fetched)
        return ItemsIndex(items, native_flattened(getattr(items, "native", None), self.shape, self.layers))

    def _of_items(self, page: PageFacts) -> PageFacts:
        num_items = page.num_rows * self.shape.items_per_value
        if num_items >> 63:
            raise CorruptFileError(f"a page has {page.num_rows} lists of {self.shape.items_per_value} items")
        return PageFacts(num_items, page.buffer_sizes)
