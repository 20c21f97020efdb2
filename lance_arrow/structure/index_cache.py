"""`IndexCache`: chunk tables and row indices kept between reads, least recently used, under a byte budget."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from threading import Lock

from lance_arrow.spi import PageIndex


class IndexCache:
    """Page indices by (file token, column, page); shared by threads. Indices of closed files are removed.

    Parameters
    ----------
    budget_bytes
        Largest sum of `PageIndex.nbytes`; a single larger index is not kept.
    proves_rows
        Whether a row index must be verified with its whole page before it is used and kept.
    """

    def __init__(self, budget_bytes: int, *, proves_rows: bool = False) -> None:
        self._budget_bytes = budget_bytes
        self.proves_rows = proves_rows
        self._held_bytes = 0
        self._held: OrderedDict[Hashable, PageIndex] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._keys_of: dict[Hashable, set[Hashable]] = {}
        self._forgotten: deque[Hashable] = deque()
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
        """Keep an index, unless it alone exceeds the budget."""
        self.put_many([(key, index)])

    def put_many(self, indices: Sequence[tuple[Hashable, PageIndex]]) -> None:
        """Keep indices, as `put` does."""
        with self._lock:
            self._drop_forgotten()
            held, sizes, budget_bytes = self._held, self._sizes, self._budget_bytes
            for key, index in indices:
                size = index.nbytes
                if key in held:
                    self._drop(key)
                if size > budget_bytes:
                    continue
                held[key] = index
                sizes[key] = size
                owner = key[0] if isinstance(key, tuple) else key
                if owner not in self._keys_of:
                    self._keys_of[owner] = set()
                self._keys_of[owner].add(key)
                self._held_bytes += size
                while self._held_bytes > budget_bytes:
                    self._drop(next(iter(held)))

    def forget(self, token: Hashable) -> None:
        """Drop the indices of a file at the next `put`; may be called while the file is garbage collected."""
        # The collector may call this inside any other method here, so this thread may already hold the lock.
        self._forgotten.append(token)

    @property
    def held_bytes(self) -> int:
        """Number of bytes in the cache."""
        with self._lock:
            self._drop_forgotten()
            return self._held_bytes

    def _drop_forgotten(self) -> None:
        while self._forgotten:
            for key in self._keys_of.pop(self._forgotten.popleft(), ()):
                if self._held.pop(key, None) is not None:
                    self._held_bytes -= self._sizes.pop(key)

    def _drop(self, key: Hashable) -> None:
        if self._held.pop(key, None) is None:
            return
        # Subtract the size at `put`: some indices have grown since.
        self._held_bytes -= self._sizes.pop(key)
        owner = key[0] if isinstance(key, tuple) else key
        keys = self._keys_of[owner]
        keys.discard(key)
        if not keys:
            del self._keys_of[owner]
