"""Rows that come in many short runs, as filters leave them: to find each, or to decode what lies between, too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_arrow import kernels
from lance_arrow.arrays.arrow_arrays import typed_schema
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.late_arrow import pc
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.spi.rows import RowRanges

_SHORT_ROWS = 64
"""Runs of fewer rows take longer to find than to decode."""

_FEW_RUNS = 64
"""So few of them are found in no time."""

_MOST_WASTE = 4
"""How many times the memory of the wanted rows may be taken, whatever that is."""

_DENSE = 0.3
"""Above this part of rows, decoding all of them and cutting costs less than finding each, however wide they are."""

_FINDING_BYTES = 400.0
"""How many bytes are decoded in a sequence while one value among many is found."""


def are_short(rows: RowRanges) -> bool:
    """Whether rows come in many short runs."""
    return len(rows) > _FEW_RUNS and rows.num_rows < _SHORT_ROWS * len(rows)


def is_cheaper_whole(rows: RowRanges, weights: RowWeights, num_leaves: int, spare_bytes: float) -> bool:
    """Whether to decode all rows from the first to the last: there is memory for it, and it costs less.

    Parameters
    ----------
    rows
        The wanted ones.
    weights, num_leaves
        What rows of the columns to decode weigh, which are so many, structs taken apart.
    spare_bytes
        What all of them may take; more where the wanted rows are a good part.
    """
    first, stop = int(rows.starts[0]), int(rows.stops[-1])
    part = rows.num_rows / (stop - first)
    if part <= dense_share(weights, num_leaves):
        return False
    return part * _MOST_WASTE >= 1 or weights.bytes_between(first, stop) <= spare_bytes


def hull(rows: RowRanges) -> RowRanges:
    """Return all rows from the first to the last."""
    return RowRanges.one(int(rows.starts[0]), int(rows.stops[-1]))


def marks_of(rows: RowRanges) -> pa.BooleanArray:
    """Return for each row of the hull whether it is wanted."""
    first, num_rows = int(rows.starts[0]), int(rows.stops[-1] - rows.starts[0])
    bits = np.zeros(-(-num_rows // 8), np.uint8)
    kernels.fill_bit_runs(rows.starts, rows.stops, bits, first)
    return pa.Array.from_buffers(pa.bool_(), num_rows, [None, pa.py_buffer(bits)], 0)


def picked(batch: pa.RecordBatch, mask: pa.BooleanArray, pool: pa.MemoryPool | None = None) -> pa.RecordBatch:
    """Keep the rows of a batch that are marked (null is not), as Arrow's filter does, only that numbers take less.

    Parameters
    ----------
    batch
        Columns, or none: then it is the number of rows that is kept.
    mask
        ``(batch.num_rows,)``.
    pool
        Arrow memory pool of the result; the default one when None.
    """
    if not batch.num_columns:
        return batch.filter(mask)
    from lance_arrow.arrays.view_arrays import through_bytes  # noqa: PLC0415 - where rows are filtered

    return through_bytes(batch, lambda rows: _picked(rows, mask, pool))


def _picked(batch: pa.RecordBatch, mask: pa.BooleanArray, pool: pa.MemoryPool | None) -> pa.RecordBatch:
    known = mask.fill_null(False) if mask.null_count else mask
    num_rows = known.true_count
    columns = [_picked_values(column, known, num_rows, pool) for column in batch.columns]
    others = [place for place, column in enumerate(columns) if column is None]
    if others:
        filtered = pc.filter(batch.select(others), known, memory_pool=pool)
        for place, column in zip(others, filtered.columns, strict=True):
            columns[place] = column
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def in_order(nodes: Sequence[ColumnNode], read: Sequence[ColumnNode], columns: Sequence[pa.Array]) -> pa.RecordBatch:
    """Put columns, which are those of `read`, in the order of `nodes`, which are the same."""
    arrays = dict(zip(map(id, read), columns, strict=True))
    ordered = [arrays[id(node)] for node in nodes]
    schema = typed_schema(pa.schema([node.field for node in nodes]), ordered)
    return pa.RecordBatch.from_arrays(ordered, schema=schema)


def _picked_values(
    column: pa.Array, mask: pa.BooleanArray, num_rows: int, pool: pa.MemoryPool | None
) -> pa.Array | None:
    """Keep values of one width, or codes, that are all valid; None of others, which Arrow filters."""
    type_ = column.type
    if isinstance(column, pa.DictionaryArray):
        codes = _picked_values(column.indices, mask, num_rows, pool)
        if codes is None:
            return None
        return pa.DictionaryArray.from_arrays(codes, column.dictionary, ordered=type_.ordered, safe=False)
    is_plain = pa.types.is_primitive(type_) or pa.types.is_fixed_size_binary(type_) or pa.types.is_decimal(type_)
    if not is_plain or pa.types.is_boolean(type_) or column.null_count or not len(column):
        return None
    width = type_.bit_width // 8
    values = np.frombuffer(column.buffers()[1], np.uint8)[column.offset * width : (column.offset + len(column)) * width]
    kept = pa.allocate_buffer(num_rows * width, pool)
    bits = np.frombuffer(mask.buffers()[1], np.uint8)
    kernels.take_marked_fixed(values, width, bits, mask.offset, np.frombuffer(kept, np.uint8))
    return pa.Array.from_buffers(type_, num_rows, [None, kept], 0)


def dense_share(weights: RowWeights, num_leaves: int) -> float:
    """Return the part of rows above which all of them are decoded, and cut: the narrower values are, the smaller.

    `weights` are those of the columns to decode, which are `num_leaves`, structs taken apart.
    """
    num_rows = int(weights.borders[-1])
    if not num_rows or not num_leaves:
        return 0.0
    value_bytes = float(weights.totals[-1]) / num_rows / num_leaves
    return min(_DENSE, value_bytes / (_FINDING_BYTES + value_bytes))
