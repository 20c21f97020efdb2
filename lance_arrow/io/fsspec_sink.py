"""Sinks into files of any fsspec filesystem.

Three ways for a file to appear at once, chosen by what the filesystem is able to:

* one that renames by itself (sftp, smb, ftp, webhdfs, ...): a hidden file in the same folder, renamed at the end;
* an object store (all asynchronous ones), and one that copies whole files to disk (``simplecache``, ...): what its own
  file writes appears when that is closed; an abort discards it;
* any other (memory, archives, unknown ones): bytes are gathered here, in memory and then on disk, and sent at the end.
"""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Sequence
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.cached import CachingFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractBufferedFile

from lance_arrow.io.fsspec_source import unwrap
from lance_arrow.io.local_sink import LocalSink, hidden_name
from lance_arrow.io.sink import BufferedSink, ByteSink
from lance_arrow.io.stream_sink import write_all

_MAX_MEMORY_BYTES = 64 << 20
_PIECE_BYTES = 8 << 20


def create_fsspec(filesystem: AbstractFileSystem, path: str, *, name: str) -> ByteSink:
    """Begin a file of an fsspec filesystem, in the safest way it knows.

    Parameters
    ----------
    filesystem, path
        Where; the path may carry the filesystem's own protocol.
    name
        What to print.

    Raises
    ------
    OSError, NotImplementedError
        Errors of the filesystem when a file is opened for writing.
    """
    filesystem, path = unwrap(filesystem, path)
    if type(filesystem) is LocalFileSystem:
        if filesystem.auto_mkdir:
            filesystem.makedirs(posixpath.dirname(path), exist_ok=True)
        return LocalSink(path, name=name)
    if isinstance(filesystem, AsyncFileSystem | CachingFileSystem):
        return OpenFileSink(filesystem, path, name=name)
    if type(filesystem).mv is not AbstractFileSystem.mv:
        return RenamedSink(filesystem, path, name=name)
    return GatheringSink(filesystem, path, name=name)


class OpenFileSink(BufferedSink):
    """Writes into a file of the filesystem, whose closing makes it appear.

    Parameters
    ----------
    filesystem, path
        Where.
    name
        What to print.
    """

    def __init__(self, filesystem: AbstractFileSystem, path: str, *, name: str) -> None:
        super().__init__(name)
        self._filesystem = filesystem
        self._path = path
        self._file: Any = filesystem.open(path, "wb")

    def _send(self, parts: Sequence[memoryview]) -> None:
        for part in parts:
            write_all(self._file, part)

    def _publish(self) -> None:
        self._file.close()
        self._filesystem.invalidate_cache(posixpath.dirname(self._path))

    def _discard(self) -> None:
        discard_file(self._filesystem, self._path, self._file)


# These do not rename onto a file that exists, and say so in exceptions of their own kind.
_PROTOCOLS_WITHOUT_REPLACING = frozenset({"webdav", "dav"})


def _protocols(filesystem: AbstractFileSystem) -> tuple[str, ...]:
    found = filesystem.protocol
    return (found,) if isinstance(found, str) else tuple(found)


class RenamedSink(OpenFileSink):
    """Writes into a hidden file in the same folder, which gets its name by a rename of the filesystem's own.

    An older file is replaced by the rename itself where the filesystem does so, otherwise removed just before it.
    """

    def __init__(self, filesystem: AbstractFileSystem, path: str, *, name: str) -> None:
        self._final_path = path
        folder, own_name = posixpath.split(path)
        super().__init__(filesystem, posixpath.join(folder, hidden_name(own_name)), name=name)

    def _publish(self) -> None:
        super()._publish()
        if not _PROTOCOLS_WITHOUT_REPLACING.isdisjoint(_protocols(self._filesystem)):
            if self._filesystem.isfile(self._final_path):
                self._filesystem.rm_file(self._final_path)
            self._filesystem.mv(self._path, self._final_path)
            return
        try:
            self._filesystem.mv(self._path, self._final_path)
        except OSError:
            # Some servers do not rename onto a file that exists; any other trouble comes up again.
            if not self._filesystem.isfile(self._final_path):
                raise
            self._filesystem.rm_file(self._final_path)
            self._filesystem.mv(self._path, self._final_path)

    def _discard(self) -> None:
        super()._discard()
        # What has been sent of a buffered file may lie there already, under the hidden name.
        if self._filesystem.exists(self._path):
            self._filesystem.rm_file(self._path)


class GatheringSink(BufferedSink):
    """Keeps all bytes here, up to 64 MiB in memory, and sends them when closed: before that, nothing is touched.

    Parameters
    ----------
    filesystem, path
        Where.
    name
        What to print.
    """

    def __init__(self, filesystem: AbstractFileSystem, path: str, *, name: str) -> None:
        super().__init__(name)
        self._filesystem = filesystem
        self._path = path
        # Closed by `_publish` or `_discard`, one of which comes.
        self._gathered = tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES)  # noqa: SIM115

    def _send(self, parts: Sequence[memoryview]) -> None:
        for part in parts:
            self._gathered.write(part)

    def _publish(self) -> None:
        self._gathered.seek(0)
        in_memory = self.position <= _MAX_MEMORY_BYTES or isinstance(self._filesystem, MemoryFileSystem)
        # The inherited one closes what it could not write.
        if in_memory and type(self._filesystem).pipe_file is not AbstractFileSystem.pipe_file:
            self._filesystem.pipe_file(self._path, self._gathered.read())
        else:
            self._send_pieces()
        self._gathered.close()
        self._filesystem.invalidate_cache(posixpath.dirname(self._path))

    def _send_pieces(self) -> None:
        file = self._filesystem.open(self._path, "wb")
        try:
            while piece := self._gathered.read(_PIECE_BYTES):
                write_all(file, memoryview(piece))
            file.close()
        except BaseException:
            discard_file(self._filesystem, self._path, file)
            raise

    def _discard(self) -> None:
        self._gathered.close()


def discard_file(filesystem: AbstractFileSystem, path: str, file: Any) -> None:
    """Let go of a file opened for writing so that it does not appear.

    A buffered file of fsspec's must never be closed here: closing sends the last part and completes the upload, and so
    does its finalizer. One of another kind is closed and then removed.
    """
    if isinstance(file, AbstractBufferedFile):
        try:
            # Cancels an upload where the store has such a thing; the inherited one does nothing.
            file.discard()
        finally:
            # Also where `discard` does not say so: the finalizer would complete the upload otherwise.
            file.closed = True
        return
    if hasattr(file, "discard"):
        file.discard()
        return
    file.close()
    if filesystem.exists(path):
        filesystem.rm_file(path)
