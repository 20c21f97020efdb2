"""A source over a file of any fsspec filesystem.

Bytes are read in one of three ways, chosen once per source:

* A filesystem that implements ranges (all asynchronous ones, memory, ...): one `cat_ranges` per read.
* A filesystem that only inherits `cat_ranges` (sftp, zip, ...). The inherited method would open the file for each
  range, with a read-ahead of 5 MiB. Here the file is opened once per read, without cache, and read from front to back.
  A member of an archive is then decompressed at most once per read.
* A filesystem that copies whole files to disk (``simplecache``, ``filecache``): the copy is read as a local file.
"""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from fsspec import AbstractFileSystem
from fsspec.archive import AbstractArchiveFileSystem
from fsspec.asyn import AsyncFileSystem, sync
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.cached import CachingFileSystem, WholeFileCacheFileSystem
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.utils import tokenize

from lance_arrow.errors import InvalidArgumentError, StoreError, TruncatedReadError, UnsupportedError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_source import LocalSource
from lance_arrow.io.location import is_of_obstore
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
from lance_arrow.late_names import late_module

if TYPE_CHECKING:
    from lance_arrow.io import checked_ranges, store_calls
    from lance_arrow.io import patience as patiences
else:
    # Writers import this module, and make no reads.
    checked_ranges = late_module("lance_arrow.io.checked_ranges")
    patiences = late_module("lance_arrow.io.patience")
    store_calls = late_module("lance_arrow.io.store_calls")

# Names that filesystems use for facts which change when the content of a file changes.
_VERSION_FACTS = (
    "ETag", "etag", "e_tag", "version_id", "VersionId", "generation", "content_md5", "md5Hash", "md5", "crc32c", "CRC",
    "checksum", "LastModified", "last_modified", "mtime", "modified", "updated",
)  # fmt: skip

# Most bytes kept from the end of a far file, which is read at opening: metadata, zone maps, all of a small file.
_MAX_TAIL_BYTES = 1 << 20

# These use one connection to a server. If two threads use it at a time, answers are lost or a thread waits forever.
_PROTOCOLS_OF_ONE_THREAD = frozenset({"ftp", "sftp", "ssh"})

# Members of an archive share one file position, also between sources: one reader at a time. The locks are reentrant,
# because opening a file asks for its facts.
_shared_locks = [threading.RLock() for _ in range(64)]
# A copy has its final name while it is made: a second thread must wait for the first.
_copy_locks = [threading.Lock() for _ in range(64)]


def _renew_locks() -> None:
    """Forget locks that a thread of the parent process held when it forked."""
    _shared_locks[:] = [threading.RLock() for _ in _shared_locks]
    _copy_locks[:] = [threading.Lock() for _ in _copy_locks]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def unwrap(filesystem: AbstractFileSystem, path: str) -> tuple[AbstractFileSystem, str]:
    """Return the filesystem below wrappers that only change the path or make calls asynchronous, and its path."""
    while True:
        if isinstance(filesystem, DirFileSystem):
            path = filesystem._join(filesystem._strip_protocol(path))
            filesystem = filesystem.fs
        elif isinstance(filesystem, AsyncFileSystemWrapper):
            filesystem = filesystem.sync_fs
        else:
            return filesystem, filesystem._strip_protocol(path)


def open_fsspec(
    filesystem: AbstractFileSystem,
    path: str,
    *,
    name: str,
    size_bytes: int | None = None,
    may_be_missing: bool = False,
    is_immutable: bool = False,
    patience: patiences.Patience | None = None,
) -> RangeSource:
    """Open a file of an fsspec filesystem with the cheapest source for its bytes.

    Parameters
    ----------
    filesystem, path
        The file; the path may begin with the filesystem's protocol.
    name
        Printable name for messages.
    size_bytes
        Size in bytes, if it is known from a listing: saves one request.
    may_be_missing, is_immutable, patience
        As for `open_source`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        There is no such file. With `size_bytes`, the first read raises instead.
    """
    filesystem, path = unwrap(filesystem, path)
    if type(filesystem) is LocalFileSystem:
        return LocalSource(path, name=name)
    if isinstance(filesystem, WholeFileCacheFileSystem):
        return LocalSource(_local_copy(filesystem, path), name=name)
    if is_of_obstore(filesystem):
        from lance_arrow.io.obstore_source import ObstoreSource  # noqa: PLC0415 - it imports obstore

        return ObstoreSource(
            filesystem,
            path,
            name=name,
            size_bytes=size_bytes,
            may_be_missing=may_be_missing,
            is_immutable=is_immutable,
            patience=patience,
        )
    source = FsspecSource(filesystem, path, name=name, size_bytes=size_bytes, patience=patience)
    source.size()
    return source


def _local_copy(filesystem: WholeFileCacheFileSystem, path: str) -> str:
    """Return the path of the copy on disk; it is made if it does not exist."""
    if filesystem.isdir(path):
        raise is_a_directory(path)
    with _copy_locks[hash(path) % len(_copy_locks)], filesystem.open(path, "rb") as copy:
        return str(copy.name)


