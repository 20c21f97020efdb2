"""Read many files at once: small ones completely, of others their ends; `open_source` reads single ones."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import read_files
from lance_arrow.errors import FileChangedError, StoreError, StoreRefusedError, StoreTimeoutError
from lance_arrow.io.foreign_errors import foreign_errors
from lance_arrow.io.local_source import state_of
from lance_arrow.io.location import AnyFileSystem, Location, is_local
from lance_arrow.io.source import LOCAL_COALESCING, REMOTE_COALESCING, Bytes, Coalescing, Positions
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.late_names import late_module
from lance_arrow.redaction import redact

if TYPE_CHECKING:
    from fsspec.implementations import cached

    from lance_arrow.io import fsspec_source, store_calls
else:
    # Local files of a dataset that pyarrow opened are read without fsspec.
    cached = late_module("fsspec.implementations.cached")
    fsspec_source = late_module("lance_arrow.io.fsspec_source")
    store_calls = late_module("lance_arrow.io.store_calls")

SideBySide: TypeAlias = Callable[[Callable[[int], None], Sequence[int]], Any]
"""Calls a function for each of some numbers, in threads if that is faster."""

_ALIGNMENT_BYTES = 64
# Fewer files are read before a second thread has started.
_FILES_PER_PART = 32


def reads_small_files(filesystem: AnyFileSystem | None) -> bool:
    """Return whether `read_small_files` supports a filesystem; None is the local one."""
    if is_local(filesystem):
        return True
    return not isinstance(filesystem, arrow_fs.FileSystem | cached.CachingFileSystem) and fsspec_source.has_ranges(
        filesystem
    )


@foreign_errors()
def read_whole(place: Location, most_bytes: int) -> bytes | None:
    """Read a whole file in one request, without a request for its size.

    Parameters
    ----------
    place
        The file.
    most_bytes
        Expected upper limit of its size in bytes.

    Returns
    -------
    bytes
        None if the filesystem is local or has no ranges, or if the file is larger or empty: `open_source` reads it
        then.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    StoreTimeoutError, StoreRefusedError
        Asking for less of it is useless.
    """
    if place.is_local or not reads_small_files(place.given):
        return None
    filesystem = place.filesystem
    assert not isinstance(filesystem, arrow_fs.FileSystem)
    try:
        (content,) = store_calls.call_store(
            filesystem, "cat_ranges", [place.path], [0], [most_bytes], on_error="raise", name=place.name
        )
    except (FileNotFoundError, StoreTimeoutError, StoreRefusedError):
        raise
    except OSError:
        # Stores reject ranges of an empty file.
        return None
    return bytes(content) if len(content) < most_bytes else None


@foreign_errors()
def read_small_files(
    filesystem: AnyFileSystem | None, paths: Sequence[str], sizes: Positions, side_by_side: SideBySide, num_threads: int
) -> tuple[Bytes, Positions, NDArray[np.uint8]]:
    """Read files whole into one array.

    Parameters
    ----------
    filesystem, paths
        Filesystem (None is the local one) and paths; local paths are paths, not URLs.
    sizes
        ``(n,) int64``: bytes of each file, as the caller knows them.
    side_by_side, num_threads
        How local files are divided among threads.

    Returns
    -------
    data, starts
        File i lies at ``data[starts[i] : starts[i] + sizes[i]]``; starts are multiples of 64.
    flags
        ``(n,) uint8``: 1 if the file was read; 0 if it could not be read or has another size.
    """
    padded = -(-sizes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
    starts = np.cumsum(padded) - padded
    data = np.empty(int(padded.sum()), np.uint8)
    flags = np.zeros(len(sizes), np.uint8)
    if is_local(filesystem):
        names, begins = _names(paths), np.zeros(len(paths), np.int64)

        def read(part: int) -> None:
            some = slice(len(names) * part // num_parts, len(names) * (part + 1) // num_parts)
            read_files(names[some], sizes[some], begins[some], sizes[some], starts[some], data, flags[some])

        num_parts = max(1, min(num_threads, len(names) // _FILES_PER_PART))
        side_by_side(read, range(num_parts))
    elif reads_small_files(filesystem):
        answers = ask_files(filesystem, paths, [0] * len(paths), sizes.tolist())
        for number, answer in enumerate(answers):
            if isinstance(answer, bytes | bytearray | memoryview) and len(answer) == sizes[number]:
                start = int(starts[number])
                data[start : start + len(answer)] = np.frombuffer(answer, np.uint8)
                flags[number] = 1
    data.setflags(write=False)
    return data, starts, flags


@foreign_errors()
def read_each(filesystem: AnyFileSystem | None, paths: Sequence[str], most_bytes: Sequence[int]) -> list[bytes | None]:
    """Read small files whole, all at once, without requests for their sizes.

    Parameters
    ----------
    filesystem, paths
        Filesystem (None is the local one) and paths.
    most_bytes
        Expected upper limit of the size of each in bytes.

    Returns
    -------
    list
        None for files that are larger, empty or missing, or cannot be read: by themselves, they tell what is wrong.

    Raises
    ------
    StoreError, OSError
        The wave was given up as a whole.
    """
    if is_local(filesystem):
        return [_local_content(path, most) for path, most in zip(paths, most_bytes, strict=True)]
    if not reads_small_files(filesystem):
        return [None] * len(paths)
    assert filesystem is not None
    answers = ask_files(filesystem, paths, [0] * len(paths), most_bytes)
    return [
        bytes(answer) if isinstance(answer, bytes | bytearray | memoryview) and 0 < len(answer) < most else None
        for answer, most in zip(answers, most_bytes, strict=True)
    ]


def _local_content(path: str, most_bytes: int) -> bytes | None:
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read(most_bytes)
    except OSError:
        return None
    return data if data and len(data) < most_bytes else None


@foreign_errors()
def ask_files(
    filesystem: AnyFileSystem,
    paths: Sequence[str],
    starts: Sequence[int],
    stops: Sequence[int],
    versions: MutableMapping[str, object] | None = None,
) -> Sequence[Any]:
    """Ask for a range of each of some files, all at once.

    Parameters
    ----------
    filesystem
        One that `reads_small_files` supports, not the local one.
    paths, starts, stops
        The ranges, none of them empty.
    versions
        As for `StoreFileSystem.read_views`; only for filesystems that `compares_versions`.

    Returns
    -------
    sequence
        Bytes of each range, as many as there are, or an exception.

    Raises
    ------
    StoreError, OSError
        The wave was given up as a whole.
    """
    assert not isinstance(filesystem, arrow_fs.FileSystem)
    # Of obstore, answers are not copied.
    views = getattr(filesystem, "read_views", None)
    if views is not None:
        found: Sequence[Any] = views(paths, starts, stops, versions)
        return found
    answers: Sequence[Any] = store_calls.call_store(
        filesystem,
        "cat_ranges",
        list(paths),
        list(starts),
        list(stops),
        on_error="return",
        name=redact(f"{paths[0]} and others" if len(paths) else ""),
    )
    return answers


def fill_parts(
    paths: Sequence[str],
    sizes: Positions,
    begins: Positions,
    stops: Positions,
    out: Bytes,
    places: Positions,
    versions: MutableMapping[str, object] | None = None,
) -> None:
    """Read ranges of local files, whose sizes, and perhaps versions, are known by `FileEnds`, to places of an array.

    Raises
    ------
    FileChangedError
        A file has another version.
    StoreError
        A file cannot be read, or has another size: read by itself, it has an error of its own.
    """
    flags = np.zeros(len(paths), np.uint8)
    read_files(_names(paths), sizes, begins, stops, places, out, flags)
    if versions is not None:
        check_states({path: versions[path] for path in paths})
    if not flags.all():
        failed = int(np.argmin(flags))
        raise StoreError(
            "the file cannot be read, or has another size",
            path=redact(paths[failed]),
            byte_range=(int(begins[failed]), int(stops[failed])),
        )


def check_states(known: Mapping[str, object]) -> None:
    """Compare local files, by their paths, with the versions that `FileEnds` noted.

    Raises
    ------
    FileChangedError
        One was replaced.
    """
    for path, state in known.items():
        if state_of(path) != state:
            raise FileChangedError("the file was replaced while it was read; open it again", path=redact(path))


def _names(paths: Sequence[str]) -> list[bytes]:
    """Return paths as the system takes them: no file has a zero in its name, or an empty name."""
    return [b"" if "\0" in path else os.fsencode(path) for path in paths]


def compares_versions(filesystem: AnyFileSystem | None) -> bool:
    """Return whether ranges of many files may be asked for although the files may change."""
    return is_local(filesystem) or hasattr(filesystem, "read_views")


def coalescing_of(filesystem: AnyFileSystem | None) -> Coalescing:
    """Return the limits for joining ranges of many files; they are not far where `reads_small_files` does not hold."""
    if not getattr(filesystem, "async_impl", False) or not reads_small_files(filesystem):
        return LOCAL_COALESCING
    own: Coalescing | None = getattr(filesystem, "coalescing", None)
    return REMOTE_COALESCING if own is None else own


class FileEnds:
    """The ends of files, in an array in which each file has its place; its other bytes are zeros.

    Files lie so far apart that no request is joined with one of another file. Memory is taken by what is read: of the
    rest, the system keeps no pages.

    Parameters
    ----------
    filesystem, paths, sizes
        As for `read_small_files`.
    end_bytes
        How much of each is read now.
    versions
        Takes the versions of the files, for those that may change while they are read; see `ask_files`.

    Attributes
    ----------
    data, starts, flags
        As `read_small_files` returns them.
    begins
        ``(n,) int64``: from which of its bytes on each file is here.
    requests
        ``(n,) int64``: how many requests that took.
    """

    def __init__(
        self,
        filesystem: AnyFileSystem,
        paths: Sequence[str],
        sizes: Positions,
        end_bytes: int,
        versions: MutableMapping[str, object] | None = None,
    ) -> None:
        apart = coalescing_of(filesystem).max_gap_bytes + _ALIGNMENT_BYTES
        padded = -(-sizes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES + apart
        self.filesystem, self.paths, self.sizes, self.versions = filesystem, paths, sizes, versions
        self.starts: Positions = np.cumsum(padded) - padded
        self._memory = _untouched(int(padded.sum()))
        self.data: Bytes = self._memory.view()
        self.data.setflags(write=False)
        if versions is not None and is_local(filesystem):
            # Before they are read: a file that is replaced now differs later.
            versions.update({path: state_of(path) for path in paths})
        self.begins: Positions = sizes.copy()
        self.requests: Positions = np.zeros(len(sizes), np.int64)
        self.flags: NDArray[np.uint8] = (sizes > 0).astype(np.uint8)
        self.widen(np.maximum(sizes - end_bytes, 0))

    def widen(self, begins: Positions) -> None:
        """Read the files from earlier bytes on; of those where that fails, the flag is cleared.

        Parameters
        ----------
        begins
            ``(n,) int64``: from which bytes on. Where a file is here from that byte on, nothing is read.

        Raises
        ------
        FileChangedError
            A local file was replaced since its end was read.
        StoreError, OSError
            As `ask_files`.
        """
        numbers = np.flatnonzero((begins < self.begins) & (self.flags == 1)).tolist()
        if not numbers:
            return
        paths, starts, stops = [self.paths[one] for one in numbers], begins[numbers], self.begins[numbers]
        done = np.zeros(len(numbers), np.uint8)
        if is_local(self.filesystem):
            places = self.starts[numbers] + starts
            read_files(_names(paths), self.sizes[numbers], starts, stops, places, self._memory, done)
            if self.versions is not None and (stops < self.sizes[numbers]).any():
                check_states({path: self.versions[path] for path in paths})
        else:
            answers = ask_files(self.filesystem, paths, starts.tolist(), stops.tolist(), self.versions)
            for one, answer in enumerate(answers):
                place = int(self.starts[numbers[one]])
                wanted = self._memory[place + int(starts[one]) : place + int(stops[one])]
                if isinstance(answer, bytes | bytearray | memoryview) and len(answer) == len(wanted):
                    wanted[:] = np.frombuffer(answer, np.uint8)
                    done[one] = 1
        self.flags[numbers] = done
        self.begins[numbers] = starts
        self.requests[numbers] += 1


def _untouched(num_bytes: int) -> Bytes:
    """Return zeros of which the system keeps no page before it is written."""
    if hasattr(mmap, "MAP_PRIVATE"):
        # Pages that processes may share take twice as long.
        pages = mmap.mmap(-1, max(num_bytes, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    else:
        pages = mmap.mmap(-1, max(num_bytes, 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        # Each of the ends would take 2 MiB.
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, np.uint8)[:num_bytes]
