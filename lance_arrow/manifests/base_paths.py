"""Places of the files that a manifest names, and names that it must not use.

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
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lance_arrow.errors import CorruptManifestError, UnsupportedError
from lance_arrow.io import redact

if TYPE_CHECKING:
    from lance_arrow.proto import table_pb2

DATA = "data"
DELETIONS = "_deletions"
TRANSACTIONS = "_transactions"
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
# No filesystem or object store has longer paths.
_MOST_CHARACTERS = 4096
_SHOWN_CHARACTERS = 200
_DRIVE = re.compile(r"^[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class BasePathMeta:
    """A place outside of the table's root with files of the table.

    Parameters
    ----------
    id
        Id by which data and deletion files refer to it.
    path
        URL or path, as stored in the manifest.
    is_dataset_root
        Whether it has the folders of a table; otherwise it holds the files directly.
    name
        Name for users, or None.
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
        Two bases have one id, or a base contains ``..`` or is not a path. Also if a base is the table itself, since a
        file's place would then depend on itself.
    """
    found: dict[int, BasePathMeta] = {}
    for message in messages:
        base = BasePathMeta(
            message.id, message.path, message.is_dataset_root, message.name if message.HasField("name") else None
        )
        if base.id in found:
            raise CorruptManifestError(f"two base paths have the id {base.id}", detail=base.id)
        shown = _short(redact(base.path))
        if not base.path or _leaves_folder(base.path) or "\0" in base.path or len(base.path) > _MOST_CHARACTERS:
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
    """Return a file name of a manifest, which must be relative and inside its folder.

    Raises
    ------
    CorruptManifestError
        It is empty, absolute, a URL, leaves its folder, is a folder (``.``, ``a/``), or is too long for a path.
    """
    if len(path) <= _MOST_CHARACTERS and _PLAIN_NAME.fullmatch(path) and ".." not in path and path != ".":
        return path
    if (
        not 0 < len(path) <= _MOST_CHARACTERS
        or path[0] in "/\\"
        or _URL.match(path)
        or _DRIVE.match(path)
        or _leaves_folder(path)
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
        Base path of the file; None for the table itself.
    folder
        ``data`` or ``_deletions``.
    name
        Path of the file below its folder, checked before.
    protocols
        Protocols of URLs of the table's filesystem.

    Raises
    ------
    UnsupportedError
        The base is on another filesystem, or is a relative local path. A relative path would depend on the working
        directory of the process.
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
        # Paths of this filesystem are URLs.
        path = base.path
    return posixpath.join(path, folder, name) if base.is_dataset_root else posixpath.join(path, name)


def _parts(path: str) -> list[str]:
    return re.split(r"[/\\]", path)


def split_url(path: str) -> tuple[str, str]:
    """Return the scheme of a URL and the part after ``://``; an empty scheme for a plain path."""
    url = _URL.match(path)
    return ("", path) if url is None else (url.group(1), path[url.end() :])


def _leaves_folder(path: str) -> bool:
    """Return whether a path contains ``..``, also if a server decodes it from ``%2e%2e``."""
    return ".." in _parts(path) or ("%" in path and ".." in _parts(unquote(unquote(path))))


def _short(path: str) -> str:
    return path if len(path) <= _SHOWN_CHARACTERS else f"{path[:_SHOWN_CHARACTERS]}..."


def _plain(path: str) -> str:
    return posixpath.normpath(split_url(path)[1])
