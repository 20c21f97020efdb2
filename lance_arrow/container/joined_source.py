"""`JoinedSource`: the bytes of many files as one source; the ends of the files are in memory.

files     a: … end   b: … end          one source: a, b; a range over both is a request of each
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import FileState, ManyFiles
from lance_arrow.errors import InvalidArgumentError, LanceError, StoreError
from lance_arrow.io import (
    Bytes,
    Coalescing,
    FileEnds,
    Positional,
    Positions,
    ask_files,
    check_states,
    coalescing_of,
    fill_parts,
    is_local,
)
from lance_arrow.io.kept_bytes import KeptBytes
from lance_arrow.io.patience import attempted, patience, told
from lance_arrow.io.source import check_ranges, joined, truncated

_REQUESTS_OF_A_FILE = 4
_Piece = tuple[int, int, int, int]
"""Number of the range, number of the file, and half-open places in the source."""


class JoinedSource:
    """Ranges of files that follow each other.

    Parameters
    ----------
    ends
        The ends of the files, which are in memory.
    """

    def __init__(self, ends: FileEnds) -> None:
        paths = ends.paths
        self.name = f"{len(paths)} files"
        of_one = coalescing_of(ends.filesystem)
        # A wave has requests of each file.
        many = max(of_one.many_requests or of_one.requests_in_flight, _REQUESTS_OF_A_FILE * len(paths))
        self.coalescing: Coalescing = replace(of_one, many_requests=many)
        self._filesystem = ends.filesystem
        self._paths = paths
        self._versions = ends.versions
        self._data: Bytes | None = ends.data
        self._kept: KeptBytes | None = None
        self._token = object()
        self._size = len(ends.data)
        self._starts, self._stops = ends.starts, ends.starts + ends.sizes
        self._kept_from: list[int] = (ends.starts + ends.begins).tolist()
        self._requests = ends.requests

    def size(self) -> int:
        """Return the number of bytes of all files, and between them."""
        return self._size

    def opened(self, numbers: NDArray[np.intp]) -> tuple[int, int]:
        """Return how many requests the ends of some of the files took, and their bytes."""
        num_bytes = self._stops[numbers] - np.array(self._kept_from)[numbers]
        return int(self._requests[numbers].sum()), int(num_bytes.sum())

    def identity(self) -> Hashable | None:
        """Return None: several files have no common version."""
        return None

    def positional(self) -> Positional | None:
        """Return how native code reads the files; None where they are far, or the system does not tell their states."""
        return None if self._data is None else self._positional

    def check_versions(self) -> None:
        """Compare local files with their ends.

        Raises
        ------
        FileChangedError
            One was replaced since its end was read.
        """
        if self._versions is not None:
            check_states(self._versions)

    @cached_property
    def _positional(self) -> Positional | None:
        data = self._data
        if data is None or not is_local(self._filesystem) or any("\0" in path for path in self._paths):
            return None
        states: list[FileState] | None = None
        if self._versions is not None:
            if os.name == "nt":
                return None
            states = []
            for path in self._paths:
                known = self._versions[path]
                if not isinstance(known, tuple):
                    return None
                states.append(FileState(os.fsencode(path), *known))
        names = [os.fsencode(path) for path in self._paths]
        sizes, kept_from = self._stops - self._starts, np.array(self._kept_from, np.int64)
        files = ManyFiles(names, self._starts, sizes, data, kept_from, states)
        return Positional(-1, None, self._size, None, files=files)

    def read(self, starts: Positions, stops: Positions) -> list[Bytes]:
        """Read each range; see `RangeSource.read`."""
        return self.read_counted(starts, stops)[0]

    def read_arena(self, starts: Positions, stops: Positions) -> tuple[Bytes, Positions]:
        """Read into one array; see `RangeSource.read_arena`."""
        return joined(self.read(starts, stops))

    def read_counted(self, starts: Positions, stops: Positions) -> tuple[list[Bytes], int, int]:
        """Read each range, and tell how many requests were made for it, and for how many bytes.

        Raises
        ------
        StoreError, TruncatedReadError
            A file could not be read, or is missing: read by itself, it has an error of its own.
        """
        data = self._data
        if data is None:
            raise InvalidArgumentError("the source is closed", path=self.name)
        check_ranges(starts, stops, size_bytes=self._size, name=self.name)
        places = list(zip(starts.tolist(), stops.tolist(), strict=True))
        firsts = np.searchsorted(self._stops, starts, "right").tolist()
        asked: list[_Piece] = []
        parts: list[tuple[int, int, Bytes]] = []
        for number, ((start, stop), first) in enumerate(zip(places, firsts, strict=True)):
            for file in range(first, len(self._paths)):
                begin = int(self._starts[file])
                if begin >= stop:
                    break
                at, upto = max(start, begin), min(stop, self._kept_from[file])
                for place, part in () if self._kept is None or at >= upto else self._kept.find(self._token, at, upto):
                    if at < place:
                        asked.append((number, file, at, place))
                    parts.append((number, place, part))
                    at = place + len(part)
                if at < upto:
                    asked.append((number, file, at, upto))
        num_bytes = sum(upto - at for _, _, at, upto in asked)
        # What lies in the ends of files is here.
        out: list[Bytes] = [data[start:stop] for start, stop in places]
        if is_local(self._filesystem):
            self._fill(out, places, asked)
            return out, len(asked), num_bytes
        for (number, _, at, _), answer in zip(asked, self._answers(asked), strict=True):
            parts.append((number, at, answer))
            if self._kept is not None:
                self._kept.keep(self._token, at, answer)
        for number, at, part in parts:
            start, stop = places[number]
            if (start, stop) == (at, at + len(part)):
                out[number] = part
                continue
            if not out[number].flags.writeable:
                out[number] = out[number].copy()
            out[number][at - start : at - start + len(part)] = part
        return out, len(asked), num_bytes

    def _fill(self, out: list[Bytes], places: Sequence[tuple[int, int]], asked: Sequence[_Piece]) -> None:
        """Put ranges, of which pieces of local files are asked, in place of what is here of them: each byte once."""
        if not asked:
            return
        numbers = list(dict.fromkeys(number for number, *_ in asked))
        sizes = [places[number][1] - places[number][0] for number in numbers]
        begin_of = dict(zip(numbers, accumulate(sizes, initial=0), strict=False))
        arena = np.empty(sum(sizes), np.uint8)
        here: dict[int, int] = {number: places[number][0] for number in numbers}
        into = []
        for number, _, at, upto in asked:
            start, begin = places[number][0], begin_of[number]
            # What lies before it is the end of a file, or lies between two.
            done = here[number]
            arena[begin + done - start : begin + at - start] = out[number][done - start : at - start]
            into.append(begin + at - start)
            here[number] = upto
        for number, done in here.items():
            (start, stop), begin = places[number], begin_of[number]
            arena[begin + done - start : begin + stop - start] = out[number][done - start :]
        files = [file for _, file, _, _ in asked]
        firsts, begins = self._starts[files], np.array([at for _, _, at, _ in asked], np.int64)
        fill_parts(
            [self._paths[file] for file in files],
            self._stops[files] - firsts,
            begins - firsts,
            np.array([upto for _, _, _, upto in asked], np.int64) - firsts,
            arena,
            np.array(into, np.int64),
            self._versions,
        )
        arena.setflags(write=False)
        for number in numbers:
            start, stop = places[number]
            out[number] = arena[begin_of[number] : begin_of[number] + stop - start]

    def keep_in(self, kept: KeptBytes) -> None:
        """Remember what is read from now on."""
        self._kept = kept

    def close(self) -> None:
        """Release the ends, and what was remembered."""
        self._data = None
        if self._kept is not None:
            self._kept.forget(self._token)

    def __del__(self) -> None:
        if self._kept is not None:
            self._kept.forget(self._token)

    def _answers(self, asked: Sequence[_Piece]) -> list[Bytes]:
        found: list[Bytes | None] = [None] * len(asked)
        if not asked:
            return []

        def ask(_: float) -> list[Bytes]:
            missing = [number for number, one in enumerate(found) if one is None]
            paths, begins, stops = self._of_files([asked[number] for number in missing])
            answers = ask_files(self._filesystem, paths, begins, stops, self._versions)
            failed: Exception | None = None
            for number, answer in zip(missing, answers, strict=True):
                _, file, at, upto = asked[number]
                if isinstance(answer, Exception):
                    failed = answer
                elif len(answer) != upto - at:
                    begin = int(self._starts[file])
                    failed = truncated(self._paths[file], at - begin, upto - begin, len(answer))
                else:
                    view = np.frombuffer(answer, np.uint8)
                    view.setflags(write=False)
                    found[number] = view
            if failed is not None:
                raise failed
            return [one for one in found if one is not None]

        try:
            return attempted(
                ask, name=self.name, patience=patience(), num_bytes=sum(upto - at for _, _, at, upto in asked)
            )
        except LanceError:
            raise
        except OSError as error:
            raise StoreError(told(error), path=self.name) from None

    def _of_files(self, pieces: Sequence[_Piece]) -> tuple[list[str], list[int], list[int]]:
        """Return the files of pieces, and their places there."""
        before = [int(self._starts[file]) for _, file, _, _ in pieces]
        return (
            [self._paths[file] for _, file, _, _ in pieces],
            [at - begin for (_, _, at, _), begin in zip(pieces, before, strict=True)],
            [upto - begin for (_, _, _, upto), begin in zip(pieces, before, strict=True)],
        )
