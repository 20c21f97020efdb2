"""Where the files lie that a manifest names, and which names it may not use.

no base_id                     <root>/data/<file>     <root>/_deletions/<file>
base that is a table's root    <base>/data/<file>     <base>/_deletions/<file>
base that is a plain folder    <base>/<file>          <base>/<file>
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lance_arrow.errors import CorruptManifestError, UnsupportedError
from lance_arrow.proto import table_pb2

DATA = "data"
DELETIONS = "_deletions"
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
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
        Two bases have one id, a base climbs out of its folder by ``..``, or it is the table itself, which would make
        a file's place depend on itself.
    """
    found: dict[int, BasePathMeta] = {}
    for message in messages:
        base = BasePathMeta(
            message.id, message.path, message.is_dataset_root, message.name if message.HasField("name") else None
        )
        if base.id in found:
            raise CorruptManifestError(f"two base paths have the id {base.id}", detail=base.id)
        if not base.path or ".." in _parts(base.path):
            raise CorruptManifestError(f"the base path {base.path!r} is empty or climbs by '..'", detail=base.path)
        if _plain(base.path) == _plain(root):
            raise CorruptManifestError(f"the base path {base.path!r} is the table itself: a cycle", detail=base.path)
        found[base.id] = base
    return found


def check_file_name(path: str, what: str) -> str:
    """Return a path that a manifest names, relative to its folder.

    Raises
    ------
    CorruptManifestError
        It is empty, absolute, a URL, or climbs out of its folder.
    """
    if _PLAIN_NAME.fullmatch(path) and ".." not in path:
        return path
    if not path or path[0] in "/\\" or _URL.match(path) or _DRIVE.match(path) or ".." in _parts(path) or "\0" in path:
        raise CorruptManifestError(
            f"the manifest names the {what} {path!r}, expected a path below its folder", detail=path
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
        The base lies on another filesystem.
    """
    if base is None:
        return posixpath.join(root, folder, name)
    path = base.path
    url = _URL.match(path)
    if url is not None:
        if url.group(1).lower() not in protocols:
            raise UnsupportedError(
                f"files of the table lie at the base path {path!r}, on another filesystem than the table; a manifest "
                "could name any address, so none is followed",
                detail=path,
            )
        path = path[url.end() :]
    return posixpath.join(path, folder, name) if base.is_dataset_root else posixpath.join(path, name)


def _parts(path: str) -> list[str]:
    return re.split(r"[/\\]", path)


def _plain(path: str) -> str:
    url = _URL.match(path)
    return posixpath.normpath(path[url.end() :] if url else path)
