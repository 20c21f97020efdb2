"""`GroupScan`: a scan of several files at once: scans of joined files and of single ones, one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from threading import Lock

import pyarrow as pa

from lance_arrow.arrow_dataset.handler_protocol import ScanTasks


class GroupState:
    """State that the groups of one scanner share.

    Attributes
    ----------
    planning
        Held while files of a group are opened: that is mostly Python, so that two threads would only contend for the
        interpreter's lock. Rows are decoded without it.
    joins
        False once files could not be read together: the others will most likely not be, either.
    """

    def __init__(self) -> None:
        self.planning = Lock()
        self.joins = True


class GroupScan:
    """Windows of the files of a group, in row order; `run` may be called from several threads at once.

    Parameters
    ----------
    scans
        Of the files, in order.
    """

    def __init__(self, scans: Sequence[ScanTasks]) -> None:
        self._scans = scans
        self._starts = [0, *accumulate(map(len, scans))]

    def __len__(self) -> int:
        return self._starts[-1]

    def run(self, index: int) -> Sequence[pa.RecordBatch]:
        """Read one window."""
        # Of scans without windows only the last one begins where the next window is.
        number = bisect_right(self._starts, index) - 1
        return self._scans[number].run(index - self._starts[number])
