"""A source over a file of any fsspec filesystem.

Three ways to the same bytes, chosen once per source:

* filesystems with ranges of their own (all asynchronous ones, memory, ...): one `cat_ranges` per read;
* filesystems that only inherit `cat_ranges` would open the file once per range, with a 5 MiB read-ahead each time
  (sftp, zip, ...): here the file is opened once per read, without cache, and visited front to back, so that a member of
  an archive is decompressed at most once per read;
* a filesystem that copies whole files to disk (``simplecache``, ``filecache``): the copy is read as a local file.
"""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO

import numpy as np
from fsspec import AbstractFileSystem
from fsspec.archive import AbstractArchiveFileSystem
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.cached import CachingFileSystem, WholeFileCacheFileSystem
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.utils import tokenize

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_source import LocalSource
from lance_arrow.io.source import (
    LOCAL_COALESCING,
    REMOTE_COALESCING,
    SERIAL_COALESCING,
    Bytes,
    Coalescing,
    Positions,
    RangeSource,
    check_ranges,
    is_a_directory,
    joined,
    truncated,
)

# What the filesystems call a fact about a file's content that changes when the content does.
_VERSION_FACTS = (
    "ETag", "etag", "e_tag", "version_id", "VersionId", "generation", "content_md5", "md5Hash", "md5", "crc32c", "CRC",
    "checksum", "LastModified", "last_modified", "mtime", "modified", "updated",
)  # fmt: skip

# What is kept of the end of a far file, which is read when the file is opened: metadata, zone maps, all of small files.
_MAX_TAIL_BYTES = 1 << 20

# These talk to a server over one connection, and lose answers, or wait forever, when two threads use it at a time.
_PROTOCOLS_OF_ONE_THREAD = frozenset({"ftp", "sftp", "ssh"})

# Members of an archive share one file position, also between sources: one reader at a time. Locks are entered again by
# the thread that has them: who opens a file looks it up.
_shared_locks = [threading.RLock() for _ in range(64)]
# A copy being made is visible under its final name: whoever comes second must wait for the first.
_copy_locks = [threading.Lock() for _ in range(64)]


def _renew_locks() -> None:
    """Forget locks that a thread of the parent process held when it forked."""
    _shared_locks[:] = [threading.RLock() for _ in _shared_locks]
    _copy_locks[:] = [threading.Lock() for _ in _copy_locks]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def unwrap(filesystem: AbstractFileSystem, path: str) -> tuple[AbstractFileSystem, str]:
    """Take off wrappers that only change the path or the way of calling, down to the filesystem that has the bytes."""
    while True:
        if isinstance(filesystem, DirFileSystem):
            path = filesystem._join(filesystem._strip_protocol(path))
            filesystem = filesystem.fs
        elif isinstance(filesystem, AsyncFileSystemWrapper):
            filesystem = filesystem.sync_fs
        else:
            return filesystem, filesystem._strip_protocol(path)


def open_fsspec(filesystem: AbstractFileSystem, path: str, *, name: str, size_bytes: int | None = None) -> RangeSource:
    """Open a file of an fsspec filesystem with the cheapest source for its bytes.

    Parameters
    ----------
    filesystem, path
        Where; the path may carry the filesystem's own protocol.
    name
        What to print.
    size_bytes
        Size, when it is known from a listing: saves one request.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        Unless `size_bytes` is given, in which case the first read finds out.
    """
    filesystem, path = unwrap(filesystem, path)
    if type(filesystem) is LocalFileSystem:
        return LocalSource(path, name=name)
    if isinstance(filesystem, WholeFileCacheFileSystem):
        return LocalSource(_local_copy(filesystem, path), name=name)
    source = FsspecSource(filesystem, path, name=name, size_bytes=size_bytes)
    source.size()
    return source


def _local_copy(filesystem: WholeFileCacheFileSystem, path: str) -> str:
    """Return the path of the copy on disk, made now if there is none."""
    if filesystem.isdir(path):
        raise is_a_directory(path)
    with _copy_locks[hash(path) % len(_copy_locks)], filesystem.open(path, "rb") as copy:
        return str(copy.name)


