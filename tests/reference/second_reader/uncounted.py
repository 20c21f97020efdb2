"""Zipped lists of release 0.22, whose description has no counts of entries and values."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lance_arrow.spi.layouts import BufferRole, FetchedSlices, PageFacts, PageReadPlan
from lance_arrow_layouts_legacy.drafts.uncounted import UncountedPages
from second_reader.fields import copied
from second_reader.loaded_values import LocatedPage
from second_reader.zipped import ReadZipped, RowIndex


@dataclass(frozen=True, slots=True)
class ReadUncounted(ReadZipped):
    """Pages of such entries."""

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return copied(self, UncountedPages).roles(page)

    def load(
        self, page: PageFacts, index: RowIndex | None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]
    ) -> LocatedPage:
        # Explicit base: slots create a new class, which `super()` without arguments does not find.
        num_entries, num_values, _ = self._count(fetched[0], plan.notes)
        return ReadZipped.load(
            replace(self, num_entries=num_entries, num_values=num_values), page, index, plan, fetched
        )
