"""`IndexCache`: chunk tables and row indices kept between reads, least recently used out first, under a byte budget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from threading import Lock

from lance_arrow.spi import PageIndex


class IndexCache:
    """Page indices by (file token, column, page); shared by threads.

    Parameters
    ----------
    budget_bytes
        Sum of `PageIndex.nbytes` that may be held; an index above it alone is not kept.
    proves_rows
        Whether a row index must be proven by its whole page before it is used and kept.
    """

    def __init__(self, budget_bytes: int, *, proves_rows: bool = False) -> None:
        self._budget_bytes = budget_bytes
        self.proves_rows = proves_rows
        self._held_bytes = 0
        self._held: OrderedDict[Hashable, PageIndex] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> PageIndex | None:
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
            return found

    def get_many(self, keys: Sequence[Hashable]) -> list[PageIndex | None]:
        """Get the index of each key, as `get` does."""
        with self._lock:
            found = list(map(self._held.get, keys))
            for key, index in zip(keys, found, strict=True):
                if index is not None:
                    self._held.move_to_end(key)
            return found

    def put(self, key: Hashable, index: PageIndex) -> None:
        size = index.nbytes
        with self._lock:
            before = self._held.pop(key, None)
            if before is not None:
                self._held_bytes -= before.nbytes
            if size > self._budget_bytes:
                return
            self._held[key] = index
            self._held_bytes += size
            while self._held_bytes > self._budget_bytes:
                _, dropped = self._held.popitem(last=False)
                self._held_bytes -= dropped.nbytes

    @property
    def held_bytes(self) -> int:
        """Bytes held now."""
        return self._held_bytes
