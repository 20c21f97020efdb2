"""`KnownTails`: what was read of the metadata of files, by the bytes of their ends that hold it.

The end of a file is read each time the file is opened, and checked. If it has the bytes that it had before, columns are
not parsed again. Nothing here refers to an open file, and no time of change is relied on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from lance_arrow.io import Bytes

if TYPE_CHECKING:
    from lance_arrow.container.columns import ColumnMeta

T = TypeVar("T")

_MOST_FILES = 64


class KnownTail:
    """What is known of one file.

    Parameters
    ----------
    tail
        The last bytes of the file; all metadata lies in them.

    Attributes
    ----------
    columns
        Metadata of columns whose pages were checked.
    """

    __slots__ = ("_derived", "columns", "tail")

    def __init__(self, tail: bytes) -> None:
        self.tail = tail
        self.columns: dict[int, ColumnMeta] = {}
        self._derived: dict[str, Any] = {}

    def derived(self, what: str, make: Callable[[], T]) -> T:
        """Return a cache of what follows from the metadata alone, made at its first use."""
        found: T | None = self._derived.get(what)
        # Two threads may make one each.
        return self._derived.setdefault(what, make()) if found is None else found


class KnownTails:
    """The files that were opened last; a runtime has one."""

    MOST_COLUMNS = 256
    """Columns of a file that is kept: each takes up to 4 KiB."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], KnownTail] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def tail_bytes(self, name: str, verify: str) -> int | None:
        """Return how many of the last bytes of a file are needed, as far as is known; arguments are those of `of`."""
        held = self._held.get((name, verify))
        return None if held is None else len(held.tail)

    def of(self, name: str, verify: str, tail: Bytes) -> KnownTail:
        """Return what is known of a file with these last bytes.

        Parameters
        ----------
        name
            Name of the file.
        verify
            Which checksums are compared when it is read.
        tail
            Its last bytes; all metadata lies in them.
        """
        key, end = (name, verify), tail.tobytes()
        with self._lock:
            held = self._held.get(key)
            if held is None or held.tail != end:
                held = self._held[key] = KnownTail(end)
                if len(self._held) > _MOST_FILES:
                    self._held.popitem(last=False)
            self._held.move_to_end(key)
            return held
