"""`KnownCounts`: what is known of counts of one file, also when it was closed since: `KnownTail` keeps it.

Zone maps, dictionaries and indices of pages are those of the file if its end, which has all checksums, is the same.
Then a count reads nothing but codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.engine import NativePage, PagesWithRows, ReadForms
from lance_arrow.scan.filters.judged_counts import counted
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.rows import RowRanges

_MOST_COUNTS = 16
_MOST_PAGE_BYTES = 256 << 10
"""Of all counts of a file together."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPages:
    """Pages of a judged column, and the rows of them that zone maps do not decide.

    Parameters
    ----------
    forms, pages
        The column, and its pages, which have read their index.
    rows
        Which rows, at least one.
    num_bytes
        Memory of the pages.
    """

    forms: ReadForms
    pages: PagesWithRows
    rows: RowRanges
    num_bytes: int

    @classmethod
    def of(cls, reader: RowReader, nodes: Sequence[ColumnNode], rows: RowRanges) -> JudgedPages | None:
        """Find the pages of a column that was counted; None where an index is missing."""
        wanted = reader.plan_of(nodes)
        found = reader.find_pages(wanted, rows)
        pages = [page for leaf in found.at_hand.wanted for page, *_ in leaf]
        natives = [page for page in pages if isinstance(page, NativePage) and page.is_indexed]
        if len(natives) < len(pages):
            return None
        return cls(wanted.forms, found.pages, rows, sum([page.nbytes for page in natives]))


@dataclass(frozen=True, slots=True, eq=False)
class KnownCount:
    """A filter on one column of a file.

    Parameters
    ----------
    filter, roots, column
        `FilterPlan.identity`, the columns that it is bound to, and the column of the file.
    num_sure
        Rows that satisfy it as zone maps tell.
    pages
        Where the others are; None if there are none.
    """

    filter: object
    roots: Sequence[ColumnNode]
    column: int
    num_sure: int
    pages: JudgedPages | None

    def count(self, reader: RowReader) -> int | None:
        """Count the rows of the file, which is open; None where reading them goes wrong."""
        pages = self.pages
        if pages is None:
            return self.num_sure
        found = counted(reader, pages.forms, pages.pages, pages.rows)
        return self.num_sure + found if isinstance(found, int) else None


class KnownCounts:
    """What is known of the filters that a file was counted by last."""

    def __init__(self) -> None:
        self._held: Sequence[KnownCount] = ()

    def get(self, filter: object, roots: Sequence[ColumnNode], column: int) -> KnownCount | None:
        """Return what is known of a filter, which is as in `KnownCount`."""
        for one in self._held:
            if one.filter is filter and one.roots is roots and one.column == column:
                return one
        return None

    def put(self, count: KnownCount) -> None:
        """Keep what was found of a filter; threads may lose what another one keeps at the same time."""
        held, left = [], _MOST_PAGE_BYTES
        for one in (count, *self._held[: _MOST_COUNTS - 1]):
            left -= 0 if one.pages is None else one.pages.num_bytes
            if left < 0:
                break
            held.append(one)
        self._held = held
