"""Whole reads and counts of a dataset without a scan of Arrow's, whose threads and second filter take milliseconds.

| dataset of | read and counted by |
|---|---|
| a table | its `TableReader`, as `LanceTable` does |
| one whole file | `FileReads`, as `LanceFile` does |
| several whole files | `FolderReads`, as `TableReader` does |
| anything else: guarantees, views, options of a scan, files of other schemas | Arrow |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from lance_arrow.arrow_dataset.scanner_options import ScannerOptions
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.open_files import is_current
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_taking import as_table
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
    from lance_arrow.scan.fragments.table_reader import TableReader
    from lance_arrow.scan.open_file import OpenFile
    from lance_arrow.scan.predicates import Predicate

_PLAIN = ScannerOptions()


class DirectReads(Protocol):
    """What reads and counts the rows of a dataset."""

    def read(self, columns: Sequence[str] | None, filter: Predicate | None) -> pa.Table | None:
        """Read the rows that satisfy a filter; None where Arrow has to."""

    def count(self, filter: Predicate | None) -> int | None:
        """Count them."""


class TableReads:
    """Reads and counts the rows of a table.

    Parameters
    ----------
    table
        The table.
    """

    def __init__(self, table: TableReader) -> None:
        self._table = table

    def read(self, columns: Sequence[str] | None, filter: Predicate | None) -> pa.Table:
        """Read the rows that satisfy a filter; errors are those of `TableReader.read`."""
        return self._table.read(self._table.projection(columns), filter)

    def count(self, filter: Predicate | None) -> int:
        """Count them."""
        return self._table.count(filter)


class FileReads:
    """Reads and counts the rows of a file as `TableReader` does those of a table.

    Parameters
    ----------
    file
        The open file.
    """

    def __init__(self, file: OpenFile) -> None:
        self.file = file
        self._batches = FileBatches(file)

    def read(self, columns: Sequence[str] | None, filter: Predicate | None) -> pa.Table:
        """Read the rows that satisfy a filter, all when None; errors are those of `FileBatches.at_once`."""
        projection = Projection.of(self.file.rows.roots, self.file.rows.metadata, columns)
        rows = RowRanges.one(0, self.file.rows.num_rows)
        return as_table(self._batches.at_once(projection, filter, rows), projection.schema)

    def count(self, filter: Predicate | None) -> int:
        """Count the rows that satisfy a filter."""
        return self.file.rows.num_rows if filter is None else self._batches.count(filter)


def direct_reads(dataset: LanceDataset, options: ScannerOptions) -> DirectReads | None:
    """Return what reads and counts without Arrow; None where only Arrow knows what is wanted.

    Scans that are watched tell what each file took.

    Parameters
    ----------
    dataset
        The dataset.
    options
        Of the scan; without columns where rows are counted.
    """
    is_plain = options._replace(columns=None, filter=None) == _PLAIN
    if not is_plain or not _are_own(dataset, options.columns) or not dataset._may_be_direct:
        return None
    table = dataset._table
    if dataset._views is not None or default_runtime().is_watched:
        return None
    if table is not None:
        return TableReads(table)
    return dataset._folder_reads if dataset._num_fragments > 1 else _only_file(dataset)


def _are_own(dataset: LanceDataset, columns: Any) -> bool:
    """Return whether columns are all, or named fields of the schema; Arrow knows paths and expressions."""
    if columns is None:
        return True
    if not isinstance(columns, list | tuple) or not columns:
        return False
    names = dataset.schema.names
    return all(isinstance(one, str) and "." not in one and names.count(one) == 1 for one in columns)


def _only_file(dataset: LanceDataset) -> FileReads | None:
    held = dataset._file_reads
    if held is not None and is_current(held.file):
        return held
    fragment = dataset._only_fragment
    file = None if fragment is None or fragment.place.rows is not None else fragment._known()
    if file is None:
        return None
    if held is None or held.file is not file:
        if not dataset.schema.equals(file.rows.schema, check_metadata=True):
            return None
        held = dataset._file_reads = FileReads(file)
    return held
