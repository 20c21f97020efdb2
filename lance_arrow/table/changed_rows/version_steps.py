"""`VersionSteps`: the versions between two of a line, checked one by one: does the table record what each changed?

A restore brings back rows of an older version, so the versions since that one are checked as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lance_arrow.errors import ChangesNotRecordedError
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import ManifestFile, list_manifests
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.settings import Limits
from lance_arrow.table.changed_rows.row_changes import Numbers, RowChanges, RowSet, VersionRows, changed_rows
from lance_arrow.table.history import read_versions
from lance_arrow.table.transactions import TransactionMeta

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, eq=False)
class RowEvents:
    """Rows that left, came or changed between versions, in the order of versions.

    Parameters
    ----------
    rows
        Of the version before for those that left, of the version after for the others.
    versions
        ``(n,) uint64``: the version with which it happened.
    """

    rows: RowSet
    versions: Numbers

    def last(self, rows: RowSet) -> Numbers:
        """Return ``(m,) uint64`` the last version at which something happened to each of some rows; 0 for never."""
        ids = np.concatenate([self.rows.ids, rows.ids])
        created = np.concatenate([self.rows.created, rows.created])
        order = np.lexsort((created, ids))
        is_new = np.ones(len(order), bool)
        is_new[1:] = (np.diff(ids[order]) != 0) | (np.diff(created[order]) != 0)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.cumsum(is_new) - 1
        found = np.zeros(int(is_new.sum()), np.uint64)
        # They ascend, so the last one stays.
        found[numbers[: len(self.versions)]] = self.versions
        return found[numbers[len(self.versions) :]]


class VersionSteps:
    """What happened between two versions of a line.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    rows_of
        Returns the rows of a version.
    limits
        As for `read_manifest`; `max_expanded_bytes` bounds the rows.
    """

    def __init__(self, line: Location, rows_of: Callable[[ManifestMeta], VersionRows], limits: Limits) -> None:
        self._line = line
        self._rows_of = rows_of
        self._limits = limits

    def changes(self, since: int, until: int) -> Iterator[tuple[int, RowChanges]]:
        """Yield the versions after `since`, up to `until`, with what each changed.

        Raises
        ------
        ChangesNotRecordedError
            A version is missing, has no transaction, or replaced the whole table. Or rows moved or changed, and the
            table does not record which rows did.
        LanceError, OSError
            As `read_manifest` and `changed_rows`.
        """
        manifests = list_manifests(self._line)
        low, high = since, until
        while low < high:
            oldest = low
            for before, after, transaction in self._steps(manifests, low, high):
                oldest = min(oldest, _restored(transaction, low))
                found = changed_rows(before, after)
                _check_moves(found, after.manifest, transaction)
                if after.manifest.version > since:
                    yield after.manifest.version, found
            low, high = oldest, low

    def _steps(
        self, manifests: tuple[ManifestFile, ...], low: int, high: int
    ) -> Iterator[tuple[VersionRows, VersionRows, TransactionMeta]]:
        wanted = [one for one in manifests if low <= one.version <= high]
        self._check_missing([one.version for one in wanted], low, high)
        before: VersionRows | None = None
        for meta, transaction in read_versions(self._line, wanted, self._limits):
            after = self._rows_of(meta)
            if before is not None:
                yield before, after, _checked(transaction, meta)
            before = after

    def _check_missing(self, found: list[int], low: int, high: int) -> None:
        missing: list[str] = []
        for one, following in pairwise([low - 1, *found, high + 1]):
            if following - one > 2:
                missing.append(f"{one + 1} to {following - 1}")
            elif following - one == 2:
                missing.append(str(one + 1))
        if missing:
            more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
            raise ChangesNotRecordedError(
                f"what happened between the versions {low} and {high} is not known: the table no longer has version "
                f"{', '.join(missing[:_MOST_NAMED])}{more}",
                path=self._line.name,
                version=next((one for one in found if one > low), high),
                detail=missing,
            )


def _checked(transaction: TransactionMeta | None, meta: ManifestMeta) -> TransactionMeta:
    """Refuse a version that has no readable transaction, or that has nothing to do with the one before."""
    if transaction is None or transaction.operation is None:
        raise ChangesNotRecordedError(
            f"version {meta.version} has no record of its operation that can be read",
            path=meta.facts.manifest_path,
            version=meta.version,
        )
    if transaction.operation == "overwrite":
        raise ChangesNotRecordedError(
            f"version {meta.version} replaced the whole table, and which of its rows were there before is not recorded",
            path=meta.facts.manifest_path,
            version=meta.version,
        )
    return transaction


def _check_moves(found: RowChanges, meta: ManifestMeta, transaction: TransactionMeta) -> None:
    """Refuse rows that left and came in one version, if only their addresses tell them apart."""
    if meta.facts.has_stable_row_ids or transaction.operation == "restore":
        return
    if len(found.deleted) and len(found.inserted):
        raise ChangesNotRecordedError(
            f"version {meta.version} ({transaction.operation}) removed {len(found.deleted):,} rows and added "
            f"{len(found.inserted):,}, and which of them are the same rows is not recorded: the table has no stable "
            "row ids",
            path=meta.facts.manifest_path,
            version=meta.version,
        )


def _restored(transaction: TransactionMeta, otherwise: int) -> int:
    """Return the version that a restore brought back."""
    if transaction.operation != "restore":
        return otherwise
    # It was parsed once, so it can be parsed.
    return int(Transaction.FromString(transaction.message_bytes).restore.version)
