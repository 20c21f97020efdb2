"""A source over a file of any pyarrow filesystem."""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from fsspec import AbstractFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.fsspec_source import open_fsspec
from lance_arrow.io.local_source import LocalSource
from lance_arrow.io.sized_open import sized_open
from lance_arrow.io.source import (
    THREADED_COALESCING,
    Bytes,
    Coalescing,
    Positions,
    RangeSource,
    check_ranges,
    is_a_directory,
    joined,
    truncated,
)

# Names, in lower case, that stores use for facts which change when the content of a file changes.
_VERSION_FACTS = frozenset({"etag", "last-modified", "generation", "updated", "versionid", "x-amz-version-id"})


def unwrap_arrow(filesystem: arrow_fs.FileSystem, path: str) -> tuple[arrow_fs.FileSystem | AbstractFileSystem, str]:
    """Remove wrappers, down to the filesystem that has the bytes.

    fsspec filesystems in a `PyFileSystem` are returned: Arrow would read their files through a 5 MiB read-ahead cache.
    """
    while True:
        if isinstance(filesystem, arrow_fs.SubTreeFileSystem):
            path = filesystem.base_path.rstrip("/") + "/" + path.lstrip("/")
            filesystem = filesystem.base_fs
        elif isinstance(filesystem, arrow_fs.PyFileSystem) and isinstance(filesystem.handler, arrow_fs.FSSpecHandler):
            return filesystem.handler.fs, path
        else:
            return filesystem, path


def open_arrow(
    filesystem: arrow_fs.FileSystem,
    path: str,
    *,
    name: str,
    size_bytes: int | None = None,
    may_be_missing: bool = False,
) -> RangeSource:
    """Open a file of a pyarrow filesystem with the cheapest source for its bytes.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    size_bytes
        Size in bytes, if known from a listing: saves one request of a far file.
    may_be_missing
        As for `open_source`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        The file does not exist. With `size_bytes`, the first read may raise instead.
    """
    inner, path = unwrap_arrow(filesystem, path)
    if isinstance(inner, AbstractFileSystem):
        return open_fsspec(inner, path, name=name, size_bytes=size_bytes, may_be_missing=may_be_missing)
    if isinstance(inner, arrow_fs.LocalFileSystem):
        return LocalSource(path, name=name)
    return ArrowSource(inner, path, name=name, size_bytes=size_bytes, may_be_missing=may_be_missing)


class ArrowSource:
    """Ranges of one file of a pyarrow filesystem, read by a few threads (Arrow releases the GIL).

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    size_bytes
        Size in bytes, if it is known: saves one request. The first read raises what opening raises otherwise.
    may_be_missing
        As for `open_source`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        There is no such file.
    """

    @foreign_errors()
    def __init__(
        self,
        filesystem: arrow_fs.FileSystem,
        path: str,
        *,
        name: str,
        size_bytes: int | None = None,
        may_be_missing: bool = False,
    ) -> None:
        self.name = name
        self.coalescing: Coalescing = THREADED_COALESCING
        self._filesystem = filesystem
        self._path = path
        if isinstance(filesystem, arrow_fs.PyFileSystem):
            # Handlers in Python may open any path.
            self._check(0)
        try:
            opened = None if size_bytes is None else sized_open(filesystem, path, size_bytes)
            # Whether the store has said that there is such a file.
            self._is_checked = opened is None
            self._file = filesystem.open_input_file(path) if opened is None else opened
        except OSError as error:
            if not (may_be_missing and isinstance(error, FileNotFoundError)):
                self._check(0)
            raise
        self._size = self._file.size()

    def size(self) -> int:
        """Return the size in bytes of the opened file."""
        return self._size

    @foreign_errors()
    def identity(self) -> Hashable | None:
        """Return filesystem, path, size and all facts about the version; None if the filesystem has no such facts."""
        told = self._file.metadata()
        facts: Hashable = tuple((key, told[key]) for key in sorted(told) if key.lower() in _VERSION_FACTS)
        if not facts:
            facts = self._filesystem.get_file_info(self._path).mtime_ns
        if facts is None:
            return None
        try:
            state = pickle.dumps(self._filesystem)
        except (pickle.PicklingError, TypeError, AttributeError):
            # A handler written in Python may not be picklable.
            return None
        return hashlib.sha256(state).hexdigest(), self._path, self._size, facts

    @foreign_errors()
    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range at its position; see `RangeSource.read`."""
        if self._file.closed:
            raise InvalidArgumentError("the source is closed", path=self.name)
        check_ranges(starts, stops, size_bytes=self._size, name=self.name)
        places = list(zip(starts.tolist(), stops.tolist(), strict=True))
        if len(places) <= 1:
            return [self._read_at(place) for place in places]
        # Threads of this call only: a pool that lives longer would not survive a fork.
        with ThreadPoolExecutor(min(self.coalescing.requests_in_flight, len(places))) as pool:
            return list(pool.map(self._read_at, places))

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read the ranges and join the responses; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read_at(self, place: tuple[int, int]) -> Bytes:
        start, stop = place
        try:
            answer = self._file.read_at(stop - start, start) if stop > start else b""
        except OSError:
            if not self._is_checked:
                self._check(self._size)
            raise
        if len(answer) != stop - start:
            raise truncated(self.name, start, stop, len(answer))
        return np.frombuffer(answer, np.uint8)

    def _check(self, size_bytes: int) -> None:
        """Raise if the path is no file of at least this size: a better reason than that of a failed request."""
        info = self._filesystem.get_file_info(self._path)
        if info.type == arrow_fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        if info.type == arrow_fs.FileType.Directory:
            raise is_a_directory(self.name)
        if info.size is not None and info.size < size_bytes:
            raise truncated(self.name, info.size, size_bytes, 0)
