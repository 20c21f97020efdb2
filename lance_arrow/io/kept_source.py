"""`KeptSource`: a far source that asks for no byte twice while it remembers it, and for none that is on its way.

wanted ranges ─► kept parts ────────────────────────────────┐
              ├► parts that another thread asked for ─ wait ─┼► one array for each range
              └► the rest ─► one wave of requests ─► kept ───┘
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from threading import Event, Lock

import numpy as np

from lance_arrow.io.kept_bytes import KeptBytes
from lance_arrow.io.ranges import coalesce
from lance_arrow.io.source import Bytes, Coalescing, Positions, RangeSource, check_ranges, joined

_MAX_TAIL_BYTES = 1 << 20
"""Most bytes kept from the end of a file, for as long as it is open: metadata, zone maps, all of a small file."""


class _Flight:
    """Requests that are in flight: sorted and disjoint ranges, and their responses, None if they failed."""

    def __init__(self, starts: Positions, stops: Positions) -> None:
        self.starts, self.stops = starts, stops
        self.responses: list[Bytes] | None = None
        self.ended = Event()
        # Threads do not survive a fork: a child must not wait for it.
        self.pid = os.getpid()

    def parts(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Return the parts of a range that it asks for: start, stop, number of the request."""
        first = int(np.searchsorted(self.stops, start, "right"))
        last = int(np.searchsorted(self.starts, stop, "left"))
        return [(max(start, int(self.starts[one])), min(stop, int(self.stops[one])), one) for one in range(first, last)]

    def bytes_of(self, number: int, start: int, stop: int) -> Bytes:
        """Return a part of a response."""
        assert self.responses is not None
        first = int(self.starts[number])
        return self.responses[number][start - first : stop - first]


