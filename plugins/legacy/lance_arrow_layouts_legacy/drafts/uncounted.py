"""Zipped lists of release 0.22, whose description does not tell how many entries and values they have.

They are counted as they are read; the row index proves the count. Release 0.21 had no index, and lost empty and null
lists: its zipped lists are refused. Source: lance.encodings.FullZipLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from lance_arrow.errors import UnsupportedError
from lance_arrow.pages import RowIndex, ZippedPage, ZippedPages
from lance_arrow.spi import BufferRole, FetchedSlices, PageFacts, PageReadPlan


@dataclass(frozen=True, slots=True)
class UncountedPages(ZippedPages):
    """Pages of such entries."""

    @classmethod
    def of(cls, pages: ZippedPages) -> UncountedPages:
        """Take what a description says from pages as 2.1 has them."""
        return cls(**{field.name: getattr(pages, field.name) for field in fields(pages)})

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        if len(page.buffer_sizes) == 1:
            raise UnsupportedError("zipped lists of 0.21 are written without their empty and null lists: rows are lost")
        return ZippedPages.roles(self, page)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> RowIndex:
        # Explicit base: slots make a new class, which `super()` without arguments does not know. The native engine
        # would compare with counts.
        return RowIndex(ZippedPages.load_index(self, page, fetched).row_starts, None)

    def load(
        self, page: PageFacts, index: RowIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> ZippedPage:
        num_entries, num_values, _ = self._count(fetched[0], plan.notes)
        return ZippedPages.load(
            replace(self, num_entries=num_entries, num_values=num_values), page, index, plan, fetched
        )
