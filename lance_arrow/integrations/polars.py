"""Polars: `scan` returns a `LazyFrame` with pushdown of columns, predicate and number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from polars.io.plugins import register_io_source

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.scanner_options import BATCH_ROWS
from lance_arrow.integrations.polars_predicates import arrow_filter
from lance_arrow.integrations.wanted_rows import Source, opened

_FEW_ROWS = 4096


def scan(source: Source) -> pl.LazyFrame:
    """Scan a dataset lazily.

    Only the selected columns are read. Conditions that Arrow evaluates exactly as Polars does prune and filter in the
    scan. Polars then applies the whole predicate to the rows. A query of a few rows (``head``, ``limit``) reads little
    more than these.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`.

    Returns
    -------
    polars.LazyFrame
        The dataset is opened by this call, and scanned each time the frame is collected.

    Raises
    ------
    FileNotFoundError, LanceError
        As `lance_arrow.dataset`.
    """
    dataset = opened(source)
    schema = _frame(dataset.scanner().projected_schema.empty_table()).schema

    def frames(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        return _frames(dataset, with_columns, predicate, n_rows, batch_size)

    return register_io_source(
        frames, schema=schema, validate_schema=True, is_pure=True, explain_name="lance", explain_detail=_detail(dataset)
    )


def _frames(
    dataset: LanceDataset,
    with_columns: list[str] | None,
    predicate: pl.Expr | None,
    n_rows: int | None,
    batch_size: int | None,
) -> Iterator[pl.DataFrame]:
    names = dataset.schema.names if with_columns is None else with_columns
    mentioned = [] if predicate is None else predicate.meta.root_names()
    read = [*names, *(name for name in mentioned if name not in names)]
    # By expression: in a list of names, a dot would lead into a struct.
    how: dict[str, Any] = {"columns": {name: pc.field(name) for name in read}}
    if predicate is None and n_rows is not None:
        yield _frame(dataset.head(n_rows, **how))
        return
    if predicate is not None:
        how["filter"] = arrow_filter(predicate, dataset.schema)
    if n_rows is not None and n_rows <= _FEW_ROWS:
        how |= {"batch_readahead": 1, "fragment_readahead": 1}
    missing = n_rows
    is_empty = True
    for batch in dataset.to_batches(batch_size=batch_size or BATCH_ROWS, **how):
        frame = _frame(pa.Table.from_batches([batch]))
        if predicate is not None:
            frame = frame.filter(predicate)
        if missing is not None:
            frame = frame.head(missing)
            missing -= frame.height
        if frame.height:
            is_empty = False
            yield frame.select(names)
        if missing == 0:
            break
    if is_empty:
        yield _frame(dataset.scanner(**how).projected_schema.empty_table()).select(names)


def _frame(table: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def _detail(dataset: LanceDataset) -> str:
    files = dataset.files
    return files[0] if len(files) == 1 else f"{len(files)} files"
