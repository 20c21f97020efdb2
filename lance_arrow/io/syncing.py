"""Bringing local files to the disk: until then, a loss of power may take what was written."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fsspec.implementations.local import LocalFileSystem

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import Location


@foreign_errors()
def sync_files(places: Iterable[Location]) -> None:
    """Bring the content and the names of local files to the disk; stores of objects have done so when they answer.

    Raises
    ------
    OSError
        A file is not there, or the disk reports an error.
    """
    folders: dict[str, None] = {}
    for place in places:
        if type(place.filesystem) is LocalFileSystem:
            _sync(place.path)
            folders[os.path.dirname(os.path.abspath(place.path))] = None
    for folder in folders:
        sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Bring the names in a local folder to the disk; where folders cannot be opened, they need not be."""
    if os.name == "posix":
        _sync(folder)


def _sync(path: str) -> None:
    # Windows brings to the disk what was opened for writing only.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
