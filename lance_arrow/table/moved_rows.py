"""`MovedRows`: rows on their way from a version to new fragments, and what of them stays the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.plain_numbers import as_numbers
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InvalidArgumentError, UnsupportedError, did_you_mean
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.row_id_writing import keep_rows
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.scan.fragments.table_columns import NAME_OF, VirtualColumn
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.predicates import Predicate
from lance_arrow.table.row_addresses import RowAddresses
from lance_arrow.table.row_deletion import ADDRESS, check_addresses_shown
from lance_arrow.table.writable_branch import refuse_blob_structs

_ID = NAME_OF[VirtualColumn.ROW_ID]
_CREATED = NAME_OF[VirtualColumn.CREATED_AT]


class MovedRows:
    """Rows that are read to be written again; remembers where they lay and what they are.

    Parameters
    ----------
    base, reader
        The version, and what reads it.
    keys
        Columns that must be there.

    Raises
    ------
    UnsupportedError
        Rows of the table cannot be written, or a column has the name of a virtual one.
    """

    def __init__(self, base: ManifestMeta, reader: TableReader, keys: Sequence[str] = ()) -> None:
        refuse_blob_structs(base.fields)
        check_addresses_shown(reader)
        self._reader = reader
        self.fields: Sequence[SchemaField] = base.fields
        self.table_schema: pa.Schema = arrow_schema(base.fields, base.facts.schema_metadata)
        for name in keys:
            if name not in self.table_schema.names:
                names = self.table_schema.names
                raise InvalidArgumentError(
                    f"the table has no column {name!r}; columns: {names}{did_you_mean(name, names)}", column=name
                )
        self._kept = [_ID, _CREATED] if base.facts.has_stable_row_ids else []
        for name in self._kept:
            if name in reader.columns.schema.names:
                raise UnsupportedError(f"the table has a column {name!r}, which hides the virtual column", column=name)
        self.addresses = RowAddresses()
        """Where the rows lay that `remember` was told of."""
        self._ids: list[NDArray[np.uint64]] = []
        self._created: list[NDArray[np.uint64]] = []

    def batches(
        self, filter: Predicate | None, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Yield rows in order, those that satisfy a filter: the table's columns, then where they lie and what they are.

        Parameters
        ----------
        filter
            As for `TableReader.batches`.
        columns
            Columns of the table that are wanted; all when None.

        Raises
        ------
        InvalidArgumentError
            The filter does not fit.
        """
        names = self.table_schema.names if columns is None else list(columns)
        schema = pa.schema([self.table_schema.field(name) for name in names], self.table_schema.metadata)
        wanted = [*names, ADDRESS, *self._kept]
        found = self._reader.batches(self._reader.projection(wanted), filter, None, wants_all=True, is_written=True)
        for batch in found:
            if batch.num_rows:
                yield (
                    pa.RecordBatch.from_arrays(batch.columns[: len(names)], schema=schema),
                    batch.select(range(len(names), len(wanted))),
                )

    def remember(self, places: pa.RecordBatch) -> None:
        """Remember rows that are written, in the order they are."""
        self.addresses.add(as_numbers(places.column(0)))
        if self._kept:
            self._ids.append(_numbers(places, 1))
            self._created.append(_numbers(places, 2))

    def keep(self, fragments: list[DataFragment]) -> None:
        """Give the rows, which new fragments begin with, the ids they had; nothing without stable row ids."""
        if self._ids:
            keep_rows(fragments, np.concatenate(self._ids), np.concatenate(self._created))


def _numbers(batch: pa.RecordBatch, column: int) -> NDArray[np.uint64]:
    # Copied: batches are let go.
    return np.array(batch.column(column).to_numpy(zero_copy_only=False), np.uint64)
