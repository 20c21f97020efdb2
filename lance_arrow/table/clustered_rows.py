"""`clustered_fragments`: live rows of fragments in new files, sorted by columns, in bounded memory.

rows of all fragments ─► parts by ranges of the first column (`row_parts`) ─► each sorted in memory ─► new files
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InvalidArgumentError, UnsupportedError, did_you_mean
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import Location
from lance_arrow.manifests.row_id_writing import encode_row_ids, encode_row_versions
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.scan.fragments.table_columns import NAME_OF, VirtualColumn
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.data_files import write_fragments
from lance_arrow.table.row_parts import parted_rows, parts_rows
from lance_arrow.table.written_files import WrittenFiles

_PARTS_IN_BUDGET = 8
"""A part is held twice while it is sorted, beside pages that are written."""
_BATCH_ROWS = 1 << 16
_CARRIED = tuple(NAME_OF[one] for one in (VirtualColumn.ROW_ID, VirtualColumn.CREATED_AT, VirtualColumn.UPDATED_AT))


def check_cluster_columns(names: Sequence[str], schema: pa.Schema) -> None:
    """Refuse columns that rows cannot be sorted by.

    Raises
    ------
    InvalidArgumentError
        A column is not there or named twice, or its values have no order.
    """
    for number, name in enumerate(names):
        if name not in schema.names:
            raise InvalidArgumentError(
                f"the table has no column {name!r} to sort by; columns: {schema.names}"
                f"{did_you_mean(name, schema.names)}",
                column=name,
            )
        if name in names[:number]:
            raise InvalidArgumentError("the column is named twice in cluster_by", column=name)
        if not parts_rows(schema.field(name).type):
            raise InvalidArgumentError(
                f"rows cannot be sorted by {schema.field(name).type}: expected numbers, text, binary, dates or times",
                column=name,
            )


def clustered_fragments(
    line: Location,
    facts: TableFacts,
    reader: TableReader,
    numbers: Sequence[int],
    files: WrittenFiles,
    *,
    cluster_by: Sequence[str],
    options: WriteOptions,
    max_rows_per_file: int,
    memory_bytes: int,
    on_rows: Callable[[int], None],
) -> list[DataFragment]:
    """Write live rows of fragments to new files, sorted; rows keep their stable ids.

    Parameters
    ----------
    line, facts, reader, numbers, files, options, max_rows_per_file
        As for `rewritten_fragments`.
    cluster_by
        Columns to sort by that `check_cluster_columns` accepts: ascending, NaN and nulls last. Rows with equal values
        stay in their order.
    memory_bytes
        The memory budget. More rows than an eighth of it are sorted through temporary files.
    on_rows
        Told of rows when they were written.

    Returns
    -------
    list of DataFragment
        In row order, without ids. With stable row ids, 24 bytes a row are held until the end.

    Raises
    ------
    UnsupportedError
        A column of the table has the name of a virtual column.
    LanceError, OSError
        As `write_fragments` and `TableReader.batches`.
    """
    schema = arrow_schema(facts.fields, facts.schema_metadata)
    carried = _Carried(_CARRIED if facts.has_stable_row_ids else ())
    for name in carried.names:
        if name in schema.names:
            raise UnsupportedError(f"the table has a column {name!r}, which hides the virtual column", column=name)
    part = reader.part(numbers)
    projection = part.projection([*schema.names, *carried.names])
    batches = part.batches(projection, None, None, wants_all=True)
    stored = pa.schema([*schema, *(pa.field(name, pa.uint64()) for name in carried.names)])
    fitted = (pa.RecordBatch.from_arrays(batch.columns, schema=stored) for batch in batches)

    def rows() -> Iterator[pa.RecordBatch]:
        for one in parts:
            for batch in _sorted(one.rows(), cluster_by):
                yield carried.taken(batch, schema)
                on_rows(batch.num_rows)

    with parted_rows(fitted, stored, cluster_by[0], memory_bytes // _PARTS_IN_BUDGET) as parts:
        new = write_fragments(
            line, schema, facts.fields, rows(), files, options=options, max_rows_per_file=max_rows_per_file
        )
    carried.give(new)
    return new


def _sorted(rows: pa.Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    # Arrow's sort is stable.
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in names])
    for start in range(0, len(order), _BATCH_ROWS):
        yield from rows.take(order.slice(start, _BATCH_ROWS)).combine_chunks().to_batches()


@dataclass(slots=True)
class _Carried:
    """What rows are, by the columns that show it; remembered as rows are written."""

    names: Sequence[str]
    _held: list[list[NDArray[np.uint64]]] = field(default_factory=list)

    def taken(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Remember what the rows of a batch are; return it without these columns."""
        num_columns = len(schema.names)
        if self.names:
            self._held.append([column.to_numpy(zero_copy_only=False) for column in batch.columns[num_columns:]])
        return pa.RecordBatch.from_arrays(batch.columns[:num_columns], schema=schema)

    def give(self, new: Sequence[DataFragment]) -> None:
        """Say of the rows of new fragments what they are."""
        if self._held:
            ids, created, updated = (np.concatenate(one) for one in zip(*self._held, strict=True))
            give_rows(new, ids, created, updated)


def give_rows(
    new: Sequence[DataFragment],
    ids: NDArray[np.uint64],
    created: NDArray[np.uint64],
    updated: NDArray[np.uint64],
) -> None:
    """Say which ids the rows of new fragments have, in their order, and which versions made and changed them."""
    start = 0
    for fragment in new:
        stop = start + fragment.physical_rows
        fragment.inline_row_ids = encode_row_ids(ids[start:stop])
        fragment.inline_created_at_versions = encode_row_versions(created[start:stop])
        fragment.inline_last_updated_at_versions = encode_row_versions(updated[start:stop])
        start = stop
