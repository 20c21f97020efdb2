"""`update_rows`: rows that satisfy a predicate move to new fragments, with some columns computed anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.plain_numbers import empty_batch
from lance_arrow.container.extension_types import text_schema
from lance_arrow.errors import InvalidArgumentError, did_you_mean
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.computed_columns import ComputedColumns
from lance_arrow.scan.filters.bound_filters import evaluated
from lance_arrow.scan.predicates import Predicate, as_expression, fitting
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.moved_rows import MovedRows
from lance_arrow.table.operations.rows import Update
from lance_arrow.table.row_deletion import write_deleted
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch, writable_version
from lance_arrow.table.written_files import WrittenFiles


def update_rows(
    target: WritableBranch,
    base: ManifestMeta,
    reader_of: ReaderOf,
    values: Mapping[str, Any],
    where: Predicate | None,
    *,
    options: Callable[[str], WriteOptions],
    max_rows_per_file: int,
    message: str | None,
) -> tuple[ManifestMeta, dict[str, int]]:
    """Change rows; where others changed the same fragments since, again from the newest version.

    Parameters
    ----------
    reader_of
        Makes a reader of a version.
    options
        Makes the options for the file version of the table.
    values, where, max_rows_per_file, message
        As for `LanceTable.update`.

    Returns
    -------
    ManifestMeta
        The version that was made.
    dict
        Numbers of rows, as in `EditResult`.
    """
    if not isinstance(values, Mapping) or not values:
        raise InvalidArgumentError("expected columns and their new values, as {name: value}", detail=values)

    counts: dict[str, int] = {}

    def attempt(base: ManifestMeta, files: WrittenFiles) -> Update:
        chosen = options(writable_version(base))
        reader = reader_of(base)
        moved = MovedRows(base, reader)
        _check_names(values, moved.table_schema)
        computed = ComputedColumns(values, moved.table_schema, moved.table_schema)
        condition = None if where is None else _condition(where, reader.columns.full_schema)
        added = write_fragments(
            target.line,
            moved.table_schema,
            moved.fields,
            _changed(moved, condition, computed, list(values)),
            files,
            options=chosen,
            max_rows_per_file=max_rows_per_file,
        )
        moved.keep(added)
        counts["num_updated_rows"] = len(moved.addresses)
        updated, removed = write_deleted(target.line, base, reader, moved.addresses, files)
        changed = [field.id for top in base.fields if top.name in values for field in top.walk()]
        return Update(updated=updated, removed=removed, added=added, fields=changed)

    return target.retried(base, attempt, message), counts


def _condition(where: Predicate, schema: pa.Schema) -> pc.Expression:
    """Turn a predicate into an expression; JSON can be compared no more than in reads, though rows hold its bytes."""
    condition = as_expression(where, schema)
    shown = text_schema(schema)
    if shown is not schema:
        with fitting("the filter {} does not fit the schema", shown, condition):
            evaluated(condition, empty_batch(shown))
    return condition


def _check_names(values: Mapping[str, Any], schema: pa.Schema) -> None:
    for name in values:
        if name not in schema.names:
            raise InvalidArgumentError(
                f"the table has no column {name!r} to change; columns: {schema.names}"
                f"{did_you_mean(name, schema.names)}",
                column=str(name),
            )


def _changed(
    moved: MovedRows, condition: Predicate | None, computed: ComputedColumns, names: list[str]
) -> Iterator[pa.RecordBatch]:
    positions = [moved.table_schema.get_field_index(name) for name in names]
    for batch, places in moved.batches(condition):
        columns = list(batch.columns)
        for position, array in zip(positions, computed.arrays(batch), strict=True):
            columns[position] = array
        moved.remember(places)
        yield pa.RecordBatch.from_arrays(columns, schema=moved.table_schema)
