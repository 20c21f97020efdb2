"""Sources of new columns: expressions over other columns, a function of batches, another table, or nulls.

Each kind tells the schema of what it makes and the columns it needs, and makes arrays batch by batch, in row order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.plain_numbers import empty_batch
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.batch_inputs import schema_and_rows
from lance_arrow.late_arrow import pads, pc
from lance_arrow.scan.computed_columns import ComputedColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.merges.key_matching import SourceKeys

BatchFunction = Callable[[pa.RecordBatch], Any]


class ColumnSource(Protocol):
    """Makes columns."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of the new columns."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """Columns of the table that are needed."""
        ...

    def arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns for the next rows of the table, which are given with what is needed of them."""
        ...

    def finish(self) -> None:
        """Raise unless all that was given has been used."""
        ...


def column_source(
    values: Any, reader: TableReader, *, on: str | Sequence[str] | None, read_columns: Sequence[str] | None, rows: int
) -> ColumnSource:
    """Understand what a caller gives for new columns.

    Parameters
    ----------
    values
        What `repeatable` makes of the argument of `LanceTable.add_columns`.
    reader
        Reads the version.
    on
        Key columns that rows of another table are found by; None: they come in the table's order.
    read_columns
        Columns that a function is given; all when None.
    rows
        The most rows that are computed at once.

    Raises
    ------
    InvalidArgumentError
        It is none of these, or does not fit the table.
    """
    if isinstance(values, Mapping):
        return _Computed(ComputedColumns(values, reader.columns.schema))
    if callable(values) and not hasattr(values, "__arrow_c_stream__"):
        names = reader.columns.schema.names if read_columns is None else list(read_columns)
        return _Function(values, reader, names, rows)
    return _InOrder(values) if on is None else _Joined(values, [on] if isinstance(on, str) else list(on), reader)


def repeatable(values: Any) -> Any:
    """Return values that a second attempt finds again: rows that come once are kept as a table."""
    is_function = callable(values) and not hasattr(values, "__arrow_c_stream__")
    return values if is_function or isinstance(values, Mapping | pa.Table) else _whole(values)


class _Computed:
    def __init__(self, values: ComputedColumns) -> None:
        self._values = values
        self.schema: pa.Schema = values.schema
        self.columns: Sequence[str] = tuple(dict.fromkeys(path[0] for path in values.paths))

    def arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        return self._values.arrays(batch)

    def finish(self) -> None:
        """See `ColumnSource.finish`."""


class _Function:
    """The first batch is computed at once, to learn what is made, and not again."""

    def __init__(self, function: BatchFunction, reader: TableReader, names: Sequence[str], rows: int) -> None:
        self.columns: Sequence[str] = tuple(names)
        self._function = function
        projection = reader.projection(names)
        found = reader.batches(projection, None, rows)
        given = next(found, None)
        batch = empty_batch(projection.schema) if given is None else given
        made = self._made(batch)
        self.schema: pa.Schema = made.schema
        self._first: pa.RecordBatch | None = made if given is not None else None

    def arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        made, self._first = self._first, None
        if made is None or made.num_rows != batch.num_rows:
            made = self._made(batch)
        if made.schema.names != self.schema.names or made.schema.types != self.schema.types:
            raise InvalidArgumentError(
                f"the function returned {made.schema.to_string()!r}, and {self.schema.to_string()!r} before"
            )
        return made.columns

    def finish(self) -> None:
        """See `ColumnSource.finish`."""

    def _made(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        result = self._function(batch)
        if isinstance(result, Mapping):
            result = pa.table(dict(result))
        elif not isinstance(result, pa.RecordBatch | pa.Table):
            if not hasattr(result, "__arrow_c_stream__"):
                raise InvalidArgumentError(f"the function returned {type(result).__name__}, expected a record batch")
            result = pa.table(result)
        if result.num_rows != batch.num_rows:
            raise InvalidArgumentError(f"the function returned {result.num_rows} rows for {batch.num_rows}")
        if isinstance(result, pa.RecordBatch):
            return result
        arrays = [pa.concat_arrays(column.chunks) if column.num_chunks else column for column in result.columns]
        columns = [one if isinstance(one, pa.Array) else pa.nulls(0, one.type) for one in arrays]
        return pa.RecordBatch.from_arrays(columns, schema=result.schema)


class _InOrder:
    def __init__(self, table: pa.Table) -> None:
        self.schema: pa.Schema = table.schema
        self.columns: Sequence[str] = ()
        self._table = table
        self._start = 0

    def arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        part = self._table.slice(self._start, batch.num_rows)
        if part.num_rows < batch.num_rows:
            raise InvalidArgumentError(f"the rows given are {self._table.num_rows}, those of the table are more")
        self._start += batch.num_rows
        return [_one(column) for column in part.columns]

    def finish(self) -> None:
        """See `ColumnSource.finish`."""
        if self._start != self._table.num_rows:
            raise InvalidArgumentError(
                f"the rows given are {self._table.num_rows}, those of the table are {self._start}"
            )


class _Joined:
    def __init__(self, table: pa.Table, on: Sequence[str], reader: TableReader) -> None:
        known = reader.columns.schema
        for name in on:
            if name not in table.column_names or name not in known.names:
                raise InvalidArgumentError(f"the key column {name!r} is not in both tables", column=str(name))
            if table.schema.field(name).type != known.field(name).type:
                raise InvalidArgumentError(
                    f"keys are {table.schema.field(name).type} there, {known.field(name).type} here", column=name
                )
        self.columns: Sequence[str] = tuple(on)
        self._keys = SourceKeys(table, on)
        if self._keys.is_repeated.any():
            raise InvalidArgumentError("several rows of the table that is joined have one key")
        self._values = table.drop_columns(list(on)).combine_chunks()
        self.schema: pa.Schema = self._values.schema

    def arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        keys = self._keys.find(batch)
        rows = np.where(keys < 0, -1, self._keys.row_of[keys]) if len(self._keys.row_of) else keys
        indices = pa.array(rows, mask=rows < 0)
        return [_one(pc.take(column, indices)) for column in self._values.columns]

    def finish(self) -> None:
        """See `ColumnSource.finish`."""


def _whole(values: Any) -> pa.Table:
    # Only a program that imported `pyarrow.dataset` has a dataset to give.
    if "pyarrow.dataset" in sys.modules and isinstance(values, pads.Dataset):
        return values.to_table()
    schema, rows = schema_and_rows(values)
    return pa.Table.from_batches(list(_batches(rows)), schema)


def _batches(rows: Iterator[Any]) -> Iterator[pa.RecordBatch]:
    for one in rows:
        yield from one.to_batches() if isinstance(one, pa.Table) else (one,)


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
