"""`KeptBytes`: responses of far files that stay in memory, least recently used out first, within a budget."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import OrderedDict, deque
from threading import Lock

from lance_arrow.io.source import Bytes


class KeptBytes:
    """Bytes of far files, by file and place; files and threads share it.

    Parameters
    ----------
    max_bytes
        Most bytes in memory; a single larger response is not kept.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._held_bytes = 0
        # Responses by (file, first byte), least recently used first, and the first bytes of each file, ascending.
        self._held: OrderedDict[tuple[object, int], Bytes] = OrderedDict()
        self._starts: dict[object, list[int]] = {}
        self._forgotten: deque[object] = deque()
        self._lock = Lock()

    def find(self, file: object, start: int, stop: int) -> list[tuple[int, Bytes]]:
        """Return what is kept of a range, in order: first byte and bytes of each part, disjoint."""
        with self._lock:
            return self._found(file, start, stop)

    def keep(self, file: object, start: int, data: Bytes) -> None:
        """Keep a response, without parts that are kept already."""
        with self._lock:
            self._drop_forgotten()
            at, end = start, start + len(data)
            for begin, part in [*self._found(file, start, end), (end, data[:0])]:
                if at < begin:
                    self._put(file, at, data[at - start : begin - start])
                at = begin + len(part)
            while self._held_bytes > self.max_bytes:
                self._drop(next(iter(self._held)))

    def forget(self, file: object) -> None:
        """Drop all bytes of a file, at the next `keep`; may be called while the file is garbage collected."""
        # The collector may call this inside any other method here, so this thread may already hold the lock.
        self._forgotten.append(file)

    @property
    def held_bytes(self) -> int:
        """Number of bytes in memory."""
        with self._lock:
            self._drop_forgotten()
            return self._held_bytes

    def _found(self, file: object, start: int, stop: int) -> list[tuple[int, Bytes]]:
        starts = self._starts.get(file)
        if not starts:
            return []
        found = []
        for place in range(max(bisect_right(starts, start) - 1, 0), len(starts)):
            begin = starts[place]
            if begin >= stop:
                break
            data = self._held[file, begin]
            first, last = max(start, begin), min(stop, begin + len(data))
            if first < last:
                self._held.move_to_end((file, begin))
                found.append((first, data[first - begin : last - begin]))
        return found

    def _put(self, file: object, start: int, data: Bytes) -> None:
        if len(data) <= self.max_bytes:
            self._held[file, start] = data
            self._held_bytes += len(data)
            insort(self._starts.setdefault(file, []), start)

    def _drop_forgotten(self) -> None:
        while self._forgotten:
            file = self._forgotten.popleft()
            for start in list(self._starts.get(file, ())):
                self._drop((file, start))

    def _drop(self, key: tuple[object, int]) -> None:
        self._held_bytes -= len(self._held.pop(key))
        file, start = key
        starts = self._starts[file]
        del starts[bisect_right(starts, start) - 1]
        if not starts:
            del self._starts[file]
