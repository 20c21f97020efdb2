"""Which way versions of a table are made: what a plugin says, else what the filesystem offers, else none."""

from __future__ import annotations

from lance_arrow.choices import Durability
from lance_arrow.errors import UnsupportedError
from lance_arrow.io import Location, can_create_exclusively, create_exclusively
from lance_arrow.runtime import Runtime
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy


class SingleWriter:
    """Checks that there is no file, then writes it, without a lock: the caller promises that there is one writer."""

    def publish(self, attempt: CommitAttempt) -> bool:
        """See `CommitStrategy.publish`."""
        if attempt.exists():
            return False
        attempt.write()
        return True


class ExclusiveCreate:
    """Lets the filesystem decide which writer is first; `lance_arrow.io.exclusive` has the ways of each filesystem.

    Parameters
    ----------
    table
        The table.
    durability
        Whether a version must be on the disk before `publish` returns.
    is_only_writer
        The caller promises that there is one writer. Then `SingleWriter` serves where a try shows that the filesystem
        cannot create exclusively: a store that ignores conditions, a disk without hard links.
    """

    def __init__(self, table: Location, durability: Durability = "fsync", *, is_only_writer: bool = False) -> None:
        self._table = table
        self._is_synced = durability == "fsync"
        self._is_only_writer = is_only_writer

    def publish(self, attempt: CommitAttempt) -> bool:
        """See `CommitStrategy.publish`."""
        place = self._table.at(attempt.path)
        try:
            return create_exclusively(place, attempt.data, synced=self._is_synced)
        except UnsupportedError:
            # Nothing was made: the way is tried on a file of another name first, or failed as a whole.
            if not self._is_only_writer:
                raise
        return SingleWriter().publish(attempt)


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
    if can_create_exclusively(table.given):
        return ExclusiveCreate(table, durability, is_only_writer=unsafe_single_writer)
    if unsafe_single_writer:
        return SingleWriter()
    raise UnsupportedError(
        "the table is read-only on this filesystem, which cannot create a file exclusively: two writers could replace "
        "each other's versions. Install a plugin with a lock (lance_commit_strategy), or pass "
        "unsafe_single_writer=True if there is no other writer",
        path=table.name,
    )
