"""`EngineRows`: rows of a dataset for engines that pull batches, filtered once by our own scan where it knows them all.

a table, or bare files ─► our scan: filter, columns              many small files ─► Arrow's scan, in groups of files
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.integrations.file_rows import FileRows

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.table_reader import TableReader


class EngineRows:
    """Rows of a dataset.

    Parameters
    ----------
    dataset
        The dataset.
    """

    def __init__(self, dataset: LanceDataset) -> None:
        self._dataset = dataset
        self._table: TableReader | None = None
        self._files: FileRows | None = None
        if dataset._own_filter is None:
            self._find()

    def _find(self) -> None:
        """Find out whether our scan gives all columns as the dataset has them."""
        dataset = self._dataset
        table = dataset._table
        if table is not None:
            self._table = table if dataset.schema.equals(table.columns.schema) else None
        else:
            files = FileRows(dataset)
            self._files = files if files.may_be_read else None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the dataset."""
        return self._dataset.schema

    def count(self, filter: pc.Expression | None) -> int:
        """Count rows that satisfy a filter; errors are those of `LanceDataset.count_rows`."""
        return self._dataset.count_rows(filter=filter)

    def batches(
        self, columns: Sequence[str], filter: pc.Expression | None, most_rows: int, *, wants_all: bool = False
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the schema of some columns, and batches of the rows that satisfy a filter, in order.

        Parameters
        ----------
        columns
            Names of columns; a dot in a name leads nowhere.
        filter
            None for all rows.
        most_rows
            Most rows of a batch; the memory budget may allow fewer.
        wants_all
            Whether the engine waits for the last row.

        Raises
        ------
        LanceError, OSError
            As `LanceDataset.scanner` and `to_batches`.
        """
        has_dots = any("." in name for name in columns)
        if has_dots or not columns or (self._table is None and self._files is None):
            scanner = self._dataset.scanner(
                columns={name: pc.field(name) for name in columns}, filter=filter, batch_size=most_rows
            )
            return scanner.projected_schema, scanner.to_batches()
        if self._table is not None:
            projection = self._table.projection(columns)
            batches = self._table.batches(projection, filter, None, wants_all=wants_all, most_rows=most_rows)
            return projection.schema, batches
        assert self._files is not None
        return self._files.batches(columns, filter, most_rows, wants_all=wants_all)


def free_name(schema: pa.Schema) -> str:
    """Return a name for a column without values, which no column of a dataset has."""
    name = "_rows"
    while name in schema.names:
        name = f"_{name}"
    return name
