"""`TablePart`: payload of a dataset's fragment that belongs to a table; it is pickled with the fragment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_arrow.manifests.fragments import FragmentMeta
    from lance_arrow.manifests.table_facts import TableFacts


class TablePart:
    """A fragment of a version of a table.

    Parameters
    ----------
    facts
        The version; shared by all parts of a dataset.
    fragment
        The fragment; None for a file whose rows others yield, or that the version does not name: no rows.
    """

    __slots__ = ("_fragments", "_number", "facts")

    def __init__(self, facts: TableFacts, fragment: FragmentMeta | None) -> None:
        self.facts = facts
        self._fragments: Sequence[FragmentMeta | None] = (fragment,)
        self._number = 0

    @classmethod
    def of(cls, facts: TableFacts, fragments: Sequence[FragmentMeta], number: int) -> TablePart:
        """Make a part of one of many fragments, which is asked for when it is wanted."""
        made = cls.__new__(cls)
        made.facts = facts
        made._fragments = fragments
        made._number = number
        return made

    @property
    def fragment(self) -> FragmentMeta | None:
        """The fragment, or None."""
        return self._fragments[self._number]

    def __reduce__(self) -> tuple[object, ...]:
        return TablePart, (self.facts, self.fragment)
