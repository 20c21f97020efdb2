"""`table_head`: the first rows of a table that satisfy a filter, read in parts that grow until there are enough."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.ordering.growing_parts import growing_batches
from lance_arrow.scan.ordering.row_limits import RowLimits
from lance_arrow.scan.row_taking import as_table
from lance_arrow.scan.windows import WINDOW_ROWS


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
    projection = table.projection(columns)
    try:
        batches = growing_batches(table, projection, filter, num_rows)
    except InvalidArgumentError:
        return None
    return None if batches is None else as_table(list(RowLimits(num_rows).applied(batches)), projection.schema)
