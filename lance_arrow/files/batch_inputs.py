"""Rows to write: tables, batches, readers, datasets, iterables of batches, and objects with Arrow's C stream."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError

Rows = pa.Table | pa.RecordBatch


def schema_and_rows(
    data: Any, schema: pa.Schema | None = None, *, of_none: pa.Schema | None = None
) -> tuple[pa.Schema, Iterator[Rows]]:
    """Return the schema of `data` and its rows, in order, table by table or batch by batch.

    Parameters
    ----------
    data
        A `pyarrow.Table`, `RecordBatch`, `RecordBatchReader`, `Dataset`, `Scanner`, an object with
        ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pandas, Polars, DuckDB), or an iterable of these.
    schema
        Schema of an iterable; that of its first batch when None.
    of_none
        Schema of an iterable without a batch, where `schema` is None.

    Raises
    ------
    InvalidArgumentError
        None of these, or an empty iterable without a schema.
    """
    found = _known(data)
    if found is not None:
        return found
    if isinstance(data, str | bytes | dict) or not isinstance(data, Iterable):
        raise InvalidArgumentError(
            f"cannot write {type(data).__name__}: expected a table, record batches, or an object with "
            "__arrow_c_stream__"
        )
    rows = _each(data)
    if schema is not None:
        return schema, rows
    first = next(rows, None)
    if first is None and of_none is not None:
        return of_none, rows
    if first is None:
        raise InvalidArgumentError("there is no batch to take the schema from: pass schema=")
    return first.schema, _after(first, rows)


def _known(data: Any) -> tuple[pa.Schema, Iterator[Rows]] | None:
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data.schema, iter((data,))
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, iter(data)
    # Importing it would load pandas. Datasets and scanners exist only where it was imported before.
    pads = sys.modules.get("pyarrow.dataset")
    if pads is not None and isinstance(data, pads.Dataset):
        data = data.scanner()
    if pads is not None and isinstance(data, pads.Scanner):
        reader = data.to_reader()
        return reader.schema, iter(reader)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader.schema, iter(reader)
    if hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        return batch.schema, iter((batch,))
    return None


def _each(items: Iterable[Any]) -> Iterator[Rows]:
    for item in items:
        found = _known(item)
        if found is None:
            raise InvalidArgumentError(f"an iterable of batches yielded {type(item).__name__}")
        yield from found[1]


def _after(first: Rows, rest: Iterator[Rows]) -> Iterator[Rows]:
    yield first
    yield from rest
