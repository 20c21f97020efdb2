"""Which neighbours among files are read together: how large groups are, and up to what size files are read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lance_arrow.arrays.column_roots import num_leaves
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.io import AnyFileSystem, coalescing_of, compares_versions, is_local
from lance_arrow.io.pacing.policy import TINY_FILE_BYTES
from lance_arrow.runtime import Runtime
from lance_arrow.scan.open_files import stay_open
from lance_arrow.scan.windows import ENDS_BYTES, GROUP_BYTES, LEAST_GROUPED, SMALL_FILE_BYTES
from lance_arrow.settings import Limits

if TYPE_CHECKING:
    from lance_arrow.scan.filters.filter_plan import FilterPlan

# If a smaller part of a file is wanted, it is read piece by piece.
_LEAST_SHARE = 1 / 3
# A column of one page takes somewhat less in the schema, in its metadata, in tables and among checksums.
_COLUMN_BYTES = 256
# Of more metadata, that of wanted columns comes sooner by itself.
_MOST_END_BYTES = 1 << 20


class GroupSizes:
    """How large groups of files, and their files, may be.

    Parameters
    ----------
    runtime
        Limits, and how much memory there is.
    is_local
        Whether the files are.
    """

    def __init__(self, runtime: Runtime, *, is_local: bool) -> None:
        limits, settings = runtime.settings.limits, runtime.settings
        # A group is held while it is opened ahead, and while its rows are decoded.
        self.group_bytes = min(GROUP_BYTES, settings.window_bytes(2 * (settings.num_threads + 1)))
        self._most_bytes = min(self.group_bytes // 2, limits.max_metadata_bytes, limits.max_description_bytes)
        self._is_local = is_local

    def most_of_a_file(self, share: float, *, is_judged: bool) -> int:
        """Return up to what size files are read whole: larger ones take less time piece by piece.

        Parameters
        ----------
        share
            Of the columns of a file, how many are wanted.
        is_judged
            Whether zone maps may tell that of a file elsewhere nothing is wanted but its end.
        """
        if share >= _LEAST_SHARE and not is_judged:
            return self._most_bytes
        return min(self._most_bytes, SMALL_FILE_BYTES if self._is_local else TINY_FILE_BYTES)


class BareSizes:
    """What is read of bare files for a scan: of small ones all, of others the end and wanted columns.

    Parameters
    ----------
    filesystem
        Where they are.
    roots
        Columns of one of them; the others are taken to have the same.
    nodes
        Wanted columns.
    filter
        Of the scan.
    num_files
        How many are scanned.
    runtime
        Limits, and how much memory there is.
    """

    def __init__(
        self,
        filesystem: AnyFileSystem | None,
        roots: Sequence[ColumnNode],
        nodes: Sequence[ColumnNode],
        filter: FilterPlan | None,
        num_files: int,
        runtime: Runtime,
    ) -> None:
        of_filter = () if filter is None else filter.nodes(roots)
        # Zone maps may leave out parts of files, and little of the other columns.
        is_judged = filter is not None and filter.predicate is not None
        sizes = GroupSizes(runtime, is_local=is_local(filesystem))
        self.group_bytes = sizes.group_bytes
        self.most_whole_bytes = sizes.most_of_a_file(share_of([*nodes, *of_filter], roots), is_judged=is_judged)
        num_learnt = None if filter is None else num_files
        self._reads_ends = compares_versions(filesystem) and may_read_ends(
            filesystem, runtime.settings.limits, num_learnt
        )
        self._share = share_of(of_filter if is_judged else [*nodes, *of_filter], roots)
        self.num_columns = num_leaves(roots)
        self._end_bytes = end_bytes(filesystem, self.num_columns, runtime.settings.limits)

    def of(self, size: int) -> tuple[bool, int] | None:
        """Return whether a file of so many bytes is opened by its end, and what is read of it; None for one alone."""
        if size < 0:
            return None
        if size <= self.most_whole_bytes:
            return False, size
        return (True, bytes_by_end(size, self._share, self._end_bytes)) if self._reads_ends else None

    def fitting(self, sizes: Sequence[int]) -> tuple[int, bool]:
        """Return how many of some files, from the first on, make a group, and whether it is opened by their ends.

        A small file among larger ones is read by its end, too.
        """
        count = total = 0
        first = self.of(sizes[0])
        ends_only = first is not None and first[0]
        for size in sizes:
            read = self.of(size)
            total += 0 if read is None else read[1]
            if read is None or (read[0] and not ends_only) or total > self.group_bytes:
                break
            count += 1
        return count, ends_only


def end_bytes(filesystem: AnyFileSystem | None, num_columns: int, limits: Limits) -> int:
    """Return how much of the end of each of many files with so many columns is read at first."""
    wide = min(_COLUMN_BYTES * num_columns, most_end_bytes(limits))
    return max(coalescing_of(filesystem).tail_bytes, wide)


def most_end_bytes(limits: Limits) -> int:
    """Return how much metadata of each of many files is read at most where that of all columns is."""
    return min(_MOST_END_BYTES, limits.max_metadata_bytes, limits.max_description_bytes)


def bytes_by_end(size: int, share: float, tail_bytes: int) -> int:
    """Return what is read of a file piece by piece: its end, and about as much as the share of wanted columns.

    Of large files it is somewhat more, so that a group has at most `ENDS_BYTES` of them.
    """
    return min(size, max(tail_bytes + int(share * size), size // (ENDS_BYTES // GROUP_BYTES)))


def share_of(nodes: Sequence[ColumnNode], roots: Sequence[ColumnNode]) -> float:
    """Return which share of the columns of a file some (pruned) ones are."""
    wanted = {leaf.column for node in nodes for leaf in node.leaves()}
    return len(wanted) / max(1, num_leaves(roots))


def may_read_ends(filesystem: AnyFileSystem | None, limits: Limits, num_learnt: int | None = None) -> bool:
    """Return whether many files are opened by their ends, and no end breaks a limit of metadata.

    `num_learnt` is how many files there are where it pays to keep what is learnt of each, as for filters and takes.
    """
    if num_learnt is not None and stay_open(filesystem, num_learnt):
        return False
    coalescing = coalescing_of(filesystem)
    may = coalescing.is_far or is_local(filesystem)
    return may and coalescing.tail_bytes <= min(limits.max_metadata_bytes, limits.max_description_bytes)


def in_groups(
    files: Iterable[tuple[int, object, int, int]],
    group_bytes: int,
    has_begun: Callable[[], bool],
    most: int,
    least: int = LEAST_GROUPED,
    most_rows: int | None = None,
) -> Iterator[list[int]]:
    """Divide files into groups of neighbours.

    Parameters
    ----------
    files
        Number, kind (None for one that is read by itself), rows, and bytes, of each.
    group_bytes
        The most bytes of a group.
    has_begun
        Whether the caller wants more than the first rows. Until then groups are small, so that these come soon.
    most
        The most files of a group.
    least
        The fewest files of the first group; two of any other.
    most_rows
        The most rows of a group; None: there is no limit.
    """
    now = most if has_begun() else 1
    run: list[int] = []
    rows = size = 0
    key: object = None
    for number, own, own_rows, own_bytes in files:
        is_full = len(run) >= now or size + own_bytes > group_bytes
        is_full = is_full or (most_rows is not None and rows + own_rows > most_rows)
        if run and (own != key or is_full):
            yield from _divided(run, least)
            if len(run) >= LEAST_GROUPED:
                least = 2
            if has_begun():
                now = most
            elif len(run) >= now:
                now = LEAST_GROUPED
            run, rows, size = [], 0, 0
        key = own
        if own is None:
            yield [number]
            continue
        run.append(number)
        rows, size = rows + own_rows, size + own_bytes
    yield from _divided(run, least)


def _divided(run: list[int], least: int) -> Iterator[list[int]]:
    """Yield fragments as one group; each by itself where they are fewer than `least`."""
    if len(run) >= least:
        yield run
    else:
        yield from ([number] for number in run)
