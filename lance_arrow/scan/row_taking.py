"""Rows of one open file by offset, in the caller's order; shared by `LanceFile`, fragments and datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.arrow_arrays import batch_without_columns
from lance_arrow.arrays.column_paths import parse_path, reach
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_reader import ReadCounts, RowReader
from lance_arrow.structure.row_selection import take_order

if TYPE_CHECKING:
    from lance_arrow.scan.open_file import OpenFile


def take_stored(rows: RowReader, projection: Projection, offsets: NDArray[np.int64]) -> tuple[pa.Table, ReadCounts]:
    """Read rows in the caller's order, duplicates kept, with descriptors in place of blobs.

    Raises
    ------
    InvalidArgumentError
        There is no such row; it is named.
    """
    order = take_order(offsets, rows.num_rows)
    read, counts = rows.take(projection.nodes, order.rows)
    batches = [projection.apply(batch) for batch in read]
    table = as_table(batches, projection.stored)
    if order.positions is None:
        return table, counts
    if not table.num_columns:
        # pyarrow's `take` forgets how many rows a table without columns has.
        return rows_without_columns(len(order.positions)), counts
    return table.take(pa.array(order.positions)), counts


def take_shown(
    batches: FileBatches, rows: RowReader, projection: Projection, offsets: NDArray[np.int64]
) -> tuple[pa.Table, ReadCounts]:
    """Read rows as `take_stored` does, with the bytes of blobs where these are wanted."""
    if projection.blobs_are_columns:
        order = take_order(offsets, rows.num_rows)
        read = rows.take_with_blobs(projection.nodes, order.rows) if order.positions is None else None
        if read is not None:
            return as_table([read[0]], projection.schema), read[1]
    table, counts = take_stored(rows, projection, offsets)
    return with_blobs(batches, projection, table), counts


def with_blobs(batches: FileBatches, projection: Projection, stored: pa.Table) -> pa.Table:
    """Put the bytes of blobs, where they are wanted, in place of their descriptors in rows that were taken."""
    if not projection.has_blobs:
        return stored
    columns = stored.columns
    for number, output in enumerate(projection.outputs):
        if output.shown is output.stored:
            continue
        few = batches.few_blobs(output.node, columns[number])
        if few is None:
            return as_table(list(batches.with_blobs(projection, stored.to_batches())), projection.schema)
        columns[number] = few
    return pa.Table.from_arrays(columns, schema=projection.schema)


def take_rows(file: OpenFile, schema: pa.Schema, columns: Sequence[str] | None, offsets: NDArray[np.int64]) -> pa.Table:
    """Read rows of a file that `is_as_stored`, in the caller's order, duplicates kept.

    Parameters
    ----------
    file
        The open file.
    schema
        As the dataset sees it: its columns are wanted when `columns` are None.
    columns
        Dotted paths.
    offsets
        ``(n,) int64`` rows of the file.
    """
    batches = FileBatches(file)
    wanted = schema.names if columns is None else columns
    is_whole = schema.names == file.rows.schema.names and columns is None
    projection = file.everything if is_whole else Projection.of(file.rows.roots, file.rows.schema, wanted)
    receipt = batches.receipt(projection.nodes)
    table, counts = take_shown(batches, file.rows, projection, offsets)
    receipt.tally.add(counts, table.num_rows)
    receipt.count(table.num_rows)
    receipt.send()
    return table


def is_as_stored(file: OpenFile, schema: pa.Schema, columns: object) -> TypeGuard[Sequence[str] | None]:
    """Tell whether columns come out of a file as a dataset shows them: nothing is computed, cast or absent."""
    stored = file.rows.schema
    if columns is None:
        names = schema.names
        if stored.equals(schema) and len(set(names)) == len(names):
            return True
        return all(_is_same(stored, schema, name) for name in schema.names)
    if not isinstance(columns, (list, tuple)) or not all(isinstance(column, str) for column in columns):
        return False
    paths = [parse_path(column, schema.names) for column in columns]
    return all(_is_same(stored, schema, path[0]) and reach(file.rows.roots, path) is not None for path in paths)


def _is_same(stored: pa.Schema, schema: pa.Schema, name: str) -> bool:
    places = stored.get_all_field_indices(name), schema.get_all_field_indices(name)
    if any(len(found) != 1 for found in places):
        return False
    found: Any = stored.field(name).type == schema.field(name).type
    return bool(found)


def as_table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Make a table of batches, of which there may be none."""
    if not len(schema):
        # A table of no columns has no row count in pyarrow unless a batch carries it.
        return pa.Table.from_batches(list(batches)) if batches else pa.table({})
    return pa.Table.from_batches(batches, schema)


def rows_without_columns(num_rows: int) -> pa.Table:
    """Make a table of rows alone."""
    return pa.Table.from_batches([batch_without_columns(num_rows)])
