"""Sources over bytes in memory, and over local files that are mapped: decoded where they lie, without a copy."""

from __future__ import annotations

import mmap
from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.local_source import LocalSource
from lance_arrow.io.source import MEMORY_COALESCING, Bytes, Coalescing, Positional, Positions, check_ranges

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from lance_arrow.io.location import Location


class BufferSource:
    """Slices of one buffer, without a copy.

    Parameters
    ----------
    data
        Anything with the buffer protocol: `bytes`, `memoryview`, `pyarrow.Buffer`. Must not change while it is read.
    name
        Name for messages.
    """

    def __init__(self, data: Buffer, *, name: str = "<buffer>") -> None:
        self.name = name
        self.coalescing: Coalescing = MEMORY_COALESCING
        flat = memoryview(data)
        view = np.frombuffer(flat.cast("B"), np.uint8) if flat.nbytes else np.empty(0, np.uint8)
        view.setflags(write=False)
        self._data: Bytes | None = view
        self._size = len(view)

    def size(self) -> int:
        """Return the number of bytes."""
        return self._size

    def identity(self) -> Hashable | None:
        """Return None: memory may be reused for other content."""
        return None

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Cut the ranges; see `RangeSource.read`."""
        data, _ = self.read_arena(starts, stops)
        return [data[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Return the whole buffer: every range has its place in it."""
        data = self._data
        if data is None:
            raise InvalidArgumentError("the source is closed", path=self.name)
        check_ranges(starts, stops, size_bytes=self._size, name=self.name)
        return data, starts

    def read_end(self, num_bytes: int) -> Bytes:
        """Return the last bytes; all bytes of a smaller buffer."""
        data = self._data
        if data is None:
            raise InvalidArgumentError("the source is closed", path=self.name)
        return data[max(self._size - num_bytes, 0) :]

    def positional(self) -> Positional | None:
        """Return the memory for native reads; None when the source is closed."""
        data = self._data
        return None if data is None else Positional(-1, data, self._size, data)

    def close(self) -> None:
        """Release the buffer."""
        self._data = None


class MappedSource(BufferSource):
    """A mapped file; for files that do not change.

    One that is cut while it is mapped ends the process (SIGBUS). One that is written over gives other rows.

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
        self._identity, self._state = file.identity(), file.local_state()
        positional = file.positional()
        assert positional is not None
        # An empty file cannot be mapped.
        mapped = mmap.mmap(positional.descriptor, 0, access=mmap.ACCESS_READ) if file.size() else b""
        file.close()
        super().__init__(mapped, name=file.name)

    def identity(self) -> Hashable | None:
        """Return what `LocalSource.identity` returned when the file was mapped."""
        return self._identity

    def local_state(self) -> tuple[str, tuple[int, int, int, int]]:
        """Return what `LocalSource.local_state` returned then."""
        return self._state
