"""`TableFiles`: files that pyarrow found in a table's folder, read together as the fragments of the table they are.

paths ─► fragments that begin with them ─► those that indices leave ─► groups of one kind ─► live rows of each file
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.file_group import ReadFiles, held_rows
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.arrow_dataset.table_session import TableSession
from lance_arrow.io import AnyFileSystem
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments, joining_key
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.windows import GROUP_BYTES, SMALL_FILE_BYTES
from lance_arrow.structure.row_selection import rows_before


class TableFiles:
    """The files of one dataset that lie in a table's folder.

    Parameters
    ----------
    session
        The version.
    columns
        The columns of the table.
    filesystem
        The table's.
    files
        Where data files are opened.
    """

    def __init__(
        self, session: TableSession, columns: TableColumns, filesystem: AnyFileSystem, files: OpenFiles
    ) -> None:
        self._session = session
        self._columns = columns
        self._filesystem = filesystem
        self._files = files

    def read(
        self, paths: Sequence[str], request: ScanRequest, filter: FilterPlan | None
    ) -> tuple[int, Iterator[ReadFiles]]:
        """Read the files, from the first on, that make a group; how many these are comes first.

        Parameters
        ----------
        paths
            Files in the order of the dataset.
        request
            Without a filter.
        filter
            Of the scan: leaves out fragments by indices, and rows not at all.
        """
        fragments = self._session.fragments(paths)
        count = _fitting(fragments)
        # Files of one kind are read together, also where files of other kinds lie between them.
        found = [(place, one) for place, one in enumerate(fragments[:count]) if one is not None]
        kinds: dict[object, int] = {}
        found.sort(key=lambda one: kinds.setdefault(joining_key(one[1]), len(kinds)))
        places = [place for place, _ in found]
        reader = TableReader(self._columns, [one for _, one in found], self._filesystem, self._files)
        nodes = asked_of(request).nodes.of(self._columns.all_roots)
        most_bytes = None if filter is None or filter.predicate is None else SMALL_FILE_BYTES

        def read() -> Iterator[ReadFiles]:
            left = frozenset(reader.numbers_left(filter))
            empty = [place for place in range(count) if fragments[place] is None]
            empty += [place for number, place in enumerate(places) if number not in left]
            if empty:
                yield ReadFiles([paths[place] for place in empty], np.zeros(len(empty), np.int64), ())
            groups = reader.groups(nodes, None)
            for group in groups.planned(sorted(left), lambda: True, most_bytes=most_bytes, least=2):
                for one in groups.opened(group, None):
                    if isinstance(one, FilteredReading):
                        yield from _read(one, [paths[place] for place in places], request)

        return count, read()


def _fitting(fragments: Sequence[FragmentMeta | None]) -> int:
    """Return how many files, from the first on, are read at once: those that are too large for that take no room."""
    total = 0
    for place, fragment in enumerate(fragments):
        size = 0 if fragment is None else sum(file.size_bytes or 0 for file in fragment.files)
        total += size if size <= GROUP_BYTES // 2 else 0
        if total > GROUP_BYTES:
            return place
    return len(fragments)


def _read(found: FilteredReading, paths: Sequence[str], request: ScanRequest) -> Iterator[ReadFiles]:
    source = found.source
    assert isinstance(source, JoinedFragments)
    batches = held_rows(found, request)
    if batches is not None:
        num_rows = np.diff(rows_before(found.rows, source.row_starts))
        yield ReadFiles([paths[number] for number in source.numbers.tolist()], num_rows, batches)
