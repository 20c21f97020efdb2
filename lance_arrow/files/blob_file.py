"""`BlobFile`: one blob as a file object; each read fetches exactly the requested bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lance_arrow.errors import NotPicklableError
from lance_arrow.io import BufferSource, RangeSource, fetch_into
from lance_arrow.scan.blobs.blob_places import BlobPlaces

if TYPE_CHECKING:
    from typing_extensions import Buffer


class BlobFile(io.RawIOBase):
    """The blob of a row as a readable, seekable file object. Get one from `LanceFile.take_blobs`.

    It does not read ahead: wrap it in `io.BufferedReader` for many small reads. Threads may share it; reads and seeks
    are atomic.

    Parameters
    ----------
    source
        Source of the bytes; it stays open when the blob is closed.
    start, size_bytes
        Offset and size of the blob in the source, in bytes.
    name
        Name for messages.
    """

    def __init__(self, source: RangeSource, start: int, size_bytes: int, name: str) -> None:
        super().__init__()
        self.name = name
        self._source = source
        self._start = start
        self._size = size_bytes
        self._position = 0
        self._lock = Lock()

    def size(self) -> int:
        """Return the number of bytes of the blob."""
        return self._size

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position, in bytes from the start of the blob."""
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position. It may be beyond the end; reads there return no bytes.

        Raises
        ------
        ValueError
            The position would be negative, `whence` is unknown, or the file is closed.
        """
        self._check_open()
        with self._lock:
            origins = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}
            if whence not in origins:
                raise ValueError(f"whence is {whence}, expected 0, 1 or 2")
            position = origins[whence] + offset
            if position < 0:
                raise ValueError(f"position {position} is negative")
            self._position = position
            return position

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes from the position, all that are left when it is negative or None.

        Raises
        ------
        TruncatedReadError, OSError
            The source fails.
        """
        self._check_open()
        with self._lock:
            left = max(self._size - self._position, 0)
            content = bytearray(left if size is None or size < 0 else min(size, left))
            self._fill(np.frombuffer(content, np.uint8))
        return bytes(content)

    def readall(self) -> bytes:
        """Read all that is left."""
        return self.read()

    def readinto(self, buffer: Buffer, /) -> int:
        """Read into writable memory until it is full or the blob ends; return the number of bytes."""
        self._check_open()
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError("readinto needs memory that can be written")
        with self._lock:
            count = min(max(self._size - self._position, 0), len(view))
            self._fill(np.frombuffer(view[:count], np.uint8))
        return count

    def _fill(self, out: np.ndarray) -> None:
        """Read exactly as many bytes as `out` has, and move on."""
        if len(out):
            start = self._start + self._position
            fetch_into(self._source, np.array([start]), np.array([start + len(out)]), out, np.zeros(1, np.int64))
            self._position += len(out)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the blob is closed")

    def __reduce__(self) -> tuple[object, ...]:
        raise NotPicklableError(
            "a BlobFile reads from a file that this process has open; pickle the LanceFile, the column and the row "
            "number, or the bytes that read() returns",
            path=self.name,
        )

    def __repr__(self) -> str:
        return f"BlobFile({self.name!r}, size={self._size:,})"


def open_blobs(places: BlobPlaces, name: str) -> Iterator[BlobFile | None]:
    """Yield a file per place, None for nulls."""
    starts, sizes, source_of = places.starts.tolist(), places.sizes.tolist(), places.source_of.tolist()
    empty = BufferSource(b"")
    for row, (start, size, number) in enumerate(zip(starts, sizes, source_of, strict=True)):
        if places.valid is not None and not places.valid[row]:
            yield None
        else:
            yield BlobFile(places.sources[number] if number >= 0 else empty, start, size, name)
