"""`WrittenFiles`: files that an operation writes on its way to a commit, removed again when it does not get there."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from types import TracebackType
from typing import Self

from lance_arrow.io import Location, make_folder, may_write_at_once, remove_file
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.runtime import FAR_THREADS

LARGE_WRITES = 8
"""Files of any size that are written at once to a store: each holds parts that the store has not taken yet."""


class WrittenFiles:
    """Writes files, some at once in stores of objects; a context manager that removes them when an exception passes.

    Only files that were added here are ever removed. While the result of the commit is unknown (`is_in_doubt`), they
    stay, because a version may name them. No write is left running: files that appear later would not be removed.

    What is begun is there after `settle`, or when the context ends without an error. Several threads may begin writes.
    """

    def __init__(self) -> None:
        self.is_in_doubt = False
        self._places: list[Location] = []
        self._kept: list[Location] = []
        self._folders: set[str] = set()
        self._threads: ThreadPoolExecutor | None = None
        self._pending: deque[Future[object]] = deque()
        self._lock = Lock()

    @property
    def places(self) -> Sequence[Location]:
        """The files that a commit needs: those that were kept, and those that were added, each in their order."""
        return [*self._kept, *self._places]

    def folder(self, line: Location, name: str) -> str:
        """Return the path of a folder below a line of versions, which is there afterwards."""
        path = posixpath.join(line.path, name)
        if path not in self._folders:
            make_folder(line.given, path)
            self._folders.add(path)
        return path

    def add(self, place: Location) -> None:
        """Remember a file that is about to be made."""
        self._places.append(place)

    def keep(self, places: Iterable[Location]) -> None:
        """Remember files that others made, which are not removed."""
        self._kept.extend(places)

    def begin(self, line: Location, write: Callable[[], object], *, most: int = FAR_THREADS) -> None:
        """Call `write`, in a thread where `line` is in a store of objects; wait where `most` others are not done yet.

        Raises
        ------
        LanceError, OSError
            As `write`, this one or an earlier one.
        """
        if not may_write_at_once(line.given):
            write()
            return
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(FAR_THREADS, thread_name_prefix="lance-arrow-writes")
            earlier = [self._pending.popleft() for _ in range(len(self._pending) - most + 1)]
        for one in earlier:
            one.result()
        self._pending.append(self._threads.submit(write))

    def settle(self) -> None:
        """Wait until all that was begun is written.

        Raises
        ------
        LanceError, OSError
            As the first of the writes that failed.
        """
        while self._pending:
            self._pending.popleft().result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown()
        if error is not None:
            self._give_up(error)
            return
        try:
            self.settle()
        except BaseException as failed:
            self._give_up(failed)
            raise

    def _give_up(self, error: BaseException) -> None:
        """Remove what was written, unless a version may name it."""
        if self.is_in_doubt:
            error.add_note("the result of the commit is unknown; the files that it would name were not removed")
            return
        for place in self._places:
            try:
                remove_file(place)
            except OSError as second:
                error.add_note(f"{place.name!r} could not be removed: {second!r}")


def file_places(line: Location, fragments: Iterable[DataFragment]) -> list[Location]:
    """Return the data files of new fragments of a line of versions."""
    folder = posixpath.join(line.path, DATA)
    return [line.at(posixpath.join(folder, file.path)) for one in fragments for file in one.files]
