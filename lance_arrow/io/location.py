"""Where a file or a table is: a filesystem and a path in it, found from whatever a caller may give."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.arrow_source import unwrap_arrow
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.fsspec_source import unwrap
from lance_arrow.redaction import redact

AnyFileSystem: TypeAlias = AbstractFileSystem | arrow_fs.FileSystem


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a filesystem, printable without credentials.

    Parameters
    ----------
    filesystem
        An fsspec filesystem (local paths: fsspec's local one), or a pyarrow filesystem that is native to Arrow and not
        local; wrappers are taken off.
    path
        Path in it, without protocol.
    name
        What to print; made from the other two when empty.
    """

    filesystem: AnyFileSystem = field(repr=False)
    path: str = field(repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", redact(self.name or _print(self.filesystem, self.path)))

    def __str__(self) -> str:
        return self.name


def resolve(
    uri: str | os.PathLike[str],
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Location:
    """Find the filesystem a path or URL means.

    Parameters
    ----------
    uri
        Local path, URL, chain of URLs (``zip://a.lance::s3://bucket/b.zip``), `pathlib.Path`, an object with ``fs`` and
        ``path`` (UPath, an fsspec open file); with `filesystem`, a path in it.
    filesystem
        An fsspec or a pyarrow filesystem.
    storage_options
        For the filesystem of a URL, as in fsspec. Never printed.

    Returns
    -------
    Location
        Nothing has been read or looked up yet.

    Raises
    ------
    InvalidArgumentError
        `filesystem` is neither, `storage_options` come with a filesystem, or `uri` is no path.
    """
    if filesystem is not None and storage_options:
        raise InvalidArgumentError("storage_options belong to a URL; the filesystem given has its own")
    if filesystem is None:
        own = getattr(uri, "fs", None)
        if isinstance(own, AbstractFileSystem) and isinstance(getattr(uri, "path", None), str):
            return _located(own, uri.path)  # type: ignore[union-attr]
    try:
        text = os.fspath(uri)
    except TypeError:
        raise InvalidArgumentError(f"a path or URL is needed, not {type(uri).__name__}") from None
    if not isinstance(text, str):
        raise InvalidArgumentError(f"a path or URL is needed, not {type(text).__name__}")
    if filesystem is not None:
        return _located(filesystem, text)
    if not isinstance(uri, str) or ("://" not in text and "::" not in text) or os.path.lexists(text):
        return Location(LocalFileSystem(), text)
    with foreign_errors():
        found, path = url_to_fs(text, **(storage_options or {}))
    # The URL says more than filesystem and path do: which archive, which host.
    name = "" if type(found) is LocalFileSystem else text
    return _located(found, path, name)


def _located(filesystem: object, path: str, name: str = "") -> Location:
    if isinstance(filesystem, arrow_fs.FileSystem):
        filesystem, path = unwrap_arrow(filesystem, path)
        if isinstance(filesystem, arrow_fs.LocalFileSystem):
            filesystem = LocalFileSystem()
        if isinstance(filesystem, arrow_fs.FileSystem):
            return Location(filesystem, path, name)
    if not isinstance(filesystem, AbstractFileSystem):
        raise InvalidArgumentError(f"an fsspec or pyarrow filesystem is needed, not {type(filesystem).__name__}")
    filesystem, path = unwrap(filesystem, path)
    return Location(filesystem, path, name)


def _print(filesystem: AnyFileSystem, path: str) -> str:
    if isinstance(filesystem, LocalFileSystem) or "://" in path:
        return path
    if isinstance(filesystem, arrow_fs.FileSystem):
        return f"{filesystem.type_name}://{path}"
    protocol = filesystem.protocol if isinstance(filesystem.protocol, str) else filesystem.protocol[0]
    return f"{protocol}://{path}"
