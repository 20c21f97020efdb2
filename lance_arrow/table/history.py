"""What made each version: a line of versions with times, messages and operations."""

from __future__ import annotations

import datetime
from contextlib import closing
from dataclasses import dataclass

from lance_arrow.errors import CorruptFileError, TableNotFoundError, UnsupportedError
from lance_arrow.io import Location, RangeSource
from lance_arrow.manifests.fragments import row_counts
from lance_arrow.manifests.manifest import ManifestMeta, manifest_from_source, manifest_source
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.versions import ManifestFile, list_manifests, manifest_place
from lance_arrow.runtime import default_runtime
from lance_arrow.settings import Limits
from lance_arrow.table.transactions import TransactionMeta, read_transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionMeta:
    """One version of a table, for people.

    Parameters
    ----------
    version
        Its number.
    timestamp
        When it was committed, UTC; None when the manifest does not tell.
    num_fragments, num_rows
        What it holds; None where only files can tell the rows.
    writer
        Library and version that wrote it; None for the earliest ones.
    transaction
        What was done; None where nobody wrote it down, or it cannot be read.
    branch
        The line of versions; None for the main one.
    """

    version: int
    timestamp: datetime.datetime | None
    num_fragments: int
    num_rows: int | None
    writer: tuple[str, str] | None
    transaction: TransactionMeta | None = None
    branch: str | None = None

    @property
    def operation(self) -> str | None:
        """Name of the operation: ``append``, ``delete``, ...; None when unknown."""
        return None if self.transaction is None else self.transaction.operation

    @property
    def message(self) -> str | None:
        """What the committer said of it."""
        return None if self.transaction is None else self.transaction.message


def read_history(root: Location, branch: str | None, limits: Limits) -> list[VersionMeta]:
    """Read all versions that are left of a line, the newest first.

    Raises
    ------
    TableNotFoundError
        There is none.
    LanceError
        As `read_manifest`; a transaction that cannot be read is left out instead.
    """
    line = branch_root(root, branch)
    manifests = list_manifests(line)
    if not manifests:
        raise TableNotFoundError("there is no table here: no manifest in _versions", path=line.name)

    def read(found: ManifestFile) -> VersionMeta:
        place = manifest_place(line, found.name)
        with closing(manifest_source(place, found.size_bytes)) as source:
            meta = manifest_from_source(source, place, line, found.version, limits)
            return _version(meta, _transaction(line, place, meta, limits, source))

    newest_first = manifests[::-1]
    # A local file takes less time to read than another thread to begin.
    return [read(one) for one in newest_first] if line.is_local else list(default_runtime().map(read, newest_first))


def _transaction(
    line: Location, place: Location, meta: ManifestMeta, limits: Limits, source: RangeSource
) -> TransactionMeta | None:
    try:
        return read_transaction(line, place, meta, limits, source=source)
    except (CorruptFileError, UnsupportedError):
        # A record that nobody can read is no reason to hide the version.
        return None


def _version(meta: ManifestMeta, transaction: TransactionMeta | None) -> VersionMeta:
    counts = row_counts(meta.fragments)
    return VersionMeta(
        version=meta.version,
        timestamp=meta.timestamp,
        num_fragments=len(counts),
        num_rows=None if (counts < 0).any() else int(counts.sum()),
        writer=meta.writer,
        transaction=transaction,
        branch=meta.branch,
    )
