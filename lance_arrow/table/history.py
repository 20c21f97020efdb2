"""`read_history`: the versions of a branch with times, messages and operations."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from lance_arrow.errors import CorruptFileError, TableNotFoundError, UnsupportedError
from lance_arrow.io import (
    BufferSource,
    Location,
    RangeSource,
)
from lance_arrow.manifests.fragments import row_counts
from lance_arrow.manifests.manifest import ManifestMeta, manifest_from_source, manifest_source
from lance_arrow.manifests.manifest_contents import READ_AT_ONCE, manifest_contents
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.versions import ManifestFile, list_manifests, manifest_place
from lance_arrow.runtime import default_runtime
from lance_arrow.settings import Limits
from lance_arrow.table.transactions import TransactionMeta, read_transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionMeta:
    """One version of a table, as `LanceTable.history` lists it.

    Parameters
    ----------
    version
        Number of the version.
    timestamp
        Time of the commit, UTC; None if the manifest has none.
    num_fragments, num_rows
        Number of fragments, and of rows that are not deleted; None if the manifest lacks the count of rows.
    writer
        Library and release that wrote it; None in early files.
    transaction
        Transaction that made it; None if it was not recorded, or cannot be read.
    branch
        Name of the branch; None for the main one.
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
        """Message of the commit; None if there is none."""
        return None if self.transaction is None else self.transaction.message


def read_history(root: Location, branch: str | None, limits: Limits) -> list[VersionMeta]:
    """Read all versions that a branch still has, the newest first.

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
    return [_version(meta, transaction) for meta, transaction in read_versions(line, manifests[::-1], limits)]


def read_versions(
    line: Location, manifests: Sequence[ManifestFile], limits: Limits
) -> Iterator[tuple[ManifestMeta, TransactionMeta | None]]:
    """Yield versions of a line and the transactions that made them, in the order of `manifests`.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    manifests
        From a listing of it.
    limits
        As for `read_manifest`.

    Raises
    ------
    LanceError
        As `read_manifest`; a transaction that cannot be read is None instead.
    """

    def read(found: ManifestFile) -> tuple[ManifestMeta, TransactionMeta | None]:
        place = manifest_place(line, found.name)
        known = contents.get(found.version)
        opened = manifest_source(place, found.size_bytes) if known is None else BufferSource(known)
        with closing(opened) as source:
            meta = manifest_from_source(source, place, line, found.version, limits)
            return meta, _transaction(line, place, meta, limits, source)

    for first in range(0, len(manifests), READ_AT_ONCE):
        some = manifests[first : first + READ_AT_ONCE]
        contents = manifest_contents(line, some)
        # Manifests that are in memory are parsed sooner than another thread starts.
        is_here = line.is_local or len(contents) == len(some)
        yield from map(read, some) if is_here else default_runtime().map(read, some)


def _transaction(
    line: Location, place: Location, meta: ManifestMeta, limits: Limits, source: RangeSource
) -> TransactionMeta | None:
    try:
        return read_transaction(line, place, meta, limits, source=source)
    except (CorruptFileError, UnsupportedError):
        # An unreadable record is no reason to hide the version.
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
