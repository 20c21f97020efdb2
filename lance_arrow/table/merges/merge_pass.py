"""`MergePass`: one pass over a table for the rows of a source: what is written anew, what is deleted, what is new."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.filters.bound_filters import columns_of, evaluated
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.predicates import Predicate, all_of, as_expression, fitting
from lance_arrow.statistics.zone_types import has_order
from lance_arrow.table.merges.key_matching import SourceKeys
from lance_arrow.table.merges.merging import MergeClauses
from lance_arrow.table.moved_rows import MovedRows
from lance_arrow.table.row_addresses import RowAddresses

_INSERTED_ROWS = 1 << 16
_HELD_BYTES = 32 << 20
"""Most bytes of rows of the table that are held to look up their keys at once."""


class MergePass:
    """Reads a table once, for the rows of a source that are in memory.

    Parameters
    ----------
    clauses
        Actions of the merge.
    source
        Rows, in one chunk.
    within
        Condition for the rows of the table that are read. When None, it is computed from the least and greatest key of
        the source, where that suffices.
    moved
        Reads the table; told of the rows that are updated.
    reader
        Of the version.
    deleted
        Told of the rows that are deleted.
    memory_bytes
        The memory budget.

    Raises
    ------
    InvalidArgumentError
        A condition does not fit, or keys cannot be compared.
    """

    def __init__(
        self,
        clauses: MergeClauses,
        source: pa.Table,
        within: pc.Expression | None,
        moved: MovedRows,
        reader: TableReader,
        deleted: RowAddresses,
        memory_bytes: int,
    ) -> None:
        self._clauses, self._source, self._moved, self._deleted = clauses, source, moved, deleted
        self._keys = SourceKeys(source, clauses.on, memory_bytes // 8)
        self._is_met = np.zeros(len(self._keys.row_of), bool)
        self._most_held_bytes = min(_HELD_BYTES, memory_bytes // 8)
        if not clauses.deletes_others:
            # Not all columns may be listed.
            within = all_of([_key_range(source, clauses.on), self._keys.listed(moved.table_schema, reader.num_rows)])
        self._within = within
        self._others = _expression(clauses.others_condition, reader.columns.full_schema)
        both = _both_schema(source.schema, moved.table_schema)
        self._condition = _expression(clauses.update_condition, both)
        wanted = set(clauses.on)
        if self._others is not None:
            wanted.update(path[0] for path in columns_of(self._others, reader.columns.full_schema))
        if self._condition is not None:
            wanted.update(_target_columns(self._condition, both))
        if clauses.updates:
            wanted.update(name for name in moved.table_schema.names if name not in source.column_names)
        self._wanted = [name for name in moved.table_schema.names if name in wanted]

    def updated(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that replace others, with the table's schema; record these in `moved` and `deleted`.

        Raises
        ------
        InvalidArgumentError
            A row matches that must not, or several rows of the source match one of the table.
        """
        for batch, places, keys in self._with_keys(self._moved.batches(self._within, self._wanted)):
            is_matched = keys >= 0
            self._is_met[keys[is_matched]] = True
            if is_matched.any():
                yield from self._matched(batch, places, keys, is_matched)
            if self._clauses.deletes_others and not is_matched.all():
                chosen = ~is_matched & _flags(self._others, batch)
                self._delete(places, chosen)

    def is_new(self) -> NDArray[np.bool_]:
        """Return ``(n,)`` for each row of the source whether no row of the table matches it, after `updated`."""
        keys = self._keys.key_of
        is_new: NDArray[np.bool_] = keys < 0
        is_new[~is_new] = ~self._is_met[keys[~is_new]]
        return is_new

    def _with_keys(
        self, batches: Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, NDArray[np.int64]]]:
        """Yield rows with the keys that they have; several batches are looked up at once where that hashes the keys."""
        held: list[tuple[pa.RecordBatch, pa.RecordBatch]] = []
        num_rows = num_bytes = 0
        for batch, places in batches:
            held.append((batch, places))
            num_rows += batch.num_rows
            num_bytes += batch.nbytes
            if num_rows >= self._keys.rows_per_search or num_bytes >= self._most_held_bytes:
                yield from self._found(held)
                held, num_rows, num_bytes = [], 0, 0
        yield from self._found(held)

    def _found(
        self, held: list[tuple[pa.RecordBatch, pa.RecordBatch]]
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch, NDArray[np.int64]]]:
        if not held:
            return
        keys = self._keys.find(pa.Table.from_batches([batch.select(self._keys.names) for batch, _ in held]))
        start = 0
        for batch, places in held:
            yield batch, places, keys[start : start + batch.num_rows]
            start += batch.num_rows

    def _matched(
        self, batch: pa.RecordBatch, places: pa.RecordBatch, keys: NDArray[np.int64], is_matched: NDArray[np.bool_]
    ) -> Iterator[pa.RecordBatch]:
        if self._clauses.fails:
            row = self._source.select(self._clauses.on).slice(int(self._keys.row_of[keys[is_matched][0]]), 1)
            raise InvalidArgumentError(f"the table has a row of the key {row.to_pylist()[0]}, which the source has too")
        if self._clauses.deletes:
            self._delete(places, is_matched)
        if not self._clauses.updates:
            return
        batch, places, keys = (_kept(batch, is_matched), _kept(places, is_matched), keys[is_matched])
        repeated = keys[self._keys.is_repeated[keys]]
        if len(repeated):
            row = self._source.select(self._clauses.on).slice(int(self._keys.row_of[repeated[0]]), 1)
            raise InvalidArgumentError(
                f"several rows of the source have the key {row.to_pylist()[0]}, as a row to update"
            )
        values = self._source.take(pa.array(self._keys.row_of[keys]))
        if self._condition is not None:
            chosen = _flags(self._condition, _both(values, batch))
            batch, places, values = _kept(batch, chosen), _kept(places, chosen), values.filter(pa.array(chosen))
        if not batch.num_rows:
            return
        self._moved.remember(places)
        names = self._moved.table_schema.names
        given = values.combine_chunks()
        columns = [_whole(given.column(name)) if name in given.column_names else batch.column(name) for name in names]
        yield pa.RecordBatch.from_arrays(columns, schema=self._moved.table_schema)

    def _delete(self, places: pa.RecordBatch, chosen: NDArray[np.bool_]) -> None:
        self._deleted.add(places.column(0).to_numpy(zero_copy_only=False)[chosen])


