"""Zipped lists of release 0.22, whose description has no counts of entries and values.

They are counted during the read, and the row index verifies rows. Release 0.21 had no index, and lost empty and
null lists, so its zipped lists are rejected. Source: lance.encodings.FullZipLayout; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from lance_arrow.errors import UnsupportedError
from lance_arrow.pages import ZippedPages
from lance_arrow.spi.layouts import BufferRole, PageFacts


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

    def counts(self, page: PageFacts) -> tuple[int, int]:
        """Return -1 for both: nothing tells them."""
        return -1, -1
