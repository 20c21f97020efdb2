"""`AheadSource`: prefetches ranges of a remote source, several requests at a time, within a budget.

The caller decides which ranges, and in which order: rows from `begins` to `ends` need each of them. A read takes its
bytes from the prefetch requests and waits for those in flight. It requests all other bytes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import FileChangedError, LanceError, StoreTimeoutError
from lance_arrow.io.fetching import fetch_segments, read_coalesced
from lance_arrow.io.ranges import coalesce
from lance_arrow.io.source import Bytes, Coalescing, Positions, RangeSource, check_ranges

# Prefetched ranges are copied piece by piece: joining them saves nothing.
_SEPARATE = Coalescing(max_gap_bytes=0, max_span_bytes=1 << 62)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRequests:
    """Requests to prefetch, ascending and disjoint.

    Parameters
    ----------
    starts, stops
        ``(n,) int64``: bytes of the object.
    begins, ends
        ``(n,) int64``: first and end row that need them; requests are made in the order of `begins`.
    """

    starts: Positions
    stops: Positions
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


class AheadBudget:
    """Memory budget of the prefetch requests of one scan, and the threads that wait for their responses.

    Parameters
    ----------
    max_bytes
        Most bytes in flight, or received and not released yet.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._executor: ThreadPoolExecutor | None = None
        self._held_bytes = 0
        self._lock = RLock()

    def submit(self, request: Callable[[int], Bytes], number: int, num_threads: int) -> Future[Bytes]:
        """Make a request in a thread; the first source decides the number of threads."""
        with self._lock:
            if self._executor is None:
                # Threads of one scan only: a pool that lives longer would not survive a fork.
                self._executor = ThreadPoolExecutor(num_threads, thread_name_prefix="lance-arrow-far")
            return self._executor.submit(request, number)

    def take(self, num_bytes: int, *, is_urgent: bool = False) -> bool:
        """Reserve bytes; False if the budget has no room and the request is not urgent."""
        with self._lock:
            fits = is_urgent or self._held_bytes + num_bytes <= self.max_bytes
            self._held_bytes += num_bytes if fits else 0
            return fits

    def give(self, num_bytes: int) -> None:
        """Release reserved bytes; the threads end with the last of them."""
        with self._lock:
            self._held_bytes -= num_bytes
            if not self._held_bytes and self._executor is not None:
                self._executor.shutdown(wait=False)
                self._executor = None


