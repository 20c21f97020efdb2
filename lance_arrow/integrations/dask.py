"""Dask: `read` returns a `dask.dataframe` with a partition for each share of a dataset's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.integrations.wanted_rows import Source, WantedRows
from lance_arrow.scan.predicates import Predicate

DEFAULT_PARTITION_ROWS = 1 << 20


def read(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    filter: Predicate | None = None,
    partition_rows: int = DEFAULT_PARTITION_ROWS,
    types: str = "arrow",
) -> dd.DataFrame:
    """Read a dataset as a lazy frame; workers get references to rows, not the rows themselves.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`.
    columns
        Columns to read; all if None.
    filter
        Applied while partitions are read: expression, DNF tuples or SQL. Zones it excludes are not read.
    partition_rows
        Most rows of a partition, before the filter.
    types
        ``"arrow"``: columns of pandas' Arrow types, which hold every value; ``"numpy"``: pandas' own.

    Returns
    -------
    dask.dataframe.DataFrame
        In order of rows; divisions are unknown.

    Raises
    ------
    InvalidArgumentError
        The filter is not valid, or it or a column does not fit the dataset.
    """
    wanted = WantedRows.of(source, columns, filter)
    empty = wanted.schema.empty_table()
    frame: dd.DataFrame = dd.from_map(
        _partition,
        wanted.shares(partition_rows),
        how=wanted.options,
        types=types,
        meta=_frame(empty, types),
        label="lance",
        enforce_metadata=False,
    )
    return frame


def _partition(share: LanceDataset, how: dict[str, Any], types: str) -> pd.DataFrame:
    # Workers are already threads or processes.
    return _frame(share.to_table(use_threads=False, **how), types)


def _frame(table: pa.Table, types: str) -> pd.DataFrame:
    return table.to_pandas(types_mapper=pd.ArrowDtype if types == "arrow" else None)
