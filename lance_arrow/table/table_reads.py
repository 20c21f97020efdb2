"""`TableReads`: methods of `LanceTable` that read rows of its version."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.predicates import Predicate
from lance_arrow.scan.row_arguments import as_row_ids
from lance_arrow.table.table_handle import TableHandle

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset


class TableReads(TableHandle):
    """Methods of `LanceTable` that read rows. Rows that are deleted are never among them."""

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema, with field and schema metadata."""
        return self._reader.columns.schema

    def count_rows(self, filter: Predicate | None = None) -> int:
        """Count the rows, or those that satisfy a filter. Without a filter, the manifest mostly has the answer.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.count_rows("id < 10")
        10
        """
        return self._reader.count(filter)

    def to_table(self, columns: Sequence[str] | None = None, filter: Predicate | None = None) -> pa.Table:
        """Read all rows that are not deleted, or those of them that satisfy a filter.

        Parameters
        ----------
        columns
            Dotted paths in the wanted order, as for `LanceFile.read`; all columns when None. ``_rowid`` and
            ``_rowaddr`` may be among them. Tables with stable row ids also have ``_row_created_at_version`` and
            ``_row_last_updated_at_version``.
        filter
            pyarrow expression, DNF tuples or SQL, over the same columns.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, or the filter does not fit.
        MissingFileError
            A file that the manifest names does not exist.
        LanceError
            As `LanceFile.read`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.to_table(["id"], filter="price > 49").num_rows
        1
        """
        return self._reader.read(self._reader.projection(columns), filter)

    def to_batches(
        self, columns: Sequence[str] | None = None, filter: Predicate | None = None, batch_size: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in order, in batches of at most `batch_size` rows; other arguments are those of `to_table`.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, or `batch_size` is not a positive integer. It is raised by the call itself.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> sum(batch.num_rows for batch in table.to_batches(["id"], batch_size=60))
        100
        """
        if batch_size is not None and (not isinstance(batch_size, (int, np.integer)) or batch_size < 1):
            raise InvalidArgumentError(
                f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size
            )
        size = None if batch_size is None else int(batch_size)
        return self._reader.batches(self._reader.projection(columns), filter, size)

    def take(self, indices: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by number. The result has the order and the duplicates of `indices`.

        Parameters
        ----------
        indices
            Row numbers in the order of `to_table`, from 0: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            As for `to_table`.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below `count_rows()`; the message has the number.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.take([3, 1], ["id"])["id"].to_pylist()
        [3, 1]
        """
        return self._reader.take(indices, columns)

    def take_row_ids(self, ids: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by ``_rowid``. The result has the order and the duplicates of `ids`.

        Parameters
        ----------
        ids
            Stable row ids if the table has them, else row addresses: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            As for `to_table`.

        Raises
        ------
        InvalidArgumentError
            No row has such an id, or it is deleted; the message has the id.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> ids = table.to_table(["_rowid"], filter="id = 7")["_rowid"]
        >>> table.take_row_ids(ids, ["name"])["name"].to_pylist()
        ['n7']
        """
        return self._reader.take_ids(as_row_ids(ids), columns)

    def dataset(self) -> LanceDataset:
        """Return this version as a `pyarrow.dataset.FileSystemDataset`, fragment by fragment.

        Raises
        ------
        ImportError
            The native bridge does not support the installed pyarrow.
        """
        made: LanceDataset = importlib.import_module("lance_arrow.arrow_dataset.table_dataset").table_dataset(
            self._manifest.facts, self._manifest.fragments, self._root.filesystem, self._options
        )
        return made

    def __len__(self) -> int:
        return self.count_rows()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all live rows as an Arrow C stream, a fresh one at each call."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)
