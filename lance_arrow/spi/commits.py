"""Commit strategies: of all concurrent writers, exactly one may create the manifest of a version.

The built-in strategies need only the filesystem. A plugin may provide another one (hook `lance_commit_strategy`), such
as a lock or a key-value store.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

__all__ = ["CommitAttempt", "CommitStrategy", "LockedCommit", "TablePlace"]


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
        """Printable name of the place, without credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAttempt:
    """A manifest to be published as a version.

    Parameters
    ----------
    table
        Printable place of the table, without credentials; a lock may be named after it.
    version
        Number of the version.
    path
        Path of the manifest on the table's filesystem.
    data
        Bytes of the manifest.
    exists
        Asks the store whether the file exists.
    write
        Creates the file atomically, or replaces an existing one.
    """

    table: str
    version: int
    path: str
    data: bytes = field(repr=False)
    exists: Callable[[], bool] = field(repr=False)
    write: Callable[[], None] = field(repr=False)


@runtime_checkable
class CommitStrategy(Protocol):
    """Publishes manifests so that exactly one of several writers succeeds."""

    def publish(self, attempt: CommitAttempt) -> bool:
        """Create the manifest's file atomically, unless it exists.

        Returns
        -------
        bool
            True: this call created the file. False: the file existed already, and nothing was changed.

        Raises
        ------
        OSError
            It is unknown whether the file exists or will appear later.
        """
        ...


class LockedCommit:
    """Checks and writes under a lock that all writers of the table take.

    Parameters
    ----------
    lock
        Returns the lock for an attempt, a context manager. All writers must get the same lock for the same table.
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
