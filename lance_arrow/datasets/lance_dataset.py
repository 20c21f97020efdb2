"""`LanceDataset`, what pyarrow's dataset of files lacks where the format is ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.compute
from pyarrow.dataset import FileSystemDataset, FragmentScanOptions, Scanner

from lance_arrow.datasets.bridge_loading import bridge
from lance_arrow.datasets.dataset_parts import all_fragments, put_together, take_apart
from lance_arrow.datasets.row_arguments import as_offsets
from lance_arrow.datasets.table_parts import TablePart
from lance_arrow.datasets.table_reader import TableReader
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import locate

# pyarrow's own defaults.
_BATCH_ROWS = 131_072
_BATCH_READAHEAD = 16
_FRAGMENT_READAHEAD = 4


class LanceDataset(FileSystemDataset):
    """A `pyarrow.dataset.FileSystemDataset` of Lance files that knows its format and its fragments.

    Made as any `FileSystemDataset`, of `LanceFileFragment`s, or from an existing dataset by `from_dataset`.
    """

    @classmethod
    def from_dataset(cls, dataset: FileSystemDataset) -> LanceDataset:
        """Show a dataset, made by `pyarrow.dataset.dataset(..., format=LanceFormat())`, as this class.

        Raises
        ------
        InvalidArgumentError
            It is not a dataset of files of Lance format.
        """
        if bridge.format_of(dataset) is None:
            raise InvalidArgumentError(f"not a dataset of files of Lance format: {dataset!r}")
        shown: LanceDataset = bridge.show_as(cls, dataset)
        return shown

    @property
    def format(self) -> bridge.BridgeFormat:
        """The format all fragments were made by."""
        return bridge.format_of(self)

    @property
    def fragments(self) -> list[bridge.LanceFileFragment]:
        """All fragments, a filter of the dataset notwithstanding, in order."""
        return all_fragments(self)

    def _get_fragments(self, filter: pyarrow.compute.Expression | None) -> Iterator[bridge.LanceFileFragment]:
        for fragment in super()._get_fragments(filter):
            yield bridge.LanceFileFragment.from_fragment(fragment)

    def scanner(
        self,
        columns: list[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: pyarrow.compute.Expression | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int = _BATCH_READAHEAD,
        fragment_readahead: int = _FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
    ) -> Scanner:
        """Build a scan, as `pyarrow.dataset.Dataset.scanner`; a table's virtual columns can be named in `columns`."""
        found = self._table
        dataset: FileSystemDataset = self
        if found is not None and isinstance(columns, (list, tuple)):
            virtual = [node.field for node in found.columns.virtual if node.field.name in columns]
            fields = [field for field in virtual if field.name not in self.schema.names]
            if fields:
                dataset = super().replace_schema(pyarrow.schema([*self.schema, *fields], self.schema.metadata))
        return FileSystemDataset.scanner(
            dataset,
            columns=columns,
            filter=filter,
            batch_size=batch_size,
            batch_readahead=batch_readahead,
            fragment_readahead=fragment_readahead,
            fragment_scan_options=fragment_scan_options,
            use_threads=use_threads,
            cache_metadata=cache_metadata,
            memory_pool=memory_pool,
        )

    def take(
        self,
        indices: Any,
        columns: list[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: pyarrow.compute.Expression | None = None,
    ) -> pyarrow.Table:
        """Read rows by number, counted as a scan without a filter gives them; caller's order, duplicates kept.

        Of a table, or a single file of one, only the pages are read that hold wanted rows. Otherwise, and for columns
        that are computed, rows are taken from a scan.

        Parameters
        ----------
        indices
            Row numbers: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            Names, or expressions by name.
        filter
            As `pyarrow.dataset.Dataset.take`.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below the number of rows.
        """
        found = self._table
        is_plain = filter is None and "filter" not in self._scan_options
        if found is None or not is_plain or isinstance(columns, dict) or not self.schema.equals(found.columns.schema):
            return FileSystemDataset.take(self, pyarrow.array(as_offsets(indices)), columns=columns, filter=filter)
        return found.take(indices, columns)

    def know_table(self, table: TableReader) -> None:
        """Tell which table this is a dataset of, which its fragments tell unless there are none."""
        self._table_reader: TableReader | None = table

    def count_rows(
        self,
        filter: pyarrow.compute.Expression | None = None,
        batch_size: int = _BATCH_ROWS,
        use_threads: bool = True,
    ) -> int:
        """Count rows; of a table, what its manifest says where nothing is filtered."""
        found = self._table
        if found is not None and filter is None and "filter" not in self._scan_options:
            return found.num_rows
        count: int = FileSystemDataset.count_rows(self, filter=filter, batch_size=batch_size, use_threads=use_threads)
        return count

    @property
    def _table(self) -> TableReader | None:
        """The table this is a dataset of; None for bare files."""
        if not hasattr(self, "_table_reader"):
            self._table_reader = self._find_table()
        return self._table_reader

    def _find_table(self) -> TableReader | None:
        fragments = self.fragments
        parts = [fragment.payload for fragment in fragments]
        if not parts or not all(isinstance(part, TablePart) for part in parts):
            return None
        facts = parts[0].facts
        if any(part.facts is not facts and part.facts != facts for part in parts):
            return None
        handler = self.format.handler
        place = locate(fragments[0].path, filesystem=self.filesystem)
        assert place is not None
        metas = [part.fragment for part in parts if part.fragment is not None]
        return TableReader(handler.columns_of(facts), metas, place.filesystem, handler.files)

    def replace_schema(self, schema: pyarrow.Schema) -> LanceDataset:
        """Return the same files seen with another schema."""
        return type(self).from_dataset(super().replace_schema(schema))

    def __reduce__(self) -> tuple[object, ...]:
        return put_together, (type(self), take_apart(self))
