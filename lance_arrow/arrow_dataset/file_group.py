"""`BareFiles`: bare files that one fragment of pyarrow's stands for, read together where they can be.

paths ─► those that the file pruner leaves ─► whole files ─► neighbours of one schema as one file ─► scans, in order
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrow_dataset.asked import asked_of
from lance_arrow.arrow_dataset.group_scan import GroupScan, GroupState
from lance_arrow.arrow_dataset.handler_protocol import FileGroup, ScanRequest, ScanTasks
from lance_arrow.arrow_dataset.source_scan import SourceScan, count_rows
from lance_arrow.errors import LanceError
from lance_arrow.io import AnyFileSystem, Location, Positions
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.groups.opened_together import open_runs
from lance_arrow.scan.projection import have_blobs
from lance_arrow.scan.row_restriction import RowRestriction
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import by_page, rows_before


class ScansFiles(Protocol):
    """Scans single files, as `FileScanHandler`."""

    options: ReadOptions

    def plan(self, place: FilePlace, request: ScanRequest) -> ScanTasks:
        """Plan the scan of a file."""

    def count_rows(self, place: FilePlace, request: ScanRequest) -> int | None:
        """Count rows of a file."""

    def reading(self, place: FilePlace, request: ScanRequest, *, is_count: bool = False) -> FilteredReading:
        """Return a reading, or a count, of the wanted rows of a file."""

    def left_by_pruner(self, place: FilePlace, paths: Sequence[str], request: ScanRequest) -> Sequence[int]:
        """Return the numbers of the files that may have wanted rows; the first file is at `place`."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadFiles:
    """Rows of neighbours that were read together, before Arrow asks for them.

    Parameters
    ----------
    paths
        The files, in order.
    num_rows
        ``(n,) int64``: rows of each.
    batches
        All rows, in order.
    """

    paths: Sequence[str]
    num_rows: NDArray[np.int64]
    batches: Sequence[pa.RecordBatch]


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """Neighbours among files, by their numbers, as one; `row_starts` has the first row of each, and all rows."""

    numbers: Sequence[int]
    reading: FilteredReading
    row_starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BareFiles(FileGroup):
    """The payload of a fragment of a view; see `grouped_view`.

    Parameters
    ----------
    filesystem
        Where the files are, as `Location.given` has it.
    place
        Of the first file.
    paths
        Of all files, in order.
    sizes
        ``(n,) int64``: what they have.
    state
        Of the scanner.
    ends_only
        Whether only the ends of files are read at first, and pages when they are wanted.
    """

    filesystem: AnyFileSystem | None
    place: FilePlace
    paths: tuple[str, ...]
    sizes: Positions
    state: GroupState
    ends_only: bool = False

    def plan(self, handler: ScansFiles, request: ScanRequest) -> ScanTasks:
        """Open the files and cut windows."""
        with self._planning():
            return GroupScan(
                [
                    SourceScan(one.reading, request)
                    if isinstance(one, _Joined)
                    else handler.plan(self._place(one), request)
                    for one in self._found(handler, request)
                ]
            )

    def count_rows(self, handler: ScansFiles, request: ScanRequest) -> int | None:
        """Count rows; as `FileScanHandler.count_rows`."""
        plan = asked_of(request).filter
        if plan is not None and not plan.is_repeatable:
            return None
        with self._planning():
            found = self._found(handler, request, is_count=True)
        return sum(
            count_rows(one.reading, request)
            if isinstance(one, _Joined)
            else handler.count_rows(self._place(one), request) or 0
            for one in found
        )

    def read_files(self, handler: ScansFiles, judged: ScanRequest, request: ScanRequest) -> Iterator[ReadFiles]:
        """Read the rows of the files that can be read together, unless the file pruner excludes them.

        Files that cannot be read, or whose rows take too much memory to be held, are left out.

        Parameters
        ----------
        handler
            Scans single files.
        judged, request
            What the scan wants, with its filter; and what is wanted of files that are read whole. Arrow filters their
            rows again, so that it has no filter unless that may fail on a value.
        """
        left = handler.left_by_pruner(self.place, self.paths, judged)
        excluded = sorted({*range(len(self.paths))} - {*left})
        if excluded:
            yield ReadFiles([self.paths[number] for number in excluded], np.zeros(len(excluded), np.int64), ())
        # Of files that are read whole no zone map is looked at, and Arrow applies its filter to all rows.
        wanted = judged if self.ends_only else request
        for one in self._together(left, handler, wanted):
            if not isinstance(one, _Joined):
                continue
            held = held_rows(one.reading, one.row_starts, wanted)
            if held is not None:
                yield ReadFiles([self.paths[number] for number in one.numbers], *held)

    def counts(self, handler: ScansFiles, request: ScanRequest) -> Iterator[tuple[Sequence[str], NDArray[np.int64]]]:
        """Count the wanted rows of each of the files that can be read together; ``(n,)`` counts of some paths.

        Parameters
        ----------
        handler
            Scans single files.
        request
            What is wanted; its filter gives the same answer each time.
        """
        for one in self._together(range(len(self.paths)), handler, request, is_count=True):
            if not isinstance(one, _Joined):
                continue
            try:
                rows = one.reading.matching_all()
            except LanceError:
                # The file to blame tells what is wrong with it when its turn comes.
                continue
            yield [self.paths[number] for number in one.numbers], np.diff(rows_before(rows, one.row_starts))

    def _planning(self) -> AbstractContextManager[object]:
        """Hold the lock of `GroupState`, unless opening mostly waits for a store."""
        return self.state.planning if Location(self.filesystem, "").is_local else nullcontext()

    def _place(self, number: int, rows: RowRestriction | None = None) -> FilePlace:
        return FilePlace(
            path=self.paths[number], filesystem=self.place.filesystem, size=int(self.sizes[number]), rows=rows
        )

    def _found(self, handler: ScansFiles, request: ScanRequest, *, is_count: bool = False) -> list[_Joined | int]:
        """Open files that can be read together; return the numbers of the others, all in order."""
        numbers = handler.left_by_pruner(self.place, self.paths, request)
        return self._together(numbers, handler, request, is_count=is_count)

    def _together(
        self, numbers: Sequence[int], handler: ScansFiles, request: ScanRequest, *, is_count: bool = False
    ) -> list[_Joined | int]:
        if not self.state.joins or len(numbers) < 2:
            return list(numbers)
        asked = asked_of(request)
        found: list[_Joined | int] = []
        done = 0
        try:
            for first, stop, file in open_runs(
                self.filesystem,
                [self.paths[number] for number in numbers],
                self.sizes[list(numbers)],
                default_runtime(),
                handler.options,
                asked.all_nodes,
                ends_only=self.ends_only,
                num_columns=len(request.dataset_schema),
                most_rows=WINDOW_ROWS,
            ):
                if have_blobs(asked.all_nodes(file.roots)):
                    # Blobs lie apart from their pages.
                    continue
                own = numbers[first:stop]
                divided = partial(self._one_by_one, own, file.row_starts, handler, request, is_count=is_count)
                reading = asked.reading(file, is_count=is_count, divided=divided)
                # Metadata is read now: what is wrong with it, the files tell one by one.
                file.rows.weights(asked.all_nodes(file.roots))
                found += numbers[done:first]
                found.append(_Joined(own, reading, file.row_starts))
                done = stop
        except LanceError:
            found, done = [], 0
        self.state.joins = done > 0
        return [*found, *numbers[done:]]

    def _one_by_one(
        self,
        numbers: Sequence[int],
        row_starts: Positions,
        handler: ScansFiles,
        request: ScanRequest,
        rows: RowRanges,
        *,
        is_count: bool,
    ) -> Iterator[FilteredReading]:
        """Read files that could not be read together one by one, and join no others from now on."""
        self.state.joins = False
        for member, part in by_page(rows, row_starts):
            yield handler.reading(self._place(numbers[member], RowRestriction.of(part)), request, is_count=is_count)


def most_held_bytes() -> int:
    """Return how many bytes the rows of files that are read ahead may take."""
    settings = default_runtime().settings
    return settings.window_bytes(settings.num_threads + 2)


def usual_held_bytes() -> float:
    """Return how many bytes rows should take by the measure of one of the files: they are not all alike."""
    return 0.75 * most_held_bytes()


def held_rows(
    found: FilteredReading, row_starts: NDArray[np.int64], request: ScanRequest
) -> tuple[NDArray[np.int64], list[pa.RecordBatch]] | None:
    """Read the wanted rows of files that were joined, as `SourceScan.read_parts`.

    None where they may take too much memory, or one of the files is damaged.
    """
    try:
        return SourceScan(found, request).read_parts(row_starts, most_held_bytes())
    except LanceError:
        # The file to blame tells what is wrong with it when its turn comes.
        return None
