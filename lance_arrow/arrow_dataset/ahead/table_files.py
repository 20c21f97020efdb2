"""`TableFiles`: files that pyarrow found in a table's folder, read together as the fragments of the table they are.

paths ─► fragments that begin with them ─► those that indices leave ─► groups of one kind ─► live rows of each file
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.file_group import ReadFiles, held_rows, usual_held_bytes
from lance_arrow.arrow_dataset.handler_protocol import ScanRequest
from lance_arrow.arrow_dataset.table_session import TableSession
from lance_arrow.errors import LanceError
from lance_arrow.io import AnyFileSystem
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.fragments.fragment_groups import FragmentGroups
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments, joining_key
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.windows import GROUP_BYTES, LEAST_GROUPED, WINDOW_ROWS


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
        self, session: TableSession, columns: TableColumns, filesystem: AnyFileSystem | None, files: OpenFiles
    ) -> None:
        self._session = session
        self._columns = columns
        self._filesystem = filesystem
        self._files = files

    def read(
        self, paths: Sequence[str], request: ScanRequest, filter: FilterPlan | None, num_files: int
    ) -> tuple[int, Iterator[ReadFiles]]:
        """Read the files, from the first on, that make a group; how many these are comes first.

        Parameters
        ----------
        paths
            Files in the order of the dataset.
        request
            Without a filter.
        filter
            Of the scan.
        num_files
            How many files it is of, or at least as many.
        """
        fragments = self._session.fragments(paths)
        nodes = asked_of(request).nodes.of(self._columns.all_roots)
        # Files of one kind are read together, also where files of other kinds lie between them.
        found = [(place, one) for place, one in enumerate(fragments) if one is not None]
        kinds: dict[object, int] = {}
        found.sort(key=lambda one: kinds.setdefault(joining_key(one[1]), len(kinds)))
        reader = TableReader(self._columns, [one for _, one in found], self._filesystem, self._files)
        sizes = zip([place for place, _ in found], reader.groups(nodes, filter, num_files).sizes(), strict=True)
        count = _fitting(dict(sizes), len(fragments))
        reader = reader.part([number for number, (place, _) in enumerate(found) if place < count])
        places = [place for place, _ in found if place < count]

        def read() -> Iterator[ReadFiles]:
            left = frozenset(reader.numbers_left(filter))
            empty = [place for place in range(count) if fragments[place] is None]
            empty += [place for number, place in enumerate(places) if number not in left]
            if empty:
                yield ReadFiles([paths[place] for place in empty], np.zeros(len(empty), np.int64), ())
            groups = reader.groups(nodes, filter, num_files)
            most_rows, least = (None, 2) if filter is not None or not left else _held_of(groups, min(left))
            for group in groups.planned(sorted(left), lambda: True, least=least, most_rows=most_rows):
                opened = groups.opened(group, None)
                alone = {number for one in opened if isinstance(one, list) for number in one}
                read = [one for one in opened if isinstance(one, FilteredReading)]
                alone.update(number for one in read for number in _numbers(one).tolist())
                excluded = [paths[places[number]] for number in group if number not in alone]
                if excluded:
                    yield ReadFiles(excluded, np.zeros(len(excluded), np.int64), ())
                for one in read:
                    yield from _read(one, [paths[place] for place in places], request)

        return count, read()


def _held_of(groups: FragmentGroups, number: int) -> tuple[int, int]:
    """Return the most rows of a group whose rows are all held, and how few files are read together.

    Threads of Arrow's read few files with many rows by themselves sooner.
    """
    try:
        found = groups.alone(number)
        num_rows, num_bytes = found.source.num_physical, float(found.weights().totals[-1])
    except (LanceError, OSError):
        # The scan tells what is wrong with it.
        return WINDOW_ROWS, 2
    row_bytes = num_bytes / max(1, num_rows)
    return int(
        usual_held_bytes() / max(1.0, row_bytes)
    ), 2 if num_rows <= WINDOW_ROWS // LEAST_GROUPED else LEAST_GROUPED


def _fitting(sizes: Mapping[int, int], count: int) -> int:
    """Return how many files, from the first on, are read at once; `sizes` are the bytes of grouped ones, by place."""
    total = 0
    for place in range(count):
        total += sizes.get(place, 0)
        if total > GROUP_BYTES:
            return place
    return count


def _read(found: FilteredReading, paths: Sequence[str], request: ScanRequest) -> Iterator[ReadFiles]:
    source = found.source
    assert isinstance(source, JoinedFragments)
    held = held_rows(found, source.row_starts, request)
    if held is not None:
        yield ReadFiles([paths[number] for number in _numbers(found).tolist()], *held)


def _numbers(found: FilteredReading) -> NDArray[np.int64]:
    assert isinstance(found.source, JoinedFragments)
    return found.source.numbers
