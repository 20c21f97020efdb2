"""Detect tables without data files in a folder that `pyarrow.dataset` is about to search.

A shallow clone may have no data files: pyarrow finds none, never calls the format, and makes an empty dataset. Before
the search it only evaluates the truth of the format (``format or "parquet"``), so the check happens there.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Protocol

from lance_arrow.errors import UnsupportedError
from lance_arrow.io import Location, has_file, list_tree
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version, table_location
from lance_arrow.runtime import default_runtime

_SEARCH = "_filesystem_dataset"
_MODULE = "pyarrow.dataset"
_is_known: ContextVar[bool] = ContextVar("in_no_table", default=False)


class ChosenVersion(Protocol):
    """Choice of a version of a table, as `VersionChoice`."""

    version: int | None
    tag: str | None
    as_of: Any


@contextmanager
def in_no_table() -> Iterator[None]:
    """Enter to have pyarrow search where the caller knows that there is no table: to look again takes a request."""
    token = _is_known.set(True)
    try:
        yield
    finally:
        _is_known.reset(token)


def check_searched(asked: FrameType | None, chosen: ChosenVersion) -> None:
    """Refuse the search of a folder that holds a table with rows, but no data files.

    Parameters
    ----------
    asked
        Frame of the function that pyarrow's search calls. Calls by others pass.
    chosen
        Choice of the version of a table.

    Raises
    ------
    UnsupportedError
        The table's files lie elsewhere.
    LanceError
        As `open_version`, where there is a table without files.
    """
    caller = None if asked is None else asked.f_back
    if (
        _is_known.get()
        or caller is None
        or caller.f_code.co_name != _SEARCH
        or caller.f_globals.get("__name__") != _MODULE
    ):
        return
    root = _folder(caller.f_locals.get("source"), caller.f_locals.get("filesystem"))
    if root is None:
        return
    folder = posixpath.join(root.path, DATA)
    # A local table with files is found out without its manifests.
    is_searched = root.is_local and has_file(root.given, folder, _is_searched)
    if is_searched or not is_table(root):
        return
    if not root.is_local and has_file(root.given, folder, _is_searched):
        return
    if any(map(_is_searched, list_tree(root.filesystem, folder))):
        return
    choice = VersionChoice(version=chosen.version, tag=chosen.tag, as_of=chosen.as_of)
    manifest = open_version(root, choice, default_runtime().settings.limits)
    if manifest.fragments:
        raise UnsupportedError(
            "this folder has no data files, because the table is a shallow clone and reads those of its source; "
            f"lance_arrow.dataset({root.name!r}) reads them",
            path=root.name,
        )


def _is_searched(name: str) -> bool:
    return not name.startswith(("_", "."))


def _folder(source: Any, filesystem: Any) -> Location | None:
    """Return the folder that is meant; None for what is none, which pyarrow will say itself."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = os.fspath(source)
    if not isinstance(path, str):
        return None
    is_local = filesystem is None or isinstance(filesystem, arrow_fs.LocalFileSystem)
    if is_local and os.path.isfile(path):
        return None
    try:
        if isinstance(filesystem, str):
            filesystem, prefix = arrow_fs.FileSystem.from_uri(filesystem)
            path = posixpath.join(prefix, path)
        elif filesystem is None and "://" in path:
            filesystem, path = arrow_fs.FileSystem.from_uri(path)
    except (ValueError, OSError):
        return None
    return table_location(path, filesystem)
