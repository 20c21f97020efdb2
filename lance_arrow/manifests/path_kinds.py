"""Kinds of paths: a file, the folder of a table, or a folder of files; and the files of such a folder."""

from __future__ import annotations

import enum
import os
import posixpath

from lance_arrow.errors import TableNotFoundError
from lance_arrow.io import Location, file_exists, foreign_errors, list_tree
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.manifests.versions import is_table


class PathKind(enum.Enum):
    """Kind of a path."""

    FILE = "file"
    """A file, or nothing: opening it shows which."""
    TABLE = "table"
    FOLDER = "folder"
    """A folder without manifests."""


def kind_of(place: Location) -> PathKind:
    """Return the kind of a path: one request for a file, two or three otherwise.

    Raises
    ------
    CorruptManifestError
        As `is_table`.
    """
    try:
        if file_exists(place):
            return PathKind.FILE
        if is_table(place):
            return PathKind.TABLE
        return PathKind.FOLDER if _is_folder(place) else PathKind.FILE
    except OSError:
        # Some filesystems (HTTP) read files but cannot list: opening the file raises the error, if there is one.
        return PathKind.FILE


def files_in(place: Location) -> list[Location]:
    """Return the files of a folder as `pyarrow.dataset` finds them: at any depth, without hidden ones (``.``, ``_``).

    Raises
    ------
    TableNotFoundError
        There are no files, so the folder is neither a table nor a folder of files.
    """
    names = [
        name
        for name in list_tree(place.filesystem, place.path)
        if not any(part.startswith((".", "_")) for part in name.split("/"))
    ]
    if not names:
        raise TableNotFoundError(
            "this folder is not a table (no manifest in _versions) and holds no files", path=place.name
        )
    return [Location(place.filesystem, posixpath.join(place.path, name)) for name in names]


@foreign_errors()
def _is_folder(place: Location) -> bool:
    if place.given is None:
        return os.path.isdir(place.path)
    if isinstance(place.filesystem, arrow_fs.FileSystem):
        return bool(place.filesystem.get_file_info(place.path).type == arrow_fs.FileType.Directory)
    return bool(place.filesystem.isdir(place.path))
