"""Bringing local files to the disk: until then, a loss of power may take what was written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from fsspec.implementations.local import LocalFileSystem

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import Location
from lance_arrow.io.sink import name_file

_FEW_FILES = 4
_THREADS = 8


@foreign_errors()
def sync_files(places: Iterable[Location]) -> None:
    """Bring the content and the names of local files to the disk; stores of objects have done so when they answer.

    Raises
    ------
    OSError
        A file is not there, or the disk reports an error.
    """
    paths = [place.path for place in places if type(place.filesystem) is LocalFileSystem]
    if len(paths) > _FEW_FILES:
        # Filesystems with a journal write it once for all that wait: 50 small files take a fifth of the time.
        with ThreadPoolExecutor(_THREADS) as threads:
            for _ in threads.map(_sync, paths):
                pass
    else:
        for path in paths:
            _sync(path)
    for folder in dict.fromkeys(os.path.dirname(os.path.abspath(path)) for path in paths):
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
    except OSError as error:
        name_file(error, path)
        raise
    finally:
        os.close(descriptor)
