"""Kinds of paths: a file, the folder of a table, or a folder of files; and the files of such a folder."""

from __future__ import annotations

import enum
import os
import posixpath
from collections.abc import Callable, Iterable, Sequence

from lance_arrow.errors import TableNotFoundError
from lance_arrow.io import Location, file_exists, foreign_errors, has_file, list_tree
from lance_arrow.io.location import is_http, is_of_obstore
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.manifests.base_paths import DATA, DELETIONS, TRANSACTIONS
from lance_arrow.manifests.versions import VERSIONS, ManifestFile, is_table, newest_manifest


class PathKind(enum.Enum):
    """Kind of a path."""

    FILE = "file"
    """A file, or nothing: opening it shows which."""
    TABLE = "table"
    FOLDER = "folder"
    """A folder without manifests."""


class AskedPath:
    """What a path is, asked as a table and as a file: at once of a store of obstore.

    Other filesystems take two requests more to say that a path is no file, so they are asked for files last.

    Parameters
    ----------
    place
        The path.

    Raises
    ------
    CorruptManifestError, OSError
        As `newest_manifest`; where HTTP lists no folders, opening the path says what is wrong.
    """

    def __init__(self, place: Location) -> None:
        self._files = place.filesystem if is_of_obstore(place.given) else None
        self._path = place.path
        # The answer has the end of the file: opening it takes no request.
        asked = None if self._files is None else self._files.ask_end(place.path)
        try:
            self.newest: ManifestFile | None = newest_manifest(place)
        except OSError:
            # Servers of HTTP refuse listings of files that they serve.
            if not is_http(place):
                raise
            self.newest = None
        # What is wrong with a file is said where it is opened.
        self.is_file = self.newest is None and asked is not None and asked.exception() is None
        if not self.is_file:
            self.forget()

    def forget(self) -> None:
        """Forget an answer that was not used."""
        if self._files is not None:
            self._files.take_asked(self._path)


def kind_of(place: Location) -> PathKind:
    """Return the kind of a path; a store of obstore is asked at once whether it is a file or a table.

    Raises
    ------
    CorruptManifestError
        As `is_table`.
    """
    try:
        if is_of_obstore(place.given):
            asked = AskedPath(place)
            asked.forget()
            is_file, has_versions = asked.is_file, asked.newest is not None
        else:
            is_file = file_exists(place)
            has_versions = not is_file and is_table(place)
        if is_file:
            return PathKind.FILE
        if has_versions:
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
        There are no files, so the folder is neither a table nor a folder of files; or it was a table.
    """
    refuse_lost_versions(place)
    names = [
        name
        for name in list_tree(place.filesystem, place.path)
        if not any(part.startswith((".", "_")) for part in name.split("/"))
    ]
    if not names:
        raise TableNotFoundError(
            "this folder is not a table (no manifest in _versions) and holds no files", path=place.name
        )
    return [place.at(posixpath.join(place.path, name)) for name in names]


def refuse_lost_versions(
    root: Location, each: Callable[[Callable[[str], bool], Sequence[str]], Iterable[bool]] = map
) -> None:
    """Refuse a folder without versions that was a table: these tell which files, and which of their rows, it has.

    Parameters
    ----------
    root
        The folder, which has no versions.
    each
        Calls a function for some folders: `map`, or what asks a store for all of them at once.

    Raises
    ------
    TableNotFoundError
        There are deletions or transactions.
    OSError
        Errors of the filesystem.
    """

    def has_any(folder: str) -> bool:
        return has_file(root.given, posixpath.join(root.path, folder), bool)

    if any(each(has_any, (DELETIONS, TRANSACTIONS))):
        raise TableNotFoundError(
            f"the files in {DATA!r} belong to a table whose versions are lost: they do not tell which rows are "
            f"deleted. Restore {VERSIONS!r}, or read every row of single files with LanceFile",
            path=root.name,
        )


@foreign_errors()
def _is_folder(place: Location) -> bool:
    if place.given is None:
        return os.path.isdir(place.path)
    if isinstance(place.filesystem, arrow_fs.FileSystem):
        return bool(place.filesystem.get_file_info(place.path).type == arrow_fs.FileType.Directory)
    return bool(place.filesystem.isdir(place.path))
