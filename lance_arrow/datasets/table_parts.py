"""What a fragment of a dataset knows when it is part of a table: its payload, which travels with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.table_facts import TableFacts

if TYPE_CHECKING:
    from lance_arrow.datasets.table_session import TableSession


@dataclass(frozen=True, slots=True)
class TablePart:
    """A fragment of a version of a table.

    Parameters
    ----------
    facts
        The version; shared by all parts of a dataset.
    fragment
        The fragment; None for a file whose rows others yield, or that the version does not name: no rows.
    """

    facts: TableFacts
    fragment: FragmentMeta | None


@dataclass(frozen=True, slots=True, eq=False)
class FoundPart:
    """A file that was found in a table's folder: which rows it stands for is decided when they are first wanted.

    Parameters
    ----------
    session
        The version, the same for all files of one dataset.
    path
        The file.
    """

    session: TableSession
    path: str

    def resolved(self) -> TablePart:
        """Return the part; `TableSession.part` tells what it raises."""
        return self.session.part(self.path)

    def __reduce__(self) -> tuple[object, ...]:
        # Elsewhere, later, another version might be the newest.
        part = self.resolved()
        return TablePart, (part.facts, part.fragment)
