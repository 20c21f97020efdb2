"""A source over one local file, by positional reads.

Not a memory map: a file that is cut while it is mapped kills the process (SIGBUS), a positional read merely comes back
short. One file descriptor serves all threads, since positional reads share no file offset; it survives a fork likewise.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable

import numpy as np

from lance_arrow.engine import open_file, read_ranges
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.io.source import (
    LOCAL_COALESCING,
    Bytes,
    Coalescing,
    Positional,
    Positions,
    check_ranges,
    is_a_directory,
    truncated,
)

_ALIGNMENT_BYTES = 64


def state_of(path: str) -> tuple[int, int, int, int] | None:
    """Return size, modification time, device and inode of what lies at a path now; None where nothing can be found."""
    try:
        return _state(os.stat(path))
    except (OSError, ValueError):
        return None


def _state(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


class _Descriptor:
    """An open file descriptor that lives as long as the last read that uses it."""

    __slots__ = ("number",)

    def __init__(self, path: str) -> None:
        self.number = -1
        try:
            self.number = open_file(os.fsencode(path))
        except IsADirectoryError:
            # Of systems that do not open folders.
            raise is_a_directory(path) from None

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


class LocalSource:
    """Positional reads from a local file.

    Parameters
    ----------
    path
        File to open.
    name
        What to print in its place; the path itself when None.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        As the operating system says.
    UnsupportedError
        Neither a file nor a directory.
    """

    def __init__(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        text = os.fspath(path)
        self.name = text if name is None else name
        self.coalescing: Coalescing = LOCAL_COALESCING
        self._descriptor: _Descriptor | None = _Descriptor(text)
        status = os.fstat(self._descriptor.number)
        if stat.S_ISDIR(status.st_mode):
            raise is_a_directory(text)
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedError("not a regular file: its bytes cannot be read by position", path=self.name)
        self._size = status.st_size
        # Relative to the folder that the process is in now.
        self._path, self._status = text if os.path.isabs(text) else os.path.abspath(text), status
        self._positional: Positional | None = Positional(self._descriptor.number, None, self._size, self._descriptor)

    def size(self) -> int:
        """Return the file's size in bytes when it was opened."""
        return self._size

    def identity(self) -> Hashable | None:
        """Return absolute path, size, modification time and inode, as they were when the file was opened."""
        path, state = self.local_state()
        return "file", path, *state

    def local_state(self) -> tuple[str, tuple[int, int, int, int]]:
        """Return the absolute path, and size, modification time, device and inode when the file was opened."""
        return self._path, _state(self._status)

    def read_end(self, num_bytes: int) -> Bytes:
        """Read the last bytes, all of a file that has fewer; as `read`, for one range, in less time."""
        descriptor = self._descriptor
        if descriptor is None:
            raise InvalidArgumentError("the source is closed", path=self.name)
        size = min(num_bytes, self._size)
        start = self._size - size
        arena, place = _one_arena(start, size)
        self._fill(descriptor, np.array([start]), np.array([size]), arena, np.array([place]))
        arena.setflags(write=False)
        return arena[place : place + size]

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read all ranges; see `read_arena`."""
        arena, positions = self.read_arena(starts, stops)
        places = zip(positions.tolist(), (positions + (stops - starts)).tolist(), strict=True)
        return [arena[start:stop] for start, stop in places]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read all ranges in one call of the kernel, into one allocation.

        Each range has in memory the alignment, modulo 64, that it has in the file: what a writer aligned stays aligned.
        """
        descriptor = self._descriptor
        if descriptor is None:
            raise InvalidArgumentError("the source is closed", path=self.name)
        sizes = check_ranges(starts, stops, size_bytes=self._size, name=self.name)
        arena, out_starts = _arena(starts, sizes)
        self._fill(descriptor, starts, sizes, arena, out_starts)
        arena.setflags(write=False)
        return arena, out_starts

    def read_into(self, starts: Positions, stops: Positions, out: Bytes, out_starts: Positions) -> None:
        """Read each range into writable memory of the caller, at its place there."""
        descriptor = self._descriptor
        if descriptor is None:
            raise InvalidArgumentError("the source is closed", path=self.name)
        sizes = check_ranges(starts, stops, size_bytes=self._size, name=self.name)
        self._fill(descriptor, starts, sizes, out, out_starts)

    def _fill(
        self, descriptor: _Descriptor, starts: Positions, sizes: Positions, out: Bytes, out_starts: Positions
    ) -> None:
        try:
            short = read_ranges(descriptor.number, np.ascontiguousarray(starts), sizes, out_starts, out)
        except OSError as error:
            error.filename = self.name
            raise
        if short >= 0:
            start, size = int(starts[short]), int(sizes[short])
            received = max(os.fstat(descriptor.number).st_size - start, 0)
            raise truncated(self.name, start, start + size, min(received, size))

    def positional(self) -> Positional | None:
        """Return the open descriptor for native reads; None when the source is closed."""
        return self._positional

    def close(self) -> None:
        """Let go of the file descriptor; it closes when no read uses it any more."""
        self._descriptor = self._positional = None


def _arena(starts: Positions, sizes: Positions) -> tuple[Bytes, Positions]:
    """Allocate once for all ranges and place them so that alignment modulo 64 is kept."""
    if len(starts) == 1:
        arena, place = _one_arena(int(starts[0]), int(sizes[0]))
        return arena, np.array([place], np.int64)
    lead = starts % _ALIGNMENT_BYTES
    padded = -(-(lead + sizes) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
    ends = np.cumsum(padded)
    total = int(ends[-1]) if len(ends) else 0
    arena = np.empty(total + _ALIGNMENT_BYTES, np.uint8)
    base = -arena.ctypes.data % _ALIGNMENT_BYTES
    return arena, np.asarray(ends - padded + lead + base, np.int64)


def _one_arena(start: int, size: int) -> tuple[Bytes, int]:
    """Allocate for one range, and say where in the memory it begins."""
    lead_bytes = start % _ALIGNMENT_BYTES
    arena = np.empty(lead_bytes + size + _ALIGNMENT_BYTES, np.uint8)
    return arena, lead_bytes + -arena.__array_interface__["data"][0] % _ALIGNMENT_BYTES
