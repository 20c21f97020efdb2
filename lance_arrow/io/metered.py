"""A source that counts the reads of another: tests, read reports and the inspector use the counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from lance_arrow.io.source import Bytes, Coalescing, DirectSource, Positional, Positions, RangeSource, joined


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStats:
    """Counts between two moments.

    Parameters
    ----------
    waves
        Calls of `read`: requests of one wave may run concurrently.
    requests
        Non-empty ranges requested from the filesystem, after joining.
    ranges_wanted, bytes_wanted
        Ranges and bytes that the readers requested, before joining; a byte requested twice counts twice.
    bytes_fetched
        Bytes that the requests returned.
    seconds
        Time spent in reads, summed over threads.
    """

    waves: int = 0
    requests: int = 0
    ranges_wanted: int = 0
    bytes_wanted: int = 0
    bytes_fetched: int = 0
    seconds: float = 0.0

    def __sub__(self, earlier: ReadStats) -> ReadStats:
        return self._combine(earlier, -1)

    def __add__(self, other: ReadStats) -> ReadStats:
        return self._combine(other, 1)

    def _combine(self, other: ReadStats, sign: int) -> ReadStats:
        return ReadStats(
            waves=self.waves + sign * other.waves,
            requests=self.requests + sign * other.requests,
            ranges_wanted=self.ranges_wanted + sign * other.ranges_wanted,
            bytes_wanted=self.bytes_wanted + sign * other.bytes_wanted,
            bytes_fetched=self.bytes_fetched + sign * other.bytes_fetched,
            seconds=self.seconds + sign * other.seconds,
        )


class MeteredSource:
    """Passes all reads on to another source, and counts them.

    Parameters
    ----------
    inner
        The source that reads.
    """

    def __init__(self, inner: RangeSource) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        # Plain numbers, in the order of ReadStats: for a take of one row, counting is faster than creating an object.
        self._counts = [0, 0, 0, 0, 0, 0.0]

    @property
    def name(self) -> str:
        """Name of the inner source."""
        return self._inner.name

    @property
    def coalescing(self) -> Coalescing:
        """Limits of the inner source."""
        return self._inner.coalescing

    def size(self) -> int:
        """Return the size of the inner source."""
        return self._inner.size()

    def identity(self) -> Hashable | None:
        """Return the identity of the inner source."""
        return self._inner.identity()

    def local_state(self) -> tuple[str, tuple[int, int, int, int]] | None:
        """Return path, and size, modification time, device and inode, of a local file; None for other sources."""
        ask = getattr(self._inner, "local_state", None)
        found: tuple[str, tuple[int, int, int, int]] | None = None if ask is None else ask()
        return found

    def close(self) -> None:
        """Close the inner source."""
        self._inner.close()

    @property
    def kept_from(self) -> int | None:
        """First byte of the part of the file that the inner source has in memory; None if it has none."""
        found: int | None = getattr(self._inner, "kept_from", None)
        return found

    def _passed_on(self, starts: Positions, stops: Positions) -> tuple[list[Bytes], int, int]:
        """Read ranges from the inner source, and return its requests and their bytes, without what it has in memory."""
        counted = getattr(self._inner, "read_counted", None)
        if counted is not None:
            answers, requests, num_bytes = counted(starts, stops)
            return answers, requests, num_bytes
        sizes = self._fetched(starts, stops)
        return self._inner.read(starts, stops), int(np.count_nonzero(sizes)), int(sizes.sum())

    def _fetched(self, starts: Positions, stops: Positions) -> Positions:
        """Return bytes of ranges that the inner source will request, without those that it has in memory."""
        kept_from = self.kept_from
        return stops - starts if kept_from is None else np.where(starts >= kept_from, 0, stops - starts)

    def positional(self) -> Positional | None:
        """Return the inner source's interface for native code; its users must call `add`."""
        offer = getattr(self._inner, "positional", None)
        return None if offer is None else offer()

    def add(
        self, requests: int, ranges_wanted: int, bytes_wanted: int, bytes_fetched: int, seconds: float, waves: int = 1
    ) -> None:
        """Count a wave of native reads that bypassed this source; counting sources below it count it too."""
        with self._lock:
            counts = self._counts
            counts[0] += waves
            counts[1] += requests
            counts[2] += ranges_wanted
            counts[3] += bytes_wanted
            counts[4] += bytes_fetched
            counts[5] += seconds
        if isinstance(self._inner, MeteredSource):
            self._inner.add(requests, ranges_wanted, bytes_wanted, bytes_fetched, seconds, waves)

    def widened(self, starts: Positions, stops: Positions) -> tuple[Positions, Positions]:
        """Return what must be read for some ranges: more than these, if that must be compared with checksums."""
        return starts, stops

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read ranges that were not joined, and count them."""
        return self.read_joined(starts, stops, ranges_wanted=len(starts), bytes_wanted=int((stops - starts).sum()))

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read ranges that were not joined into one array, and count them."""
        return self.read_arena_joined(
            starts, stops, ranges_wanted=len(starts), bytes_wanted=int((stops - starts).sum())
        )

    def read_arena_joined(
        self, starts: Positions, stops: Positions, *, ranges_wanted: int, bytes_wanted: int
    ) -> tuple[Bytes, Positions]:
        """Read joined requests into one array, and count requests and wanted ranges."""
        begun = time.perf_counter()
        if hasattr(self._inner, "read_counted"):
            answers, requests, num_bytes = self._passed_on(starts, stops)
            self._count(begun, requests, ranges_wanted, bytes_wanted, num_bytes)
            return joined(answers)
        sizes = self._fetched(starts, stops)
        answer = self._inner.read_arena(starts, stops)
        self._count(begun, int(np.count_nonzero(sizes)), ranges_wanted, bytes_wanted, int(sizes.sum()))
        return answer

    @property
    def reads_into(self) -> bool:
        """Whether the inner source can read into memory of the caller."""
        inner = self._inner
        return inner.reads_into if isinstance(inner, MeteredSource) else isinstance(inner, DirectSource)

    def read_into(self, starts: Positions, stops: Positions, out: Bytes, out_starts: Positions) -> None:
        """Read ranges that were not joined into memory of the caller, and count them; requires `reads_into`."""
        begun = time.perf_counter()
        self._inner.read_into(starts, stops, out, out_starts)  # type: ignore[attr-defined]
        sizes = stops - starts
        total = int(sizes.sum())
        self._count(begun, int(np.count_nonzero(sizes)), len(starts), total, total)

    def read_joined(self, starts: Positions, stops: Positions, *, ranges_wanted: int, bytes_wanted: int) -> list[Bytes]:
        """Read joined requests, and count requests and wanted ranges."""
        begun = time.perf_counter()
        answers, requests, num_bytes = self._passed_on(starts, stops)
        self._count(begun, requests, ranges_wanted, bytes_wanted, num_bytes)
        return answers

    def read_end(self, num_bytes: int) -> Bytes | None:
        """Read the last bytes with the method of the inner source, and count them; None if it has no such method."""
        own = getattr(self._inner, "read_end", None)
        if own is None:
            return None
        begun = time.perf_counter()
        data: Bytes | None = own(num_bytes)
        if data is not None:
            self._count(begun, int(len(data) > 0), 1, len(data), len(data))
        return data

    def _count(self, begun: float, requests: int, ranges_wanted: int, bytes_wanted: int, bytes_fetched: int) -> None:
        passed = (1, requests, ranges_wanted, bytes_wanted, bytes_fetched, time.perf_counter() - begun)
        with self._lock:
            self._counts = [count + more for count, more in zip(self._counts, passed, strict=True)]

    def snapshot(self) -> ReadStats:
        """Return the counts so far; the difference of two snapshots has the counts between them."""
        with self._lock:
            waves, requests, ranges, wanted, fetched, seconds = self._counts
        return ReadStats(
            waves=int(waves),
            requests=int(requests),
            ranges_wanted=int(ranges),
            bytes_wanted=int(wanted),
            bytes_fetched=int(fetched),
            seconds=seconds,
        )
