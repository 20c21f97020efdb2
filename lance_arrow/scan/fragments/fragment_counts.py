"""`FragmentCounts`: rows of fragments that satisfy a filter, by what is known of their files.

fragment ─► a reading that is kept │ file, known by its end: codes are counted │ a new reading
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.filters.kept_counts import KeptCounts
from lance_arrow.scan.filters.known_counts import JudgedPages, KnownCount, KnownCounts
from lance_arrow.scan.fragments.fragment_reading import FragmentReading
from lance_arrow.scan.fragments.joined_fragments import OpensFragment
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.open_file import OpenFile


class FragmentCounts:
    """Counts of local fragments by one filter, each by itself.

    Parameters
    ----------
    columns, fragments, reader
        The table's columns and fragments, and what opens one of these.
    filter
        The same rows satisfy it each time.
    kept
        Readings of the table that is open.
    """

    def __init__(
        self,
        columns: TableColumns,
        fragments: Sequence[FragmentMeta],
        reader: OpensFragment,
        filter: FilterPlan,
        kept: KeptCounts,
    ) -> None:
        self._fragments, self._reader, self._filter, self._kept = fragments, reader, filter, kept
        self._roots: Sequence[ColumnNode] = columns.all_roots
        leaf = _judged(filter, columns)
        self._field_id = None if leaf is None else columns.field_id(leaf)

    def count(self, number: int, make: Callable[[], FilteredReading]) -> int:
        """Count rows of a fragment.

        Parameters
        ----------
        number
            Its number.
        make
            Opens it, where too little is known of it.

        Raises
        ------
        LanceError, OSError
            As `make`, and as `FilteredReading.count`.
        """
        kept = self._kept.get(self._filter, number)
        if kept is not None:
            return kept.count()
        place = None if self._field_id is None else self._file_of(number, self._field_id)
        known = None if place is None else _known(place[0]).get(self._filter.identity, self._roots, place[1])
        found = None if known is None or place is None else known.count(place[0].rows)
        if found is not None:
            return found
        reading = self._kept.of(self._filter, number, make)
        count = reading.count()
        if place is not None:
            self._note(*place, reading)
        return count

    def _note(self, opened: OpenFile, column: int, found: FilteredReading) -> None:
        """Keep what the reading that counted a fragment has found of the file with the column."""
        reading = found.counted
        # Without checksums, other bytes may lie before the same end.
        if opened.rows.file.checks is None or not isinstance(reading, FragmentReading) or reading.as_stored is None:
            return
        rows = found.undecided
        pages = JudgedPages.of(opened.rows, reading.as_stored.nodes, rows) if len(rows) else None
        if pages is not None or not len(rows):
            _known(opened).put(KnownCount(self._filter.identity, self._roots, column, found.sure.num_rows, pages))

    def _file_of(self, number: int, field_id: int) -> tuple[OpenFile, int] | None:
        """Open the file with a field, and return its column there; None where rows are deleted, or no file has it."""
        meta = self._fragments[number]
        place = None if meta.deletion is not None else meta.file_of(field_id)
        if place is None:
            return None
        file, column = place
        which = next(at for at, one in enumerate(meta.files) if one is file)
        return self._reader.fragment(number).open_file(which), column


def _judged(filter: FilterPlan, columns: TableColumns) -> LeafNode | None:
    """Return the one column that a filter is about; None if more than its file, and the filter, decide on a row."""
    nodes = None if columns.facts.index_position is not None else filter.counting_nodes(columns.all_roots)
    return nodes[0] if nodes and isinstance(nodes[0], LeafNode) and nodes[0].column >= 0 else None


def _known(opened: OpenFile) -> KnownCounts:
    return opened.rows.file.derived("counts", KnownCounts)
