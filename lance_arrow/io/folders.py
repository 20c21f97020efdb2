"""Folders and small files of any filesystem: list, create, write, remove."""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Callable, Sequence
from glob import has_magic
from typing import TYPE_CHECKING, Any, Literal

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import AnyFileSystem, Location, is_of_obstore
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.late_names import late_module
from lance_arrow.redaction import redact

if TYPE_CHECKING:
    from fsspec import asyn, spec
    from fsspec.implementations import local

    from lance_arrow.io import http_answers, store_calls
else:
    # Local folders are listed without fsspec.
    asyn, spec = late_module("fsspec.asyn"), late_module("fsspec.spec")
    local = late_module("fsspec.implementations.local")
    http_answers = late_module("lance_arrow.io.http_answers")
    store_calls = late_module("lance_arrow.io.store_calls")

_S3 = "s3fs.core.S3FileSystem"
# Directory buckets of S3 list names without order.
_UNORDERED_BUCKETS = "--x-s3"
_WITHOUT_FOLDERS = ("s3", "gcs", "abfs")


@foreign_errors()
def list_sizes(filesystem: AnyFileSystem | None, folder: str) -> dict[str, int | None]:
    """Return the files directly in `folder` and their sizes in bytes (None if the filesystem does not return sizes).

    Parameters, and the result for a missing folder, are those of `list_names`.
    """
    if filesystem is None or type(filesystem) is local.LocalFileSystem:
        return _local_sizes(folder)
    return _entries(filesystem, folder, "file")


@foreign_errors()
def list_names(filesystem: AnyFileSystem | None, folder: str) -> list[str]:
    """Return the names of the files directly in `folder`, sorted; empty if the folder does not exist.

    Parameters
    ----------
    filesystem
        None for the local one.
    folder
        Its path.

    Raises
    ------
    OSError
        Other errors of the filesystem, without credentials in their text.
    """
    if filesystem is None or type(filesystem) is local.LocalFileSystem:
        return sorted([entry.name for entry in _local_files(folder)])
    return sorted(_entries(filesystem, folder, "file"))


@foreign_errors()
def list_folders(filesystem: AnyFileSystem | None, folder: str) -> list[str]:
    """Return the names of the folders directly in `folder`, sorted; parameters and errors are those of `list_names`."""
    if filesystem is None or type(filesystem) is local.LocalFileSystem:
        try:
            with os.scandir(folder) as entries:
                return sorted([entry.name for entry in entries if entry.is_dir()])
        except (FileNotFoundError, NotADirectoryError):
            return []
    return sorted(_entries(filesystem, folder, "directory"))


def _entries(filesystem: AnyFileSystem, folder: str, kind: Literal["file", "directory"]) -> dict[str, int | None]:
    """Return names and sizes of the files, or folders, directly in a folder of a filesystem."""
    if isinstance(filesystem, spec.AbstractFileSystem):
        # Object stores would answer with an old listing from their cache.
        filesystem.invalidate_cache(folder)
        try:
            found = store_calls.call_store(filesystem, "ls", folder, detail=True, name=redact(folder))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except Exception as error:
            answer = http_answers.answer_of(error, redact(folder))
            if answer is None:
                raise
            raise answer from None
        return {
            posixpath.basename(info["name"].rstrip("/")): info.get("size") for info in found if info["type"] == kind
        }
    infos = filesystem.get_file_info(arrow_fs.FileSelector(folder, allow_not_found=True))
    wanted = arrow_fs.FileType.File if kind == "file" else arrow_fs.FileType.Directory
    return {info.base_name: info.size for info in infos if info.type == wanted}


@foreign_errors()
def has_file(filesystem: AnyFileSystem | None, folder: str, is_wanted: Callable[[str], bool]) -> bool:
    """Return whether a wanted file is directly in `folder`; a local folder is listed up to the first one.

    Parameters
    ----------
    filesystem, folder
        As for `list_names`.
    is_wanted
        Judges the name of a file.
    """
    if filesystem is not None and type(filesystem) is not local.LocalFileSystem:
        return any(map(is_wanted, list_names(filesystem, folder)))
    try:
        with os.scandir(folder) as entries:
            return any(is_wanted(entry.name) and entry.is_file(follow_symlinks=False) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False


@foreign_errors()
def list_first(
    filesystem: AnyFileSystem | None, folder: str, count: int, *, after: str = ""
) -> tuple[dict[str, int | None], bool] | None:
    """Return the first files directly in `folder` by their names, in one request.

    Parameters
    ----------
    filesystem, folder
        As for `list_sizes`.
    count
        Most files to return, up to 1,000.
    after
        Return only names after this one.

    Returns
    -------
    dict
        Names and sizes in bytes.
    bool
        Whether these are all.

    None if the filesystem lists all files at once, or without order, or cannot begin after a name.
    """
    if filesystem is None:
        return None
    if is_of_obstore(filesystem):
        found: tuple[dict[str, int | None], bool] | None = filesystem.list_ordered(folder, count, after)
        return found
    kinds = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(filesystem).__mro__]
    if not isinstance(filesystem, spec.AbstractFileSystem) or _S3 not in kinds or not hasattr(filesystem, "call_s3"):
        return None
    bucket, key, _ = filesystem.split_path(folder)
    if bucket.endswith(_UNORDERED_BUCKETS):
        return None
    prefix = f"{key.rstrip('/')}/"
    options: dict[str, Any] = {"StartAfter": prefix + after} if after else {}
    try:
        answer = store_calls.call_store(
            filesystem,
            "call_s3",
            "list_objects_v2",
            name=redact(folder),
            Bucket=bucket,
            Prefix=prefix,
            Delimiter="/",
            MaxKeys=count,
            **options,
            **filesystem.req_kw,
        )
    except FileNotFoundError:
        return {}, True
    files = {one["Key"].removeprefix(prefix): one["Size"] for one in answer.get("Contents", [])}
    files.pop("", None)
    return files, not answer.get("IsTruncated")


