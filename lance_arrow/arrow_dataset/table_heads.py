"""`table_head`: the first rows of a table that satisfy a filter, read in parts that grow until there are enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.manifests.fragments import physical_counts
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.row_taking import as_table
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.spi import RowRanges

_FIRST_ROWS = 1 << 13
_GROWTH = 4


def table_head(
    table: TableReader, num_rows: int, columns: Sequence[str] | None, filter: pc.Expression | None
) -> pa.Table | None:
    """Read the first rows that satisfy a filter; without one, a take.

    The first part is a little longer than the wanted rows, and each next part is four times as long. So few rows are
    read if many match, and few parts if few match.

    Parameters
    ----------
    table
        The table.
    num_rows
        Most rows to return, at least 0.
    columns
        Names, virtual columns among them; all columns when None.
    filter
        Over the table's columns; None for all rows.

    Returns
    -------
    Table
        None if a scan is needed. That is so for many rows, for random filters, for filters over other columns, and for
        old tables whose manifests do not count rows.
    """
    if num_rows > WINDOW_ROWS:
        return None
    if filter is None:
        return table.head(num_rows, columns)
    counts = physical_counts(table.fragments)
    try:
        is_known = table.filter(filter).is_repeatable and bool((counts >= 0).all())
    except InvalidArgumentError:
        return None
    if not is_known:
        return None
    projection = table.projection(columns)
    ends = np.cumsum(counts)
    found: list[pa.RecordBatch] = []
    start, step, total = 0, max(_FIRST_ROWS, _GROWTH * num_rows), int(ends[-1]) if len(ends) else 0
    while num_rows and start < total:
        stop = min(start + step, total)
        # Fragments that hold some of the rows from `start` to `stop`.
        first, last = np.searchsorted(ends, [start, stop - 1], side="right").tolist()
        numbers = range(first, last + 1)
        begins = [int(ends[number] - counts[number]) for number in numbers]
        within = [
            RowRanges.one(max(start - begin, 0), min(stop - begin, int(counts[number])))
            for number, begin in zip(numbers, begins, strict=True)
        ]
        for batch in table.part(numbers).batches(projection, filter, None, within=within):
            found.append(batch.slice(0, num_rows))
            num_rows -= found[-1].num_rows
            if not num_rows:
                break
        start, step = stop, step * _GROWTH
    return as_table(found, projection.schema)
