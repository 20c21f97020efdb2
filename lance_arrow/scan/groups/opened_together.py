"""Opening many files at once: their ends, or whole small ones, and those of one schema as one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.joined_files import JoinedFiles, SmallFiles
from lance_arrow.io import AnyFileSystem, Positions, read_small_files
from lance_arrow.runtime import Runtime
from lance_arrow.scan.groups.group_sizes import end_bytes, most_end_bytes
from lance_arrow.scan.joined_rows import JoinedOpenFile, opened_as_one
from lance_arrow.scan.row_weights import check_expansion


def open_together(
    filesystem: AnyFileSystem | None,
    paths: Sequence[str],
    sizes: Positions,
    runtime: Runtime,
    options: ReadOptions,
    *,
    ends_only: bool,
    may_change: bool,
    num_columns: int,
) -> SmallFiles:
    """Read many files and parse their metadata; what cannot be joined is flagged.

    Parameters
    ----------
    filesystem, paths
        Where they are; None is the local filesystem.
    sizes
        ``(n,) int64``: what they have.
    runtime, options
        Threads, and how files are wanted.
    ends_only
        Whether only their ends are read, and pages when they are wanted. Else files are read whole.
    may_change
        Whether files may be replaced while they are read, as bare ones, and what is read later is compared with that.
    num_columns
        How many columns a file has, about: wide ones have longer ends.
    """
    if ends_only:
        limits = runtime.settings.limits
        return SmallFiles.open_ends(
            filesystem,
            paths,
            sizes,
            end_bytes(filesystem, num_columns, limits),
            most_end_bytes(limits),
            verify=options.verify,
            versions={} if may_change else None,
        )
    num_threads = runtime.settings.num_threads
    data, starts, flags = read_small_files(filesystem, paths, sizes, runtime.side_by_side, num_threads)
    return SmallFiles.open(data, starts, sizes, flags, verify=options.verify)


def open_runs(
    filesystem: AnyFileSystem | None,
    paths: Sequence[str],
    sizes: Positions,
    runtime: Runtime,
    options: ReadOptions,
    nodes: Callable[[Sequence[ColumnNode]], Sequence[ColumnNode]],
    *,
    ends_only: bool,
    num_columns: int,
    most_rows: int | None = None,
) -> Iterator[tuple[int, int, JoinedOpenFile]]:
    """Open bare files; yield neighbours of one schema as one, and where they begin and end among `paths`.

    Parameters
    ----------
    filesystem, paths, sizes, runtime, options, ends_only, num_columns
        As `open_together`.
    nodes
        Finds the columns that are looked at among all of a file.
    most_rows
        Files with more rows are left out.

    Raises
    ------
    LanceError
        A file is damaged, or has far more rows than its bytes explain. Which one, it tells when it is opened by itself.
    """
    small = open_together(
        filesystem, paths, sizes, runtime, options, ends_only=ends_only, may_change=True, num_columns=num_columns
    )
    if most_rows is not None:
        small.flags[small.num_rows > most_rows] = 0
    for members, joined in as_one(small, in_order=True):
        file = opened_as_one(joined, runtime, options)
        largest, least_bytes = int(small.num_rows[members].max()), int(sizes[members].min())
        check_expansion(nodes(file.roots), largest, least_bytes, runtime.settings.limits)
        yield int(members[0]), int(members[-1]) + 1, file


def as_one(small: SmallFiles, *, in_order: bool) -> Iterator[tuple[NDArray[np.intp], JoinedFiles]]:
    """Yield files of one schema as one, and their numbers, ascending.

    Parameters
    ----------
    small
        Files that were opened.
    in_order
        Whether only files that follow each other are joined, two at least; they are yielded in order then.

    Raises
    ------
    CorruptFileError, UnsupportedError
        As `JoinedFiles`.
    """
    found = small.schemas()
    if in_order:
        runs = [(version, schema, run) for version, schema, members in found for run in runs_of(members)]
        found = sorted((run for run in runs if len(run[2]) > 1), key=lambda run: int(run[2][0]))
    for version, schema, members in found:
        yield members, JoinedFiles(small, version, schema, members)


def runs_of(numbers: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Divide ascending numbers where one does not follow the other."""
    return np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
