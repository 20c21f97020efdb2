"""Opening many files at once: their ends, or whole small ones, and those of one schema as one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.joined_files import JoinedFiles, SmallFiles
from lance_arrow.io import AnyFileSystem, Positions, read_small_files
from lance_arrow.runtime import Runtime


def open_together(
    filesystem: AnyFileSystem | None,
    paths: Sequence[str],
    sizes: Positions,
    runtime: Runtime,
    options: ReadOptions,
    *,
    ends_only: bool,
    may_change: bool,
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
    """
    if ends_only:
        return SmallFiles.open_ends(
            filesystem, paths, sizes, verify=options.verify, versions={} if may_change else None
        )
    num_threads = runtime.settings.num_threads
    data, starts, flags = read_small_files(filesystem, paths, sizes, runtime.side_by_side, num_threads)
    return SmallFiles.open(data, starts, sizes, flags, verify=options.verify)


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
