"""Open a source for any input of a caller: paths, URLs, filesystems, buffers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_source import LocalSource
from lance_arrow.io.location import AnyFileSystem, Location, is_usual_local, resolve
from lance_arrow.io.source import RangeSource
from lance_arrow.late_arrow import arrow_fs

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from lance_arrow.settings import Settings


@foreign_errors()
def open_source(
    source: str | os.PathLike[str] | Location | RangeSource | Buffer,
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    size_bytes: int | None = None,
    may_be_missing: bool = False,
    is_immutable: bool = False,
    settings: Settings | None = None,
    memory_map: bool = False,
) -> RangeSource:
    """Open a file for reading by ranges.

    Parameters
    ----------
    source
        A path or URL as for `resolve`, a `Location`, bytes in memory (any object with the buffer protocol), or an open
        source, which is returned.
    filesystem, storage_options
        As for `resolve`.
    size_bytes
        Size of a remote file in bytes, if known from a listing; saves one request. Ignored for local files.
    may_be_missing
        Whether a folder at this place may raise FileNotFoundError, too. This saves two requests where there is no file.
    is_immutable
        Whether the file never changes: the format never gives the name of a table's data file to other bytes.
    settings
        Have the deadline and the attempts of a remote file; what the environment says when None.
    memory_map
        Whether to map a local file, see `MappedSource`; others are refused.

    Returns
    -------
    RangeSource
        The caller closes it.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        Errors of the filesystem.
    InvalidArgumentError
        `source` has another type, or what is to be mapped is no local file.
    """
    place = locate(source, filesystem=filesystem, storage_options=storage_options)
    if memory_map:
        from lance_arrow.io.buffer_source import MappedSource  # noqa: PLC0415 - where asked for alone

        return MappedSource(place)
    if place is None:
        if isinstance(source, RangeSource):
            return source
        from lance_arrow.io.buffer_source import BufferSource  # noqa: PLC0415 - for files in memory alone

        return BufferSource(source)  # type: ignore[arg-type]
    if is_plain_file(place):
        return LocalSource(place.path, name=place.name)
    # Not for local paths: these import fsspec.
    from lance_arrow.io.arrow_source import open_arrow  # noqa: PLC0415
    from lance_arrow.io.fsspec_source import open_fsspec  # noqa: PLC0415
    from lance_arrow.io.patience import patience_of  # noqa: PLC0415

    if isinstance(place.filesystem, arrow_fs.FileSystem):
        return open_arrow(
            place.filesystem, place.path, name=place.name, size_bytes=size_bytes, may_be_missing=may_be_missing
        )
    return open_fsspec(
        place.filesystem,
        place.path,
        name=place.name,
        size_bytes=size_bytes,
        may_be_missing=may_be_missing,
        is_immutable=is_immutable,
        patience=None if settings is None else patience_of(settings),
    )


def locate(
    source: str | os.PathLike[str] | Location | RangeSource | Buffer,
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Location | None:
    """Return the place of a file, to look for its neighbours; None if the source is in no filesystem.

    Accepts the inputs of `open_source`, and raises the errors of `resolve`.
    """
    if isinstance(source, Location):
        return source
    if isinstance(source, str):
        if filesystem is None and _is_plain(source):
            path = os.path.abspath(source)
            return Location(None, path, path)
        if is_usual_local(filesystem) and _is_plain(source) and source[0] == "/":
            return Location(None, source, source)
    elif _is_buffer(source) or isinstance(source, RangeSource):
        return None
    return resolve(source, filesystem, storage_options)  # type: ignore[arg-type]


def is_plain_file(place: Location) -> bool:
    """Return whether a `LocalSource` is opened for a place."""
    return place.is_local and _is_plain(place.path)


def _is_plain(path: str) -> bool:
    """Return whether a path is no URL and needs no expansion: then it is opened without fsspec, in microseconds."""
    return bool(path) and ":" not in path and path[0] != "~"


def _is_buffer(source: object) -> TypeGuard[Buffer]:
    try:
        memoryview(source)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True
