"""A sink into a file of a pyarrow filesystem that is native to Arrow and not local."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from fsspec import AbstractFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.io.arrow_source import unwrap_arrow
from lance_arrow.io.fsspec_sink import create_fsspec
from lance_arrow.io.local_sink import LocalSink, hidden_name
from lance_arrow.io.sink import BufferedSink, ByteSink

_WITHOUT_RENAME = ("s3", "gcs", "abfs")
"""Stores that rename a file by copying it (S3 up to 5 GiB only), and show a new file when it is closed."""


def create_arrow(filesystem: arrow_fs.FileSystem, path: str, *, name: str) -> ByteSink:
    """Begin a file of a pyarrow filesystem, with or without wrappers.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.

    Raises
    ------
    OSError
        Errors of the filesystem when a file is opened for writing.
    """
    inner, path = unwrap_arrow(filesystem, path)
    if isinstance(inner, AbstractFileSystem):
        return create_fsspec(inner, path, name=name)
    if isinstance(inner, arrow_fs.LocalFileSystem):
        return LocalSink(path, name=name)
    return ArrowSink(inner, path, name=name)


class ArrowSink(BufferedSink):
    """Writes into an output stream of Arrow's.

    If the filesystem can rename (HDFS, filesystems written in Python), a hidden file in the same folder is written and
    then renamed. Readers see the old file or the new one. S3, Google and Azure show a file when its stream is closed,
    so a crash leaves no file. Arrow's streams cannot be abandoned: they complete the upload even in their destructor.
    So `abort` closes, then deletes. For a moment a file without footer exists, which does not open, and an older file
    of this name is lost. s3fs, gcsfs and adlfs of fsspec do not have this problem.

    Parameters
    ----------
    filesystem, path
        Filesystem and path of the file.
    name
        Name for messages.
    """

    def __init__(self, filesystem: arrow_fs.FileSystem, path: str, *, name: str) -> None:
        super().__init__(name)
        self._filesystem = filesystem
        self._final_path = path
        self._path = path
        if filesystem.type_name not in _WITHOUT_RENAME:
            folder, own_name = posixpath.split(path)
            self._path = posixpath.join(folder, hidden_name(own_name))
        self._stream = filesystem.open_output_stream(self._path, compression=None)

    def _send(self, parts: Sequence[memoryview]) -> None:
        for part in parts:
            self._stream.write(part)

    def _publish(self) -> None:
        self._stream.close()
        if self._path != self._final_path:
            self._filesystem.move(self._path, self._final_path)

    def _discard(self) -> None:
        try:
            self._stream.close()
        finally:
            if self._filesystem.get_file_info(self._path).type == arrow_fs.FileType.File:
                self._filesystem.delete_file(self._path)
