"""How a version of a table comes into being: exactly one of all writers may make the manifest of a number.

The built-in ways need nothing but the filesystem. A plugin may bring another one (`lance_commit_strategy`): a lock, a
key-value store.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


class TablePlace(Protocol):
    """The folder of a table; printable without credentials."""

    @property
    def filesystem(self) -> Any:
        """An fsspec or pyarrow filesystem."""

    @property
    def path(self) -> str:
        """Path of the table on it."""

    @property
    def name(self) -> str:
        """What to print."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAttempt:
    """A manifest that wants to become a version.

    Parameters
    ----------
    table
        Printable place of the table, free of credentials: what a lock may be named after.
    version
        Number of the version.
    path
        Path of the manifest on the table's filesystem.
    data
        Its bytes.
    exists
        Tells, by asking the store, whether there is such a file.
    write
        Makes the file appear all at once, and replaces one that is there.
    """

    table: str
    version: int
    path: str
    data: bytes = field(repr=False)
    exists: Callable[[], bool] = field(repr=False)
    write: Callable[[], None] = field(repr=False)


@runtime_checkable
class CommitStrategy(Protocol):
    """Makes manifests so that of several writers exactly one succeeds."""

    def publish(self, attempt: CommitAttempt) -> bool:
        """Make the manifest's file, complete and at once, unless there is one.

        Returns
        -------
        bool
            True: it is there now, by this call. False: there is one already, nothing was changed.

        Raises
        ------
        OSError
            It is not known whether the file appeared or will appear.
        """
        ...


class LockedCommit:
    """Looks and writes while holding a lock that all writers of the table take.

    Parameters
    ----------
    lock
        Makes the lock for an attempt, a context manager; all writers must get the same one for the same table.
    """

    def __init__(self, lock: Callable[[CommitAttempt], AbstractContextManager[Any]]) -> None:
        self._lock = lock

    def publish(self, attempt: CommitAttempt) -> bool:
        """See `CommitStrategy.publish`."""
        with self._lock(attempt):
            if attempt.exists():
                return False
            attempt.write()
            return True
