"""What datasets of files consist of: taken apart into what pickles, put together again, and shown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import pyarrow
import pyarrow.compute
from pyarrow.dataset import FileSystemDataset
from pyarrow.fs import FileSystem

from lance_arrow.arrays.view_arrays import without_views
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.places import file_place
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.io import locate
from lance_arrow.scan.predicates import Predicate, as_expression, fitting
from lance_arrow.scan.scan_options import ScanOptions

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.column_statistics import ColumnStatistics
    from lance_arrow.arrow_dataset.direct_reads import FileReads
    from lance_arrow.arrow_dataset.folder_reads import FolderReads
    from lance_arrow.scan.fragments.fragment_rows import FragmentRows
    from lance_arrow.scan.fragments.table_reader import TableReader

_SHOWN_FILES = 5
_TRUE = pyarrow.compute.scalar(True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetParts:
    """All that makes a dataset; `filter` is the one of `Dataset.filter`."""

    fragments: list[LanceFileFragment]
    schema: pyarrow.Schema
    format: bridge.BridgeFormat
    filesystem: FileSystem | None
    partition_expression: pyarrow.compute.Expression
    filter: pyarrow.compute.Expression | None


def all_fragments(dataset: FileSystemDataset) -> list[LanceFileFragment]:
    """Return the fragments of a dataset, its filter notwithstanding, in order."""
    unfiltered = bridge.show_as(FileSystemDataset, dataset)
    unfiltered._scan_options = {}
    return [LanceFileFragment.from_fragment(fragment) for fragment in unfiltered.get_fragments()]


def take_apart(dataset: FileSystemDataset) -> DatasetParts:
    """Take apart a dataset of Lance format."""
    return DatasetParts(
        fragments=all_fragments(dataset),
        schema=dataset.schema,
        format=bridge.format_of(dataset),
        filesystem=bridge.filesystem_of(dataset),
        partition_expression=dataset.partition_expression,
        filter=dataset._scan_options.get("filter"),
    )


def put_together(cls: type[FileSystemDataset], parts: DatasetParts) -> FileSystemDataset:
    """Make the dataset that was taken apart."""
    dataset = cls(parts.fragments, parts.schema, parts.format, parts.filesystem, parts.partition_expression)
    return dataset if parts.filter is None else dataset.filter(parts.filter)


class DatasetOfFragments(FileSystemDataset):
    """What a `LanceDataset` consists of: its format, its fragments, its table, and the filter of `Dataset.filter`."""

    _has_guarantees = False
    _num_fragments = 0
    _tables_own: bool | None = None
    _only_fragment: LanceFileFragment | None = None
    _file_reads: FileReads | None = None

    @property
    def format(self) -> bridge.BridgeFormat:
        """The format of all fragments."""
        return bridge.format_of(self)

    @property
    def fragments(self) -> list[LanceFileFragment]:
        """All fragments in order; a filter of the dataset is not applied."""
        return all_fragments(self)

    def statistics(self, column: str) -> ColumnStatistics:
        """Return what zone maps tell of a column: counts, and the least and greatest value. No value is read.

        Parameters
        ----------
        column
            Its name, or the dotted path of a field of structs.

        Returns
        -------
        ColumnStatistics
            Counts and bounds; unknown ones are None. After deletions, and for long strings, bounds need not be values.

        Raises
        ------
        InvalidArgumentError
            There is no such column of single values, or the dataset has a filter.

        Examples
        --------
        >>> found = lance_arrow.dataset("flights.lance").statistics("id")
        >>> found.minimum.as_py(), found.maximum.as_py(), found.null_count
        (0, 99, 0)
        """
        from lance_arrow.arrow_dataset.column_statistics import column_statistics  # noqa: PLC0415 - for these alone

        return column_statistics(self, column)

    def split(self, max_rows: int | None = None) -> list[Self]:
        """Divide the rows into datasets that workers, also of other processes, can read independently.

        Parameters
        ----------
        max_rows
            Most rows of a part, which ends where a zone ends if zones are not longer. When None, each fragment is a
            part. Fragments of tables are not divided.

        Returns
        -------
        list
            Datasets in order; their rows, one after another, are those of this dataset. With `max_rows`, fragments of
            bare files without rows are left out.

        Raises
        ------
        InvalidArgumentError
            `max_rows` is not a positive integer.

        Examples
        --------
        >>> parts = lance_arrow.dataset("flights.lance").split(max_rows=60)
        >>> sum(part.count_rows() for part in parts)
        100
        """
        own = self._own_filter
        parts: list[LanceFileFragment] = []
        for fragment in self.fragments:
            is_whole = max_rows is None or fragment.opened_rows() is None
            parts += [fragment] if is_whole else fragment.split_by_zone(max_rows=max_rows)
        datasets = [self._over([part]) for part in parts]
        return datasets if own is None else [one.filter(own) for one in datasets]

    @cached_property
    def _is_far(self) -> bool:
        """Whether reading mostly waits for a store."""
        filesystem = bridge.filesystem_of(self)
        return filesystem is not None and file_place("/", filesystem, None, None).is_far

    def know_table(self, table: TableReader) -> None:
        """Tell which table this is a dataset of, which its fragments tell unless there are none."""
        self._table_reader: TableReader | None = table

    def __repr__(self) -> str:
        files = self.files
        shown = ", ".join(files[:_SHOWN_FILES])
        if len(files) > _SHOWN_FILES:
            shown += f" and {len(files) - _SHOWN_FILES:,} more"
        fields = ", ".join(f"{field.name}: {field.type}" for field in list(self.schema)[:_SHOWN_FILES])
        if len(self.schema) > _SHOWN_FILES:
            fields += f" and {len(self.schema) - _SHOWN_FILES:,} more"
        filtered = "" if self._own_filter is None else f" filter={self._own_filter}"
        return " ".join(f"<LanceDataset files={len(files):,}{filtered}: {shown}; columns {fields}>".split())

    def _repr_html_(self) -> str:
        from lance_arrow.html_repr import as_html  # noqa: PLC0415 - for notebooks

        facts = {"files": f"{len(self.files):,}", "format": repr(self.format)}
        if self._own_filter is not None:
            facts["filter"] = str(self._own_filter)
        for number, path in enumerate(self.files[:_SHOWN_FILES]):
            facts[f"file {number}"] = path
        return as_html("LanceDataset", facts, self.schema)

    def __reduce__(self) -> tuple[object, ...]:
        return put_together, (type(self), take_apart(self))

    def _get_fragments(self, filter: pyarrow.compute.Expression | None) -> Iterator[LanceFileFragment]:
        for fragment in super()._get_fragments(filter):
            yield LanceFileFragment.from_fragment(fragment)

    @property
    def _table(self) -> TableReader | None:
        """The table this is a dataset of; None for bare files."""
        if not hasattr(self, "_table_reader"):
            self._table_reader = self._find_table()
        return self._table_reader

    def _asking_once(self) -> contextlib.AbstractContextManager[None]:
        """Ask a store once what a file is, in a block: see `OpenFiles.operation`."""
        files = getattr(self.format.handler, "files", None)
        return contextlib.nullcontext() if files is None else files.operation()

    def _find_table(self) -> TableReader | None:
        fragments = self.fragments
        parts = [fragment.payload for fragment in fragments]
        self._num_fragments = len(parts)
        if len(parts) == 1 and fragments[0].partition_expression.equals(_TRUE):
            self._only_fragment = fragments[0]
        if not parts or not all(isinstance(part, TablePart) for part in parts):
            return None
        facts = parts[0].facts
        if any(part.facts is not facts and part.facts != facts for part in parts):
            return None
        # Fragments that a caller made may have a guarantee about their rows.
        self._has_guarantees = not all(fragment.partition_expression.equals(_TRUE) for fragment in fragments)
        from lance_arrow.scan.fragments.table_reader import TableReader  # noqa: PLC0415 - for tables alone

        handler = self.format.handler
        place = locate(fragments[0].path, filesystem=self.filesystem)
        assert place is not None
        metas = [part.fragment for part in parts if part.fragment is not None]
        return TableReader(handler.columns_of(facts), metas, place.given, handler.files)

    def _rows_of_fragments(self) -> list[FragmentRows | None]:
        """Rows of the table's fragment behind each fragment; None where something else, or no row, is behind it."""
        found: list[FragmentRows | None] = []
        table, number = self._table, 0
        for fragment in self.fragments:
            part = fragment.payload
            if table is None or not isinstance(part, TablePart) or part.fragment is None:
                found.append(None)
                continue
            found.append(table.fragment(number))
            number += 1
        return found

    @cached_property
    def _folder_reads(self) -> FolderReads | None:
        """Reads several bare files without Arrow's scan; None where they are something else."""
        from lance_arrow.arrow_dataset.folder_reads import FolderReads  # noqa: PLC0415 - for several files alone

        return FolderReads.of(self) if self._num_fragments > 1 else None

    @cached_property
    def _may_be_direct(self) -> bool:
        """Whether Arrow has nothing to add to whole reads: no guarantees, options of the format, or other schema."""
        table = self._table
        # Formats of others have no such options.
        is_plain = getattr(self.format.handler, "scan_options", None) == ScanOptions() and not self._has_guarantees
        return is_plain and (table is None or self._has_schema_of(table))

    def _has_schema_of(self, table: TableReader) -> bool:
        if self._tables_own is None:
            self._tables_own = self.schema.equals(table.columns.schema)
        return self._tables_own

    @property
    def _own_filter(self) -> pyarrow.compute.Expression | None:
        """The filter of `Dataset.filter`."""
        found: pyarrow.compute.Expression | None = self._scan_options.get("filter")
        return found

    def _fitting(self) -> contextlib.AbstractContextManager[None]:
        return fitting("the filter or a column does not fit the dataset", self.schema)

    def _expression(self, filter: Predicate | None) -> pyarrow.compute.Expression | None:
        return None if filter is None else as_expression(filter, self.schema)

    def _left_by_guarantees(self, filter: pyarrow.compute.Expression | None) -> list[LanceFileFragment]:
        """Fragments of which it is not known beforehand that no row satisfies a filter."""
        unfiltered = bridge.show_as(FileSystemDataset, self)
        unfiltered._scan_options = {}
        schema = without_views(self.schema)
        if schema != self.schema:
            # Arrow compares views with views alone.
            parts = self.fragments, schema, self.format, bridge.filesystem_of(self), self.partition_expression
            unfiltered = FileSystemDataset(*parts)
        with self._fitting():
            found = list(unfiltered.get_fragments(filter))
        return [LanceFileFragment.from_fragment(fragment) for fragment in found]

    def _over(self, fragments: Sequence[LanceFileFragment]) -> Self:
        """Return these fragments seen as this dataset sees its own."""
        return type(self)(
            list(fragments), self.schema, self.format, bridge.filesystem_of(self), self.partition_expression
        )
