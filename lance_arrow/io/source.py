"""What every byte source promises: its size, its name, and the bytes of the ranges it is asked for."""

from __future__ import annotations

import errno
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import BlockChecks
from lance_arrow.errors import InvalidArgumentError, TruncatedReadError

Bytes: TypeAlias = NDArray[np.uint8]
"""``(num_bytes,) uint8``, contiguous and read-only."""

Positions: TypeAlias = NDArray[np.int64]
"""``(n,) int64``, bytes from the start of the object."""


@dataclass(frozen=True, slots=True)
class Coalescing:
    """How far apart wanted ranges may lie to share a request.

    Parameters
    ----------
    max_gap_bytes
        Largest hole worth reading through.
    max_span_bytes
        A request does not grow beyond this by joining ranges.
    tail_bytes
        How much of a file's end is worth reading before anything is known of it.
    requests_in_flight
        How many requests are worth having in flight at a time; 0 where asking ahead saves nothing.
    """

    max_gap_bytes: int
    max_span_bytes: int
    tail_bytes: int = 64 << 10
    requests_in_flight: int = 0

    @property
    def is_far(self) -> bool:
        """Whether a request takes so long that ranges are to be asked ahead, and twice rather than in turn."""
        return self.requests_in_flight > 0


# A positional read costs about what copying a few KiB costs; a remote request costs about what a MiB costs to carry.
LOCAL_COALESCING = Coalescing(max_gap_bytes=4 << 10, max_span_bytes=16 << 20, tail_bytes=16 << 10)
MEMORY_COALESCING = Coalescing(max_gap_bytes=4 << 10, max_span_bytes=16 << 20)
REMOTE_COALESCING = Coalescing(max_gap_bytes=1 << 20, max_span_bytes=2 << 20, requests_in_flight=16)
# One connection, or a file that is opened anew for each read: few, large requests, one after another.
SERIAL_COALESCING = Coalescing(max_gap_bytes=1 << 20, max_span_bytes=16 << 20, requests_in_flight=1)


@dataclass(frozen=True, slots=True, eq=False)
class Positional:
    """What native code reads by position without Python.

    Parameters
    ----------
    descriptor
        Number of an open file, or -1.
    memory
        The whole object, where it lies in memory.
    size_bytes
        Size of the object.
    owner
        Keeps the descriptor open; hold it while reading.
    checks
        What must be compared with its checksum when it is read; None for nothing.
    """

    descriptor: int
    memory: Bytes | None
    size_bytes: int
    owner: object
    checks: BlockChecks | None = None


@runtime_checkable
class RangeSource(Protocol):
    """Immutable bytes that can be read by range, from any thread."""

    @property
    def name(self) -> str:
        """Printable place, free of credentials."""

    @property
    def coalescing(self) -> Coalescing:
        """What is worth joining here."""

    def size(self) -> int:
        """Return the number of bytes, as it was when the source was opened."""

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range with a request of its own.

        Parameters
        ----------
        starts, stops
            ``(n,) int64`` each, half-open, any order. Join neighbours before (`read_coalesced`).

        Returns
        -------
        list of Bytes
            ``n`` arrays, the i-th of ``stops[i] - starts[i]`` bytes.

        Raises
        ------
        TruncatedReadError
            Fewer bytes exist than asked for.
        InvalidArgumentError
            A negative start, a stop before its start, or a closed source.
        OSError
            Errors of the filesystem, without credentials in their text.
        """

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read as `read` does, into one array: range i lies at its position ``positions[i]``.

        A take asks for thousands of small ranges: one array and one of positions cost less than an object for each.
        """

    def identity(self) -> Hashable | None:
        """Return a key that changes when the content does; None when nothing is known, then nothing may be cached."""

    def close(self) -> None:
        """Release what is held; reads that run finish, later ones fail."""


@runtime_checkable
class DirectSource(Protocol):
    """A source that can also fill memory of the caller, without memory of its own between."""

    def read_into(self, starts: Positions, stops: Positions, out: Bytes, out_starts: Positions) -> None:
        """Read range i into ``out[out_starts[i] :]``; see `RangeSource.read` for the rest."""


def joined(answers: Sequence[Bytes]) -> tuple[Bytes, Positions]:
    """Lay separate answers into one array: `read_arena` of sources that get an object for each range."""
    if len(answers) == 1:
        return answers[0], np.zeros(1, np.int64)
    sizes = np.fromiter(map(len, answers), np.int64, len(answers))
    data = np.concatenate(answers) if answers else np.empty(0, np.uint8)
    return data, np.cumsum(sizes) - sizes


def check_ranges(starts: Positions, stops: Positions, *, size_bytes: int, name: str) -> Positions:
    """Return the sizes of ranges that lie inside the object, or raise before anything is allocated for them.

    Parameters
    ----------
    starts, stops
        ``(n,) int64`` each.
    size_bytes
        Size of the object.
    name
        For messages.

    Returns
    -------
    Positions
        ``(n,) int64`` sizes in bytes.

    Raises
    ------
    InvalidArgumentError
        Unequal lengths, a negative start or a stop before its start.
    TruncatedReadError
        A range ends behind the object.
    """
    if starts.shape != stops.shape or starts.ndim != 1:
        raise InvalidArgumentError(
            f"starts {starts.shape} and stops {stops.shape} must be one-dimensional and equal", path=name
        )
    if len(starts) == 0:
        return np.empty(0, np.int64)
    if len(starts) == 1 and 0 <= starts[0] <= stops[0] <= size_bytes:
        return stops - starts
    if starts.min() < 0 or (stops < starts).any():
        bad = int(np.argmax((starts < 0) | (stops < starts)))
        raise InvalidArgumentError(f"no range of bytes: {starts[bad]}..{stops[bad]}", path=name)
    if stops.max() > size_bytes:
        bad = int(np.argmax(stops))
        raise TruncatedReadError(
            f"wanted bytes up to {stops[bad]}, but there are {size_bytes}",
            path=name,
            byte_range=(int(starts[bad]), int(stops[bad])),
        )
    return stops - starts


def truncated(name: str, start: int, stop: int, received: int) -> TruncatedReadError:
    """Build the error for a range that came back short."""
    return TruncatedReadError(
        f"wanted {stop - start} bytes, received {received}: the file became shorter or the source cut the answer",
        path=name,
        byte_range=(start, stop),
    )


def is_a_directory(name: str) -> IsADirectoryError:
    """Build the error for a folder where a file is expected."""
    said = f"{os.strerror(errno.EISDIR)}, not a file: lance_arrow.dataset opens tables and folders of files"
    return IsADirectoryError(errno.EISDIR, said, name)
