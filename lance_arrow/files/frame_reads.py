"""`FrameReads`: what people type first, alike for files, datasets and tables; frames of other libraries among it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.row_taking import as_table

if TYPE_CHECKING:
    import pandas
    import polars

    from lance_arrow.scan.predicates import Predicate

Columns: TypeAlias = Sequence[str] | None


class FrameReads:
    """Reads that are made of `take`, `count_rows` and `to_batches` of the class that inherits from this one."""

    if TYPE_CHECKING:

        def _schema_of(self, columns: Columns) -> pa.Schema: ...
        def _as_table(self, columns: Columns, filter: Predicate | None) -> pa.Table: ...
        def count_rows(self) -> int: ...
        def take(self, indices: Any, columns: Columns = None) -> pa.Table: ...
        def to_batches(self, *, columns: Columns, filter: Predicate | None) -> Iterator[pa.RecordBatch]: ...

    def head(self, num_rows: int = 5, columns: Columns = None, filter: Predicate | None = None) -> pa.Table:
        """Read the first rows, or the first that satisfy a filter, and stop when there are enough.

        Parameters
        ----------
        num_rows
            Maximum number of rows.
        columns, filter
            Dotted paths, all columns when None; expression, DNF tuples or SQL.

        Raises
        ------
        InvalidArgumentError
            `num_rows` is negative, or `columns` or `filter` do not fit.

        Examples
        --------
        >>> flights = lance_arrow.LanceFile("flights.lance")
        >>> flights.head(2, ["id"])["id"].to_pylist()
        [0, 1]
        """
        _check_count(num_rows)
        if filter is None:
            return self.take(np.arange(min(num_rows, self.count_rows())), columns)
        found, missing = [], num_rows
        for batch in self.to_batches(columns=columns, filter=filter):
            if missing <= 0:
                break
            found.append(batch.slice(0, missing))
            missing -= found[-1].num_rows
        return as_table(found, self._schema_of(columns))

    def sample(self, num_rows: int, columns: Columns = None, *, seed: int | None = None) -> pa.Table:
        """Read some rows at random, each at most once, in their order.

        Parameters
        ----------
        num_rows
            How many; all rows if there are fewer.
        columns
            Dotted paths; all columns when None.
        seed
            Of numpy's random numbers: the same rows each time. Other rows each time when None.

        Raises
        ------
        InvalidArgumentError
            `num_rows` is negative, or `columns` do not fit.

        Examples
        --------
        >>> flights = lance_arrow.LanceTable.open("flights")
        >>> flights.sample(3, ["id"], seed=1).num_rows
        3
        """
        _check_count(num_rows)
        total = self.count_rows()
        chosen = np.random.default_rng(seed).choice(total, min(num_rows, total), replace=False, shuffle=False)
        return self.take(np.sort(chosen.astype(np.int64)), columns)

    def to_reader(self, columns: Columns = None, filter: Predicate | None = None) -> pa.RecordBatchReader:
        """Read rows as a stream of Arrow batches, with bounded memory.

        Parameters
        ----------
        columns, filter
            As for `head`.

        Raises
        ------
        InvalidArgumentError
            As for `head`.

        Examples
        --------
        >>> flights = lance_arrow.LanceFile("flights.lance")
        >>> flights.to_reader(["id"]).read_next_batch().num_rows
        100
        """
        return pa.RecordBatchReader.from_batches(
            self._schema_of(columns), self.to_batches(columns=columns, filter=filter)
        )

    def to_pandas(self, columns: Columns = None, filter: Predicate | None = None, **options: Any) -> pandas.DataFrame:
        """Read rows as a pandas data frame.

        Parameters
        ----------
        columns, filter
            As for `head`.
        options
            Of `pyarrow.Table.to_pandas`, such as ``types_mapper``.

        Raises
        ------
        InvalidArgumentError
            As for `head`.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.to_pandas(["id"], filter="id < 3")["id"].tolist()
        [0, 1, 2]
        """
        return self._as_table(columns, filter).to_pandas(**options)

    def to_polars(self, columns: Columns = None, filter: Predicate | None = None) -> polars.DataFrame:
        """Read rows as a Polars data frame. For lazy queries see `lance_arrow.integrations.polars.scan`.

        Parameters
        ----------
        columns, filter
            As for `head`.

        Raises
        ------
        InvalidArgumentError
            As for `head`.

        Examples
        --------
        >>> flights = lance_arrow.LanceTable.open("flights")
        >>> flights.to_polars(["id"], filter="id < 3")["id"].to_list()
        [0, 1, 2]
        """
        import polars  # noqa: PLC0415 - not a dependency

        return polars.DataFrame(self._as_table(columns, filter))


def _check_count(num_rows: int) -> None:
    if num_rows < 0:
        raise InvalidArgumentError(f"num_rows is {num_rows}, expected at least 0", detail=num_rows)
