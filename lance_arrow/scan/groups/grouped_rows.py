"""`GroupedRows`: rows of many files, in order; groups of them are opened and read together.

fragments of a table, or bare files ─► groups and single ones, opened ahead ─► `RowStream`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Protocol, TypeVar

import pyarrow as pa

from lance_arrow.runtime import Runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.read_counts import Receipt
from lance_arrow.scan.row_stream import RowStream
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.spi.rows import RowRanges

T = TypeVar("T")


class Groups(Protocol):
    """Divides sources, by their numbers, into groups, and opens them: `FragmentGroups`, `FileGroups`."""

    is_local: bool
    receipt: Receipt

    @property
    def num_ahead(self) -> int | None:
        """How many groups are opened ahead of those that are read; None for as many as there are threads."""

    def planned(self, numbers: Sequence[int], has_begun: Callable[[], bool]) -> Iterator[list[int]]:
        """Divide sources into groups; what is alone in one is opened by itself."""

    def opened(self, numbers: Sequence[int], within: Sequence[RowRanges] | None) -> list[FilteredReading | list[int]]:
        """Open a group: readings, and numbers of what must be opened by itself."""

    def alone(self, number: int, within: RowRanges | None = None) -> FilteredReading:
        """Open a source by itself."""


class CountsOne(Protocol):
    """Counts single sources, as `FragmentCounts`."""

    def count(self, number: int, make: Callable[[], FilteredReading]) -> int:
        """Count rows of a source."""


class GroupedRows:
    """One pass over sources.

    Parameters
    ----------
    groups
        What divides and opens them, for the columns and the filter that are wanted.
    within
        For each source rows of its files to choose from; all when None.
    runtime
        Threads, memory, and who gets the report.
    counts
        Of a count by a filter, what is kept of sources by themselves; None where nothing is.
    """

    def __init__(
        self,
        groups: Groups,
        within: Sequence[RowRanges] | None,
        runtime: Runtime,
        counts: CountsOne | None = None,
    ) -> None:
        self._groups = groups
        self._within = within
        self._runtime = runtime
        self._counts = counts

    def batches(
        self,
        numbers: Sequence[int],
        batch_size: int | None,
        projection: Projection,
        *,
        wants_all: bool = False,
        is_held: bool = False,
        is_written: bool = False,
        most_rows: int = WINDOW_ROWS,
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches of sources, by their numbers; hand the report to plugins at the end.

        Parameters and errors are those of `RowStream`.
        """
        stream = RowStream(
            self._runtime,
            batch_size,
            projection,
            wants_all=wants_all,
            is_held=is_held,
            is_written=is_written,
            most_rows=most_rows,
        )
        opened = self._opened(numbers, lambda: stream.has_begun, self._open_alone)
        return self._groups.receipt.sent_after(stream.batches(opened, is_one=len(numbers) == 1))

    def count(self, numbers: Sequence[int]) -> int:
        """Count rows of sources, by their numbers; errors are those of `FilteredReading.count`."""
        opened = self._opened(numbers, lambda: True, self._counted_alone)
        if self._groups.is_local:
            count = sum(map(_count, opened))
        else:
            # Counting waits for pages: those of as many groups as are opened ahead are asked for at the same time.
            most = float(self._groups.num_ahead or 0)
            count = sum(self._runtime.ahead(_count_far, opened, is_far=True, weigh=_waits, most_weight=most))
        self._groups.receipt.count(count)
        self._groups.receipt.send()
        return count

    def _opened(
        self, numbers: Sequence[int], has_begun: Callable[[], bool], alone: Callable[[int], T]
    ) -> Iterator[FilteredReading | T]:
        """Open sources in groups as long as these can be read, ahead where that takes time without the interpreter.

        A local source by itself is opened by Python code alone: other threads would take turns with the caller's.
        A far one waits for its end, so that many are opened at once.
        """
        planned = self._groups.planned(numbers, has_begun)
        is_local, open_some = self._groups.is_local, partial(self._open, alone)
        for is_single, some in groupby(planned, key=lambda group: len(group) == 1):
            if is_single and is_local:
                made: Iterator[Sequence[FilteredReading | T | list[int]]] = map(open_some, some)
            else:
                # The files of a far group are asked for at once. Sources by themselves wait, and hold little.
                num_ahead = None if is_single else self._groups.num_ahead
                made = self._runtime.ahead(open_some, some, num_ahead=num_ahead, is_far=not is_local)
            for opened in made:
                for found in opened:
                    if not isinstance(found, list):
                        yield found
                    else:
                        yield from self._runtime.each(alone, found, is_far=not is_local)

    def _open(self, alone: Callable[[int], T], numbers: list[int]) -> Sequence[FilteredReading | T | list[int]]:
        if len(numbers) == 1:
            return [alone(numbers[0])]
        return self._groups.opened(numbers, self._within)

    def _open_alone(self, number: int) -> FilteredReading:
        found = self._groups.alone(number, None if self._within is None else self._within[number])
        if not self._groups.is_local and len(found.rows):
            # Metadata of wanted columns is waited for here, where others open files, and not where windows are cut.
            found.weights()
        return found

    def _counted_alone(self, number: int) -> FilteredReading | int:
        if self._counts is None:
            return self._open_alone(number)
        return self._counts.count(number, lambda: self._groups.alone(number))


def _count(found: FilteredReading | int) -> int:
    return found if isinstance(found, int) else found.count()


def _count_far(found: FilteredReading | int) -> int:
    """Count a group that waits on this thread: those that decode would wait for one group after another."""
    return found if isinstance(found, int) else found.count(use_threads=not _waits(found))


def _waits(found: FilteredReading | int) -> bool:
    """Whether it is a group of files whose pages are still to be read."""
    return not isinstance(found, int) and found.divided is not None and found.looks_far
