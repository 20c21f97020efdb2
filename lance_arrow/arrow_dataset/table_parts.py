"""What a fragment of a dataset knows when it is part of a table: its payload, which travels with it."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.table_facts import TableFacts


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
