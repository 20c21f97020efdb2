"""Which way versions of a table are made: what a plugin says, else what the filesystem offers, else none."""

from __future__ import annotations

from lance_arrow.choices import Durability
from lance_arrow.errors import UnsupportedError
from lance_arrow.io import Location, can_create_exclusively, create_exclusively
from lance_arrow.runtime import Runtime
from lance_arrow.spi import CommitAttempt, CommitStrategy


class ExclusiveCreate:
    """Lets the filesystem decide who is first; `lance_arrow.io.exclusive` tells how each one does.

    Parameters
    ----------
    table
        The table.
    durability
        Whether a version must be on the disk before `publish` returns.
    """

    def __init__(self, table: Location, durability: Durability = "fsync") -> None:
        self._table = table
        self._is_synced = durability == "fsync"

    def publish(self, attempt: CommitAttempt) -> bool:
        """See `CommitStrategy.publish`."""
        place = Location(self._table.filesystem, attempt.path)
        return create_exclusively(place, attempt.data, synced=self._is_synced)


class SingleWriter:
    """Checks that there is no file, then writes it, without a lock: the caller promises that there is one writer."""

    def publish(self, attempt: CommitAttempt) -> bool:
        """See `CommitStrategy.publish`."""
        if attempt.exists():
            return False
        attempt.write()
        return True


def choose_strategy(
    table: Location, runtime: Runtime, *, unsafe_single_writer: bool = False, durability: Durability = "fsync"
) -> CommitStrategy:
    """Choose how versions of a table are made.

    Parameters
    ----------
    table
        Folder of the table.
    runtime
        Asked for plugins.
    unsafe_single_writer
        Whether to write on a filesystem that cannot keep two writers apart.
    durability
        As for `ExclusiveCreate`.

    Raises
    ------
    UnsupportedError
        The filesystem cannot keep two writers apart.
    PluginContractError
        A plugin returned an object that is not a strategy.
    """
    found = runtime.commit_strategy(table)
    if found is not None:
        return found
    if can_create_exclusively(table.filesystem):
        return ExclusiveCreate(table, durability)
    if unsafe_single_writer:
        return SingleWriter()
    raise UnsupportedError(
        "the table is read-only on this filesystem, which cannot create a file exclusively: two writers could replace "
        "each other's versions. Install a plugin with a lock (lance_commit_strategy), or pass "
        "unsafe_single_writer=True if there is no other writer",
        path=table.name,
    )
