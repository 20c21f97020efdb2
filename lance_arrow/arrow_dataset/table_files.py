"""`TableFiles`: files that pyarrow found in a table's folder, read together as the fragments of the table they are.

paths ─► fragments that begin with them ─► those that indices leave ─► a group of small ones ─► live rows, in order
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.file_group import ReadFiles, held_rows
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.arrow_dataset.table_session import TableSession
from lance_arrow.io import AnyFileSystem
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.joined_fragments import SMALL_FILE_BYTES, JoinedFragments
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.row_filter import FilterPlan
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
        places = [place for place, fragment in enumerate(fragments) if fragment is not None]
        metas = [fragment for fragment in fragments if fragment is not None]
        reader = TableReader(self._columns, metas, self._filesystem, self._files)
        nodes = asked_of(request).nodes.of(self._columns.all_roots)
        groups = reader.groups(nodes, None)
        most_bytes = None if filter is None or filter.predicate is None else SMALL_FILE_BYTES
        planned = groups.planned(range(len(metas)), lambda: True, most_bytes=most_bytes, least=2)
        numbers = next(planned, [])
        # What follows may be read by itself.
        count = len(paths) if len(numbers) == len(metas) else places[len(numbers)]

        def read() -> Iterator[ReadFiles]:
            left = frozenset(reader.numbers_left(filter))
            wanted = [number for number in numbers if number in left]
            empty = [place for place in range(count) if fragments[place] is None]
            empty += [places[number] for number in numbers if number not in left]
            if empty:
                yield ReadFiles([paths[place] for place in empty], np.zeros(len(empty), np.int64), ())
            for one in groups.opened(wanted, None) if wanted else ():
                if isinstance(one, FilteredReading):
                    yield from _read(one, [paths[place] for place in places], request)

        return count, read()


def _read(found: FilteredReading, paths: Sequence[str], request: ScanRequest) -> Iterator[ReadFiles]:
    source = found.source
    assert isinstance(source, JoinedFragments)
    batches = held_rows(found, request)
    if batches is not None:
        num_rows = np.diff(rows_before(found.rows, source.row_starts))
        yield ReadFiles([paths[number] for number in source.numbers.tolist()], num_rows, batches)
