"""A source over an object of a store of obstore: ranges of one read are requested together, by the store's own threads.

A file of unknown size is opened by one request for its end, whose answer has size, version and metadata. Ten ranges
are one call of obstore: its cost is that of the call, and of so many requests outside Python.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lance_arrow.errors import FileChangedError, InvalidArgumentError, StoreError
from lance_arrow.io.checked_ranges import changed
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.obstore_errors import store_errors, translated
from lance_arrow.io.obstore_stores import end_of, run, version_of, version_range
from lance_arrow.io.patience import Patience, attempted
from lance_arrow.io.patience import patience as usual_patience
from lance_arrow.io.source import (
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

_Answer = TypeVar("_Answer")
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
    is_immutable
        Whether the object never changes, so that answers need not be compared with its version.
    patience
        As for `open_source`.

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
        is_immutable: bool = False,
        patience: Patience | None = None,
    ) -> None:
        self.name = name
        self._patience = patience or usual_patience()
        self._is_compared = not is_immutable
        self._filesystem = filesystem
        self._path = path
        self._store, self._key = filesystem.placed(path)
        self.coalescing: Coalescing = filesystem.coalescing
        self._closed = False
        self._meta: ObjectMeta | None = None
        self._version: tuple[object, ...] | None = None
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
            places = list(zip(starts[wanted].tolist(), stops[wanted].tolist(), strict=True))
            for index, answer in zip(wanted.tolist(), self._answers(places), strict=True):
                out[index] = answer
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
        begun: list[Future[Any] | None] = [asked]
        places: list[tuple[int, int]] = []

        def ask(seconds: float) -> tuple[ObjectMeta, Any]:
            with store_errors(self.name):
                first, begun[0] = begun[0], None
                if first is not None:
                    return first.result(seconds)
                since = time.perf_counter()
                meta, data = run(end_of(self._store, self._key, self.coalescing.tail_bytes, places), seconds)
                self._filesystem.meter.saw(len(data or b""), time.perf_counter() - since)
                return meta, data

        try:
            meta, data = self._attempted(ask, lambda: places[-1] if places else None)
        except (FileNotFoundError, PermissionError, TimeoutError):
            raise
        except OSError as error:
            # Empty objects have no last bytes, and some servers do not know ranges without a start.
            if not _is_of_range(error):
                raise
            meta, data = self._head(), None
        if data is not None:
            end = np.frombuffer(data, np.uint8)
            end.setflags(write=False)
            if len(end) <= meta["size"]:
                self._end = int(meta["size"]) - len(end), end
        self._version = version_of(meta)
        return meta

    def _head(self) -> ObjectMeta:
        def ask(seconds: float) -> ObjectMeta:
            with store_errors(self.name):
                return run(self._store.head_async(self._key), seconds)

        return self._attempted(ask)

    def _attempted(
        self,
        work: Callable[[float], _Answer],
        place: Callable[[], tuple[int, int] | None] | None = None,
        num_bytes: int = 0,
    ) -> _Answer:
        return attempted(
            work, name=self.name, patience=self._patience, place=place, num_bytes=num_bytes, is_repeated=True
        )

    def _answers(self, places: list[tuple[int, int]]) -> list[Bytes]:
        """Ask for ranges, and again for those whose answer is missing or wrong; returns what is right."""
        found: list[Bytes | None] = [None] * len(places)
        failed_at = places[:1]

        def ask(seconds: float) -> list[Bytes]:
            missing = [number for number, one in enumerate(found) if one is None]
            begun = time.perf_counter()
            with store_errors(self.name):
                answers = run(self._asked([places[number] for number in missing]), seconds)
            largest = max(places[number][1] - places[number][0] for number in missing)
            if not any(isinstance(one, BaseException) for one in answers):
                self._filesystem.meter.saw(largest, time.perf_counter() - begun, len(missing))
            failed: BaseException | None = None
            for number, answer in zip(missing, answers, strict=True):
                start, stop = places[number]
                wrong = answer if isinstance(answer, BaseException) else None
                if wrong is None:
                    view = np.frombuffer(answer, np.uint8)
                    view.setflags(write=False)
                    found[number] = view if len(view) == stop - start else None
                    wrong = None if len(view) == stop - start else truncated(self.name, start, stop, len(view))
                if wrong is not None and not isinstance(failed, FileChangedError):
                    failed, failed_at[0] = wrong, (start, stop)
            if failed is not None:
                raise translated(failed, self.name)
            return [one for one in found if one is not None]

        try:
            return self._attempted(ask, lambda: failed_at[0], sum(stop - start for start, stop in places))
        except FileNotFoundError:
            if self._meta is None and self._filesystem.is_folder(self._path):
                raise is_a_directory(self.name) from None
            raise
        except OSError as error:
            # A range behind the end of an object has no error of its own.
            last = max(stop for _, stop in places)
            if _is_of_range(error) and (size := int(self._head()["size"])) < last:
                raise truncated(self.name, size, last, 0) from None
            raise

    async def _asked(self, places: list[tuple[int, int]]) -> list[Any]:
        """Return answers by their range, or the exceptions in their place; that of a single range is raised."""
        if self._is_compared:
            return await asyncio.gather(
                *[self._compared(start, stop) for start, stop in places], return_exceptions=True
            )
        if len(places) == 1:
            start, stop = places[0]
            return [await self._store.get_range_async(self._key, start=start, end=stop)]
        starts, stops = ([place[side] for place in places] for side in (0, 1))
        # Neighbours would be one request, however large: they go into different calls.
        has_neighbours = not set(starts).isdisjoint(stops)
        num_calls = max(-(-len(starts) // _RANGES_PER_CALL), 1 + has_neighbours)
        parts = await asyncio.gather(
            *[
                self._store.get_ranges_async(
                    self._key, starts=starts[part::num_calls], ends=stops[part::num_calls], coalesce=0
                )
                for part in range(num_calls)
            ],
            return_exceptions=True,
        )
        out: list[Any] = [None] * len(places)
        for part, answers in enumerate(parts):
            size = len(out[part::num_calls])
            out[part::num_calls] = [answers] * size if isinstance(answers, BaseException) else answers
        return out

    async def _compared(self, start: int, stop: int) -> Any:
        """Return a range of the version that was opened.

        Raises
        ------
        FileChangedError
            The object has another version, or was replaced by a shorter one.
        """
        meta, data = await version_range(self._store, self._key, start, stop)
        found = version_of(meta)
        if self._version is None:
            # The first answer of an object whose size was known.
            self._version = found
        if found != self._version or meta["size"] != self._size:
            raise changed(
                self.name, f"version {self._version[0]}, {self._size} bytes", f"{found[0]}, {meta['size']} bytes"
            )
        return data


def _is_of_range(error: OSError) -> bool:
    """Return whether a store refused a range as such; other errors were repeated by obstore already."""
    said = (error.message if isinstance(error, StoreError) else str(error.strerror)).lower()
    return error.errno == errno.ENOTSUP or (isinstance(error, StoreError) and ("range" in said or "partial" in said))