def _local_sizes(folder: str) -> dict[str, int | None]:
    """List a local folder as fsspec does, but without a full path and eleven attributes for each file."""
    found: dict[str, int | None] = {}
    for entry in _local_files(folder):
        # The file may be removed concurrently.
        with contextlib.suppress(FileNotFoundError):
            found[entry.name] = entry.stat(follow_symlinks=False).st_size
    return found


def _local_files(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


@foreign_errors()
def make_folder(filesystem: AnyFileSystem | None, folder: str) -> None:
    """Create a folder and its parents, if the filesystem (None is the local one) has folders and they do not exist."""
    if filesystem is None or type(filesystem) is local.LocalFileSystem:
        # The usual case is that it is there.
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)
    elif isinstance(filesystem, spec.AbstractFileSystem):
        # Object stores have no folders; fsspec would create buckets.
        if not isinstance(filesystem, asyn.AsyncFileSystem):
            filesystem.makedirs(folder, exist_ok=True)
    elif filesystem.type_name not in _WITHOUT_FOLDERS:
        filesystem.create_dir(folder, recursive=True)


def may_write_at_once(filesystem: AnyFileSystem | None) -> bool:
    """Return whether writing files in several threads is possible and faster: requests of object stores are slow."""
    return filesystem is not None and isinstance(filesystem, asyn.AsyncFileSystem)


def write_file(place: Location, data: bytes) -> None:
    """Create a file atomically with this content, or replace an existing one."""
    from lance_arrow.io.open_sink import open_sink  # noqa: PLC0415 - for writing alone

    with open_sink(place) as sink:
        sink.write(data)


@foreign_errors()
def file_exists(place: Location) -> bool:
    """Ask the store whether a file exists."""
    if place.given is None:
        return os.path.isfile(place.path)
    filesystem = place.filesystem
    if isinstance(filesystem, spec.AbstractFileSystem):
        filesystem.invalidate_cache(posixpath.dirname(place.path))
        if type(filesystem) is local.LocalFileSystem:
            return os.path.isfile(place.path)
        return bool(store_calls.call_store(filesystem, "isfile", place.path, name=place.name))
    return bool(filesystem.get_file_info(place.path).type == arrow_fs.FileType.File)


@foreign_errors()
def size_of_file(place: Location) -> int:
    """Ask how many bytes a file has.

    Raises
    ------
    FileNotFoundError, OSError
        Errors of the filesystem, without credentials in their text.
    """
    filesystem = place.filesystem
    if isinstance(filesystem, arrow_fs.FileSystem):
        info = filesystem.get_file_info(place.path)
        if info.type != arrow_fs.FileType.File:
            raise FileNotFoundError(place.name)
        return int(info.size)
    if place.is_local:
        return os.stat(place.path).st_size
    return int(store_calls.call_store(filesystem, "size", place.path, name=place.name))


@foreign_errors()
def remove_file(place: Location) -> None:
    """Remove a file; do nothing if it does not exist.

    Raises
    ------
    OSError
        Other errors of the filesystem, without credentials in their text.
    """
    filesystem = place.given
    try:
        if filesystem is None or type(filesystem) is local.LocalFileSystem:
            os.remove(place.path)
        elif isinstance(filesystem, spec.AbstractFileSystem):
            store_calls.call_store(filesystem, "rm_file", place.path, name=place.name)
        else:
            filesystem.delete_file(place.path)
    except FileNotFoundError:
        return


@foreign_errors()
def remove_files(filesystem: AnyFileSystem | None, folder: str, paths: Sequence[str]) -> None:
    """Remove files; those that do not exist are no error.

    Object stores are asked to remove many with each request, where they can.

    Parameters
    ----------
    filesystem
        None for the local one.
    folder
        A folder.
    paths
        Paths of the files below it.

    Raises
    ------
    OSError
        Other errors of the filesystem, without credentials in their text.
    """
    if filesystem is None or type(filesystem) is local.LocalFileSystem:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                os.remove(f"{folder}/{path}")
        return
    places = [posixpath.join(folder, path) for path in paths]
    # Filesystems take `*`, `?` and `[` in several paths for patterns, which may match files of another table.
    if len(places) > 1 and isinstance(filesystem, asyn.AsyncFileSystem) and not any(map(has_magic, places)):
        # What is wrong with one of them is told when it is removed alone.
        with contextlib.suppress(OSError):
            filesystem.rm(places)
            return
    for place in places:
        remove_file(Location(filesystem, place))
