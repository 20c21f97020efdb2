"""`WrittenFiles`: files that an operation made on its way to a commit, removed again when it does not get there."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

from lance_arrow.io import Location, make_folder, may_write_at_once, remove_file

T = TypeVar("T")
R = TypeVar("R")

_FAR_WRITES = 8
"""Files that are written at once to a store that takes its time to answer."""


def written_at_once(line: Location, write: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Write a small file for each item, several at once in stores of objects; results in order.

    Raises
    ------
    LanceError, OSError
        As `write`; the first one by the order of items, after all writes have ended.
    """
    if len(items) < 2 or not may_write_at_once(line.filesystem):
        return [write(item) for item in items]
    with ThreadPoolExecutor(min(_FAR_WRITES, len(items)), thread_name_prefix="lance-arrow-writes") as threads:
        return list(threads.map(write, items))


class ClosingFiles:
    """Closes writers, several at once in stores of objects: a file is sent when its writer is closed.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    """

    def __init__(self, line: Location) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._pending: deque[Future[None]] = deque()
        if may_write_at_once(line.filesystem):
            self._threads = ThreadPoolExecutor(_FAR_WRITES, thread_name_prefix="lance-arrow-writes")

    def close(self, close: Callable[[], None]) -> None:
        """Call `close`, now or in a thread; wait for the first of those before where they are many."""
        if self._threads is None:
            close()
            return
        if len(self._pending) >= _FAR_WRITES:
            self._pending.popleft().result()
        self._pending.append(self._threads.submit(close))

    def finish(self) -> None:
        """Wait until all are closed; raise what the first one that failed raised."""
        while self._pending:
            self._pending.popleft().result()

    def end(self) -> None:
        """Wait for what was begun, whether it fails or not."""
        if self._threads is not None:
            self._threads.shutdown()


class WrittenFiles:
    """Remembers files; a context manager that removes them when an exception passes.

    Only files that were added here are ever removed. Where nobody knows whether the commit was done (`is_in_doubt`),
    they stay: a version may name them.
    """

    def __init__(self) -> None:
        self.is_in_doubt = False
        self._places: list[Location] = []
        self._folders: set[str] = set()

    @property
    def places(self) -> Sequence[Location]:
        """The files, in the order in which they were added."""
        return self._places

    def folder(self, line: Location, name: str) -> str:
        """Return the path of a folder below a line of versions, which is there afterwards."""
        path = posixpath.join(line.path, name)
        if path not in self._folders:
            make_folder(line.filesystem, path)
            self._folders.add(path)
        return path

    def add(self, place: Location) -> None:
        """Remember a file that is about to be made."""
        self._places.append(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if self.is_in_doubt:
            error.add_note("nobody knows whether the commit was done; the files it would name are left where they are")
            return
        for place in self._places:
            try:
                remove_file(place)
            except OSError as second:
                error.add_note(f"{place.name!r} could not be removed: {second!r}")
