"""`FragmentGroups`: which fragments a scan reads together, and how they are opened.

fragments ─► consecutive ones of the same fields, while rows and bytes are few ─► one reading, or one for each of them
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.container.joined_files import JoinedFiles
from lance_arrow.errors import LanceError, located
from lance_arrow.io import AnyFileSystem, Location, reads_small_files
from lance_arrow.io.pacing.policy import FAR_GROUPS_AHEAD
from lance_arrow.manifests.fragments import NO_COLUMN, FragmentMeta
from lance_arrow.runtime import Runtime, computed_once
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.joined_fragments import (
    FilesOpening,
    JoinedFragments,
    OpensFragment,
    files_with,
    joining_key,
)
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.groups.group_sizes import GroupSizes, bytes_by_end, end_bytes, in_groups, may_read_ends
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.read_counts import UNWATCHED, receipt_for
from lance_arrow.scan.row_weights import check_expansion
from lance_arrow.scan.windows import GROUP_BYTES, GROUP_ROWS, LEAST_GROUPED, WINDOW_ROWS
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    from lance_arrow.scan.filters.filter_plan import FilterPlan
    from lance_arrow.scan.fragments.fragment_pruner import FragmentPruner
    from lance_arrow.scan.fragments.fragment_rows import FragmentRows

# Decoding so few rows of a file takes less time than looking at its zone maps.
_MOST_UNJUDGED = 1 << 14


class _Kind(NamedTuple):
    """Fragments that may be read together: wanted files; up to how many bytes they are read whole; the share of wanted
    columns; and how much of the end of each is read at first.
    """

    files: list[int]
    most_bytes: int
    share: float
    end_bytes: int


class FragmentGroups:
    """Divides the fragments of a scan into groups.

    Parameters
    ----------
    columns, filesystem
        The table's.
    fragments
        Its fragments.
    reader
        What opens a fragment by itself.
    nodes, filter
        Wanted columns, and the filter of the scan.
    runtime
        Limits, and how much memory there is.
    num_files
        How many fragments the caller scans, if these are some of them.

    Attributes
    ----------
    receipt
        Counts what is read.
    is_local
        Whether the files are on a local disk.
    joins
        False once a group could not be read together: the others will most likely not be, either.
    """

    def __init__(
        self,
        columns: TableColumns,
        filesystem: AnyFileSystem | None,
        fragments: Sequence[FragmentMeta],
        reader: OpensFragment,
        nodes: Sequence[ColumnNode],
        filter: FilterPlan | None,
        runtime: Runtime,
        num_files: int | None = None,
    ) -> None:
        self.joins = True
        self._num_files = len(fragments) if num_files is None else num_files
        self.columns = columns
        self._fragments = fragments
        self._reader = reader
        self._nodes = nodes
        self._filter = filter
        self._runtime = runtime
        self._limits = runtime.settings.limits
        self._judged = () if filter is None else filter.nodes(columns.all_roots)
        self._looked_at = [*nodes, *self._judged]
        self.receipt = receipt_for(runtime, self._looked_at, None if filter is None else filter.expression)
        self.is_local = Location(filesystem, "").is_local
        self._is_judged = filter is not None and filter.predicate is not None
        # Zone maps may leave few rows of many. How many rows a far group has, decides on its wave of requests.
        self._most_rows = None if self._is_judged and self.is_local else GROUP_ROWS
        self._sizes = GroupSizes(runtime, is_local=self.is_local)
        self._whole = FilesOpening(columns, filesystem)
        self._filesystem = filesystem
        self._kinds: dict[tuple[object, ...], _Kind] = {}
        # Blobs lie apart from their pages; a full verification looks at all of each file.
        has_blobs = have_blobs(self._looked_at)
        self._is_off = has_blobs or columns.options.verify == "full" or not reads_small_files(filesystem)

    @computed_once
    def _ends(self) -> FilesOpening | None:
        """What reads pages of files when they are wanted; None where files are read whole or alone."""
        num_learnt = None if self._filter is None else self._num_files
        may = may_read_ends(self._filesystem, self._limits, num_learnt)
        return FilesOpening(self.columns, self._filesystem, ends_only=True) if may else None

    @computed_once
    def _pruner(self) -> FragmentPruner | None:
        """What leaves out fragments before they are opened; each of a watched scan is opened, for its receipt."""
        predicate = None if self._filter is None else self._filter.predicate
        if predicate is None or not self.is_local or self.receipt is not UNWATCHED:
            return None
        from lance_arrow.scan.fragments.fragment_pruner import FragmentPruner  # noqa: PLC0415 - for filters alone

        return FragmentPruner(self.columns, self._fragments, self._reader, predicate)

    @property
    def num_ahead(self) -> int | None:
        """How many groups are opened ahead of those that are read; None for as many as there are threads."""
        return None if self.is_local else FAR_GROUPS_AHEAD

    def planned(
        self,
        numbers: Sequence[int],
        has_begun: Callable[[], bool],
        *,
        most: int = WINDOW_ROWS,
        most_rows: int | None = None,
        least: int | None = None,
    ) -> Iterator[list[int]]:
        """Divide fragments, by their numbers, into groups; what is alone in one is opened by itself.

        Whether a group is joined in the end, its files decide.

        Parameters
        ----------
        numbers
            Which of the fragments, ascending.
        has_begun, most, least
            As for `in_groups`.
        most_rows
            The most rows of a group, where the caller wants smaller ones than this would.
        """
        if least is None:
            # Far files one by one would be waited for one after another.
            least = LEAST_GROUPED if self.is_local else 2
        if len(numbers) < least:
            return iter([[number] for number in numbers])
        kinds = map(self._numbered_kind_of, numbers)
        most_rows = self._most_rows if most_rows is None else most_rows
        return in_groups(kinds, self._sizes.group_bytes, has_begun, most, least, most_rows)

    def sizes(self) -> list[int]:
        """Return the wanted bytes of each fragment; 0 of those that are read by themselves."""
        return [self._numbered_kind_of(number)[3] for number in range(len(self._fragments))]

    def _numbered_kind_of(self, number: int) -> tuple[int, object, int, int]:
        key, num_rows, size = self._kind_of(self._fragments[number])
        return (number, key, num_rows, size) if size <= GROUP_BYTES else (number, None, 0, 0)

    def opened(self, numbers: Sequence[int], within: Sequence[RowRanges] | None) -> list[FilteredReading | list[int]]:
        """Open the fragments of a group.

        Parameters
        ----------
        numbers
            Which of the fragments.
        within
            For each fragment rows of its files to choose from; all when None.

        Returns
        -------
        list
            Readings of fragments that were joined, and numbers of those that must be opened by themselves; in order.
            Fragments without a row that satisfies the filter may be in neither.
        """
        if len(numbers) > 1 and self._pruner is not None:
            numbers = self._pruner.left(numbers)
        if not numbers:
            return []
        if not self.joins or len(numbers) < 2:
            return [list(numbers)]
        made = self._together(numbers, within)
        self.joins = self.joins and (len(made) > 1 or isinstance(made[0], FilteredReading))
        return made

    def _together(
        self, numbers: Sequence[int], within: Sequence[RowRanges] | None
    ) -> list[FilteredReading | list[int]]:
        fragments = [self._fragments[number] for number in numbers]
        files = files_with(self.columns, fragments[0], self._looked_at)
        are_small = all(self._is_small(one, files) for one in fragments)
        opening = self._whole if are_small or self._ends is None else self._ends
        found: list[tuple[NDArray[np.intp], dict[int, JoinedFiles]]] = [(np.arange(len(numbers)), {})]
        made: list[FilteredReading | list[int]] = []
        try:
            if files:
                found, _held = self._joined_files(opening, numbers, fragments, files)
        except LanceError:
            return [list(numbers)]
        done = 0
        for members, joined in found:
            first, stop = int(members[0]), int(members[-1]) + 1
            if done < first:
                made.append(list(numbers[done:first]))
            made.append(self._joined(opening, numbers[first:stop], fragments[first:stop], joined, within))
            done = stop
        if done < len(numbers):
            made.append(list(numbers[done:]))
        return made

    def _joined_files(
        self, opening: FilesOpening, numbers: Sequence[int], fragments: Sequence[FragmentMeta], files: Sequence[int]
    ) -> tuple[list[tuple[NDArray[np.intp], dict[int, JoinedFiles]]], Sequence[FragmentRows]]:
        """Open files of fragments together; of a store, their deletion files are asked for at the same time.

        The fragments hold their deletions.
        """
        open_files = partial(opening.joined, fragments, files, in_order=True)
        deleted = [number for number, one in zip(numbers, fragments, strict=True) if one.deletion is not None]
        if self.is_local or not deleted:
            return open_files(), ()
        both: tuple[Callable[[], Any], ...] = open_files, partial(self._reader.with_deletions, deleted)
        found, held = self._runtime.side_by_side(lambda read: read(), both, is_far=True)
        return found, held

    def _joined(
        self,
        opening: FilesOpening,
        numbers: Sequence[int],
        fragments: Sequence[FragmentMeta],
        files: dict[int, JoinedFiles],
        within: Sequence[RowRanges] | None,
    ) -> FilteredReading | list[int]:
        """Make a reading of fragments; their numbers where they cannot be read together."""
        if len(numbers) < 2:
            return list(numbers)
        group = JoinedFragments(opening, fragments, np.array(numbers), self._reader)
        group.adopt(files)
        chosen = None if within is None else group.placed([within[number] for number in numbers])
        try:
            # No fragment has more rows, or fewer bytes, than these.
            least_bytes = min(sum(one.files[at].size_bytes or 0 for at in files) for one in fragments)
            most_rows = max(one.physical_rows or 0 for one in fragments)
            check_expansion(self._nodes, most_rows, least_bytes, self._limits)
            made = FilteredReading(
                group, self._nodes, self._filter, chosen, receipt=self.receipt, divided=partial(self._one_by_one, group)
            )
            # Metadata is read now: what is wrong with it, the fragments one by one tell.
            if len(made.rows):
                made.weights()
            return made
        except LanceError:
            return list(numbers)

    def _one_by_one(self, group: JoinedFragments, rows: RowRanges) -> Iterator[FilteredReading]:
        """Open fragments that could not be read together one by one, and join no others from now on."""
        self.joins = False
        return (self.alone(number, part) for number, part in group.parts(rows))

    def alone(self, number: int, within: RowRanges | None = None) -> FilteredReading:
        """Open a fragment by itself.

        Raises
        ------
        LanceError, OSError
            As `FilteredReading`; its rows are far more than its files can explain.
        """
        rows = self._reader.fragment(number)
        found = FilteredReading(rows, self._nodes, self._filter, within, receipt=self.receipt)
        # Where no column is wanted, as in counts, what would read the wanted ones is not made.
        nodes, file_bytes = (found.reading.nodes, found.reading.file_bytes) if self._nodes else ((), 0)
        with located(path=rows.name):
            check_expansion(nodes, rows.num_rows, file_bytes, self._limits)
        return found

    def _kind_of(self, fragment: FragmentMeta) -> tuple[tuple[object, ...] | None, int, int]:
        """Return what fragments of one group have in common, None for one read by itself, its rows and wanted bytes."""
        key = None if self._is_off else joining_key(fragment)
        if key is None:
            return None, 0, 0
        known = self._known_of(key, fragment)
        sizes = [fragment.files[number].size_bytes or 0 for number in known.files]
        num_rows = fragment.physical_rows or 0
        if self._most_rows is not None and num_rows > WINDOW_ROWS:
            return None, 0, 0
        if max(sizes, default=0) <= known.most_bytes and not self._looks_at_zones(num_rows):
            return key, num_rows, sum(sizes)
        if self._ends is None:
            return None, 0, 0
        wanted_bytes = sum(bytes_by_end(size, known.share, known.end_bytes) for size in sizes)
        return (*key, "ends"), num_rows, wanted_bytes

    def _known_of(self, key: tuple[object, ...], fragment: FragmentMeta) -> _Kind:
        """Return what is known of fragments that have a key in common."""
        known = self._kinds.get(key)
        if known is None:
            files = files_with(self.columns, fragment, self._looked_at)
            columns = [column for number in files for column in fragment.files[number].columns]
            num_columns = len(columns) - columns.count(NO_COLUMN)
            share = self._num_leaves(self._looked_at) / max(1, num_columns)
            most_bytes = self._sizes.most_of_a_file(share, is_judged=self._is_judged)
            if self._is_judged:
                # Zone maps may leave little of the others.
                share = self._num_leaves(self._judged) / max(1, num_columns)
            most_columns = max((len(fragment.files[number].columns) for number in files), default=0)
            at_first = end_bytes(self._filesystem, most_columns, self._limits)
            known = self._kinds[key] = _Kind(files, most_bytes, share, at_first)
        return known

    @staticmethod
    def _num_leaves(nodes: Iterable[ColumnNode]) -> int:
        """Count columns of files under some of the table's."""
        return len({leaf.column for node in nodes for leaf in node.leaves() if leaf.column >= 0})

    def _looks_at_zones(self, num_rows: int) -> bool:
        """Whether zone maps of so many rows are looked at: of files that are read whole they are not."""
        return self._is_judged and self.is_local and num_rows > _MOST_UNJUDGED

    def _is_small(self, fragment: FragmentMeta, files: Sequence[int]) -> bool:
        """Whether the files of a fragment are read whole."""
        key = joining_key(fragment)
        assert key is not None
        most_bytes = self._known_of(key, fragment).most_bytes
        if self._looks_at_zones(fragment.physical_rows or 0):
            return False
        return max((fragment.files[number].size_bytes or 0 for number in files), default=0) <= most_bytes
