"""`changed_rows`: the rows by which two versions of a table differ, from their manifests and deletion files alone.

fragments of both ─► those that differ ─► their live rows ─► matched by id ─► deleted, inserted, updated

With stable row ids, a row is its id and the version that created it, because a restore may free an id. Without them,
a row is its address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import ChangesNotRecordedError
from lance_arrow.manifests.fragments import FragmentList, FragmentMeta, fragment_ids
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.row_ids import parse_row_versions
from lance_arrow.scan.fragments.fragment_rows import ADDRESS_BITS, FragmentRows
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.settings import Limits

Numbers = NDArray[np.uint64]
_BYTES_PER_ROW = 4 * 8
_AT_ONCE = 512


@dataclass(frozen=True, slots=True, eq=False)
class RowSet:
    """Rows of one version.

    Parameters
    ----------
    ids
        ``(n,) uint64``: stable row ids, or addresses in tables without them.
    created
        ``(n,) uint64``: the version that created each row; 1 where none is recorded, 0 without stable row ids.
    updated
        ``(n,) uint64``: the version that changed each row last; 0 where none is recorded.
    addresses
        ``(n,) uint64``: where the rows lie in their version.
    """

    ids: Numbers
    created: Numbers
    updated: Numbers
    addresses: Numbers

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> RowSet:
        """Return some of the rows, by place or by flag."""
        return RowSet(self.ids[places], self.created[places], self.updated[places], self.addresses[places])

    @classmethod
    def joined(cls, sets: Iterable[RowSet]) -> RowSet:
        """Put sets one after another."""
        parts = list(sets)
        if not parts:
            return cls(*(np.empty(0, np.uint64) for _ in range(4)))
        return cls(
            np.concatenate([one.ids for one in parts]),
            np.concatenate([one.created for one in parts]),
            np.concatenate([one.updated for one in parts]),
            np.concatenate([one.addresses for one in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RowChanges:
    """Rows by which two versions differ.

    Parameters
    ----------
    deleted
        Rows of the first version that the second one lacks.
    inserted
        Rows of the second version that the first one lacks.
    updated
        Rows of both versions that were written anew, as the second version has them.
    """

    deleted: RowSet
    inserted: RowSet
    updated: RowSet


class VersionRows:
    """Which rows a version has.

    Parameters
    ----------
    manifest
        The version.
    reader
        Reads it; only deletion files are read.
    limits
        `max_expanded_bytes` bounds the lists of rows, which have 32 bytes a row.
    """

    def __init__(self, manifest: ManifestMeta, reader: TableReader, limits: Limits) -> None:
        self.manifest = manifest
        self.reader = reader
        self._limits = limits
        self._num_listed = 0

    @property
    def has_stable_ids(self) -> bool:
        """Whether rows keep their ids when they are moved."""
        return self.manifest.facts.has_stable_row_ids

    @cached_property
    def numbers(self) -> dict[int, int]:
        """Where each fragment is in the manifest, by its id.

        Raises
        ------
        ChangesNotRecordedError
            Two fragments have one id.
        """
        ids = fragment_ids(self.manifest.fragments).tolist()
        found = {one: number for number, one in enumerate(ids)}
        if len(found) != len(ids):
            raise ChangesNotRecordedError(
                f"version {self.manifest.version} has two fragments with one id, which addresses of rows cannot tell "
                "apart",
                path=self.manifest.facts.manifest_path,
                version=self.manifest.version,
            )
        return found

    def meta(self, fragment_id: int) -> FragmentMeta:
        """Return a fragment of the manifest."""
        return self.manifest.fragments[self.numbers[fragment_id]]

    def message(self, fragment_id: int) -> bytes | None:
        """Return a fragment as it lies in the manifest; None where it is not known."""
        fragments = self.manifest.fragments
        return fragments.message(self.numbers[fragment_id]) if isinstance(fragments, FragmentList) else None

    def live(self, fragment_id: int) -> RowSet:
        """Return all rows of a fragment that are not deleted."""
        rows = self._fragment(fragment_id)
        self._count(rows.num_rows)
        return self._rows(rows, rows.offsets_of(np.arange(rows.num_rows)))

    def deleted(self, fragment_id: int) -> NDArray[np.int64]:
        """Return ``(n,) int64`` offsets of the deleted rows of a fragment, ascending."""
        vector = self._fragment(fragment_id).deletions
        return np.empty(0, np.int64) if vector is None else vector.offsets

    def at(self, fragment_id: int, offsets: NDArray[np.int64]) -> RowSet:
        """Return rows of a fragment by their ``(n,) int64`` offsets."""
        self._count(len(offsets))
        return self._rows(self._fragment(fragment_id), offsets)

    def with_deletions(self, fragment_ids: Sequence[int]) -> list[FragmentRows]:
        """Return those of some fragments that this version has; their deletion files are read at once."""
        return self.reader.with_deletions([self.numbers[one] for one in fragment_ids if one in self.numbers])

    def _fragment(self, fragment_id: int) -> FragmentRows:
        return self.reader.fragment(self.numbers[fragment_id])

    def _count(self, num_rows: int) -> None:
        self._num_listed += num_rows
        self._limits.check("max_expanded_bytes", self._num_listed * _BYTES_PER_ROW)

    def _rows(self, rows: FragmentRows, offsets: NDArray[np.int64]) -> RowSet:
        addresses = offsets.astype(np.uint64) + np.uint64(rows.meta.id << ADDRESS_BITS)
        if rows.row_ids is None:
            nothing = np.zeros(len(offsets), np.uint64)
            return RowSet(addresses, nothing, nothing, addresses)
        return RowSet(
            rows.row_ids.at(offsets),
            _versions(rows, rows.meta.created_at_versions, offsets, 1),
            _versions(rows, rows.meta.updated_at_versions, offsets, 0),
            addresses,
        )


def changed_rows(before: VersionRows, after: VersionRows) -> RowChanges:
    """Compare two versions of one line. No version between them may be an overwrite.

    Fragments that are the same in both are not looked at.

    Raises
    ------
    ChangesNotRecordedError
        A column of a fragment was written anew, or rows were moved, and the manifests do not tell which rows changed.
    ResourceLimitError
        The rows of the fragments that differ are more than `max_expanded_bytes` allows.
    LanceError, OSError
        As `FragmentRows.deletions`.
    """
    left: list[RowSet] = []
    came: list[RowSet] = []
    for fragment_id in _with_deletions(before, after):
        if fragment_id not in after.numbers:
            left.append(before.live(fragment_id))
            continue
        if fragment_id not in before.numbers:
            came.append(after.live(fragment_id))
            continue
        old, new = before.meta(fragment_id), after.meta(fragment_id)
        if replace(old, deletion=new.deletion) == new:
            gone, gone_since = before.deleted(fragment_id), after.deleted(fragment_id)
            left.append(before.at(fragment_id, np.setdiff1d(gone_since, gone, assume_unique=True)))
            came.append(after.at(fragment_id, np.setdiff1d(gone, gone_since, assume_unique=True)))
            continue
        _check_columns(before, after, old, new)
        left.append(before.live(fragment_id))
        came.append(after.live(fragment_id))
    return _matched(RowSet.joined(left), RowSet.joined(came), before, after)


def _with_deletions(before: VersionRows, after: VersionRows) -> Iterator[int]:
    """Yield the ids of fragments that differ; deletion files of many of them are read at once."""
    found = [one for one in before.numbers.keys() | after.numbers.keys() if _differs(one, before, after)]
    for first in range(0, len(found), _AT_ONCE):
        some = found[first : first + _AT_ONCE]
        # As long as they are held, their deletions are.
        held = [version.with_deletions(some) for version in (before, after)]
        yield from some
        held.clear()


def _differs(fragment_id: int, before: VersionRows, after: VersionRows) -> bool:
    if fragment_id not in after.numbers or fragment_id not in before.numbers:
        return True
    message = before.message(fragment_id)
    if message is not None and message == after.message(fragment_id):
        return False
    return before.meta(fragment_id) != after.meta(fragment_id)


def _matched(left: RowSet, came: RowSet, before: VersionRows, after: VersionRows) -> RowChanges:
    _, ours, theirs = np.intersect1d(left.ids, came.ids, assume_unique=True, return_indices=True)
    is_same = left.created[ours] == came.created[theirs]
    ours, theirs = ours[is_same], theirs[is_same]
    were, are = left.updated[ours], came.updated[theirs]
    if after.has_stable_ids:
        has_moved = left.addresses[ours] != came.addresses[theirs]
        unknown = np.flatnonzero((were == 0) & (are == 0) & has_moved)
        if len(unknown):
            fragment_id = int(came.addresses[theirs[unknown[0]]] >> np.uint64(ADDRESS_BITS))
            raise ChangesNotRecordedError(
                f"rows moved to fragment {fragment_id} between the versions {before.manifest.version} and "
                f"{after.manifest.version}, and their writer did not record whether it changed them: the fragment has "
                "no versions of rows",
                path=after.manifest.facts.manifest_path,
                version=after.manifest.version,
            )
    # Rows without a recorded version are as old as the table.
    has_changed = np.maximum(were, np.uint64(1)) != np.maximum(are, np.uint64(1))
    is_left, has_come = np.ones(len(left), bool), np.ones(len(came), bool)
    is_left[ours] = False
    has_come[theirs] = False
    return RowChanges(left.at(is_left), came.at(has_come), came.at(np.sort(theirs[has_changed])))


def _check_columns(before: VersionRows, after: VersionRows, old: FragmentMeta, new: FragmentMeta) -> None:
    """Refuse a fragment of which a column was written anew without a word about which of its rows changed."""
    if old.files == new.files:
        return
    if after.has_stable_ids and old.updated_at_versions != new.updated_at_versions:
        return
    known = {field.id for top in before.manifest.fields for field in top.walk()}
    for top in after.manifest.fields:
        for field in top.walk():
            if field.id in known and _place(old, field.id) != _place(new, field.id):
                raise ChangesNotRecordedError(
                    f"column {top.name!r} of fragment {new.id} was written anew between the versions "
                    f"{before.manifest.version} and {after.manifest.version}, and which of its rows changed is not "
                    "recorded",
                    path=after.manifest.facts.manifest_path,
                    column=top.name,
                    version=after.manifest.version,
                )


def _place(fragment: FragmentMeta, field_id: int) -> tuple[str, int | None, int] | None:
    found = fragment.file_of(field_id)
    return None if found is None else (found[0].path, found[0].base_id, found[1])


def _versions(rows: FragmentRows, data: bytes | None, offsets: NDArray[np.int64], missing: int) -> Numbers:
    if data is None:
        return np.full(len(offsets), missing, np.uint64)
    return parse_row_versions(data, rows.num_physical).at(offsets)
