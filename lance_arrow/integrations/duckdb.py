"""DuckDB: `relation` and `register` show it a dataset with dictionaries, pushed filters and counts without a column.

    connection ─► view: all columns but the first ─► `_Door`: number of rows (null), columns ─► `EngineRows`

DuckDB asks for the first column where a query needs none. Here that is one without values, so that counting reads
nothing, or the columns of the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import InMemoryDataset

from lance_arrow.integrations.engine_rows import EngineRows, free_name
from lance_arrow.integrations.wanted_rows import Source, opened

BATCH_ROWS = 1 << 18
"""Most rows of a batch, the unit of DuckDB's parallel work: importing a batch costs as much as some 10,000 rows."""


def relation(source: Source, *, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
    """Return a dataset as a relation of DuckDB.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`. What is opened here has ``strings="dictionary"``:
        DuckDB shows dictionaries as their values, and groups and compares them by their codes.
    connection
        Where the relation belongs; DuckDB's default connection when None.

    Raises
    ------
    FileNotFoundError, LanceError
        As `lance_arrow.dataset`.
    """
    door = _Door(source)
    made = duckdb.from_arrow(door) if connection is None else connection.from_arrow(door)
    return made.project(f"* EXCLUDE ({_quoted(door.rows_name)})")


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: Source,
    *,
    on_error: Callable[[Exception], None] | None = None,
) -> None:
    """Let queries of a connection read a dataset by a name, until the connection is closed.

    Parameters
    ----------
    connection
        The connection.
    name
        Name of the view; a temporary view of this name is replaced.
    source
        As for `relation`.
    on_error
        Called with the error of a scan, in the thread that reads. DuckDB raises an error of its own with the text.

    Raises
    ------
    FileNotFoundError, LanceError
        As `lance_arrow.dataset`.
    """
    door = _Door(source, on_error)
    behind = f"lance_arrow:{name}"
    connection.register(behind, door)
    columns = f"* EXCLUDE ({_quoted(door.rows_name)})"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {_quoted(name)} AS SELECT {columns} FROM {_quoted(behind)}")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


class _Door(InMemoryDataset):
    """A dataset as DuckDB asks it: for its schema, then for a scanner of named columns with a filter."""

    def __init__(self, source: Source, on_error: Callable[[Exception], None] | None = None) -> None:
        self._on_error = on_error
        dataset = opened(source, strings="dictionary")
        self._rows = EngineRows(dataset)
        self.rows_name = free_name(dataset.schema)
        schema = pa.schema([pa.field(self.rows_name, pa.null()), *dataset.schema], dataset.schema.metadata)
        super().__init__(schema.empty_table())

    def scanner(
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **options: Any
    ) -> _DoorScanner:
        """Return what DuckDB reads; it gives no options that change rows."""
        return _DoorScanner(self, self.schema.names if columns is None else list(columns), filter)

    def read(self, columns: Sequence[str], filter: pc.Expression | None) -> pa.RecordBatchReader:
        """Read some columns of rows that satisfy a filter."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        wanted = [name for name in columns if name != self.rows_name]
        if not wanted:
            return _nothing(schema, self._rows.count(filter)).to_reader()
        own, batches = self._rows.batches(wanted, filter, BATCH_ROWS)
        if self._on_error is not None:
            batches = _watched(batches, self._on_error)
        if len(wanted) == len(columns):
            return pa.RecordBatchReader.from_batches(own, batches)
        return pa.RecordBatchReader.from_batches(schema, _with_nulls(batches, schema))


class _DoorScanner:
    """Columns and a filter of a `_Door`."""

    def __init__(self, door: _Door, columns: Sequence[str], filter: pc.Expression | None) -> None:
        self._door, self._columns, self._filter = door, columns, filter

    @property
    def projected_schema(self) -> pa.Schema:
        """Schema of the rows."""
        return pa.schema([self._door.schema.field(name) for name in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        """Begin to read."""
        return self._door.read(self._columns, self._filter)


def _watched(batches: Iterator[pa.RecordBatch], on_error: Callable[[Exception], None]) -> Iterator[pa.RecordBatch]:
    """Tell of an error before Arrow turns it into text."""
    try:
        yield from batches
    except Exception as error:
        on_error(error)
        raise


def _nothing(schema: pa.Schema, num_rows: int) -> pa.Table:
    """Return rows without values; DuckDB reads a table without Python."""
    whole, rest = divmod(num_rows, BATCH_ROWS)
    batches = [
        pa.RecordBatch.from_arrays([pa.nulls(count)] * len(schema), schema=schema) for count in (BATCH_ROWS, rest)
    ]
    return pa.Table.from_batches([batches[0]] * whole + [batches[1]] * bool(rest), schema)


def _with_nulls(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Add the column without values where it is named beside others."""
    for batch in batches:
        columns = [
            batch.column(field.name) if field.name in batch.schema.names else pa.nulls(batch.num_rows)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
