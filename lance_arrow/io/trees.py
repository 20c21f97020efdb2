"""`list_tree`, `remove_tree`: all files below a folder, with sizes and times of change; `modified_ns` of one file."""

from __future__ import annotations

import contextlib
import datetime
import os
import posixpath
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lance_arrow.io.folders import remove_files
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import AnyFileSystem, Location
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.late_names import late_module

if TYPE_CHECKING:
    from fsspec import spec
    from fsspec.implementations import local
else:
    spec, local = late_module("fsspec.spec"), late_module("fsspec.implementations.local")

# Names of the modification time in the listings of filesystems.
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file in a listing.

    Parameters
    ----------
    size_bytes
        Size in bytes; None if the filesystem does not return it.
    modified
        Time of the last change, UTC; None if the filesystem does not return it.
    """

    size_bytes: int | None
    modified: datetime.datetime | None


@foreign_errors()
def list_tree(filesystem: AnyFileSystem, folder: str) -> dict[str, ListedFile]:
    """Return the files below a folder by their paths relative to it, sorted; empty if the folder does not exist.

    Raises
    ------
    OSError
        Other errors of the filesystem, without credentials in their text.
    """
    found: dict[str, ListedFile] = {}
    if type(filesystem) is local.LocalFileSystem:
        found.update(_local_tree(folder, ""))
    elif isinstance(filesystem, spec.AbstractFileSystem):
        filesystem.invalidate_cache(folder)
        # Listed names have no protocol.
        stripped = filesystem._strip_protocol(folder).rstrip("/")
        for name, info in filesystem.find(folder, detail=True).items():
            if info["type"] == "file":
                found[posixpath.relpath(name, stripped)] = ListedFile(info.get("size"), _moment(info))
        # Object stores cache listings, and would not show files that others created later.
        filesystem.invalidate_cache(folder)
        for below in {posixpath.dirname(name) for name in found}:
            filesystem.invalidate_cache(posixpath.join(folder, below))
    else:
        selector = arrow_fs.FileSelector(folder, allow_not_found=True, recursive=True)
        for info in filesystem.get_file_info(selector):
            if info.type == arrow_fs.FileType.File:
                found[posixpath.relpath(info.path, folder)] = ListedFile(info.size, _utc(info.mtime))
    return dict(sorted(found.items()))


@foreign_errors()
def modified_ns(location: Location) -> int | None:
    """Return the time of the last change in nanoseconds since 1970; None if the filesystem has no times.

    Raises
    ------
    FileNotFoundError, OSError
        Errors of the filesystem.
    """
    if location.is_local:
        return os.stat(location.path).st_mtime_ns
    filesystem, path = location.filesystem, location.path
    if isinstance(filesystem, arrow_fs.FileSystem):
        found: int | None = filesystem.get_file_info(path).mtime_ns
        return found
    try:
        moment = filesystem.modified(path)
    except NotImplementedError:
        return None
    if not isinstance(moment, datetime.datetime):
        return None
    # Times without a zone are compared only with others of the same filesystem.
    moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
    return int(moment.timestamp() * 1_000_000) * 1000


@foreign_errors()
def remove_tree(filesystem: AnyFileSystem, folder: str) -> None:
    """Remove a folder and all files below it.

    Folders of their own are removed on local and pyarrow filesystems; elsewhere only files are.

    Raises
    ------
    OSError
        A file cannot be removed, or the folder is a symbolic link; without credentials in the text.
    """
    if type(filesystem) is local.LocalFileSystem:
        shutil.rmtree(folder)
    elif isinstance(filesystem, spec.AbstractFileSystem):
        remove_files(filesystem, folder, list(list_tree(filesystem, folder)))
    else:
        filesystem.delete_dir(folder)


def _local_tree(folder: str, prefix: str) -> Iterator[tuple[str, ListedFile]]:
    """List a local folder as fsspec does, but without a full path and eleven attributes for each file."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            yield from _local_tree(entry.path, f"{prefix}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            # The file may be removed concurrently.
            with contextlib.suppress(FileNotFoundError):
                stat = entry.stat(follow_symlinks=False)
                modified = datetime.datetime.fromtimestamp(stat.st_mtime, datetime.UTC)
                yield prefix + entry.name, ListedFile(stat.st_size, modified)


def _moment(info: Mapping[str, Any]) -> datetime.datetime | None:
    for name in _TIMES:
        value = info.get(name)
        if isinstance(value, (int, float)):
            return datetime.datetime.fromtimestamp(value, datetime.UTC)
        if isinstance(value, str):
            try:
                value = datetime.datetime.fromisoformat(value)
            except ValueError:
                continue
        if isinstance(value, datetime.datetime):
            return _utc(value)
    return None


def _utc(moment: datetime.datetime | None) -> datetime.datetime | None:
    if moment is None:
        return None
    return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)
