"""`TableDiff` and `VersionPair`: how two versions of a line differ, as numbers and as rows.

columns, fragments ─► from the two manifests alone
rows ─► `changed_rows` of the two, once `VersionSteps` has found that the table records what happened between them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lance_arrow.errors import ChangesNotRecordedError, InternalError
from lance_arrow.io import Location
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.settings import Limits
from lance_arrow.table.changed_rows.changed_batches import ChangedBatches
from lance_arrow.table.changed_rows.row_changes import Numbers, RowChanges, RowSet, VersionRows, changed_rows
from lance_arrow.table.changed_rows.version_steps import RowEvents, VersionSteps


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDiff:
    """Differences between two versions of a table, as `LanceTable.diff` returns them.

    Parameters
    ----------
    since, until
        Numbers of the versions.
    columns_added, columns_dropped
        Top-level fields that only the second, or only the first version has, by name.
    columns_changed
        Top-level fields of both versions whose type or nullability differs: both fields by name.
    fragments_added, fragments_dropped
        Ids of fragments that only the second, or only the first version has, ascending.
    fragments_changed
        Ids of fragments that have other files, deleted rows or row versions now, ascending.
    rows_added, rows_deleted, rows_updated
        Rows of the second version alone, rows of the first version alone, and rows of both that were written anew.
        None where the table does not record it. Without stable row ids, no
        update is ever recorded: the number is 0 if no row could have been updated, and None otherwise.
    unknown
        Why these numbers are None; None if they are known.
    """

    since: int
    until: int
    columns_added: Mapping[str, pa.Field]
    columns_dropped: Mapping[str, pa.Field]
    columns_changed: Mapping[str, tuple[pa.Field, pa.Field]]
    fragments_added: Sequence[int]
    fragments_dropped: Sequence[int]
    fragments_changed: Sequence[int]
    rows_added: int | None
    rows_deleted: int | None
    rows_updated: int | None
    unknown: ChangesNotRecordedError | None = None
    _read: Callable[[Sequence[str] | None, int | None], pa.RecordBatchReader] | None = field(
        default=None, repr=False, compare=False
    )

    def to_batches(self, columns: Sequence[str] | None = None, batch_size: int | None = None) -> pa.RecordBatchReader:
        """Read the rows that differ, as `LanceTable.changes` does; there is no ``_change_version``.

        Parameters
        ----------
        columns, batch_size
            As for `LanceTable.changes`.

        Raises
        ------
        ChangesNotRecordedError
            The numbers of rows are None, for the same reason.
        LanceError, OSError
            As `LanceTable.changes`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.delete("id < 2")
        >>> table.diff(1).to_batches(["id"]).read_all().to_pydict()
        {'_change_type': ['delete', 'delete'], 'id': [0, 1]}
        """
        if self.unknown is not None:
            raise self.unknown
        if self._read is None:
            raise InternalError("rows of a difference that was made without its versions")
        return self._read(columns, batch_size)


class VersionPair:
    """Two versions of a line of a table.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    first, second
        The versions; the second one may be the older one for `diff`.
    rows_of
        Returns the rows of a version.
    limits
        As for `VersionSteps`.
    """

    def __init__(
        self,
        line: Location,
        first: ManifestMeta,
        second: ManifestMeta,
        rows_of: Callable[[ManifestMeta], VersionRows],
        limits: Limits,
    ) -> None:
        self._first, self._second = rows_of(first), rows_of(second)
        self._steps = VersionSteps(line, rows_of, limits)

    def changes(self, columns: Sequence[str] | None, batch_size: int | None) -> pa.RecordBatchReader:
        """Read the rows that differ, with the version at which they came to do so; see `LanceTable.changes`."""
        since, until = self._first.manifest.version, self._second.manifest.version
        # Checked before: what the steps do not record, the versions cannot be asked for.
        left, came, written = _Events(), _Events(), _Events()
        for version, found in self._steps.changes(since, until):
            left.add(found.deleted, version)
            came.add(found.inserted, version)
            written.add(found.inserted, version)
            written.add(found.updated, version)
        changes = changed_rows(self._first, self._second)
        versions = (
            came.events().last(changes.inserted),
            left.events().last(changes.deleted),
            written.events().last(changes.updated),
        )
        if not all(one.all() for one in versions):
            raise InternalError("a row differs between two versions, and between none of those between them")
        return _reader(ChangedBatches(self._first, self._second, changes, versions, columns), batch_size)

    def diff(self) -> TableDiff:
        """Compare the versions; see `LanceTable.diff`."""
        first, second = self._first.manifest, self._second.manifest
        before = {one.name: one for one in self._first.reader.columns.schema}
        after = {one.name: one for one in self._second.reader.columns.schema}
        changes, unknown = self._changes()
        read: Callable[[Sequence[str] | None, int | None], pa.RecordBatchReader] | None = None
        if changes is not None:
            known = changes

            def read(columns: Sequence[str] | None, batch_size: int | None) -> pa.RecordBatchReader:
                return _reader(ChangedBatches(self._first, self._second, known, None, columns), batch_size)

        old = {one.id: one for one in first.fragments}
        new = {one.id: one for one in second.fragments}
        return TableDiff(
            since=first.version,
            until=second.version,
            columns_added={name: one for name, one in after.items() if name not in before},
            columns_dropped={name: one for name, one in before.items() if name not in after},
            columns_changed={
                name: (before[name], one)
                for name, one in after.items()
                if name in before and (before[name].type, before[name].nullable) != (one.type, one.nullable)
            },
            fragments_added=sorted(new.keys() - old.keys()),
            fragments_dropped=sorted(old.keys() - new.keys()),
            fragments_changed=_changed(old, new),
            rows_added=None if changes is None else len(changes.inserted),
            rows_deleted=None if changes is None else len(changes.deleted),
            rows_updated=None if changes is None else len(changes.updated),
            unknown=unknown,
            _read=read,
        )

    def _changes(self) -> tuple[RowChanges | None, ChangesNotRecordedError | None]:
        low, high = sorted((self._first.manifest.version, self._second.manifest.version))
        try:
            for _ in self._steps.changes(low, high):
                pass
            return changed_rows(self._first, self._second), None
        except ChangesNotRecordedError as error:
            return None, error


class _Events:
    """Rows to which something happened, version by version."""

    def __init__(self) -> None:
        self._rows: list[RowSet] = []
        self._versions: list[Numbers] = []

    def add(self, rows: RowSet, version: int) -> None:
        self._rows.append(rows)
        self._versions.append(np.full(len(rows), version, np.uint64))

    def events(self) -> RowEvents:
        return RowEvents(RowSet.joined(self._rows), np.concatenate([np.empty(0, np.uint64), *self._versions]))


def _reader(batches: ChangedBatches, batch_size: int | None) -> pa.RecordBatchReader:
    found: Iterator[pa.RecordBatch] = batches.batches(batch_size)
    return pa.RecordBatchReader.from_batches(batches.schema, found)


def _changed(old: Mapping[int, FragmentMeta], new: Mapping[int, FragmentMeta]) -> list[int]:
    return [number for number in sorted(old.keys() & new.keys()) if old[number] != new[number]]
