"""A source over an object of a store of obstore: ranges of one read are requested together, by the store's own threads.

A file of unknown size is opened by one request for its end, whose answer has size, version and metadata. Ten ranges
are one call of obstore: its cost is that of the call, and of so many requests outside Python.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.obstore_errors import store_errors
from lance_arrow.io.obstore_stores import check_process, end_of, is_in_process, run
from lance_arrow.io.source import (
    LOCAL_COALESCING,
    THREADED_COALESCING,
    Bytes,
    Coalescing,
    Positions,
    check_ranges,
    is_a_directory,
    joined,
    truncated,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta

    from lance_arrow.io.obstore_filesystem import StoreFileSystem

# obstore makes this many requests of one call at a time.
_RANGES_PER_CALL = 10


class ObstoreSource:
    """Ranges of one object.

    Parameters
    ----------
    filesystem, path
        The object.
    name
        Printable name for messages.
    size_bytes
        Size in bytes, if it is known from a listing: no request is made before the first read.
    may_be_missing
        Whether a folder at this place may raise FileNotFoundError, too. This saves a request where there is no object.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError, OSError
        There is no such object, or the store refuses it. With `size_bytes`, the first read raises instead.
    """

    @foreign_errors()
    def __init__(
        self,
        filesystem: StoreFileSystem,
        path: str,
        *,
        name: str,
        size_bytes: int | None = None,
        may_be_missing: bool = False,
    ) -> None:
        self.name = name
        self._filesystem = filesystem
        self._path = path
        self._store, self._key = filesystem.placed(path)
        self.coalescing: Coalescing = LOCAL_COALESCING if is_in_process(self._store) else THREADED_COALESCING
        self._closed = False
        self._meta: ObjectMeta | None = None
        self._end: tuple[int, Bytes] | None = None
        self._size = self._opened(may_be_missing) if size_bytes is None else size_bytes

    def size(self) -> int:
        """Return the size in bytes: that of the answer when the source was opened, or the known one."""
        return self._size

    @property
    def kept_from(self) -> int | None:
        """Offset from which the bytes to the end of the object are in memory; None if none are."""
        kept = self._end
        return None if kept is None else kept[0]

    @foreign_errors()
    def identity(self) -> Hashable | None:
        """Return store, path, size, and ETag, version and time of change."""
        if self._meta is None:
            # Its end is read next: one request for both. What is known of the size may be older.
            self._size = self._opened(may_be_missing=False)
        meta = self._meta
        assert meta is not None
        return (
            self._filesystem.token,
            self._path,
            self._size,
            meta["e_tag"],
            meta["version"],
            str(meta["last_modified"]),
        )

    @foreign_errors()
    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Request the ranges together; see `RangeSource.read`."""
        if self._closed:
            raise InvalidArgumentError("the source is closed", path=self.name)
        sizes = check_ranges(starts, stops, size_bytes=self._size, name=self.name)
        empty = np.empty(0, np.uint8)
        empty.setflags(write=False)
        out = [empty] * len(starts)
        kept = self._end
        if kept is not None:
            first, end = kept
            for index in np.flatnonzero((starts >= first) & (sizes > 0)).tolist():
                out[index] = end[int(starts[index]) - first : int(stops[index]) - first]
            sizes = np.where(starts >= first, 0, sizes)
        wanted = np.flatnonzero(sizes)
        if len(wanted):
            places = starts[wanted].tolist(), stops[wanted].tolist()
            for index, start, stop, answer in zip(wanted.tolist(), *places, self._answers(*places), strict=True):
                view = np.frombuffer(answer, np.uint8)
                if len(view) != stop - start:
                    raise truncated(self.name, start, stop, len(view))
                view.setflags(write=False)
                out[index] = view
        return out

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read the ranges and join the responses; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def close(self) -> None:
        """Refuse further reads. No connection belongs to a source."""
        self._closed = True
        self._end = None

    def _opened(self, may_be_missing: bool) -> int:
        """Ask for the end of the object, and keep it; returns the size."""
        try:
            self._meta = self._ask_end()
        except FileNotFoundError:
            if not may_be_missing and self._filesystem.is_folder(self._path):
                raise is_a_directory(self.name) from None
            raise
        return int(self._meta["size"])

    def _ask_end(self) -> ObjectMeta:
        asked = self._filesystem.take_asked(self._path)
        try:
            with store_errors(self.name):
                meta, data = (
                    asked.result()
                    if asked is not None
                    else run(end_of(self._store, self._key, self.coalescing.tail_bytes))
                )
        except (FileNotFoundError, PermissionError):
            raise
        except OSError as error:
            # Empty objects have no last bytes, and some servers do not know ranges without a start.
            if not _is_of_range(error):
                raise
            return self._head()
        if data is not None:
            end = np.frombuffer(data, np.uint8)
            end.setflags(write=False)
            if len(end) <= meta["size"]:
                self._end = int(meta["size"]) - len(end), end
        return meta

    def _head(self) -> ObjectMeta:
        with store_errors(self.name):
            return run(self._store.head_async(self._key))

    def _answers(self, starts: list[int], stops: list[int]) -> list[Any]:
        try:
            with store_errors(self.name):
                return self._requested(starts, stops)
        except FileNotFoundError:
            if self._meta is None and self._filesystem.is_folder(self._path):
                raise is_a_directory(self.name) from None
            raise
        except OSError as error:
            # A range behind the end of an object has no error of its own.
            if _is_of_range(error) and (size := int(self._head()["size"])) < max(stops):
                raise truncated(self.name, size, max(stops), 0) from None
            raise

    def _requested(self, starts: list[int], stops: list[int]) -> list[Any]:
        # A call that waits in obstore cannot be interrupted, and costs half: signals go to the main thread.
        if len(starts) > 1 or threading.current_thread() is threading.main_thread():
            return run(self._asked(starts, stops))
        check_process()
        return [self._store.get_range(self._key, start=starts[0], end=stops[0])]

    async def _asked(self, starts: list[int], stops: list[int]) -> list[Any]:
        if len(starts) == 1:
            return [await self._store.get_range_async(self._key, start=starts[0], end=stops[0])]
        # Neighbours would be one request, however large: they go into different calls.
        has_neighbours = not set(starts).isdisjoint(stops)
        num_calls = max(-(-len(starts) // _RANGES_PER_CALL), 1 + has_neighbours)
        parts = await asyncio.gather(*[
            self._store.get_ranges_async(
                self._key, starts=starts[part::num_calls], ends=stops[part::num_calls], coalesce=0
            )
            for part in range(num_calls)
        ])  # fmt: skip
        out: list[Any] = [None] * len(starts)
        for part, answers in enumerate(parts):
            out[part::num_calls] = answers
        return out


def _is_of_range(error: OSError) -> bool:
    """Return whether a store refused a range as such; other errors were repeated by obstore already."""
    said = str(error.strerror).lower()
    return error.errno == errno.ENOTSUP or (error.errno == errno.EIO and ("range" in said or "partial" in said))
