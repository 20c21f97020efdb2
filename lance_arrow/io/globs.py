"""Paths with wildcards: what a pattern matches, on any filesystem."""

from __future__ import annotations

import errno

from fsspec.implementations.arrow import ArrowFSWrapper
from pyarrow import fs as arrow_fs

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import Location, is_pattern


@foreign_errors()
def matches_of(place: Location) -> dict[str, str] | None:
    """Return the paths that a pattern matches, sorted, and whether each is a ``"file"`` or ``"directory"``.

    None if the path has no wildcard, or if it exists as it is written.
    """
    if not is_pattern(place):
        return None
    filesystem = place.filesystem
    seen = ArrowFSWrapper(filesystem) if isinstance(filesystem, arrow_fs.FileSystem) else filesystem
    if seen.exists(place.path):
        return None
    found = seen.glob(place.path, detail=True)
    return {path: found[path]["type"] for path in sorted(found)}


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
    found = matches_of(place)
    if found is None:
        return None
    paths = [path for path, kind in found.items() if kind == "file"]
    if not paths:
        raise no_match(place)
    return [Location(place.given, path) for path in paths]


def no_match(place: Location) -> FileNotFoundError:
    """Return the error of a pattern that matches nothing."""
    return FileNotFoundError(errno.ENOENT, "no file matches the pattern", place.name)
