"""`SourceKeys`: which row of a source has the key of a row of the table.

Each key column becomes numbers, those of its distinct values in the source; the numbers of several columns are joined
to one, column by column, and made dense again, so that they always fit into 64 bits. Nulls match nothing, as in SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.predicates import MISFITS

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """One key column: its distinct values, and the numbers that it and the columns before make together."""

    name: str
    values: pa.Array
    joined: Numbers

    def numbers(self, column: pa.Array | pa.ChunkedArray, before: Numbers) -> Numbers:
        """Return the number of each row, -1 where the source has no such key."""
        found = pc.index_in(_plain(column), value_set=self.values, skip_nulls=True)
        here = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        together = np.where((here < 0) | (before < 0), -1, before * max(1, len(self.values)) + here)
        if not len(self.joined):
            return np.full(len(together), -1, np.int64)
        places = np.minimum(np.searchsorted(self.joined, together), len(self.joined) - 1)
        return np.where(self.joined[places] == together, places, -1)


class SourceKeys:
    """Keys of the rows of a source.

    Parameters
    ----------
    source
        Its rows.
    names
        The key columns.

    Raises
    ------
    InvalidArgumentError
        Values of a key column cannot be compared.
    """

    def __init__(self, source: pa.Table, names: Sequence[str]) -> None:
        self.names = tuple(names)
        numbers = np.zeros(source.num_rows, np.int64)
        self._levels: list[_Level] = []
        for name in names:
            column = source.column(name)
            try:
                values = pc.drop_null(pc.unique(_plain(column)))
                together = _Level(name, values, np.empty(0, np.int64))
                level = _Level(name, values, _distinct(together, column, numbers))
                numbers = level.numbers(column, numbers)
            except MISFITS as error:
                raise InvalidArgumentError(
                    f"{column.type} cannot be the type of a key: {error}", column=name
                ) from error
            self._levels.append(level)
        count = int(numbers.max(initial=-1)) + 1
        self.is_repeated: NDArray[np.bool_] = np.bincount(numbers[numbers >= 0], minlength=count) > 1
        """``(num_keys,)``: whether several rows have the key."""
        self.row_of: Numbers = np.full(count, -1, np.int64)
        """``(num_keys,)``: the first row that has the key."""
        rows = np.flatnonzero(numbers >= 0)[::-1]
        self.row_of[numbers[rows]] = rows
        self.key_of: Numbers = numbers
        """``(num_rows,)``: the key of each row, -1 where a part of it is null."""

    def find(self, batch: pa.RecordBatch) -> Numbers:
        """Return the key that each row of a batch has, -1 for none of the source's.

        Parameters
        ----------
        batch
            Rows with the key columns, of the same types.
        """
        numbers = np.zeros(batch.num_rows, np.int64)
        for level in self._levels:
            numbers = level.numbers(batch.column(level.name), numbers)
        return numbers


def _distinct(level: _Level, column: pa.ChunkedArray, before: Numbers) -> Numbers:
    found = pc.index_in(_plain(column), value_set=level.values, skip_nulls=True)
    here = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    together = before * max(1, len(level.values)) + here
    return np.unique(together[(here >= 0) & (before >= 0)])


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return values as what they are compared as."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
