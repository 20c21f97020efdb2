"""Sinks into files of any fsspec filesystem.

A file appears atomically in one of three ways, by the abilities of the filesystem:

* filesystems that can rename (sftp, smb, ftp, webhdfs, ...): a hidden file in the same folder is renamed at the end;
* object stores (all asynchronous ones), and filesystems that copy whole files to disk (``simplecache``, ...). Closing
  their own file object makes the file appear, an abort discards it;
* all others (memory, archives, unknown ones): bytes are buffered, in memory and then on disk, and sent at the end.
"""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
from lance_arrow.late_names import late_module

if TYPE_CHECKING:
    from lance_arrow.io import store_calls
else:
    # Local files do without it.
    store_calls = late_module("lance_arrow.io.store_calls")

_MAX_MEMORY_BYTES = 64 << 20
_PIECE_BYTES = 8 << 20


def create_fsspec(filesystem: AbstractFileSystem, path: str, *, name: str) -> ByteSink:
    """Begin a file of an fsspec filesystem, in the safest way that the filesystem supports.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file; the path may have the filesystem's protocol.
    name
        Name for messages.

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
    """Writes into a file of the filesystem, which appears when it is closed.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    """

    def __init__(self, filesystem: AbstractFileSystem, path: str, *, name: str) -> None:
        super().__init__(name)
        self._filesystem = filesystem
        self._path = path
        with store_calls.store_failures(filesystem, name):
            self._file: Any = filesystem.open(path, "wb")

    def _send(self, parts: Sequence[memoryview]) -> None:
        with store_calls.store_failures(self._filesystem, self.name):
            for part in parts:
                write_all(self._file, part)

    def _publish(self) -> None:
        with store_calls.store_failures(self._filesystem, self.name):
            self._file.close()
        self._filesystem.invalidate_cache(posixpath.dirname(self._path))

    def _discard(self) -> None:
        discard_file(self._filesystem, self._path, self._file)


# These cannot rename to an existing file; they raise their own exceptions for it.
_PROTOCOLS_WITHOUT_REPLACING = frozenset({"webdav", "dav"})


def _protocols(filesystem: AbstractFileSystem) -> tuple[str, ...]:
    found = filesystem.protocol
    return (found,) if isinstance(found, str) else tuple(found)


class RenamedSink(OpenFileSink):
    """Writes into a hidden file in the same folder, which the filesystem renames at the end.

    An older file is replaced by the rename itself if the filesystem supports it; otherwise it is removed just before.
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
            # Some servers do not rename to an existing file; other errors are raised again.
            if not self._filesystem.isfile(self._final_path):
                raise
            self._filesystem.rm_file(self._final_path)
            self._filesystem.mv(self._path, self._final_path)

    def _discard(self) -> None:
        super()._discard()
        # Sent parts of a buffered file may already be stored under the hidden name.
        if self._filesystem.exists(self._path):
            self._filesystem.rm_file(self._path)


class GatheringSink(BufferedSink):
    """Buffers all bytes, up to 64 MiB in memory, and sends them when closed; the store is not changed before.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    """

    def __init__(self, filesystem: AbstractFileSystem, path: str, *, name: str) -> None:
        super().__init__(name)
        self._filesystem = filesystem
        self._path = path
        # `_publish` or `_discard` closes it; one of them is always called.
        self._gathered = tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES)  # noqa: SIM115

    def _send(self, parts: Sequence[memoryview]) -> None:
        for part in parts:
            self._gathered.write(part)

    def _publish(self) -> None:
        self._gathered.seek(0)
        in_memory = self.position <= _MAX_MEMORY_BYTES or isinstance(self._filesystem, MemoryFileSystem)
        # The inherited `pipe_file` closes a file even if it could not be written.
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
    """Discard a file opened for writing, so that it does not appear.

    A buffered file of fsspec must never be closed here: closing sends the last part and completes the upload, and so
    does its finalizer. Files of other kinds are closed and then removed.
    """
    if isinstance(file, AbstractBufferedFile):
        try:
            # Cancels an upload if the store supports it; the inherited method does nothing.
            file.discard()
        finally:
            # Some `discard` methods do not set it, and the finalizer would complete the upload.
            file.closed = True
        return
    if hasattr(file, "discard"):
        file.discard()
        return
    file.close()
    if filesystem.exists(path):
        filesystem.rm_file(path)