class KeptSource:
    """Ranges of a far source, remembered; threads share it.

    Parameters
    ----------
    inner
        The source to read. It is closed with this one.
    kept
        Where responses stay. The end of the file stays here in any case.
    """

    def __init__(self, inner: RangeSource, kept: KeptBytes) -> None:
        self.name = inner.name
        self.coalescing: Coalescing = inner.coalescing
        self._inner = inner
        self._kept = kept
        self._token = object()
        self._tail: tuple[int, Bytes] | None = None
        self._flights: list[_Flight] = []
        self._closed = False
        self._lock = Lock()

    def size(self) -> int:
        """Return the number of bytes."""
        return self._inner.size()

    def identity(self) -> Hashable | None:
        """Return that of the inner source."""
        return self._inner.identity()

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range; see `RangeSource.read`."""
        return self.read_counted(starts, stops)[0]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read into one array; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def read_counted(self, starts: Positions, stops: Positions) -> tuple[list[Bytes], int, int]:
        """Read each range, and tell how many requests were made for it, and for how many bytes."""
        if self._closed:
            # The inner source says so.
            return self._inner.read(starts, stops), 0, 0
        sizes = check_ranges(starts, stops, size_bytes=self.size(), name=self.name)
        places = list(zip(starts.tolist(), stops.tolist(), strict=True))
        parts: list[list[tuple[int, Bytes]]] = []
        waits: list[tuple[int, int, int, _Flight, int]] = []
        with self._lock:
            absent = []
            for place, (start, stop) in enumerate(places):
                parts.append(self._held(start, stop))
                for at, upto in _between(start, stop, [(one, one + len(data)) for one, data in parts[place]]):
                    absent += self._not_in_flight(place, at, upto, waits)
            mine = self._planned(absent, int(np.count_nonzero(sizes)))
            if mine is not None:
                self._flights.append(mine)
        counts = (0, 0)
        if mine is not None:
            self._ask(mine)
            counts = len(mine.starts), int((mine.stops - mine.starts).sum())
            for place, start, stop in absent:
                parts[place] += [(at, mine.bytes_of(one, at, upto)) for at, upto, one in mine.parts(start, stop)]
        more = self._waited(waits, parts)
        out = [_whole(start, stop, held) for (start, stop), held in zip(places, parts, strict=True)]
        return out, counts[0] + more[0], counts[1] + more[1]

    def close(self) -> None:
        """Forget all bytes, and close the inner source."""
        self._closed = True
        self._tail = None
        self._kept.forget(self._token)
        self._inner.close()

    def __del__(self) -> None:
        self._kept.forget(self._token)

    def _held(self, start: int, stop: int) -> list[tuple[int, Bytes]]:
        """Return the parts of a range that are in memory, in order."""
        if start >= stop:
            return []
        # Another thread may close the source meanwhile.
        held = self._tail
        if held is None or stop <= held[0]:
            return self._kept.find(self._token, start, stop)
        tail_start, tail = held
        found = self._kept.find(self._token, start, tail_start) if start < tail_start else []
        first = max(start, tail_start)
        return [*found, (first, tail[first - tail_start : stop - tail_start])]

    def _not_in_flight(
        self, place: int, start: int, stop: int, waits: list[tuple[int, int, int, _Flight, int]]
    ) -> list[tuple[int, int, int]]:
        """Return the parts of a range that no thread has requested; add the others to `waits`."""
        pid = os.getpid()
        rest = [(start, stop)]
        for flight in self._flights:
            if flight.pid == pid:
                found = []
                for at, upto in rest:
                    inside = flight.parts(at, upto)
                    waits += [(place, first, last, flight, one) for first, last, one in inside]
                    found += _between(at, upto, [(first, last) for first, last, _ in inside])
                rest = found
        return [(place, at, upto) for at, upto in rest]

    def _planned(self, absent: list[tuple[int, int, int]], num_wanted: int) -> _Flight | None:
        """Plan requests for parts: each byte once, and few more requests than were wanted."""
        if not absent:
            return None
        sides = np.array([(at, upto) for _, at, upto in absent], np.int64)
        sides = sides[np.argsort(sides[:, 0], kind="stable")]
        starts, stops = sides[:, 0], np.maximum.accumulate(sides[:, 1])
        # Neighbours may overlap, in blocks that have checksums: the first one asks for what they share.
        starts[1:] = np.maximum(starts[1:], stops[:-1])
        limits = self.coalescing
        plan = coalesce(
            starts,
            stops,
            max_gap_bytes=limits.max_gap_bytes,
            max_span_bytes=limits.max_span_bytes,
            # What is kept may lie in many small parts: then a few of them are read again.
            least_gap_bytes=0,
            few_requests=num_wanted + limits.requests_in_flight,
        )
        return _Flight(plan.starts, plan.stops)

    def _ask(self, flight: _Flight) -> None:
        """Make requests, and keep their responses; errors are those of the inner source."""
        try:
            flight.responses = self._inner.read(flight.starts, flight.stops)
            size = self.size()
            with self._lock:
                for start, stop, data in zip(
                    flight.starts.tolist(), flight.stops.tolist(), flight.responses, strict=True
                ):
                    if stop == size and stop - start <= _MAX_TAIL_BYTES and not self._closed:
                        self._tail = start, data
                    elif not self._closed:
                        self._kept.keep(self._token, start, data)
        finally:
            with self._lock:
                self._flights.remove(flight)
            flight.ended.set()

    def _waited(
        self, waits: list[tuple[int, int, int, _Flight, int]], parts: list[list[tuple[int, Bytes]]]
    ) -> tuple[int, int]:
        """Take what other threads asked for; asks again where they failed, so that errors are those of this read."""
        failed = []
        for place, start, stop, flight, number in waits:
            flight.ended.wait()
            if flight.responses is None:
                failed.append((place, start, stop))
            else:
                parts[place].append((start, flight.bytes_of(number, start, stop)))
        if not failed:
            return 0, 0
        again = self._planned(failed, len(failed))
        assert again is not None
        again.responses = self._inner.read(again.starts, again.stops)
        for place, start, stop in failed:
            parts[place] += [(at, again.bytes_of(one, at, upto)) for at, upto, one in again.parts(start, stop)]
        return len(again.starts), int((again.stops - again.starts).sum())


def _between(start: int, stop: int, held: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a range that are not among ascending, disjoint ones."""
    rest, at = [], start
    for first, last in [*held, (stop, stop)]:
        if at < first:
            rest.append((at, first))
        at = last
    return rest


def _whole(start: int, stop: int, parts: list[tuple[int, Bytes]]) -> Bytes:
    """Join the parts of a range, in any order."""
    if len(parts) == 1:
        return parts[0][1]
    out = np.empty(stop - start, np.uint8)
    for at, data in parts:
        out[at - start : at - start + len(data)] = data
    out.setflags(write=False)
    return out
