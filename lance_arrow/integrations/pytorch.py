"""PyTorch: `RowDataset` takes rows by number, `BatchDataset` scans shares; both work in forked and spawned workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.integrations.wanted_rows import Source, WantedRows, opened
from lance_arrow.scan.predicates import Predicate

Columns = dict[str, Any]
"""Column name to a tensor, ``(num_rows, ...)``, or to a list of Python values for types without tensors."""


class RowDataset(Dataset[Columns]):
    """Map-style: rows by number, read in one take for each batch of a `DataLoader`.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`.
    columns
        Columns to read; all if None.
    transform
        Called with the columns of a batch as a `pyarrow.Table`. Its result replaces the batch's rows and must have as
        many items. `row_items` if None.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None = None,
        transform: Callable[[pa.Table], Sequence[Any]] | None = None,
    ) -> None:
        self._dataset = opened(source)
        self._columns = None if columns is None else list(columns)
        self._transform = row_items if transform is None else transform
        self._num_rows = self._dataset.count_rows()

    def __len__(self) -> int:
        return self._num_rows

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> Sequence[Any]:
        """Read many rows at once; `DataLoader` calls this method for whole batches."""
        rows = np.asarray(indices, np.int64)
        return self._transform(self._dataset.take(np.where(rows < 0, rows + self._num_rows, rows), self._columns))


class BatchDataset(IterableDataset[Columns]):
    """Iterable: batches of a scan, with rows divided among the workers of a loader and the ranks of a training.

    Use it with ``DataLoader(..., batch_size=None)``.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`.
    columns
        Columns to read; all if None.
    filter
        Applied while reading: expression, DNF tuples or SQL. Zones it excludes are not read.
    batch_rows
        Most rows of a batch.
    share_rows
        Most consecutive rows that one worker reads.
    seed
        Shares are read in a random order drawn from this and the epoch (`set_epoch`); in their own order if None.
    rank, world_size
        Number of this process, and number of processes: each reads its part of the shares.
    transform
        Called with each batch as a `pyarrow.Table`; `tensors` if None.

    Raises
    ------
    InvalidArgumentError
        The filter is not valid, or a number is out of range.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str] | None = None,
        filter: Predicate | None = None,
        *,
        batch_rows: int = 1024,
        share_rows: int = 1 << 16,
        seed: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        transform: Callable[[pa.Table], Any] | None = None,
    ) -> None:
        if not 0 <= rank < world_size:
            raise InvalidArgumentError(f"rank is {rank}, expected 0 .. {world_size - 1}", detail=rank)
        if batch_rows < 1:
            raise InvalidArgumentError(f"batch_rows is {batch_rows}, expected at least 1", detail=batch_rows)
        wanted = WantedRows.of(source, columns, filter)
        self._options = wanted.options
        self._shares = wanted.dataset.split(share_rows)
        self._batch_rows = batch_rows
        self._seed, self._epoch = seed, 0
        self._rank, self._world_size = rank, world_size
        self._transform = tensors if transform is None else transform

    def set_epoch(self, epoch: int) -> None:
        """Choose another order of shares, if `seed` is given; call it before iterating."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        workers, mine = (1, 0) if worker is None else (worker.num_workers, worker.id)
        order = np.arange(len(self._shares))
        if self._seed is not None:
            np.random.default_rng((self._seed, self._epoch)).shuffle(order)
        for number in order[self._rank * workers + mine :: self._world_size * workers].tolist():
            batches = self._shares[number].to_batches(
                batch_size=self._batch_rows, use_threads=worker is None, **self._options
            )
            for batch in batches:
                if batch.num_rows:
                    yield self._transform(pa.Table.from_batches([batch]))


def tensors(table: pa.Table) -> Columns:
    """Convert columns to tensors: numbers and booleans without nulls, and fixed-size lists of them; others to lists."""
    return {name: _values(column) for name, column in zip(table.column_names, table.columns, strict=True)}


def row_items(table: pa.Table) -> list[Columns]:
    """Return rows as dictionaries of tensors and Python values, which a loader's default collation stacks."""
    columns = tensors(table)
    return [{name: values[row] for name, values in columns.items()} for row in range(table.num_rows)]


def _values(column: pa.ChunkedArray) -> Any:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    found = _numbers(array)
    return array.to_pylist() if found is None else torch.from_numpy(found)


def _numbers(array: pa.Array) -> np.ndarray[Any, Any] | None:
    """Return ``(num_rows, ...)`` numbers in their own memory; None unless the column holds only numbers."""
    if array.null_count:
        return None
    if pa.types.is_fixed_size_list(array.type):
        # Flattening removes values outside of slices and under nulls.
        inner = _numbers(array.flatten())
        return None if inner is None else inner.reshape(len(array), array.type.list_size, *inner.shape[1:])
    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_boolean(array.type)
    return np.array(array.to_numpy(zero_copy_only=False)) if is_number else None
