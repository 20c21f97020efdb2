"""Where the files lie that a manifest names, and which names it may not use.

no base_id                     <root>/data/<file>     <root>/_deletions/<file>
base that is a table's root    <base>/data/<file>     <base>/_deletions/<file>
base that is a plain folder    <base>/<file>          <base>/<file>
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from lance_arrow.errors import CorruptManifestError, UnsupportedError
from lance_arrow.io import redact
from lance_arrow.proto import table_pb2

DATA = "data"
DELETIONS = "_deletions"
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
# No filesystem, and no store of objects, has longer paths.
_MOST_CHARACTERS = 4096
_SHOWN_CHARACTERS = 200
_DRIVE = re.compile(r"^[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class BasePathMeta:
    """A place other than the table's root that files may lie in.

    Parameters
    ----------
    id
        What data and deletion files name it by.
    path
        URL or path, as the manifest has it.
    is_dataset_root
        Whether it has the folders of a table, or holds the files directly.
    name
        For people; None when it has none.
    """

    id: int
    path: str
    is_dataset_root: bool
    name: str | None = None


def base_paths_from_messages(messages: Sequence[table_pb2.BasePath], root: str) -> Mapping[int, BasePathMeta]:
    """Check the base paths of a manifest.

    Parameters
    ----------
    messages
        Source: Manifest.base_paths.
    root
        Path of the table itself.

    Raises
    ------
    CorruptManifestError
        Two bases have one id, a base climbs out of its folder by ``..``, is no path at all, or is the table itself,
        which would make a file's place depend on itself.
    """
    found: dict[int, BasePathMeta] = {}
    for message in messages:
        base = BasePathMeta(
            message.id, message.path, message.is_dataset_root, message.name if message.HasField("name") else None
        )
        if base.id in found:
            raise CorruptManifestError(f"two base paths have the id {base.id}", detail=base.id)
        shown = _short(redact(base.path))
        if not base.path or _climbs(base.path) or "\0" in base.path or len(base.path) > _MOST_CHARACTERS:
            raise CorruptManifestError(
                f"the base path {shown!r} is empty, contains '..', or is not a path of at most {_MOST_CHARACTERS} "
                "characters",
                detail=shown,
            )
        if _plain(base.path) == _plain(root):
            raise CorruptManifestError(f"the base path {shown!r} is the table itself: a cycle", detail=shown)
        found[base.id] = base
    return found


def check_file_name(path: str, what: str) -> str:
    """Return a path that a manifest names, relative to its folder.

    Raises
    ------
    CorruptManifestError
        It is empty, absolute, a URL, climbs out of its folder, is a folder (``.``, ``a/``), or is longer than any path.
    """
    if len(path) <= _MOST_CHARACTERS and _PLAIN_NAME.fullmatch(path) and ".." not in path and path != ".":
        return path
    if (
        not 0 < len(path) <= _MOST_CHARACTERS
        or path[0] in "/\\"
        or _URL.match(path)
        or _DRIVE.match(path)
        or _climbs(path)
        or "\0" in path
        or _parts(path)[-1] in ("", ".")
    ):
        shown = _short(path)
        raise CorruptManifestError(
            f"the manifest names the {what} {shown!r}, expected a path below its folder", detail=shown
        )
    return path


def place_of(root: str, base: BasePathMeta | None, folder: str, name: str, protocols: Sequence[str]) -> str:
    """Return the path of a file, on the filesystem of the table.

    Parameters
    ----------
    root
        Path of the table.
    base
        The base path the file names; None for the table itself.
    folder
        ``data`` or ``_deletions``.
    name
        Path of the file below its folder, checked before.
    protocols
        What URLs of the table's filesystem begin with.

    Raises
    ------
    UnsupportedError
        The base lies on another filesystem, or is a local path that does not begin at the root: where it leads would
        depend on the folder that the process runs in.
    """
    if base is None:
        return posixpath.join(root, folder, name)
    shown = _short(redact(base.path))
    scheme, path = split_url(base.path)
    if scheme and scheme.lower() not in protocols:
        raise UnsupportedError(
            f"files of the table lie at the base path {shown!r}, on another filesystem than the table; such base paths "
            "are never followed",
            detail=shown,
        )
    if "file" in protocols and not os.path.isabs(path):
        raise UnsupportedError(
            f"files of the table lie at the base path {shown!r}, expected an absolute path or a URL", detail=shown
        )
    if scheme and _URL.match(root):
        # This filesystem's paths are URLs.
        path = base.path
    return posixpath.join(path, folder, name) if base.is_dataset_root else posixpath.join(path, name)


def _parts(path: str) -> list[str]:
    return re.split(r"[/\\]", path)


def split_url(path: str) -> tuple[str, str]:
    """Return the scheme of a URL and what follows ``://``; an empty scheme for a plain path."""
    url = _URL.match(path)
    return ("", path) if url is None else (url.group(1), path[url.end() :])


def _climbs(path: str) -> bool:
    """Whether a path goes up, also once a server has decoded it: ``%2e%2e``."""
    return ".." in _parts(path) or ("%" in path and ".." in _parts(unquote(unquote(path))))


def _short(path: str) -> str:
    return path if len(path) <= _SHOWN_CHARACTERS else f"{path[:_SHOWN_CHARACTERS]}..."


def _plain(path: str) -> str:
    return posixpath.normpath(split_url(path)[1])
