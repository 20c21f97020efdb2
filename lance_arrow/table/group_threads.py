"""`side_by_side`: groups of fragments that are read and written at once, within the memory budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from lance_arrow.settings import MEBIBYTE, Settings

T = TypeVar("T")
R = TypeVar("R")

GROUP_BYTES = 256 * MEBIBYTE
"""What a group takes as a rule: a page of each column, what it is encoded to, and rows that are read ahead."""

Progress = Callable[[int, int], None]
"""Gets how many rows were written, and of how many; begins anew where others changed the same fragments."""


class GroupMeter:
    """Counts rows that are written by some threads, and ends these.

    Parameters
    ----------
    total
        Rows of all groups.
    on_progress
        Told of each count, by one thread at a time.
    """

    def __init__(self, total: int, on_progress: Progress | None) -> None:
        self._total = total
        self._on_progress = on_progress
        self._done = 0
        self._lock = Lock()
        self.is_stopped = False

    def add(self, num_rows: int) -> None:
        """Count rows; raise `CancelledError` where another group has failed."""
        if self.is_stopped:
            raise CancelledError
        with self._lock:
            self._done += num_rows
            if self._on_progress is not None:
                self._on_progress(self._done, self._total)


def side_by_side(function: Callable[[T], R], groups: Sequence[T], meter: GroupMeter, settings: Settings) -> list[R]:
    """Apply a function to groups, to some at once; results in order.

    The threads are not those of the runtime, for which the function may wait.

    Parameters
    ----------
    function
        Writes a group, and calls ``meter.add`` after each batch.
    groups
        The groups.
    meter
        Ends the others when one group fails, or the caller is interrupted.
    settings
        How many threads and how much memory there are.
    """
    num_threads = min(settings.num_threads, len(groups), settings.memory_budget_bytes // GROUP_BYTES)
    if num_threads < 2:
        return [function(group) for group in groups]
    with ThreadPoolExecutor(num_threads, thread_name_prefix="lance-arrow-groups") as threads:
        futures = [threads.submit(function, group) for group in groups]
        try:
            return [future.result() for future in futures]
        finally:
            # If a group failed, or the caller is interrupted, the others stop at their next rows.
            meter.is_stopped = True
            for future in futures:
                future.cancel()
