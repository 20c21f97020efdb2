"""`growing_batches`: rows of a table that satisfy a filter, for a caller that stops when there are enough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lance_arrow.manifests.fragments import physical_counts
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.predicates import Predicate
from lance_arrow.scan.projection import Projection
from lance_arrow.spi.rows import RowRanges

_FIRST_ROWS = 1 << 13
_GROWTH = 4


def growing_batches(
    table: TableReader, projection: Projection, filter: Predicate, num_rows: int
) -> Iterator[pa.RecordBatch] | None:
    """Read rows in order, in parts that grow.

    The first part is a little longer than the wanted rows, and each next part is four times as long. So few rows are
    read if many match, and few parts if few match.

    Parameters
    ----------
    table
        The table.
    projection
        Wanted columns.
    filter
        Over the table's columns.
    num_rows
        How many rows the caller wants.

    Returns
    -------
    iterator
        None for random filters, and for old tables whose manifests do not count rows: these need one scan.

    Raises
    ------
    InvalidArgumentError
        The filter does not fit.
    """
    counts = physical_counts(table.fragments)
    if not table.filter(filter).is_repeatable or not (counts >= 0).all():
        return None
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0

    def parts() -> Iterator[pa.RecordBatch]:
        start, step = 0, max(_FIRST_ROWS, _GROWTH * num_rows)
        while start < total:
            stop = min(start + step, total)
            # Fragments that hold some of the rows from `start` to `stop`.
            first, last = np.searchsorted(ends, [start, stop - 1], side="right").tolist()
            numbers = range(first, last + 1)
            begins = [int(ends[number] - counts[number]) for number in numbers]
            within = [
                RowRanges.one(max(start - begin, 0), min(stop - begin, int(counts[number])))
                for number, begin in zip(numbers, begins, strict=True)
            ]
            yield from table.part(numbers).batches(projection, filter, None, within=within)
            start, step = stop, step * _GROWTH

    return parts()
