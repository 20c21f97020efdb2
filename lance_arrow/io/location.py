"""Places of files and tables: a filesystem and a path in it, from a caller's path or URL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.redaction import redact

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from obstore.fsspec import FsspecStore
    from obstore.store import ObjectStore

_SEPARATOR = os.sep
_WITH_QUERIES = ("http://", "https://")

# A string: local files are read without importing fsspec, which imports asyncio.
AnyFileSystem: TypeAlias = "AbstractFileSystem | arrow_fs.FileSystem"

_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Location:
    """A place in a filesystem, printable without credentials.

    Parameters
    ----------
    filesystem
        An fsspec filesystem (for local paths: fsspec's local one), or a pyarrow filesystem that is native to Arrow and
        not local. Wrappers are removed. None for fsspec's local one, which is created at its first use.
    path
        Path in it, without protocol. Kept with slashes, also where the system writes local paths with others.
    name
        Name for messages; made from the other two if empty.
    """

    _filesystem: AnyFileSystem | None = field(repr=False)
    path: str = field(repr=False)
    name: str

    def __init__(self, filesystem: AnyFileSystem | None, path: str, name: str = "") -> None:
        object.__setattr__(self, "_filesystem", filesystem)
        object.__setattr__(self, "name", redact(name or _print(filesystem, path)))
        if _SEPARATOR != "/" and self.is_local:
            path = with_slashes(path)
        object.__setattr__(self, "path", path)

    @property
    def filesystem(self) -> AnyFileSystem:
        """The filesystem."""
        return _local_filesystem() if self._filesystem is None else self._filesystem

    @property
    def given(self) -> AnyFileSystem | None:
        """The filesystem, or None for the local one while nothing needed it: asking for it imports fsspec."""
        return self._filesystem

    @property
    def is_local(self) -> bool:
        """Whether the filesystem is exactly fsspec's local one, not a subclass."""
        return self._filesystem is None or type(self._filesystem) is type(_local_filesystem())

    def at(self, path: str) -> Location:
        """Return another place in the same filesystem."""
        return Location(self._filesystem, path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Location):
            return NotImplemented
        if (self.path, self.name) != (other.path, other.name):
            return False
        # If only one of them is None, the other has imported fsspec.
        return self._filesystem is other._filesystem or self.filesystem == other.filesystem

    def __hash__(self) -> int:
        return hash((self.path, self.name))

    def __str__(self) -> str:
        return self.name


def is_local(filesystem: AnyFileSystem | None) -> bool:
    """Return whether a filesystem, as `Location.given` has it, is exactly fsspec's local one."""
    return Location(filesystem, "").is_local


def is_local_kind(filesystem: AnyFileSystem | None) -> bool:
    """Return whether a filesystem, as `Location.given` has it, is fsspec's local one or a subclass."""
    return filesystem is None or isinstance(filesystem, type(_local_filesystem()))


def is_usual_local(filesystem: object) -> bool:
    """Return whether a filesystem is pyarrow's local one, or that of `Location.filesystem`; fsspec is not imported."""
    if type(filesystem) is arrow_fs.LocalFileSystem:
        return True
    return _local_filesystem.cache_info().currsize > 0 and filesystem is _local_filesystem()


def with_slashes(path: str) -> str:
    """Return a local path with slashes; Windows takes them as well as its own separator."""
    return path if _SEPARATOR == "/" else path.replace(_SEPARATOR, "/")


def resolve(
    uri: str | os.PathLike[str],
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Location:
    """Find the filesystem of a path or URL.

    Parameters
    ----------
    uri
        Local path, URL, chain of URLs (``zip://a.lance::s3://bucket/b.zip``), `pathlib.Path`, an object with ``fs`` and
        ``path`` (UPath, an fsspec open file); with `filesystem`, a path in it.
    filesystem
        An fsspec or a pyarrow filesystem, or a store of obstore.
    storage_options
        For the filesystem of a URL, as in fsspec, and of S3 by the names of the reference, too. Never printed.

    Returns
    -------
    Location
        No file has been read or looked up yet.

    Raises
    ------
    InvalidArgumentError
        `filesystem` is not a filesystem, `storage_options` are given with a filesystem, or `uri` is not a path.
    """
    if filesystem is not None and storage_options:
        raise InvalidArgumentError("storage_options are for URLs; a given filesystem has its own options")
    own = getattr(uri, "fs", None) if filesystem is None else None
    if own is not None and _is_fsspec(own) and isinstance(getattr(uri, "path", None), str):
        return _located(own, uri.path)  # type: ignore[union-attr]
    try:
        text = os.fspath(uri)
    except TypeError:
        raise InvalidArgumentError(f"expected a path or URL, not {type(uri).__name__}") from None
    if not isinstance(text, str):
        raise InvalidArgumentError(f"expected a path or URL, not {type(text).__name__}")
    if filesystem is not None:
        return _located(filesystem, text)
    if not isinstance(uri, str) or ("://" not in text and "::" not in text) or os.path.lexists(text):
        return Location(None, text)
    from fsspec.core import url_to_fs  # noqa: PLC0415 - for URLs alone

    from lance_arrow.io.obstore_urls import open_url  # noqa: PLC0415

    by_obstore = open_url(text, storage_options or {})
    if by_obstore is not None:
        return _located(*by_obstore)
    with foreign_errors():
        found, path = url_to_fs(text, **(storage_options or {}))
    # The URL has more than filesystem and path: the archive, the host.
    name = "" if type(found) is type(_local_filesystem()) else text
    return _located(found, path, name)


def _located(filesystem: object, path: str, name: str = "") -> Location:
    # Only for a caller's filesystem: these import fsspec.
    from lance_arrow.io.arrow_source import unwrap_arrow  # noqa: PLC0415
    from lance_arrow.io.fsspec_source import unwrap  # noqa: PLC0415

    if isinstance(filesystem, arrow_fs.FileSystem):
        filesystem, path = unwrap_arrow(filesystem, path)
        if isinstance(filesystem, arrow_fs.LocalFileSystem):
            filesystem = _local_filesystem()
        if isinstance(filesystem, arrow_fs.FileSystem):
            return Location(filesystem, path, name)
    if _is_fsspec(filesystem):
        filesystem, path = unwrap(filesystem, path)
    if _is_of_obstore(filesystem):
        from lance_arrow.io.obstore_filesystem import as_filesystem  # noqa: PLC0415 - it imports obstore

        of_store = as_filesystem(filesystem)
        path = of_store.own_path(path)
        return Location(of_store, path, name or of_store.printed(path))
    if not _is_fsspec(filesystem):
        raise InvalidArgumentError(
            f"expected a filesystem of fsspec or pyarrow, or a store of obstore, not {type(filesystem).__name__}"
        )
    return Location(filesystem, path, name)


@cache
def _local_filesystem() -> AbstractFileSystem:
    """Return a shared instance, equal to fsspec's: creating it by fsspec takes as long as opening the file."""
    from fsspec.implementations.local import LocalFileSystem  # noqa: PLC0415 - for those who ask for the filesystem

    return LocalFileSystem()


def is_http(place: Location) -> bool:
    """Return whether a server of HTTP has a path, which need not list folders."""
    if is_of_obstore(place.given):
        return not place.filesystem.has_folders
    return place.path.startswith(_WITH_QUERIES)


def has_query(place: Location) -> bool:
    """Return whether a path is a URL with a query: it names one file."""
    return place.path.startswith(_WITH_QUERIES) and "?" in place.path


def is_pattern(place: Location) -> bool:
    """Return whether a path has wildcards; a query is none."""
    path = place.path.partition("?")[0] if has_query(place) else place.path
    # As `glob.has_magic`, whose module costs each dataset an import.
    return not _WILDCARDS.isdisjoint(path)


def is_of_obstore(filesystem: object) -> bool:
    """Return whether a filesystem is a `StoreFileSystem`; obstore is not imported to find out."""
    return type(filesystem).__module__ == "lance_arrow.io.obstore_filesystem"


def _is_of_obstore(filesystem: object) -> TypeGuard[ObjectStore | FsspecStore]:
    """Return whether an object is a store or a filesystem of obstore, which is imported then."""
    return any(kind.__module__ in ("obstore.store", "obstore.fsspec") for kind in type(filesystem).__mro__)


def _is_fsspec(filesystem: object) -> TypeGuard[AbstractFileSystem]:
    from fsspec import AbstractFileSystem  # noqa: PLC0415 - for a caller's filesystem alone

    return isinstance(filesystem, AbstractFileSystem)


def _print(filesystem: AnyFileSystem | None, path: str) -> str:
    if filesystem is None or "://" in path or isinstance(filesystem, type(_local_filesystem())):
        return path
    if isinstance(filesystem, arrow_fs.FileSystem):
        return f"{filesystem.type_name}://{path}"
    if is_of_obstore(filesystem):
        shown: str = filesystem.printed(path)
        return shown
    protocol = filesystem.protocol if isinstance(filesystem.protocol, str) else filesystem.protocol[0]
    return f"{protocol}://{path}"
