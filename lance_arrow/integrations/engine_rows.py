"""`EngineRows`: rows of a dataset for engines that pull batches, filtered once by our own scan where it knows them all.

a table, or one bare file ─► our scan: filter, columns                  other datasets ─► Arrow's scan of our files
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.spi import RowRanges


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
        self._file: tuple[OpenFile, RowRanges] | None = None
        if dataset._own_filter is None:
            self._find()

    def _find(self) -> None:
        """Find out whether our scan gives all columns as the dataset has them."""
        dataset = self._dataset
        table = dataset._table
        if table is not None:
            self._table = table if dataset.schema.equals(table.columns.schema) else None
        elif len(dataset.files) == 1 and dataset.partition_expression.equals(pc.scalar(True)):
            (fragment,) = dataset.fragments
            found = fragment.opened_rows() if fragment.partition_expression.equals(pc.scalar(True)) else None
            if found is not None and found[0].rows.schema.equals(dataset.schema):
                self._file = found

    @property
    def schema(self) -> pa.Schema:
        """The columns of the dataset."""
        return self._dataset.schema

    def count(self, filter: pc.Expression | None) -> int:
        """Count rows that satisfy a filter; errors are those of `LanceDataset.count_rows`."""
        return self._dataset.count_rows(filter=filter)

    def batches(
        self, columns: Sequence[str], filter: pc.Expression | None, most_rows: int
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

        Raises
        ------
        LanceError, OSError
            As `LanceDataset.scanner` and `to_batches`.
        """
        has_dots = any("." in name for name in columns)
        if has_dots or not columns or (self._table is None and self._file is None):
            scanner = self._dataset.scanner(
                columns={name: pc.field(name) for name in columns}, filter=filter, batch_size=most_rows
            )
            return scanner.projected_schema, scanner.to_batches()
        if self._table is not None:
            projection = self._table.projection(columns)
            return projection.schema, self._table.batches(projection, filter, None, most_rows=most_rows)
        assert self._file is not None
        file, rows = self._file
        projection = Projection.of(file.rows.roots, file.rows.metadata, columns)
        return projection.schema, FileBatches(file).stream(projection, filter, None, rows, most_rows=most_rows)


def free_name(schema: pa.Schema) -> str:
    """Return a name for a column without values, which no column of a dataset has."""
    name = "_rows"
    while name in schema.names:
        name = f"_{name}"
    return name
