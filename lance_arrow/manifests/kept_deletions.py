"""`KeptDeletions`: deleted rows of fragments in stores, for the versions that have them as well."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from lance_arrow.io import AnyFileSystem, Location

if TYPE_CHECKING:
    # Files that are no tables are read without these.
    from lance_arrow.manifests.deletions import DeletionVector
    from lance_arrow.manifests.fragments import DeletionFileMeta

_MOST_ROWS = 1 << 19
"""Eight bytes each. A longer list is read again by each version."""
_MOST_FILES = 4096


class KeptDeletions:
    """Deleted rows by the places of their files, least recently used out first; threads share it.

    A file of deleted rows never changes: its name has a random number of 64 bits. Local ones are not kept: they are
    read in microseconds.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[int, str], tuple[AnyFileSystem, DeletionVector]] = OrderedDict()
        self._num_rows = 0
        self._lock = Lock()

    def find(self, place: Location, meta: DeletionFileMeta, num_rows: int) -> DeletionVector | None:
        """Return the deleted rows of a fragment of `num_rows`, if they are what the manifest says; None if not kept."""
        if place.is_local:
            return None
        key = id(place.given), place.path
        with self._lock:
            _, found = self._held.get(key, (None, None))
            if found is None or found.num_rows != num_rows or meta.num_deleted_rows not in (None, len(found.offsets)):
                return None
            self._held.move_to_end(key)
        return found

    def keep(self, place: Location, vector: DeletionVector) -> None:
        """Keep the deleted rows of a fragment, which were read from a file, or written to it."""
        # What is held holds its filesystem, so that no other one has its number.
        filesystem = place.given
        if place.is_local or filesystem is None or len(vector.offsets) > _MOST_ROWS:
            return
        with self._lock:
            self._drop((id(filesystem), place.path))
            self._held[id(filesystem), place.path] = filesystem, vector
            self._num_rows += len(vector.offsets)
            while self._num_rows > _MOST_ROWS or len(self._held) > _MOST_FILES:
                self._drop(next(iter(self._held)))

    def _drop(self, key: tuple[int, str]) -> None:
        _, vector = self._held.pop(key, (None, None))
        if vector is not None:
            self._num_rows -= len(vector.offsets)
