"""From pyarrow's names of places to ours: filesystems unwrapped on the way in, resolved on the way out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pyarrow
from pyarrow.fs import FileInfo, FileSystem, FileType, FSSpecHandler, LocalFileSystem, PyFileSystem, SubTreeFileSystem

from lance_arrow.io import AnyFileSystem, is_local_kind
from lance_arrow.io.location import is_of_obstore
from lance_arrow.redaction import redact
from lance_arrow.scan.file_place import FilePlace, Following
from lance_arrow.scan.row_restriction import unrestricted


def file_place(
    path: str,
    filesystem: FileSystem,
    size: int | None,
    payload: object | None,
    following: Following | None = None,
) -> FilePlace:
    """Describe a file on a filesystem as handlers want it.

    An fsspec filesystem comes out bare: read through pyarrow's adapter, each positional read fetches fsspec's
    read-ahead block (5 MiB).
    """
    inner: object = filesystem
    if isinstance(inner, SubTreeFileSystem):
        following = None
    while isinstance(inner, SubTreeFileSystem):
        path = inner.base_path + path
        inner = inner.base_fs
    if isinstance(inner, PyFileSystem) and isinstance(inner.handler, FSSpecHandler):
        inner = inner.handler.fs
    payload, rows = unrestricted(payload)
    return FilePlace(path=path, filesystem=inner, size=size, payload=payload, rows=rows, following=following)


def buffer_place(buffer: pyarrow.Buffer, payload: object | None) -> FilePlace:
    """Describe a file that is in memory."""
    payload, rows = unrestricted(payload)
    return FilePlace(path="<Buffer>", filesystem=None, buffer=buffer, size=buffer.size, payload=payload, rows=rows)


def resolve(file: object, filesystem: object | None) -> tuple[object, FileSystem | None]:
    """Give a path its filesystem (URL, else local), and an fsspec filesystem pyarrow's adapter.

    Anything but a path passes unchanged.
    """
    if not isinstance(file, (str, os.PathLike)):
        return file, None
    path = os.fspath(file)
    if filesystem is None:
        if "://" in path:
            filesystem, path = FileSystem.from_uri(path)
        else:
            filesystem, path = LocalFileSystem(), os.path.abspath(path)
    elif not isinstance(filesystem, FileSystem):
        filesystem = PyFileSystem(FSSpecHandler(filesystem))
    return path, filesystem


def size_of(path: str) -> int:
    """Return the size of a local file; -1 where there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def as_arrow(filesystem: AnyFileSystem | None, searched: str | None = None) -> FileSystem:
    """Return a filesystem as pyarrow's datasets want it; None is the local one.

    `searched` is a path that is no file, which pyarrow is about to look at and to list.
    """
    if isinstance(filesystem, FileSystem):
        return filesystem
    if is_of_obstore(filesystem):
        return PyFileSystem(_ListsOnce(filesystem, searched if filesystem.has_folders else None))
    if is_local_kind(filesystem):
        return _local()
    # Of fsspec, the filesystems of stores and of HTTP.
    is_asynchronous = getattr(filesystem, "async_impl", False)
    return PyFileSystem(_EndsInTime(filesystem) if is_asynchronous else FSSpecHandler(filesystem))


class _EndsInTime(FSSpecHandler):  # type: ignore[misc]
    """Asks what a path is, within the deadline of stores; pyarrow's handler takes broken connections for absence."""

    def get_file_info(self, paths: Sequence[str]) -> list[Any]:
        return FSSpecHandler.get_file_info(_Bounded(self), paths)

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        return FSSpecHandler.get_file_info_selector(_Bounded(self), selector)


class _Bounded:
    """What the methods of pyarrow's handler need of it, with calls that end in time."""

    def __init__(self, handler: FSSpecHandler) -> None:
        self._filesystem = handler.fs
        self._create_file_info = handler._create_file_info

    @property
    def fs(self) -> _Bounded:
        """The filesystem: its methods are those below."""
        return self

    def __getattr__(self, method: str) -> Callable[..., Any]:
        from lance_arrow.io.store_calls import call_store  # noqa: PLC0415 - it is for far paths alone

        def call(path: str, **options: Any) -> Any:
            return call_store(self._filesystem, method, path, name=redact(path), **options)

        return call


class _ListsOnce(FSSpecHandler):  # type: ignore[misc]
    """Finds the files below a folder by one listing; pyarrow's handler asks seven times what the folder is.

    Parameters
    ----------
    filesystem
        The filesystem.
    searched
        A path that is no file: its listing says whether it is a folder, and is used once more.
    """

    def __init__(self, filesystem: Any, searched: str | None) -> None:
        super().__init__(filesystem)
        self._searched = searched
        self._listed: dict[str, Any] | None = None

    def get_file_info(self, paths: Sequence[str]) -> list[Any]:
        if self._searched is None or paths != [self._searched]:
            return super().get_file_info(paths)
        listed = self.fs.find(self._searched, withdirs=True, detail=True)
        if self._searched in listed:
            # It is a file, whose end could not be read.
            return super().get_file_info(paths)
        self._listed = listed
        return [FileInfo(self._searched, FileType.Directory if listed else FileType.NotFound)]

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        found, self._listed = self._listed, None
        if found is None or selector.base_dir != self._searched or not selector.recursive:
            depth = None if selector.recursive else 1
            found = self.fs.find(selector.base_dir, maxdepth=depth, withdirs=True, detail=True)
        self._searched = None
        if selector.base_dir in found:
            raise NotADirectoryError(selector.base_dir)
        if not found and not selector.allow_not_found:
            raise FileNotFoundError(selector.base_dir)
        return [self._create_file_info(path, facts) for path, facts in found.items()]


@cache
def _local() -> FileSystem:
    return LocalFileSystem()
