"""The contract of byte sources: a size, a name, and the bytes of requested ranges."""

from __future__ import annotations

import errno
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import BlockChecks, ManyFiles, Segments
from lance_arrow.errors import InvalidArgumentError, TruncatedReadError

if TYPE_CHECKING:
    from lance_arrow.io.pacing.pace import Pace

Bytes: TypeAlias = NDArray[np.uint8]
"""``(num_bytes,) uint8``, contiguous and read-only."""

Positions: TypeAlias = NDArray[np.int64]
"""``(n,) int64``, bytes from the start of the object."""


@dataclass(frozen=True, slots=True)
class Coalescing:
    """Limits for joining wanted ranges into requests.

    Parameters
    ----------
    max_gap_bytes
        Largest gap that a request reads too.
    max_span_bytes
        Joining ranges never makes a request larger than this.
    tail_bytes
        Number of bytes to read at a file's end when it is opened.
    requests_in_flight
        Most concurrent requests; 0 if prefetching saves nothing.
    least_gap_bytes
        Gap that a request always reads too. Wider ones, up to `max_gap_bytes`, are read only where ranges would take
        more than `requests_in_flight` requests. None: as `max_gap_bytes`.
    wave_gap_bytes, many_requests
        As `max_gap_bytes` and `requests_in_flight`, but of a wave that a caller waits for, not of requests ahead of a
        scan. 0: the same.
    whole_bytes
        A file of at most this size is read by one request if nearly all of it is wanted.
    guesses_rows
        Whether the probable bytes of few rows are requested with the index of their page: a wave less, and a few KiB
        more. Useless where requests are joined over so wide gaps that they read most of a page then.
    pace
        How fast the store is; None for sources that are not far.
    """

    max_gap_bytes: int
    max_span_bytes: int
    tail_bytes: int = 64 << 10
    requests_in_flight: int = 0
    least_gap_bytes: int | None = None
    whole_bytes: int = 0
    wave_gap_bytes: int = 0
    many_requests: int = 0
    guesses_rows: bool = False
    pace: Pace | None = None

    @property
    def is_far(self) -> bool:
        """Whether requests are so slow that ranges are prefetched, and that reading twice beats reading in sequence."""
        return self.requests_in_flight > 0


# A positional read costs about as much as copying a few KiB; a remote request as much as transferring a MiB.
LOCAL_COALESCING = Coalescing(max_gap_bytes=4 << 10, max_span_bytes=16 << 20, tail_bytes=16 << 10)
MEMORY_COALESCING = Coalescing(max_gap_bytes=4 << 10, max_span_bytes=16 << 20)
# Requests of one wave wait together: as long as few are made, bytes between ranges are not worth reading.
REMOTE_COALESCING = Coalescing(
    max_gap_bytes=1 << 20,
    max_span_bytes=2 << 20,
    requests_in_flight=16,
    least_gap_bytes=128 << 10,
    whole_bytes=8 << 20,
)
# Requests by threads of ours, or of obstore, cost a client little, and all of them are in flight: fewer bytes between
# ranges are read (decisions 0061 and 0090).
THREADED_COALESCING = replace(
    REMOTE_COALESCING,
    requests_in_flight=32,
    least_gap_bytes=48 << 10,
    wave_gap_bytes=128 << 10,
    many_requests=96,
    guesses_rows=True,
)
# One connection, or a file that is opened for each read: few, large requests, one after another.
SERIAL_COALESCING = Coalescing(
    max_gap_bytes=1 << 20, max_span_bytes=16 << 20, requests_in_flight=1, whole_bytes=8 << 20
)


@dataclass(frozen=True, slots=True, eq=False)
class Positional:
    """Interface for native positional reads, without Python.

    Parameters
    ----------
    descriptor
        Number of an open file, or -1.
    memory
        The whole object, if it is in memory.
    size_bytes
        Size of the object.
    owner
        Keeps the descriptor open; hold it while reading.
    checks
        Blocks to compare with their checksums when they are read; None for none.
    segments
        Parts that were fetched of a far file, and counted and checked then; there is no other memory.
    files
        Local files whose bytes the object has; there is nothing else.
    """

    descriptor: int
    memory: Bytes | None
    size_bytes: int
    owner: object
    checks: BlockChecks | None = None
    segments: Segments | None = None
    files: ManyFiles | None = None


@runtime_checkable
class RangeSource(Protocol):
    """Immutable bytes that can be read by range, from any thread."""

    @property
    def name(self) -> str:
        """Printable name of the place, without credentials."""

    @property
    def coalescing(self) -> Coalescing:
        """Limits for joining ranges of this source."""

    def size(self) -> int:
        """Return the number of bytes at the time when the source was opened."""

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range with a separate request.

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
            The file has fewer bytes than requested.
        InvalidArgumentError
            A negative start, a stop before its start, or a closed source.
        OSError
            Errors of the filesystem, without credentials in their text.
        """

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read as `read` does, into one array: range i lies at its position ``positions[i]``.

        A take reads thousands of small ranges: one array and its positions cost less than an object for each range.
        """

    def identity(self) -> Hashable | None:
        """Return a key that changes with the content; None if no version is known, so nothing may be cached."""

    def close(self) -> None:
        """Release all resources; running reads finish, later ones fail."""


@runtime_checkable
class DirectSource(Protocol):
    """A source that can also read directly into memory of the caller."""

    def read_into(self, starts: Positions, stops: Positions, out: Bytes, out_starts: Positions) -> None:
        """Read range i into ``out[out_starts[i] :]``; otherwise as `RangeSource.read`."""


def joined(answers: Sequence[Bytes]) -> tuple[Bytes, Positions]:
    """Join separate responses into one array, for `read_arena` of sources that return an object for each range."""
    if len(answers) == 1:
        return answers[0], np.zeros(1, np.int64)
    sizes = np.fromiter(map(len, answers), np.int64, len(answers))
    data = np.concatenate(answers) if answers else np.empty(0, np.uint8)
    return data, np.cumsum(sizes) - sizes


def check_ranges(starts: Positions, stops: Positions, *, size_bytes: int, name: str) -> Positions:
    """Return the sizes of ranges inside the object; raises before memory is allocated for them.

    Parameters
    ----------
    starts, stops
        ``(n,) int64`` each.
    size_bytes
        Size of the object.
    name
        Name for messages.

    Returns
    -------
    Positions
        ``(n,) int64`` sizes in bytes.

    Raises
    ------
    InvalidArgumentError
        Unequal lengths, a negative start or a stop before its start.
    TruncatedReadError
        A range ends behind the end of the object.
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
        raise InvalidArgumentError(f"not a byte range: {starts[bad]}..{stops[bad]}", path=name)
    if stops.max() > size_bytes:
        bad = int(np.argmax(stops))
        raise TruncatedReadError(
            f"requested bytes up to {stops[bad]}, but there are {size_bytes}",
            path=name,
            byte_range=(int(starts[bad]), int(stops[bad])),
        )
    return stops - starts


def truncated(name: str, start: int, stop: int, received: int) -> TruncatedReadError:
    """Return the error for a range with too few bytes."""
    return TruncatedReadError(
        f"requested {stop - start} bytes, received {received}: the file became shorter or the response was cut",
        path=name,
        byte_range=(start, stop),
    )


def is_a_directory(name: str) -> IsADirectoryError:
    """Return the error for a folder in the place of a file."""
    said = f"{os.strerror(errno.EISDIR)}, not a file: lance_arrow.dataset opens tables and folders of files"
    return IsADirectoryError(errno.EISDIR, said, name)
