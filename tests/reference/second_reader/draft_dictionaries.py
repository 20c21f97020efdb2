"""Dictionaries of drafts, brought into the form of 2.1 before they are read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.spi import Bytes, FixedWidth, VariableWidth
from lance_arrow.spi.layouts import (
    BufferRole,
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageReadPlan,
    RowRanges,
)
from lance_arrow_layouts_legacy.drafts.dictionaries import restated_strings
from second_reader.chunk_index import ChunkIndex
from second_reader.chunked import ReadChunks

_DICTIONARY = 1
"""Position of the dictionary among the slices of the index: after the chunk table."""


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryIndex:
    """The pages' form with the number of items in the dictionary, and the index of that form."""

    pages: ReadChunks
    index: ChunkIndex

    @property
    def nbytes(self) -> int:
        return self.index.nbytes


@dataclass(frozen=True, slots=True)
class ReadDraftDictionaries:
    """Pages of chunks of indices.

    Parameters
    ----------
    pages
        The chunks; their number of items is ignored.
    num_items
        Items of the dictionary; None if only the buffer has the number.
    """

    pages: ReadChunks
    num_items: int | None

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return self.pages.roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        return self.pages.index_slices(page)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> DictionaryIndex:
        num_items, buffer = self._restated(fetched[_DICTIONARY].one())
        self.pages.limits.check("max_dictionary_bytes", num_items)
        whole = FetchedSlices(buffer, np.zeros(1, np.int64), np.array([len(buffer)], np.int64))
        pages = replace(self.pages, num_items=num_items)
        return DictionaryIndex(
            pages, pages.load_index(page, (*fetched[:_DICTIONARY], whole, *fetched[_DICTIONARY + 1 :]))
        )

    def plan(self, page: PageFacts, index: DictionaryIndex, rows: RowRanges) -> PageReadPlan:
        return index.pages.plan(page, index.index, rows)

    def load(
        self, page: PageFacts, index: DictionaryIndex, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LoadedPage:
        return index.pages.load(page, index.index, plan, fetched)

    def _restated(self, buffer: Bytes) -> tuple[int, Bytes]:
        """Return the number of items, and the buffer in the form of 2.1."""
        shape = None if self.pages.items is None else self.pages.items.shape
        if isinstance(shape, VariableWidth):
            return restated_strings(buffer, shape.offset_bits, self.num_items)
        if not isinstance(shape, FixedWidth) or shape.bits % 8:
            raise UnsupportedError(f"a dictionary of {shape} in a draft page: no release wrote it")
        if buffer.size % shape.bytes_per_value:
            raise CorruptPageError(f"a dictionary of {buffer.size} bytes has items of {shape.bytes_per_value}")
        return buffer.size // shape.bytes_per_value, buffer
