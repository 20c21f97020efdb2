"""`IndexCache`: chunk tables and row indices kept between reads, least recently used, under a byte budget."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from threading import Lock
from typing import Protocol, runtime_checkable

from lance_arrow.settings import Limits
from lance_arrow.spi.layouts import PageIndex

_MANY = 64
"""So many indices are kept together."""


@runtime_checkable
class View(PageIndex, Protocol):
    """Refers to other indices of a file, which are used through it."""

    def take_used(self) -> bool:
        """Tell whether it was used since the last call."""


class IndexCache:
    """Page indices by (file token, column, page); shared by threads. Indices of closed files are removed.

    Parameters
    ----------
    budget_bytes
        Largest sum of `PageIndex.nbytes`; a single larger index is not kept.
    proven_within
        Limits for pages by which row indices are verified before they are used and kept; None: they are not.
    """

    def __init__(self, budget_bytes: int, proven_within: Limits | None = None) -> None:
        self.budget_bytes = budget_bytes
        self.proven_within = proven_within
        self.proves_rows = proven_within is not None
        self._held_bytes = 0
        self._held: OrderedDict[Hashable, PageIndex] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}
        self._keys_of: dict[Hashable, set[Hashable]] = {}
        self._views_of: dict[Hashable, set[Hashable]] = {}
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
            held, sizes, budget_bytes = self._held, self._sizes, self.budget_bytes
            if len(indices) >= _MANY and self._keep_many(indices):
                return
            for key, index in indices:
                size = index.nbytes
                if key in held:
                    self._drop(key, same=held[key] is index)
                if size > budget_bytes:
                    continue
                held[key] = index
                sizes[key] = size
                owner = _owner(key)
                if owner not in self._keys_of:
                    self._keys_of[owner] = set()
                self._keys_of[owner].add(key)
                self._held_bytes += size
                while self._held_bytes > budget_bytes:
                    self._evict(next(iter(held)))

    def _keep_many(self, indices: Sequence[tuple[Hashable, PageIndex]]) -> bool:
        """Keep new indices of one file that fit beside the others; False, and nothing is kept, where they do not."""
        keys = [key for key, _ in indices]
        added = dict(zip(keys, [index.nbytes for _, index in indices], strict=True))
        owners = set(map(_owner, keys))
        num_bytes = sum(added.values())
        fits = self._held_bytes + num_bytes <= self.budget_bytes
        if not fits or len(owners) > 1 or len(added) < len(keys) or not self._held.keys().isdisjoint(added):
            return False
        self._held.update(indices)
        self._sizes.update(added)
        self._keys_of.setdefault(owners.pop(), set()).update(keys)
        self._held_bytes += num_bytes
        return True

    def put_view(self, key: Hashable, view: View) -> None:
        """Keep what refers to other indices of the same file; it is dropped with any of them."""
        self.put_many([(key, view)])
        with self._lock:
            if self._held.get(key) is view:
                self._views_of.setdefault(_owner(key), set()).add(key)

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
            owner = self._forgotten.popleft()
            self._views_of.pop(owner, None)
            keys = self._keys_of.pop(owner, ())
            self._held_bytes -= sum(map(self._sizes.pop, keys))
            # Without a step of Python for each of thousands of pages.
            deque(map(self._held.pop, keys), maxlen=0)

    def _evict(self, key: Hashable) -> None:
        """Drop the index that was not used for longest, or find that a view used it."""
        views = [self._held[one] for one in self._views_of.get(_owner(key), ())]
        # Each is asked, so that none tells of the same uses again.
        if any([view.take_used() for view in views if isinstance(view, View)]):
            for one in self._keys_of[_owner(key)]:
                self._held.move_to_end(one)
        else:
            self._drop(key)

    def _drop(self, key: Hashable, *, same: bool = False) -> None:
        """Drop an index, and the views of its file unless the `same` index comes back."""
        if self._held.pop(key, None) is None:
            return
        # Subtract the size at `put`: some indices have grown since.
        self._held_bytes -= self._sizes.pop(key)
        owner = _owner(key)
        keys = self._keys_of[owner]
        keys.discard(key)
        if not keys:
            del self._keys_of[owner]
        if not same:
            views = self._views_of.get(owner, set())
            views.discard(key)
            for view in self._views_of.pop(owner, ()):
                self._drop(view)


def _owner(key: Hashable) -> Hashable:
    return key[0] if isinstance(key, tuple) else key
