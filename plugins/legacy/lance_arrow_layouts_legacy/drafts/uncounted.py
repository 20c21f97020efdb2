"""Zipped lists of release 0.22, whose description has no counts of entries and values.

They are counted during the read, and the row index verifies the count. Release 0.21 had no index, and lost empty and
null lists, so its zipped lists are rejected. Source: lance.encodings.FullZipLayout; docs/format/draft_2_1.md.
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
        """Return pages without counts, from pages in the form of 2.1."""
        return cls(**{field.name: getattr(pages, field.name) for field in fields(pages)})

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        if len(page.buffer_sizes) == 1:
            raise UnsupportedError("zipped lists of 0.21 lack their empty and null lists, so rows are lost")
        return ZippedPages.roles(self, page)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> RowIndex:
        # Explicit base: slots create a new class, which `super()` without arguments does not find. The native engine
        # would check the counts.
        return RowIndex(ZippedPages.load_index(self, page, fetched).row_starts, None)

    def load(
        self, page: PageFacts, index: RowIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> ZippedPage:
        num_entries, num_values, _ = self._count(fetched[0], plan.notes)
        return ZippedPages.load(
            replace(self, num_entries=num_entries, num_values=num_values), page, index, plan, fetched
        )
