"""Dictionary: plain keys of a batch, and items that all batches of a table share; no key is null.

Source: lance.file.Encoding.DICTIONARY; spec 0.1, 5 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import CorruptFileError
from lance_arrow.pages.items import ItemsIndex
from lance_arrow.spi import BindScope, Bytes, EncodingKey, FixedWidth, Limits, hookimpl
from lance_arrow.spi.arrays import LEGACY, BoundArray
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageReadPlan, RowRanges


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Binds ``dictionary``."""

    key = EncodingKey(LEGACY, "dictionary")

    def bind(self, message: Any, scope: BindScope) -> BoundDictionary:
        """Bind keys and items by the types of the schema."""
        leaf = scope.leaf
        if leaf.items is None or not isinstance(leaf.shape, FixedWidth):
            raise CorruptFileError("a page has keys of a dictionary, but the schema has no dictionary there")
        keys = scope.for_shape(leaf.shape).array(message.keys)
        items = scope.for_shape(leaf.items).array(message.items)
        return BoundDictionary(leaf.shape, keys, items, message.num_items, scope.limits)


@dataclass(frozen=True, slots=True)
class BoundDictionary:
    """Keys of one batch, with all items."""

    shape: FixedWidth
    keys: BoundArray
    items: BoundArray
    num_items: int
    limits: Limits
    has_nulls = True

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        own = tuple((buffer, BufferRole.INDICES) for buffer, _ in self.keys.buffers)
        return own + tuple((buffer, BufferRole.DICTIONARY) for buffer, _ in self.items.buffers)

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return self.keys.index_buffers + tuple(buffer for buffer, _ in self.items.buffers)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> ItemsIndex:
        """Decode the items."""
        of_keys = self.keys.load_index(page, buffers)
        return ItemsIndex.load(self.items, PageFacts(self.num_items, page.buffer_sizes), buffers, of_keys, self.limits)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return self.keys.plan(page, index.indices, rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return index.select(self.keys.load(page, index.indices, plan, fetched), self.shape)


@hookimpl
def lance_provide_arrays() -> list[Dictionary]:
    return [Dictionary()]
