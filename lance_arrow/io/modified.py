"""Modification times of files, if their filesystem has them."""

from __future__ import annotations

import datetime
import os

from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.location import Location
from lance_arrow.late_arrow import arrow_fs


@foreign_errors()
def modified_ns(location: Location) -> int | None:
    """Return the time of the last change in nanoseconds since 1970; None if the filesystem has no times.

    Raises
    ------
    FileNotFoundError, OSError
        Errors of the filesystem.
    """
    if location.is_local:
        return os.stat(location.path).st_mtime_ns
    filesystem, path = location.filesystem, location.path
    if isinstance(filesystem, arrow_fs.FileSystem):
        found: int | None = filesystem.get_file_info(path).mtime_ns
        return found
    try:
        moment = filesystem.modified(path)
    except NotImplementedError:
        return None
    if not isinstance(moment, datetime.datetime):
        return None
    # Times without a zone are compared only with others of the same filesystem.
    moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
    return int(moment.timestamp() * 1_000_000) * 1000
