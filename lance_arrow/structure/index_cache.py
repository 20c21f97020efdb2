"""`IndexCache`: chunk tables and row indices kept between reads, least recently used out first, under a byte budget."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from threading import Lock

from lance_arrow.spi import PageIndex


class IndexCache:
    """Page indices by (file token, column, page); shared by threads. Those of a file that was closed are dropped.

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
        """Hold an index, if it is not above the budget by itself."""
        self.put_many([(key, index)])

    def put_many(self, indices: Sequence[tuple[Hashable, PageIndex]]) -> None:
        """Hold indices, as `put` does."""
        with self._lock:
            self._drop_forgotten()
            for key, index in indices:
                self._put(key, index)

    def _put(self, key: Hashable, index: PageIndex) -> None:
        size = index.nbytes
        self._drop(key)
        if size > self._budget_bytes:
            return
        self._held[key] = index
        self._sizes[key] = size
        self._keys_of.setdefault(_owner(key), set()).add(key)
        self._held_bytes += size
        while self._held_bytes > self._budget_bytes:
            self._drop(next(iter(self._held)))

    def forget(self, token: Hashable) -> None:
        """Drop what is held of a file, the next time that something is put; may be called while it is collected."""
        # A collector may call this in the middle of any other method here: the lock may be held, by this very thread.
        self._forgotten.append(token)

    @property
    def held_bytes(self) -> int:
        """Bytes held now."""
        with self._lock:
            self._drop_forgotten()
            return self._held_bytes

    def _drop_forgotten(self) -> None:
        while self._forgotten:
            for key in list(self._keys_of.get(self._forgotten.popleft(), ())):
                self._drop(key)

    def _drop(self, key: Hashable) -> None:
        if self._held.pop(key, None) is None:
            return
        # What it took when it came: some grow meanwhile.
        self._held_bytes -= self._sizes.pop(key)
        keys = self._keys_of[_owner(key)]
        keys.discard(key)
        if not keys:
            del self._keys_of[_owner(key)]


def _owner(key: Hashable) -> Hashable:
    return key[0] if isinstance(key, tuple) else key
