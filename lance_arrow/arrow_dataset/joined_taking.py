"""Rows by number of many bare files: the ends of wanted ones are read together.

local files: counted natively ─► ends of wanted ones ─┐
far files: ends of all, for the first take ───────────┴─► those of one schema as one file ─► rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment, as_stored
from lance_arrow.arrow_dataset.places import size_of
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions
from lance_arrow.container.joined_files import SmallFiles
from lance_arrow.errors import LanceError
from lance_arrow.io import (
    AnyFileSystem,
    Positions,
    compares_versions,
    is_local,
    locate,
    reads_small_files,
)
from lance_arrow.pruning.file_pruner import FileCounter
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.groups.group_sizes import may_read_ends
from lance_arrow.scan.groups.opened_together import as_one, open_together
from lance_arrow.scan.joined_rows import opened_as_one
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.row_taking import take_rows
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.scan.windows import ENDS_BYTES, LEAST_GROUPED

# Files of other schemas are counted one by one, and shown to the native counter, up to so many.
_MOST_SHOWN = 8
# Ends of far files that are kept take at most this part of the memory budget.
_PART_OF_BUDGET = 8


class JoinedTaking:
    """Counts files and takes rows of them.

    Parameters
    ----------
    fragments
        Whole bare files.
    handler
        Opens files.
    filesystem, paths
        Where they are; None is the local filesystem.
    sizes
        ``(n,) int64``: what they have.
    """

    def __init__(
        self,
        fragments: Sequence[LanceFileFragment],
        handler: FileScanHandler,
        filesystem: AnyFileSystem | None,
        paths: Sequence[str],
        sizes: Positions,
    ) -> None:
        self._fragments, self._handler = fragments, handler
        self._filesystem, self._paths, self._sizes = filesystem, paths, sizes
        self._is_local = is_local(filesystem)
        # Far files whose ends were read to count them, for the rows that are taken next.
        self._kept: list[tuple[list[int], SmallFiles]] = []

    @classmethod
    def of(cls, fragments: Sequence[LanceFileFragment]) -> JoinedTaking | None:
        """Return that of some files; None where they are few, parts of files, or of a table."""
        limits = default_runtime().settings.limits
        handler = fragments[0].format.handler
        if not isinstance(handler, FileScanHandler) or handler.options.verify == "full":
            return None
        if handler.scan_options != ScanOptions():
            return None
        paths, sizes = [], []
        filesystem: AnyFileSystem | None = None
        for fragment in fragments:
            place = fragment.place
            location = (
                None
                if place.payload is not None or place.rows is not None
                else locate(place.path, filesystem=place.filesystem)
            )
            if location is None:
                return None
            size = size_of(location.path) if location.is_local else place.size
            if size is None or size < 0:
                # The file tells what is wrong, or how large it is.
                return None
            filesystem = location.given
            paths.append(location.path)
            sizes.append(size)
        if not reads_small_files(filesystem) or not compares_versions(filesystem):
            return None
        if not may_read_ends(filesystem, limits, len(fragments)):
            return None
        return cls(fragments, handler, filesystem, paths, np.array(sizes, np.int64))

    def num_rows(self) -> NDArray[np.int64]:
        """Count the rows of each file, ``(n,) int64``.

        Raises
        ------
        LanceError, OSError
            A file cannot be read.
        """
        return self._counted_natively() if self._is_local else self._counted_by_ends()

    def _counted_by_ends(self) -> NDArray[np.int64]:
        counts = np.full(len(self._paths), -1, np.int64)
        most_bytes = default_runtime().settings.memory_budget_bytes // _PART_OF_BUDGET
        for numbers in self._groups(range(len(self._paths))):
            small = self._opened(numbers)
            counts[numbers] = np.where(small.flags == 1, small.num_rows, -1)
            assert small.source is not None
            _, here = small.source.opened(np.arange(len(numbers)))
            most_bytes -= here
            if most_bytes >= 0:
                self._kept.append((numbers, small))
        left = np.flatnonzero(counts < 0).tolist()
        counts[left] = list(default_runtime().ahead(lambda number: self._fragments[number].num_rows, left, is_far=True))
        return counts

    def _counted_natively(self) -> NDArray[np.int64]:
        counter = FileCounter(has_checks=self._handler.options.verify != "off")
        counts = np.full(len(self._paths), -1, np.int64)
        for _ in range(_MOST_SHOWN):
            unknown = np.flatnonzero(counts < 0)
            if not len(unknown):
                break
            first = int(unknown[0])
            opened = self._handler.opened(self._fragments[first].place)
            if opened is None:
                break
            counts[first] = opened.rows.num_rows
            counter.register(opened.rows)
            counts[unknown[1:]] = counter.native.counts([self._paths[number] for number in unknown[1:].tolist()])
        for number in np.flatnonzero(counts < 0).tolist():
            counts[number] = self._fragments[number].num_rows
        return counts

    def take(
        self,
        numbers: Sequence[int],
        offsets: Callable[[int], NDArray[np.int64]],
        counts: NDArray[np.int64],
        options: ScannerOptions,
        schema: pa.Schema,
    ) -> Iterator[tuple[list[int], pa.Table]]:
        """Take rows of files that can be read together; others are left out.

        Parameters
        ----------
        numbers
            Which of the files.
        offsets
            Returns wanted rows of a file, in any order.
        counts
            ``(n,) int64`` rows of all files, as they were counted.
        options, schema
            What is wanted, and the schema of the dataset.

        Yields
        ------
        numbers, rows
            Files, and their rows one after the other.
        """
        runtime = default_runtime()
        if (self._is_local and len(numbers) < LEAST_GROUPED) or runtime.is_watched:
            return
        how = self._handler.options
        try:
            for some, small in self._wanted(numbers):
                small.flags[small.num_rows != counts[some]] = 0
                for members, files in as_one(small, in_order=False):
                    file = opened_as_one(files, runtime, how)
                    projection = as_stored(file, options, schema)
                    if projection is None or have_blobs(projection.nodes):
                        continue
                    own = [some[member] for member in members.tolist()]
                    starts = files.row_starts[:-1].tolist()
                    rows = [start + offsets(number) for start, number in zip(starts, own, strict=True)]
                    yield own, take_rows(file, projection, np.concatenate(rows))
        except (LanceError, OSError):
            # Read one by one, the files tell what is wrong; or they can be read.
            return

    def _wanted(self, numbers: Sequence[int]) -> Iterator[tuple[list[int], SmallFiles]]:
        """Yield files whose ends are here, or are read now; those that are not wanted have no flag."""
        left = np.zeros(len(self._paths), np.uint8)
        left[list(numbers)] = 1
        # Once: files may be replaced after that, and what lies in the ends would not be asked for again.
        kept, self._kept = self._kept, []
        for some, small in kept:
            if left[some].any():
                yield some, replace(small, flags=small.flags & left[some])
                left[some] = 0
        for some in self._groups(np.flatnonzero(left).tolist()):
            yield some, self._opened(some)

    def _opened(self, numbers: Sequence[int]) -> SmallFiles:
        """Open files by their ends."""
        paths, sizes = [self._paths[number] for number in numbers], self._sizes[list(numbers)]
        return open_together(
            self._filesystem,
            paths,
            sizes,
            default_runtime(),
            self._handler.options,
            ends_only=True,
            may_change=True,
            # What wide files have more of their ends is read when it is known.
            num_columns=0,
        )

    def _groups(self, numbers: Sequence[int]) -> Iterator[list[int]]:
        """Divide files into groups whose ends may be read together; too large ones are in none."""
        fitting = np.array([number for number in numbers if self._sizes[number] <= ENDS_BYTES], np.int64)
        group_of = np.cumsum(self._sizes[fitting]) // ENDS_BYTES
        for group in np.split(fitting, np.flatnonzero(np.diff(group_of)) + 1):
            if len(group):
                yield group.tolist()
