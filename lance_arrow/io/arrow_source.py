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


def open_arrow(filesystem: arrow_fs.FileSystem, path: str, *, name: str, size_bytes: int | None = None) -> RangeSource:
    """Open a file of a pyarrow filesystem with the cheapest source for its bytes.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    size_bytes
        Size in bytes, if known from a listing.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        The file does not exist.
    """
    inner, path = unwrap_arrow(filesystem, path)
    if isinstance(inner, AbstractFileSystem):
        return open_fsspec(inner, path, name=name, size_bytes=size_bytes)
    if isinstance(inner, arrow_fs.LocalFileSystem):
        return LocalSource(path, name=name)
    return ArrowSource(inner, path, name=name)


class ArrowSource:
    """Ranges of one file of a pyarrow filesystem, read by a few threads (Arrow releases the GIL).

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    """

    @foreign_errors()
    def __init__(self, filesystem: arrow_fs.FileSystem, path: str, *, name: str) -> None:
        info = filesystem.get_file_info(path)
        if info.type == arrow_fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if info.type == arrow_fs.FileType.Directory:
            raise is_a_directory(name)
        self.name = name
        self.coalescing: Coalescing = THREADED_COALESCING
        self._filesystem = filesystem
        self._info = info
        self._file = filesystem.open_input_file(path)
        self._size = self._file.size()

    def size(self) -> int:
        """Return the size in bytes of the opened file."""
        return self._size

    def identity(self) -> Hashable | None:
        """Return filesystem, path, size and modification time; None if one of them is unknown."""
        if self._info.mtime_ns is None:
            return None
        try:
            state = pickle.dumps(self._filesystem)
        except (pickle.PicklingError, TypeError, AttributeError):
            # A handler written in Python may not be picklable.
            return None
        return hashlib.sha256(state).hexdigest(), self._info.path, self._size, self._info.mtime_ns

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
        answer = self._file.read_at(stop - start, start) if stop > start else b""
        if len(answer) != stop - start:
            raise truncated(self.name, start, stop, len(answer))
        return np.frombuffer(answer, np.uint8)
