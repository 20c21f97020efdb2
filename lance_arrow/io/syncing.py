"""Flush local files to the disk: without it, a power failure may lose written bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import Location
from lance_arrow.io.sink import name_file

_FEW_FILES = 4
_THREADS = 8


@foreign_errors()
def sync_files(places: Iterable[Location]) -> None:
    """Flush content and names of local files to the disk; object stores have done so when they respond.

    Raises
    ------
    OSError
        A file does not exist, or the disk reports an error.
    """
    paths = [place.path for place in places if place.is_local]
    if len(paths) > _FEW_FILES:
        # Filesystems with a journal write it once for all waiting threads: 50 small files take a fifth of the time.
        with ThreadPoolExecutor(_THREADS) as threads:
            for _ in threads.map(_sync, paths):
                pass
    else:
        for path in paths:
            _sync(path)
    for folder in dict.fromkeys(os.path.dirname(os.path.abspath(path)) for path in paths):
        sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Flush the names in a local folder to the disk; does nothing on systems that cannot open folders."""
    if os.name == "posix":
        _sync(folder)


def _sync(path: str) -> None:
    # Windows only flushes files that are open for writing.
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        name_file(error, path)
        raise
    finally:
        os.close(descriptor)
