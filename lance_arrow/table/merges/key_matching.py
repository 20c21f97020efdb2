"""`SourceKeys`: find the row of a source that has the key of a row of the table.

Each key column becomes the numbers of its distinct values in the source. Numbers of several columns are joined column
by column, and made dense after each, so that they fit into 64 bits. A null matches nothing, as in SQL. Integers are
looked up in a table over their range, or by binary search. Arrow hashes other values, with about a hundred bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.predicates import MISFITS, all_of
from lance_arrow.statistics.zone_types import is_variable

Numbers = NDArray[np.int64]

_MOST_ROWS_PER_SEARCH = 1 << 20
_LEAST_TABLE_ITEMS = 1 << 16
_TABLE_ITEM_BYTES = 4
_MOST_TABLE_BYTES = 64 << 20
_TABLE_ITEMS_PER_KEY = 64
_ROWS_PER_LISTED_KEY = 32
"""So many rows for each key take longer to be looked up than the keys take as a list in a filter."""


class _Level:
    """One key column: its distinct values, and the numbers that it and the columns before make together.

    Parameters
    ----------
    name
        The column.
    values
        Its distinct values in the source, without null.
    most_table_bytes
        As for `SourceKeys`.
    """

    def __init__(self, name: str, values: pa.Array, most_table_bytes: int) -> None:
        self.name = name
        self._values = values
        self._table = _NumberTable.of(values, most_table_bytes) or _SortedNumbers.of(values)
        self._joined: Numbers | None = None

    def listed(self, type_: pa.DataType, num_rows: int) -> pc.Expression | None:
        """Return a condition that all keys of this column satisfy; None where these are many, or of another type."""
        values = self._values
        may = values.type == type_ and (pa.types.is_integer(type_) or is_variable(type_))
        return pc.field(self.name).isin(values) if may and len(values) * _ROWS_PER_LISTED_KEY <= num_rows else None

    @property
    def num_hashed(self) -> int:
        """Values that each search puts into a hash table."""
        return 0 if self._table is not None else len(self._values)

    def join(self, column: pa.ChunkedArray, before: Numbers) -> None:
        """Number what this column and those before it, which have `before`, make together in the source."""
        here = self._places(column)
        together = before * max(1, len(self._values)) + here
        self._joined = np.unique(together[(here >= 0) & (before >= 0)])

    def numbers(self, column: pa.Array | pa.ChunkedArray, before: Numbers | None) -> Numbers:
        """Return the number of each row, -1 where the source has no such key; `before` is None of the first column."""
        here = self._places(column)
        if before is None or self._joined is None:
            return here
        together = np.where((here < 0) | (before < 0), -1, before * max(1, len(self._values)) + here)
        if not len(self._joined):
            return np.full(len(together), -1, np.int64)
        places = np.minimum(np.searchsorted(self._joined, together), len(self._joined) - 1)
        return np.where(self._joined[places] == together, places, -1)

    def _places(self, column: pa.Array | pa.ChunkedArray) -> Numbers:
        """Return the place of each value among the distinct ones, -1 where it is none of them."""
        plain = _plain(column)
        if self._table is not None and plain.type == self._values.type:
            return self._table.places(plain)
        found = pc.index_in(plain, value_set=self._values, skip_nulls=True)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


class _NumberTable:
    """Places of integers that lie close together: a table over their range, looked up without hashing."""

    def __init__(self, values: NDArray[Any], low: int, high: int) -> None:
        self._low, self._high = low, high
        self._table = np.full(high - low + 1, -1, np.int32)
        self._table[_above(values, low)] = np.arange(len(values), dtype=np.int32)

    @classmethod
    def of(cls, values: pa.Array, most_bytes: int) -> _NumberTable | None:
        """Return the table of some distinct values; None where they are no integers, or lie too far apart."""
        if not pa.types.is_integer(values.type):
            return None
        numbers = values.to_numpy()
        is_close = _are_close(numbers, most_bytes)
        return cls(numbers, int(numbers.min()), int(numbers.max())) if is_close else None

    def places(self, column: pa.Array | pa.ChunkedArray) -> Numbers:
        """Return the place of each value, -1 for others and for nulls."""
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        is_null = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
        numbers = (whole if is_null is None else whole.fill_null(self._low)).to_numpy(zero_copy_only=False)
        is_out = (numbers < self._low) | (numbers > self._high)
        if is_null is not None:
            is_out |= is_null
        if not is_out.any():
            return self._table[_above(numbers, self._low)].astype(np.int64)
        numbers = np.where(is_out, numbers.dtype.type(self._low), numbers)
        found = self._table[_above(numbers, self._low)].astype(np.int64)
        found[is_out] = -1
        return found


class _SortedNumbers:
    """Places of integers among sorted ones: no hash table is made, which would take many times their memory."""

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values

    @classmethod
    def of(cls, values: pa.Array) -> _SortedNumbers | None:
        """Return the places of some distinct values, which ascend; None where they are no integers."""
        return cls(values.to_numpy()) if pa.types.is_integer(values.type) and len(values) else None

    def places(self, column: pa.Array | pa.ChunkedArray) -> Numbers:
        """Return the place of each value, -1 for others and for nulls."""
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        is_null = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
        numbers = (whole if is_null is None else whole.fill_null(0)).to_numpy(zero_copy_only=False)
        found = np.minimum(np.searchsorted(self._values, numbers), len(self._values) - 1)
        found[self._values[found] != numbers] = -1
        if is_null is not None:
            found[is_null] = -1
        return found


def _distinct(column: pa.ChunkedArray, most_table_bytes: int) -> pa.Array:
    """Return the distinct values of a column, without null; integers ascend."""
    plain = _plain(column)
    if not pa.types.is_integer(plain.type):
        return pc.drop_null(pc.unique(plain))
    numbers = plain.drop_null().to_numpy()
    if not _are_close(numbers, most_table_bytes):
        return pa.array(np.unique(numbers))
    low = int(numbers.min())
    flags = np.zeros(int(numbers.max()) - low + 1, bool)
    flags[_above(numbers, low)] = True
    return pa.array(np.flatnonzero(flags).astype(numbers.dtype) + numbers.dtype.type(low))


def _are_close(numbers: NDArray[Any], most_bytes: int) -> bool:
    """Whether a table over the range of some integers pays for them, and fits."""
    if not len(numbers):
        return False
    span = int(numbers.max()) - int(numbers.min())
    most_items = min(_MOST_TABLE_BYTES, most_bytes) // _TABLE_ITEM_BYTES
    return span < min(most_items, _LEAST_TABLE_ITEMS + _TABLE_ITEMS_PER_KEY * len(numbers))


def _above(numbers: NDArray[Any], low: int) -> NDArray[np.int64]:
    """Return how far numbers, none of them lower, are above the lowest; the result is below 2^31."""
    if numbers.dtype == np.uint64:
        return (numbers - np.uint64(low)).astype(np.int64)
    return numbers.astype(np.int64) - low


class SourceKeys:
    """Keys of the rows of a source.

    Parameters
    ----------
    source
        Its rows.
    names
        The key columns.
    most_table_bytes
        Most bytes of a table over the range of integer keys; other integers are searched.

    Raises
    ------
    InvalidArgumentError
        Values of a key column cannot be compared.
    """

    def __init__(self, source: pa.Table, names: Sequence[str], most_table_bytes: int = _MOST_TABLE_BYTES) -> None:
        self.names = tuple(names)
        numbers: Numbers | None = None
        self._levels: list[_Level] = []
        for name in names:
            column = source.column(name)
            try:
                level = _Level(name, _distinct(column, most_table_bytes), most_table_bytes)
                if numbers is not None:
                    level.join(column, numbers)
                numbers = level.numbers(column, numbers)
            except MISFITS as error:
                raise InvalidArgumentError(
                    f"{column.type} cannot be the type of a key: {error}", column=name
                ) from error
            self._levels.append(level)
        numbers = np.zeros(source.num_rows, np.int64) if numbers is None else numbers
        count = int(numbers.max(initial=-1)) + 1
        self.is_repeated: NDArray[np.bool_] = np.bincount(numbers[numbers >= 0], minlength=count) > 1
        """``(num_keys,)``: whether several rows have the key."""
        self.row_of: Numbers = np.full(count, -1, np.int64)
        """``(num_keys,)``: the first row that has the key."""
        rows = np.flatnonzero(numbers >= 0)[::-1]
        self.row_of[numbers[rows]] = rows
        self.key_of: Numbers = numbers
        """``(num_rows,)``: the key of each row, -1 where a part of it is null."""

    def listed(self, schema: pa.Schema, num_rows: int) -> pc.Expression | None:
        """Return a condition that rows of a table with one of these keys satisfy, with few others.

        Parameters
        ----------
        schema
            Schema of the table.
        num_rows
            How many rows it has. None where it would take longer to ask for the condition than to look up their keys.
        """
        return all_of([level.listed(schema.field(level.name).type, num_rows) for level in self._levels])

    @property
    def rows_per_search(self) -> int:
        """Rows that `find` should have: each call hashes the keys, unless they are looked up in a table."""
        return min(_MOST_ROWS_PER_SEARCH, sum(2 * level.num_hashed for level in self._levels))

    def find(self, batch: pa.RecordBatch | pa.Table) -> Numbers:
        """Return the key that each row of a batch has, -1 for none of the source's.

        Parameters
        ----------
        batch
            Rows with the key columns, of the same types, and maybe others.
        """
        numbers: Numbers | None = None
        for level in self._levels:
            numbers = level.numbers(batch.column(level.name), numbers)
        return np.zeros(batch.num_rows, np.int64) if numbers is None else numbers


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return values as what they are compared as."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
