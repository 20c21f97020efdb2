"""Zipped lists of release 0.22, whose description does not tell how many entries and values they have.

They are counted where a page is read whole; its row index then proves the count. Source: lance.encodings.FullZipLayout.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from lance_arrow.spi import FetchedSlices, PageFacts, PageReadPlan
from lance_arrow.spi.pages import RowIndex, ZippedPage, ZippedPages


@dataclass(frozen=True, slots=True)
class UncountedPages(ZippedPages):
    """Pages of such entries."""

    @classmethod
    def of(cls, pages: ZippedPages) -> UncountedPages:
        """Take what a description says from pages as 2.1 has them."""
        return cls(**{field.name: getattr(pages, field.name) for field in fields(pages)})

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