class AheadSource:
    """Prefetched ranges of another source; threads share it.

    Parameters
    ----------
    inner
        The source to read; its owner closes it.
    planned
        Requests to prefetch.
    budget
        Memory for prefetched bytes.
    """

    def __init__(self, inner: RangeSource, planned: PlannedRequests, budget: AheadBudget) -> None:
        self.name = inner.name
        self.coalescing = _SEPARATE
        self._inner = inner
        self._planned = planned
        self._sizes: list[int] = (planned.stops - planned.starts).tolist()
        self._begins: list[int] = planned.begins.tolist()
        self._ends: list[int] = planned.ends.tolist()
        self._budget = budget
        # Positions in `planned`: requests not made yet, last first, and responses that are held.
        self._waiting: list[int] = np.lexsort((planned.starts, planned.begins))[::-1].tolist()
        self._answers: dict[int, Future[Bytes]] = {}
        self._is_done = [False] * len(self._sizes)
        self._needed_from = self._reach = 0
        self._lock = RLock()

    def move(self, needed_from: int, reach: int) -> None:
        """Release ranges that only rows before `needed_from` need, and request those of rows before `reach`."""
        with self._lock:
            self._needed_from, self._reach = max(needed_from, self._needed_from), max(reach, self._reach)
            for number in [one for one in self._answers if self._ends[one] <= self._needed_from]:
                self._let_go(number)
            self._ask_ahead()

    def close(self) -> None:
        """Release all ranges, and make no more requests; requests in flight end by themselves."""
        with self._lock:
            self._waiting.clear()
            for number in list(self._answers):
                self._let_go(number)

    def size(self) -> int:
        """Return the number of bytes."""
        return self._inner.size()

    def identity(self) -> Hashable | None:
        """Return that of the inner source."""
        return self._inner.identity()

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range; see `RangeSource.read`."""
        data, positions = self.read_arena(starts, stops)
        return [data[at : at + size] for at, size in zip(positions.tolist(), (stops - starts).tolist(), strict=True)]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read into one array: see `RangeSource.read_arena`.

        A failed request is repeated for the wanted ranges alone, so that errors are theirs.
        """
        sizes = check_ranges(starts, stops, size_bytes=self.size(), name=self.name)
        places = np.cumsum(sizes) - sizes
        answers, missing = self._found(starts, stops, places)
        if len(answers) == 1 and not missing and len(starts) == 1:
            held = self._answer(answers[0][0])
            if held is not None:
                first = int(starts[0] - answers[0][1])
                return held[first : first + int(sizes[0])], np.zeros(1, np.int64)
        out = np.empty(int(sizes.sum()), np.uint8)
        self._read_missing(missing, out)
        failed = []
        for future, start, first, stop, place in answers:
            held = self._answer(future)
            if held is None:
                failed.append((first, stop, place))
            else:
                out[place : place + stop - first] = held[first - start : stop - start]
        self._read_missing(failed, out)
        return out, places

    def read_segments(self, starts: Positions, stops: Positions) -> tuple[Positions, list[Bytes]]:
        """Return the responses that hold ranges, whole, and read what is in none; see `fetch_segments`."""
        check_ranges(starts, stops, size_bytes=self.size(), name=self.name)
        runs = coalesce(starts, stops, max_gap_bytes=0, max_span_bytes=self.coalescing.max_span_bytes)
        answers, missing = self._found(runs.starts, runs.stops, runs.starts)
        parts = {}
        for future, start, first, stop, _ in answers:
            held = self._answer(future)
            if held is None:
                missing.append((first, stop, first))
            else:
                parts[start] = held
        if missing:
            sides = np.array([(first, stop) for first, stop, _ in missing], np.int64)
            for start, part in zip(*fetch_segments(self._inner, *sides.T.copy()), strict=True):
                # A response that holds more is here already, or is not wanted.
                if len(part) > len(parts.get(start, ())):
                    parts[start] = part
        return np.fromiter(parts, np.int64, len(parts)), list(parts.values())

    def _found(
        self, starts: Positions, stops: Positions, places: Positions
    ) -> tuple[list[tuple[Future[Bytes], int, int, int, int]], list[tuple[int, int, int]]]:
        """Look ranges up: parts in a request (request, its start, first, stop, place), and missing parts."""
        answers, missing = [], []
        firsts = np.searchsorted(self._planned.stops, starts, "right").tolist()
        begun, ended = self._planned.starts, self._planned.stops
        with self._lock:
            for number, at, stop, place in zip(firsts, starts.tolist(), stops.tolist(), places.tolist(), strict=True):
                while at < stop:
                    begin = int(begun[number]) if number < len(begun) else stop
                    future = None
                    upto = min(begin, stop)
                    if begin <= at:
                        upto = min(int(ended[number]), stop)
                        future = self._asked(number)
                        number += 1  # noqa: PLW2901 - the requests after the first
                    if future is None:
                        missing.append((at, upto, place))
                    else:
                        answers.append((future, begin, at, upto, place))
                    place += upto - at  # noqa: PLW2901
                    at = upto  # noqa: PLW2901
            self._ask_ahead()
        return answers, missing

    def _asked(self, number: int) -> Future[Bytes] | None:
        """Return a request that rows need now, made now if necessary; None if its response was released."""
        found = self._answers.get(number)
        if found is None and not self._is_done[number]:
            found = self._ask(number, is_urgent=True)
        return found

    def _ask_ahead(self) -> None:
        while self._waiting:
            number = self._waiting[-1]
            is_asked = self._is_done[number] or number in self._answers
            if not is_asked and (self._begins[number] >= self._reach or self._ask(number) is None):
                return
            self._waiting.pop()

    def _ask(self, number: int, *, is_urgent: bool = False) -> Future[Bytes] | None:
        if not self._budget.take(self._sizes[number], is_urgent=is_urgent):
            return None
        found = self._answers[number] = self._budget.submit(
            self._fetched, number, self._inner.coalescing.requests_in_flight
        )
        return found

    def _fetched(self, number: int) -> Bytes:
        one = slice(number, number + 1)
        return self._inner.read(self._planned.starts[one], self._planned.stops[one])[0]

    def _let_go(self, number: int) -> None:
        self._answers.pop(number).cancel()
        self._is_done[number] = True
        self._budget.give(self._sizes[number])

    @staticmethod
    def _answer(future: Future[Bytes]) -> Bytes | None:
        """Wait for a request; None if it failed, or if a scan that ended released it.

        Raises
        ------
        StoreTimeoutError, FileChangedError
            Asking again would take as long, or is useless.
        """
        try:
            return future.result()
        except (StoreTimeoutError, FileChangedError):
            raise
        except (LanceError, OSError, CancelledError):
            return None

    def _read_missing(self, missing: list[tuple[int, int, int]], out: Bytes) -> None:
        if not missing:
            return
        starts, stops, places = (np.array(side, np.int64) for side in zip(*missing, strict=True))
        for data, place in zip(read_coalesced(self._inner, starts, stops), places.tolist(), strict=True):
            out[place : place + len(data)] = data