class FsspecSource:
    """Ranges of one file of an fsspec filesystem.

    Parameters
    ----------
    filesystem, path
        Where; `open_fsspec` unwraps and chooses better sources where they exist.
    name
        What to print.
    size_bytes
        Size, when it is known.
    """

    def __init__(self, filesystem: AbstractFileSystem, path: str, *, name: str, size_bytes: int | None = None) -> None:
        self.name = name
        self._filesystem = filesystem
        self._path = path
        self._size = size_bytes
        self._info: dict[str, Any] | None = None
        self._closed = False
        in_memory = isinstance(filesystem, MemoryFileSystem | AbstractArchiveFileSystem)
        self._has_ranges = has_ranges(filesystem)
        far = REMOTE_COALESCING if self._has_ranges else SERIAL_COALESCING
        self.coalescing: Coalescing = LOCAL_COALESCING if in_memory else far
        self._tail: tuple[int, Bytes] | None = None

    @foreign_errors()
    def size(self) -> int:
        """Return the size in bytes, asked for once.

        Raises
        ------
        FileNotFoundError, IsADirectoryError
            There is no such file.
        UnsupportedError
            The filesystem does not know the size.
        """
        if self._size is None:
            info = self._file_info()
            if info.get("type") == "directory":
                raise is_a_directory(self.name)
            if info.get("size") is None:
                raise UnsupportedError("the filesystem does not tell the size of the file", path=self.name)
            self._size = int(info["size"])
        return self._size

    @property
    def kept_from(self) -> int | None:
        """Where that part of the file begins which needs no further request; None when nothing is kept."""
        kept = self._tail
        return None if kept is None else kept[0]

    @foreign_errors()
    def identity(self) -> Hashable | None:
        """Return filesystem, path, size and every fact about the version; None where the filesystem tells none."""
        info = self._file_info()
        facts = [(key, str(info[key])) for key in _VERSION_FACTS if info.get(key) is not None]
        if isinstance(self._filesystem, MemoryFileSystem):
            facts.append(("modified", str(self._filesystem.modified(self._path))))
        if not facts:
            return None
        filesystem = self._filesystem
        token = tokenize(type(filesystem).__qualname__, filesystem.storage_args, filesystem.storage_options)
        return token, self._path, self.size(), tuple(facts)

    @foreign_errors()
    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Fetch the ranges; exceptions of the filesystem keep their type. See `RangeSource.read`."""
        if self._closed:
            raise InvalidArgumentError("the source is closed", path=self.name)
        sizes = check_ranges(starts, stops, size_bytes=self.size(), name=self.name)
        empty = np.empty(0, np.uint8)
        empty.setflags(write=False)
        out = [empty] * len(starts)
        kept = self._tail
        if kept is not None:
            tail_start, tail = kept
            for index in np.flatnonzero((starts >= tail_start) & (sizes > 0)).tolist():
                out[index] = tail[int(starts[index]) - tail_start : int(stops[index]) - tail_start]
            sizes = np.where(starts >= tail_start, 0, sizes)
        # Some stores refuse an empty range, others take it for the whole file.
        wanted = np.flatnonzero(sizes)
        places = list(zip(starts[wanted].tolist(), stops[wanted].tolist(), strict=True))
        answers = self._cat(places) if self._has_ranges else self._visit(places)
        for index, (start, stop), answer in zip(wanted.tolist(), places, answers, strict=True):
            out[index] = self._checked(answer, start, stop)
            if stop == self._size and stop - start <= _MAX_TAIL_BYTES and self.coalescing.is_far:
                self._tail = start, out[index]
        return out

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read the ranges and lay the answers side by side; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def close(self) -> None:
        """Refuse further reads; nothing is held open between them."""
        self._closed = True
        self._tail = None

    @foreign_errors()
    def _file_info(self) -> dict[str, Any]:
        if self._info is None:
            with self._exclusively():
                try:
                    self._info = self._filesystem.info(self._path)
                except FileNotFoundError:
                    # A listing that the filesystem keeps may be older than the file.
                    folder = posixpath.dirname(self._path)
                    if folder not in self._filesystem.dircache:
                        raise
                    self._filesystem.invalidate_cache(folder)
                    self._info = self._filesystem.info(self._path)
        return self._info

    def _cat(self, places: list[tuple[int, int]]) -> Iterable[object]:
        if not places:
            return []
        starts, stops = (list(side) for side in zip(*places, strict=True))
        return self._filesystem.cat_ranges([self._path] * len(places), starts, stops, on_error="raise")

    def _visit(self, places: list[tuple[int, int]]) -> Iterable[object]:
        answers = [b""] * len(places)
        if places:
            with self._exclusively(), self._filesystem.open(self._path, "rb", cache_type="none") as file:
                for index in sorted(range(len(places)), key=places.__getitem__):
                    answers[index] = _read_at(file, *places[index])
        return answers

    def _exclusively(self) -> AbstractContextManager[object]:
        if isinstance(self._filesystem, AbstractArchiveFileSystem) or _is_of_one_thread(self._filesystem):
            return _shared_locks[hash(self._filesystem) % len(_shared_locks)]
        return nullcontext()

    def _checked(self, answer: object, start: int, stop: int) -> Bytes:
        if isinstance(answer, BaseException):
            # The default of cat_ranges, and of filesystems that know no on_error: exceptions in place of bytes.
            raise answer
        if not isinstance(answer, bytes | bytearray | memoryview):
            raise UnsupportedError(
                f"the filesystem answered a range with {type(answer).__name__}, not bytes", path=self.name
            )
        if len(answer) < stop - start:
            raise truncated(self.name, start, stop, len(answer))
        if len(answer) > stop - start:
            raise UnsupportedError(
                f"wanted {stop - start} bytes, received {len(answer)}: the filesystem does not honour byte ranges",
                path=self.name,
                byte_range=(start, stop),
            )
        view = np.frombuffer(answer, np.uint8)
        view.setflags(write=False)
        return view


def _is_of_one_thread(filesystem: AbstractFileSystem) -> bool:
    protocols = (filesystem.protocol,) if isinstance(filesystem.protocol, str) else filesystem.protocol
    return not _PROTOCOLS_OF_ONE_THREAD.isdisjoint(protocols)


def has_ranges(filesystem: AbstractFileSystem) -> bool:
    """Tell whether ranges are this filesystem's own, rather than inherited ones that open the file each time."""
    # A block cache opens its target without read-ahead by itself, and refuses to be told so twice.
    if isinstance(filesystem, AsyncFileSystem | CachingFileSystem):
        return True
    if _is_of_one_thread(filesystem):
        return False
    kind = type(filesystem)
    return kind.cat_ranges is not AbstractFileSystem.cat_ranges or kind.cat_file is not AbstractFileSystem.cat_file


def _read_at(file: BinaryIO, start: int, stop: int) -> bytes:
    """Read exactly, or up to the end of the file."""
    file.seek(start)
    first = file.read(stop - start)
    if len(first) == stop - start or not first:
        return first
    parts = [first]
    missing = stop - start - len(first)
    while missing and (part := file.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