def inserted_rows(source: pa.Table, is_new: NDArray[np.bool_], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield some rows of a source in the schema of a table; columns that it lacks are null."""
    for start in range(0, source.num_rows, _INSERTED_ROWS):
        found = source.slice(start, _INSERTED_ROWS).filter(pa.array(is_new[start : start + _INSERTED_ROWS]))
        columns = [
            found.column(field.name)
            if field.name in found.column_names
            else pa.chunked_array([pa.nulls(found.num_rows, field.type)])
            for field in schema
        ]
        yield from pa.table(columns, schema=schema).to_batches()


def _key_range(source: pa.Table, names: tuple[str, ...]) -> pc.Expression | None:
    """Return a condition that rows with a key of the source satisfy, for zone maps to judge."""
    found = []
    for name in names:
        column = source.column(name)
        if not has_order(column.type) or pa.types.is_floating(column.type):
            continue
        try:
            bounds = pc.min_max(column)
        except pa.ArrowNotImplementedError:
            continue
        if bounds["min"].is_valid:
            found.append((pc.field(name) >= bounds["min"]) & (pc.field(name) <= bounds["max"]))
    return all_of(found)


def _expression(given: Predicate | None, schema: pa.Schema) -> pc.Expression | None:
    return None if given is None else as_expression(given, schema)


def _both_schema(source: pa.Schema, target: pa.Schema) -> pa.Schema:
    return pa.schema([("source", pa.struct(list(source))), ("target", pa.struct(list(target)))])


def _both(source: pa.Table, target: pa.RecordBatch) -> pa.RecordBatch:
    whole = source.combine_chunks()
    values = [_whole(column) for column in whole.columns]
    left = pa.StructArray.from_arrays(values, fields=list(whole.schema))
    right = pa.StructArray.from_arrays(target.columns, fields=list(target.schema))
    return pa.RecordBatch.from_arrays([left, right], names=["source", "target"])


def _target_columns(expression: pc.Expression, schema: pa.Schema) -> set[str]:
    paths = columns_of(expression, schema)
    if any(path == ("target",) for path in paths):
        return set(schema.field("target").type.names)
    return {path[1] for path in paths if path[0] == "target"}


def _flags(expression: pc.Expression | None, batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return which rows satisfy a condition; null is no."""
    if expression is None:
        return np.ones(batch.num_rows, bool)
    with fitting("the condition {} does not fit", batch.schema, expression):
        found = evaluated(expression, batch)
    if not pa.types.is_boolean(found.type):
        raise InvalidArgumentError(f"the condition {expression} gives {found.type}, expected bool")
    flags: NDArray[np.bool_] = found.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def _kept(batch: pa.RecordBatch, flags: NDArray[np.bool_]) -> pa.RecordBatch:
    return batch if flags.all() else batch.filter(pa.array(flags))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
