"""Rows by number, in the caller's order: of one open file, for `LanceFile`, fragments and datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.arrow_arrays import batch_without_columns
from lance_arrow.arrays.column_paths import parse_path, reach
from lance_arrow.arrays.column_tree import LeafNode, holds_views
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.read_counts import UNWATCHED, ReadCounts, receipt_for
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.structure.row_selection import TakeOrder, take_order

if TYPE_CHECKING:
    from lance_arrow.engine import FileState
    from lance_arrow.scan.open_file import OpenFile


def take_noted(
    file: OpenFile, projection: Projection, rows: Any, first: int = 0, state: FileState | None = None
) -> pa.Table | None:
    """Read few rows of pages that were read before, in one native call.

    Parameters
    ----------
    file
        The file.
    projection
        What is wanted of it.
    rows
        Row numbers as callers give them.
    first
        The number of the file's first row.
    state
        As for `RowReader.take_noted`.

    Returns
    -------
    Table or None
        None where that is not all there is to do, or plugins count what is read: see `take_rows`.
    """
    if not projection.is_whole or projection.has_blobs or file.rows.runtime.is_watched:
        return None
    return file.rows.take_noted(projection.nodes, rows, first, projection.stored, state)


def take_rows(
    file: OpenFile, projection: Projection, offsets: NDArray[np.int64], *, descriptors: bool = False
) -> pa.Table:
    """Read rows in the caller's order, duplicates kept, and report the read.

    Parameters
    ----------
    file
        The file.
    projection
        What is wanted of it.
    offsets
        ``(n,) int64`` rows of the file.
    descriptors
        Whether blobs stay the descriptors that the file stores.

    Raises
    ------
    InvalidArgumentError
        There is no such row; it is named.
    LanceError
        As `RowReader.read`, and as `PendingBatch` of blobs.
    """
    rows = file.rows
    order = take_order(offsets, rows.num_rows)
    receipt = receipt_for(rows.runtime, projection.nodes)
    is_watched = receipt is not UNWATCHED
    if is_watched:
        receipt.see((file,))
    if descriptors or not projection.has_blobs:
        table, counts = _stored(rows, projection, order)
    else:
        table, counts = _with_blobs(file, projection, order)
    if is_watched:
        receipt.tally.add(counts, table.num_rows)
        receipt.count(table.num_rows)
        receipt.send()
    return table


def _stored(rows: RowReader, projection: Projection, order: TakeOrder) -> tuple[pa.Table, ReadCounts]:
    read, counts = rows.take(projection.nodes, order.rows)
    batches = read if projection.is_whole else [projection.apply(batch) for batch in read]
    return in_callers_order(as_table(batches, projection.stored), order.positions), counts


def _with_blobs(file: OpenFile, projection: Projection, order: TakeOrder) -> tuple[pa.Table, ReadCounts]:
    if projection.blobs_are_columns and order.positions is None:
        read = file.rows.take_with_blobs(projection.nodes, order.rows)
        if read is not None:
            return as_table([read[0]], projection.schema), read[1]
    stored, counts = _stored(file.rows, projection, order)
    few = _few_blobs(file, projection, stored)
    if few is not None:
        return few, counts
    from lance_arrow.scan.blobs.pending_batch import PendingBatch  # noqa: PLC0415 - for blobs alone

    runtime, nodes = file.runtime, [output.node for output in projection.outputs]
    most = runtime.settings.blob_piece_bytes
    pending = (PendingBatch.of(nodes, batch, lambda _: file.blobs) for batch in stored.to_batches())
    pieces = (piece for one in pending for piece in one.pieces(most))
    num_ahead = runtime.settings.windows_within_budget(most) - 1
    return as_table(list(runtime.ahead(PendingBatch.filled, pieces, num_ahead=num_ahead)), projection.schema), counts


def _few_blobs(file: OpenFile, projection: Projection, stored: pa.Table) -> pa.Table | None:
    """Put few bytes of blobs in place of their descriptors, by native code; None where it leaves that to others."""
    columns, most = stored.columns, file.runtime.settings.blob_piece_bytes
    for number, output in enumerate(projection.outputs):
        if output.shown is output.stored:
            continue
        if not isinstance(output.node, LeafNode) or columns[number].num_chunks != 1:
            return None
        few = file.blobs.read_few(output.node, columns[number].chunk(0), most)
        if few is None:
            return None
        columns[number] = few
    return pa.Table.from_arrays(columns, schema=projection.schema)


def in_callers_order(table: pa.Table, positions: NDArray[np.int64] | None) -> pa.Table:
    """Return rows at ``(n,) int64`` positions; all as they are when None."""
    if positions is None:
        return table
    # pyarrow's `take` forgets how many rows a table without columns has.
    if not table.num_columns:
        return rows_without_columns(len(positions))
    from lance_arrow.arrays.plain_numbers import as_array  # noqa: PLC0415 - for takes alone

    if not any([holds_views(type_) for type_ in table.schema.types]):
        return table.take(as_array(positions))
    from lance_arrow.arrays.view_arrays import taken  # noqa: PLC0415 - for views alone

    return taken(table, as_array(positions))


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
    """Make a table of batches; there may be none."""
    if not len(schema):
        # A table of no columns has no row count in pyarrow unless a batch carries it.
        return pa.Table.from_batches(list(batches)) if batches else pa.table({})
    return pa.Table.from_batches(batches, schema)


def rows_without_columns(num_rows: int) -> pa.Table:
    """Make a table of rows alone."""
    return pa.Table.from_batches([batch_without_columns(num_rows)])