class FsspecSource:
    """Ranges of one file of an fsspec filesystem.

    Parameters
    ----------
    filesystem, path
        The file; `open_fsspec` removes wrappers, and chooses better sources for local files.
    name
        Printable name for messages.
    size_bytes
        Size in bytes, if it is known.
    patience
        As for `open_source`.
    """

    def __init__(
        self,
        filesystem: AbstractFileSystem,
        path: str,
        *,
        name: str,
        size_bytes: int | None = None,
        patience: patiences.Patience | None = None,
    ) -> None:
        self.name = name
        self._patience = patience or patiences.patience()
        self._version: str | None = None
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
        """Return the size in bytes; the filesystem is asked once.

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
        """Offset from which the bytes to the end of the file are kept in memory; None if none are kept."""
        kept = self._tail
        return None if kept is None else kept[0]

    @foreign_errors()
    def identity(self) -> Hashable | None:
        """Return filesystem, path, size and all facts about the version; None if the filesystem has no such facts."""
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
        for index, (start, stop), answer in zip(wanted.tolist(), places, self._answers(places), strict=True):
            out[index] = answer
            if stop == self._size and stop - start <= _MAX_TAIL_BYTES and self.coalescing.is_far:
                self._tail = start, out[index]
        return out

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read the ranges into one buffer; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def close(self) -> None:
        """Refuse further reads. No file is held open between reads."""
        self._closed = True
        self._tail = None

    @foreign_errors()
    def _file_info(self) -> dict[str, Any]:
        if self._info is None:
            if isinstance(self._filesystem, AsyncFileSystem):
                self._info = patiences.attempted(
                    self._asked_info,
                    name=self.name,
                    patience=self._patience,
                    is_repeated=patiences.repeats_requests(self._filesystem),
                )
            else:
                self._info = self._asked_info(0.0)
        return self._info

    def _asked_info(self, seconds: float) -> dict[str, Any]:
        info: dict[str, Any]
        with self._exclusively():
            try:
                info = store_calls.call_within(self._filesystem, "info", seconds, self._path)
            except FileNotFoundError as error:
                from lance_arrow.io.http_answers import answer_of  # noqa: PLC0415 - for what is missing

                answer = answer_of(error, self.name)
                if answer is not None:
                    raise answer from None
                # A cached listing may be older than the file.
                folder = posixpath.dirname(self._path)
                if folder not in self._filesystem.dircache:
                    raise
                self._filesystem.invalidate_cache(folder)
                info = store_calls.call_within(self._filesystem, "info", seconds, self._path)
        return info

    def _answers(self, places: list[tuple[int, int]]) -> list[Bytes]:
        """Ask for ranges, and again for those whose answer is missing or wrong; returns what is right."""
        found: list[Bytes | None] = [None] * len(places)
        failed_at = places[:1]

        def ask(seconds: float) -> list[Bytes]:
            missing = [number for number, one in enumerate(found) if one is None]
            asked = [places[number] for number in missing]
            failed: BaseException | None = None
            for number, answer in zip(missing, self._asked(asked, seconds), strict=True):
                wrong: BaseException | None = answer if isinstance(answer, BaseException) else None
                if wrong is None:
                    try:
                        found[number] = self._checked(answer, *places[number])
                    except (TruncatedReadError, UnsupportedError, StoreError) as error:
                        wrong = error
                if wrong is not None:
                    # Exceptions in place of bytes.
                    failed, failed_at[0] = wrong, places[number]
            if failed is not None:
                raise failed
            return [one for one in found if one is not None]

        if not places:
            return []
        if not self.coalescing.is_far:
            return ask(0.0)
        return patiences.attempted(
            ask,
            name=self.name,
            patience=self._patience,
            place=lambda: failed_at[0],
            num_bytes=sum(stop - start for start, stop in places),
            is_repeated=patiences.repeats_requests(self._filesystem),
        )

    def _asked(self, places: list[tuple[int, int]], seconds: float) -> Iterable[object]:
        if not self._has_ranges:
            return self._visit(places)
        starts, stops = (list(side) for side in zip(*places, strict=True))
        filesystem = self._filesystem
        if checked_ranges.has_checked_ranges(filesystem):
            answers: list[object] = sync(
                filesystem.loop, checked_ranges.checked_ranges, filesystem, self._path, starts, stops, timeout=seconds
            )
            return answers
        paths = [self._path] * len(places)
        found: Iterable[object] = store_calls.call_within(
            filesystem, "cat_ranges", seconds, paths, starts, stops, on_error="return"
        )
        return found

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
        if isinstance(answer, checked_ranges.RangeAnswer):
            self._compare(answer, start, stop)
            answer = answer.data
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

    def _compare(self, answer: checked_ranges.RangeAnswer, start: int, stop: int) -> None:
        """Raise if an answer is of another range, or of another version of the file than what was opened."""
        assert self._size is not None
        checked_ranges.compare_place(answer.place, start, stop, self._size, self.name)
        known = self._version
        if known is None and self._info is not None:
            known = self._info.get("ETag")
        if known is None:
            known = answer.version
        elif answer.version is not None and answer.version != known:
            raise checked_ranges.changed(self.name, f"ETag {known}", answer.version)
        self._version = known


def _is_of_one_thread(filesystem: AbstractFileSystem) -> bool:
    protocols = (filesystem.protocol,) if isinstance(filesystem.protocol, str) else filesystem.protocol
    return not _PROTOCOLS_OF_ONE_THREAD.isdisjoint(protocols)


def has_ranges(filesystem: AbstractFileSystem) -> bool:
    """Return whether the filesystem implements ranges; the inherited methods open the file for each range."""
    # A block cache opens its target without read-ahead, and rejects `cache_type`.
    if isinstance(filesystem, AsyncFileSystem | CachingFileSystem):
        return True
    if _is_of_one_thread(filesystem):
        return False
    kind = type(filesystem)
    return kind.cat_ranges is not AbstractFileSystem.cat_ranges or kind.cat_file is not AbstractFileSystem.cat_file


def _read_at(file: BinaryIO, start: int, stop: int) -> bytes:
    """Read the bytes ``start .. stop``, or up to the end of the file."""
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
