"""Paths with wildcards: the files that a pattern matches, on any filesystem."""

from __future__ import annotations

import errno

from fsspec.implementations.arrow import ArrowFSWrapper
from pyarrow import fs as arrow_fs

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import Location, has_wildcards


@foreign_errors()
def matched_files(place: Location) -> list[Location] | None:
    """Return the files that a pattern matches, sorted by path.

    Parameters
    ----------
    place
        A path with ``*``, ``?``, ``[…]``, or ``**`` for any folders, as fsspec's ``glob`` has them.

    Returns
    -------
    list or None
        None if the path has no wildcard, or if it exists as it is written.

    Raises
    ------
    FileNotFoundError
        It matches no file.
    """
    if not has_wildcards(place.path):
        return None
    filesystem = place.filesystem
    seen = ArrowFSWrapper(filesystem) if isinstance(filesystem, arrow_fs.FileSystem) else filesystem
    if seen.exists(place.path):
        return None
    found = seen.glob(place.path, detail=True)
    paths = sorted(path for path, info in found.items() if info["type"] == "file")
    if not paths:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", place.name)
    return [Location(place.given, path) for path in paths]
