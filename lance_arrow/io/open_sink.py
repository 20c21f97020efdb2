"""Open a sink for any target of a caller: paths, URLs, filesystems, open streams."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_sink import LocalSink
from lance_arrow.io.location import AnyFileSystem, Location, resolve
from lance_arrow.io.sink import ByteSink
from lance_arrow.io.stream_sink import BinaryStream, StreamSink


@foreign_errors()
def open_sink(
    target: str | os.PathLike[str] | Location | ByteSink | BinaryStream,
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> ByteSink:
    """Begin a file, which appears under its name when the sink is closed.

    Parameters
    ----------
    target
        A path or URL as for `resolve`, a `Location`, an open binary stream, or an open sink, which is returned. A
        stream is written from its current position, and stays open.
    filesystem, storage_options
        As for `resolve`.

    Returns
    -------
    ByteSink
        The caller closes it or, better, uses it as a context manager, which aborts if an exception is raised.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        Errors of the filesystem.
    InvalidArgumentError
        `target` has another type, or it is already open and has a filesystem or storage options.
    """
    # A check of the protocol takes longer than a check whether it is a path.
    if not isinstance(target, Location | str) and isinstance(target, ByteSink | BinaryStream):
        if filesystem is not None or storage_options:
            raise InvalidArgumentError("filesystem and storage_options are for paths, not for open streams and sinks")
        return target if isinstance(target, ByteSink) else StreamSink(target)
    place = target if isinstance(target, Location) else resolve(target, filesystem, storage_options)
    filesystem = place.given
    if filesystem is None or (place.is_local and not filesystem.auto_mkdir):
        # A plain local path has no wrapper and no protocol to remove.
        return LocalSink(place.path, name=place.name)
    # Only for filesystems that a caller gave: these import fsspec.
    from pyarrow import fs as arrow_fs  # noqa: PLC0415

    from lance_arrow.io.arrow_sink import create_arrow  # noqa: PLC0415
    from lance_arrow.io.fsspec_sink import create_fsspec  # noqa: PLC0415

    if isinstance(filesystem, arrow_fs.FileSystem):
        return create_arrow(filesystem, place.path, name=place.name)
    return create_fsspec(filesystem, place.path, name=place.name)
