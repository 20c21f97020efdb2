"""`GroupScan`: a scan of several files at once, as scans of joined files and of single ones, one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import Lock

import pyarrow as pa

from lance_arrow.arrow_dataset.handler_protocol import ScanTasks
from lance_arrow.errors import LanceError


class GroupState:
    """What the groups of one scanner share.

    Attributes
    ----------
    planning
        Held while files of a group are opened: that is mostly Python, so that two threads would only contend for the
        interpreter's lock. Rows are decoded without it.
    joins
        False once a group could not be read together: the others will most likely not be, either.
    """

    def __init__(self) -> None:
        self.planning = Lock()
        self.joins = True


@dataclass(frozen=True, slots=True, eq=False)
class GroupPart:
    """The scan of some files of a group that follow each other.

    Parameters
    ----------
    scan
        Of one file, or of several as one.
    alone
        Scans the rows of a window of joined files file by file. None for a single file.
    """

    scan: ScanTasks
    alone: Callable[[int], Iterable[ScanTasks]] | None = None


class GroupScan:
    """Windows of the files of a group, in row order; `run` may be called from several threads at once.

    Parameters
    ----------
    parts
        The files, in order.
    state
        Of the scanner.
    """

    def __init__(self, parts: Sequence[GroupPart], state: GroupState) -> None:
        self._parts = parts
        self._state = state
        self._starts = [0, *accumulate(len(part.scan) for part in parts)]

    def __len__(self) -> int:
        return self._starts[-1]

    def run(self, index: int) -> Sequence[pa.RecordBatch]:
        """Read one window; file by file where joined files cannot be read, to tell which of them is to blame."""
        # Of parts without windows only the last one begins where the next window is.
        number = bisect_right(self._starts, index) - 1
        part, own = self._parts[number], index - self._starts[number]
        try:
            return part.scan.run(own)
        except LanceError:
            if part.alone is None:
                raise
        self._state.joins = False
        return list(batches_of(part.alone(own)))


def batches_of(scans: Iterable[ScanTasks]) -> Iterator[pa.RecordBatch]:
    """Run scans one after another, in this thread."""
    for tasks in scans:
        for index in range(len(tasks)):
            yield from tasks.run(index)
