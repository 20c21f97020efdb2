"""`ChangedBatches`: rows that changed, read from the version that has them, with what happened to them.

deleted rows from the older version ─► inserted and updated ones from the newer version, in its order
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import parse_path
from lance_arrow.errors import ChangesNotRecordedError, InvalidArgumentError, UnsupportedError
from lance_arrow.scan.fragments.fragment_rows import ADDRESS_BITS
from lance_arrow.scan.fragments.table_columns import NAME_OF, VirtualColumn
from lance_arrow.scan.projection import Projection
from lance_arrow.spi.rows import RowRanges
from lance_arrow.table.changed_rows.row_changes import Numbers, RowChanges, VersionRows
from lance_arrow.table.row_deletion import ADDRESS, check_addresses_shown

CHANGE_TYPE = "_change_type"
CHANGE_VERSION = "_change_version"
ROW_ID = NAME_OF[VirtualColumn.ROW_ID]
_TYPES = pa.array(["insert", "delete", "update"])
INSERT, DELETE, UPDATE = range(3)


class ChangedBatches:
    """Reads the rows that differ between two versions.

    Parameters
    ----------
    before, after
        The versions.
    changes
        How their rows differ.
    versions
        ``(n,) uint64`` for the inserted, deleted and updated rows: the version with which it happened. No column tells
        it when None.
    columns
        Paths of columns of `after`, as for `LanceTable.to_table`; all columns when None.

    Raises
    ------
    InvalidArgumentError
        The table has no such column, or a name is among those that are added.
    UnsupportedError
        A column of the table hides the addresses of rows.
    ChangesNotRecordedError
        Rows were deleted, and the older version has a column of the name that is another one or of another type.
    """

    def __init__(
        self,
        before: VersionRows,
        after: VersionRows,
        changes: RowChanges,
        versions: tuple[Numbers, Numbers, Numbers] | None,
        columns: Sequence[str] | None,
    ) -> None:
        self._before, self._after = before, after
        self._changes = changes
        self._versions = versions
        check_addresses_shown(after.reader)
        names = after.reader.columns.schema.names if columns is None else list(columns)
        added = [CHANGE_TYPE, *([CHANGE_VERSION] if versions else []), *([ROW_ID] if after.has_stable_ids else [])]
        hidden = next((name for name in names if name in added), None)
        if hidden is not None:
            raise InvalidArgumentError(
                f"the batches of changes have a column {hidden!r} of their own; choose other columns by columns=",
                column=hidden,
            )
        if after.has_stable_ids and ROW_ID in after.reader.columns.schema.names:
            raise UnsupportedError(f"the table has a column {ROW_ID!r}, which hides the row ids", column=ROW_ID)
        self._own = [*([ROW_ID] if after.has_stable_ids else []), ADDRESS]
        self._new = after.reader.projection([*names, *self._own])
        shown = list(self._new.schema)[: -len(self._own)]
        self._old: Projection | None = None
        self._places: list[int | None] = []
        if len(changes.deleted):
            check_addresses_shown(before.reader)
            shown = self._match(names, shown)
        self.schema = pa.schema(
            [
                pa.field(CHANGE_TYPE, pa.string(), nullable=False),
                *([pa.field(CHANGE_VERSION, pa.uint64(), nullable=False)] if versions else []),
                *([pa.field(ROW_ID, pa.uint64(), nullable=False)] if after.has_stable_ids else []),
                *shown,
            ],
            self._new.schema.metadata,
        )

    def _match(self, names: Sequence[str], shown: Sequence[pa.Field]) -> list[pa.Field]:
        """Find the columns in the older version; they may have had other names there, or none."""
        held = {field.id: field.name for field in self._before.manifest.fields}
        numbers = {field.name: field.id for field in self._after.manifest.fields}
        known = self._after.reader.columns.full_schema.names
        wanted: list[str] = []
        lacking: set[str] = set()
        for name in names:
            top = parse_path(name, known)[0]
            # Virtual columns have no number.
            before = held.get(numbers[top]) if top in numbers else top
            if before is not None:
                wanted.append(before + name[len(top) :])
            elif top in held.values():
                raise self._another(top)
            else:
                lacking.add(top)
        try:
            self._old = self._before.reader.projection([*wanted, *self._own])
        except InvalidArgumentError as error:
            raise ChangesNotRecordedError(
                f"rows of version {self._before.manifest.version} were deleted since, and they lack a column: "
                f"{error.message}",
                path=self._before.manifest.facts.manifest_path,
                column=error.column,
                version=self._after.manifest.version,
            ) from error
        place = 0
        fields: list[pa.Field] = []
        for field, output in zip(shown, self._new.outputs, strict=False):
            if self._new.nodes[output.column].field.name in lacking:
                self._places.append(None)
                fields.append(field.with_nullable(True))
                continue
            was = self._old.schema.field(place)
            if was.type != field.type:
                raise self._another(field.name)
            self._places.append(place)
            fields.append(field.with_nullable(field.nullable or was.nullable))
            place += 1
        return fields

    def _another(self, name: str) -> ChangesNotRecordedError:
        before, after = self._before.manifest, self._after.manifest
        return ChangesNotRecordedError(
            f"rows of version {before.version} were deleted since, and version {after.version} has another column of "
            f"the name {name!r}: it was cast, or dropped and added again; choose other columns by columns=",
            path=after.facts.manifest_path,
            column=name,
            version=after.version,
        )

    def batches(self, batch_size: int | None) -> Iterator[pa.RecordBatch]:
        """Yield the deleted rows, then the inserted and updated ones; each part in the order of its version.

        Raises
        ------
        LanceError, OSError
            As `TableReader.batches`.
        """
        changes, versions = self._changes, self._versions
        if self._old is not None:
            kinds = np.full(len(changes.deleted), DELETE)
            when = None if versions is None else versions[1]
            yield from self._part(self._before, self._old, changes.deleted.addresses, kinds, when, batch_size)
        addresses = np.concatenate([changes.inserted.addresses, changes.updated.addresses])
        kinds = np.repeat([INSERT, UPDATE], [len(changes.inserted), len(changes.updated)])
        when = None if versions is None else np.concatenate([versions[0], versions[2]])
        yield from self._part(self._after, self._new, addresses, kinds, when, batch_size)

    def _part(
        self,
        rows: VersionRows,
        projection: Projection,
        addresses: Numbers,
        kinds: NDArray[np.int64],
        versions: Numbers | None,
        batch_size: int | None,
    ) -> Iterator[pa.RecordBatch]:
        if not len(addresses):
            return
        order = np.argsort(addresses)
        addresses, kinds = addresses[order], kinds[order]
        numbers, within = _within(rows, addresses)
        reader = rows.reader.part(numbers)
        for batch in reader.batches(projection, None, batch_size, within=within, wants_all=True):
            if not batch.num_rows:
                continue
            at = np.searchsorted(addresses, batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False))
            columns: list[pa.Array] = [_TYPES.take(pa.array(kinds[at]))]
            if versions is not None:
                columns.append(pa.array(versions[order][at]))
            if rows.has_stable_ids:
                columns.append(batch.column(batch.num_columns - 2))
            columns += self._shown(batch, is_old=projection is self._old)
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _shown(self, batch: pa.RecordBatch, *, is_old: bool) -> list[pa.Array]:
        if not is_old:
            return batch.columns[: -len(self._own)]
        first = len(self.schema) - len(self._places)
        return [
            pa.nulls(batch.num_rows, self.schema.field(first + number).type) if place is None else batch.column(place)
            for number, place in enumerate(self._places)
        ]


def _within(rows: VersionRows, addresses: Numbers) -> tuple[list[int], list[RowRanges]]:
    """Return the numbers of the fragments that have rows, in order, and the rows of each; addresses ascend."""
    owners = (addresses >> np.uint64(ADDRESS_BITS)).astype(np.int64)
    offsets = (addresses & np.uint64((1 << ADDRESS_BITS) - 1)).astype(np.int64)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    found = {
        rows.numbers[int(owners[start])]: _ranges(part)
        for start, part in zip(starts.tolist(), np.split(offsets, starts[1:]), strict=True)
    }
    numbers = sorted(found)
    return numbers, [found[number] for number in numbers]


def _ranges(offsets: NDArray[np.int64]) -> RowRanges:
    borders = np.flatnonzero(np.diff(offsets) != 1) + 1
    return RowRanges(
        offsets[np.concatenate([np.zeros(1, np.int64), borders])],
        offsets[np.append(borders - 1, len(offsets) - 1)] + 1,
    )
