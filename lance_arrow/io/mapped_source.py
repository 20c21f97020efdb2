"""A source over one local file that is mapped: its bytes are decoded where the system keeps them, without a copy.

For files that do not change. One that is cut while it is mapped ends the process (SIGBUS). One that is written over
gives other rows.
"""

from __future__ import annotations

import mmap
from collections.abc import Hashable
from typing import TYPE_CHECKING

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.buffer_source import BufferSource
from lance_arrow.io.local_source import LocalSource

if TYPE_CHECKING:
    from lance_arrow.io.location import Location


class MappedSource(BufferSource):
    """A mapped file.

    Parameters
    ----------
    place
        A local file.

    Raises
    ------
    InvalidArgumentError
        It is none, but a place of a filesystem, or memory (None).
    FileNotFoundError, PermissionError, IsADirectoryError, UnsupportedError
        As `LocalSource`.
    """

    def __init__(self, place: Location | None) -> None:
        if place is None or not place.is_local:
            where = None if place is None else place.name
            raise InvalidArgumentError("only local files can be mapped into memory", path=where)
        file = LocalSource(place.path, name=place.name)
        self._identity = file.identity()
        positional = file.positional()
        assert positional is not None
        # An empty file cannot be mapped.
        mapped = mmap.mmap(positional.descriptor, 0, access=mmap.ACCESS_READ) if file.size() else b""
        file.close()
        super().__init__(mapped, name=file.name)

    def identity(self) -> Hashable | None:
        """Return what `LocalSource.identity` returned when the file was mapped."""
        return self._identity
