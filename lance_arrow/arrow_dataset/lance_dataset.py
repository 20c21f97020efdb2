"""`LanceDataset`: pyarrow's dataset of files, with takes by row number, plans and SQL filters for Lance files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.compute
from pyarrow.dataset import FileSystemDataset, FragmentScanOptions, Scanner

from lance_arrow.arrays.view_arrays import without_views
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.dataset_parts import DatasetOfFragments
from lance_arrow.arrow_dataset.direct_reads import direct_reads
from lance_arrow.arrow_dataset.scanner_options import (
    BATCH_READAHEAD,
    BATCH_ROWS,
    FRAGMENT_READAHEAD,
    ScannerOptions,
)
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.frame_reads import FrameReads
from lance_arrow.scan.predicates import Predicate, all_of
from lance_arrow.scan.row_arguments import as_offsets
from lance_arrow.scan.row_taking import rows_without_columns
from lance_arrow.scan.windows import LEAST_GROUPED
from lance_arrow.structure.row_selection import check_numbers

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.description import DatasetDescription
    from lance_arrow.arrow_dataset.file_taking import FileTaking
    from lance_arrow.arrow_dataset.grouped_view import GroupedView
    from lance_arrow.arrow_dataset.scan_plan import ScanPlan
    from lance_arrow.arrow_dataset.viewed_scans import ViewedScans
    from lance_arrow.scan.ordering.sort_keys import OrderBy


class LanceDataset(DatasetOfFragments, FrameReads):
    """A `pyarrow.dataset.FileSystemDataset` of Lance files; get one from `lance_arrow.dataset` or `from_dataset`.

    It works wherever pyarrow's datasets do. Filters may also be SQL or DNF tuples.

    Examples
    --------
    >>> flights = lance_arrow.dataset("flights")
    >>> flights.take([3, 1], columns=["id"])["id"].to_pylist()
    [3, 1]
    """

    _file_taking: FileTaking | None = None

    @classmethod
    def from_dataset(cls, dataset: FileSystemDataset) -> LanceDataset:
        """Convert a dataset made by `pyarrow.dataset.dataset(..., format=LanceFormat())` to this class.

        Raises
        ------
        InvalidArgumentError
            `dataset` is not a dataset of Lance files.

        Examples
        --------
        >>> import pyarrow.dataset
        >>> files = pyarrow.dataset.dataset("flights.lance", format=lance_arrow.LanceFormat())
        >>> lance_arrow.LanceDataset.from_dataset(files).take([3, 1], ["id"])["id"].to_pylist()
        [3, 1]
        """
        if bridge.format_of(dataset) is None:
            raise InvalidArgumentError(f"not a dataset of files of Lance format: {dataset!r}")
        shown: LanceDataset = bridge.show_as(cls, dataset)
        return shown

    def scanner(
        self,
        columns: list[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: Predicate | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
        *,
        order_by: OrderBy | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Scanner:
        """Build a scan, as `pyarrow.dataset.Dataset.scanner`; a table's virtual columns can be named in `columns`.

        `filter` may also be DNF tuples or SQL, here and in all methods that scan. `order_by`, `limit` and `offset` are
        those of `LanceTable.to_table`; with one of them, the scan can be read once.

        Raises
        ------
        InvalidArgumentError
            A column or the filter does not fit the dataset; here and in all methods that scan.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.scanner(columns=["_rowid", "id"], filter="id < 2").to_table()["_rowid"].to_pylist()
        [0, 1]
        """
        options = ScannerOptions.of(locals())
        if order_by is not None or limit is not None or offset:
            from lance_arrow.arrow_dataset.some_rows import some_rows  # noqa: PLC0415 - for these alone

            return some_rows(self, options, order_by, limit, offset)
        found = self._table
        dataset: FileSystemDataset = self
        if found is not None and isinstance(columns, (list, tuple)):
            virtual = [node.field for node in found.columns.virtual if node.field.name in columns]
            fields = [field for field in virtual if field.name not in self.schema.names]
            if fields:
                dataset = super().replace_schema(pyarrow.schema([*self.schema, *fields], self.schema.metadata))
        if self._views is not None and (filter is not None or self._own_filter is not None):
            return self._views.scanner(options)
        from lance_arrow.arrow_dataset.narrow_schema import narrow_schema  # noqa: PLC0415 - for scans alone

        with self._fitting():
            expression = self._expression(filter)
            wanted = options._replace(filter=expression)
            narrow = narrow_schema(dataset.schema, columns, all_of((self._own_filter, expression)))
            if narrow is not None:
                dataset = FileSystemDataset.replace_schema(dataset, narrow)
            groups = self._groups
            if groups is None:
                return FileSystemDataset.scanner(dataset, **wanted.keywords())
            return groups.scanner(dataset, wanted)

    def to_table(
        self,
        columns: Sequence[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: Predicate | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
        *,
        order_by: OrderBy | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> pyarrow.Table:
        """Read the dataset, as `pyarrow.dataset.Dataset.to_table`; Ctrl-C stops it at once.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.to_table(["id"], filter="price > 49").num_rows
        1
        """
        options, table = ScannerOptions.of(locals()), self._table
        direct = None if order_by is not None or limit is not None or offset else direct_reads(self, options)
        if direct is not None:
            both = all_of((self._own_filter, self._expression(filter)))
            # Expressions are no names.
            read = direct.read(columns, both)  # type: ignore[arg-type]
            if read is not None:
                return read
        from lance_arrow.arrow_dataset.interruptible import collect  # noqa: PLC0415 - as in `scanner`

        options = options if table is None else options.for_all(table.filesystem)
        with self._asking_once():
            return collect(self.scanner(**options.keywords(), order_by=order_by, limit=limit, offset=offset))

    def to_batches(
        self,
        columns: Sequence[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: Predicate | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
        *,
        order_by: OrderBy | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[pyarrow.RecordBatch]:
        """Read the dataset batch by batch, as `pyarrow.dataset.Dataset.to_batches`.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> [batch.num_rows for batch in flights.to_batches(["id"], batch_size=60)]
        [60, 40]
        """
        options = ScannerOptions.of(locals()).keywords()
        scanner = self.scanner(**options, order_by=order_by, limit=limit, offset=offset)
        found: Iterator[pyarrow.RecordBatch] = scanner.to_batches()
        return found

    def take(
        self,
        indices: Any,
        columns: Sequence[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: Predicate | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
    ) -> pyarrow.Table:
        """Read rows by number. The result has the order and the duplicates of `indices`; other pages are not read.

        Parameters
        ----------
        indices
            Row numbers in the order of a scan without a filter, from 0: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            Names, or expressions by name; all columns when None.
        filter
            Numbers count the rows that satisfy the filter. This needs a scan from the start, as pyarrow's `take`.
        batch_size, batch_readahead, fragment_readahead, fragment_scan_options, use_threads, cache_metadata, memory_pool
            As `pyarrow.dataset.Dataset.take`; they only matter where a scan is needed.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below the number of rows; the message has the number.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.take([3, 1], ["name"])["name"].to_pylist()
        ['n3', 'n1']
        """
        own_filter = self._own_filter
        is_plain = filter is None and own_filter is None and not isinstance(columns, dict)
        table = self._table if is_plain else None
        if table is not None and self._has_schema_of(table):
            return table.take(indices, columns)
        if is_plain and self._file_taking is not None and memory_pool is None and fragment_scan_options is None:
            known = self._file_taking.take_known(indices, None if columns is None else tuple(columns))
            if known is not None:
                return known
        offsets = as_offsets(indices)
        options = ScannerOptions.of(locals())
        if self._views is not None and (table is not None or filter is not None or own_filter is not None):
            return self._views.take(offsets, options)
        if filter is not None or own_filter is not None:
            check_numbers(offsets, self.count_rows(filter=filter))
            found: pyarrow.Table = self.scanner(**options.keywords()).take(pyarrow.array(offsets))
            return found
        taking = self._file_taking
        if taking is None:
            from lance_arrow.arrow_dataset.file_taking import FileTaking  # noqa: PLC0415 - for takes alone

            taking = self._file_taking = FileTaking(self.fragments)
        schema = self.schema if columns is None else self.scanner(columns=columns).projected_schema
        if not len(schema):
            check_numbers(offsets, int(taking.starts[-1]))
            return rows_without_columns(len(offsets))
        if not len(offsets):
            return schema.empty_table()
        return taking.take(offsets, options, self._over, self.schema, schema)

    def head(
        self,
        num_rows: int,
        columns: Sequence[str] | dict[str, pyarrow.compute.Expression] | None = None,
        filter: Predicate | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
    ) -> pyarrow.Table:
        """Read the first rows that satisfy a filter, file by file, and stop when there are enough.

        Of a table, a head without a filter decodes these rows alone.

        Parameters
        ----------
        num_rows
            Maximum number of rows.
        columns, filter
            As `pyarrow.dataset.Dataset.head`.
        batch_size, batch_readahead, fragment_readahead, fragment_scan_options, use_threads, cache_metadata, memory_pool
            As `pyarrow.dataset.Dataset.head`.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.head(2, ["id"], filter="price >= 20")["id"].to_pylist()
        [40, 41]
        """
        options = ScannerOptions.of(locals())
        missing = max(0, num_rows)
        own = self._own_filter
        wanted = self._expression(filter)
        both = all_of((own, wanted))
        table = self._table if memory_pool is None and fragment_scan_options is None else None
        if table is not None and not isinstance(columns, dict) and self.schema.equals(table.columns.schema):
            from lance_arrow.arrow_dataset.table_heads import table_head  # noqa: PLC0415 - for tables alone

            few = table_head(table, missing, columns, both)
            if few is not None:
                return few
        with self._asking_once():
            tables = [self.scanner(columns=columns).projected_schema.empty_table()]
            # Fragments that hold no wanted row for sure are left out as a scan leaves them out.
            for fragment in self._left_by_guarantees(both):
                if not missing:
                    break
                for part in fragment.first_parts(missing, both):
                    dataset = self._over([part])
                    seen = dataset if own is None else dataset.filter(own)
                    tables.append(seen.scanner(**options.keywords()).head(missing))
                    missing -= tables[-1].num_rows
                    if not missing:
                        break
        found = pyarrow.concat_tables(tables[1:] or tables)
        return found

    def explain(
        self,
        filter: Predicate | None = None,
        columns: Sequence[str] | dict[str, pyarrow.compute.Expression] | None = None,
    ) -> ScanPlan:
        """Describe what a scan would read, and why no more is skipped. It reads metadata and zone maps, no values.

        Parameters
        ----------
        filter
            Expression, DNF tuples or SQL; joined with the filter of the dataset, if it has one.
        columns
            As for a scan: names, or expressions by name; all when None.

        Returns
        -------
        ScanPlan
            Counts of files, zones, rows and pages, and how many of them a scan reads; estimated requests and bytes.
            For each condition of the filter: how many zones it prunes, and why not more. Printable.

        Raises
        ------
        InvalidArgumentError
            The filter or a column does not fit the schema.

        Examples
        --------
        >>> plan = lance_arrow.dataset("flights.lance").explain("id > 1000")
        >>> plan.total("num_rows"), plan.total("rows_to_read")
        (100, 0)
        """
        from lance_arrow.arrow_dataset.scan_plan import ScanExplainer, plans_of  # noqa: PLC0415 - for plans alone

        wanted = self._expression(filter)
        own = self._own_filter
        both = all_of((own, wanted))
        # Plans pass over columns that a file lacks: whether the dataset has them is for the scanner to say.
        self.scanner(columns=columns, filter=wanted)
        with self._fitting():
            explainer = ScanExplainer(without_views(self.schema), columns, both)
        return explainer.plan(plans_of(self, explainer, both))

    def count_rows(
        self,
        filter: Predicate | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pyarrow.MemoryPool | None = None,
    ) -> int:
        """Count rows; of a table, what its manifest says where nothing is filtered, and no row is made for a filter.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.count_rows("id < 10")
        10
        """
        found, both = self._table, all_of((self._own_filter, self._expression(filter)))
        is_plain = use_threads and memory_pool is None and fragment_scan_options is None and not self._has_guarantees
        if found is not None and (both is None or (is_plain and (self._tables_own or self._has_schema_of(found)))):
            return found.count(both)
        direct = None if found is not None else direct_reads(self, ScannerOptions.of({**locals(), "columns": None}))
        count = None if direct is None else direct.count(both)
        if count is not None:
            return count
        options = ScannerOptions.of({**locals(), "columns": []})
        if self._views is not None and both is not None:
            return self._views.count(options)
        with self._asking_once():
            return int(self.scanner(**options.keywords()).count_rows())

    def describe(self, columns: Sequence[str] | None = None, *, read: bool = True) -> DatasetDescription:
        """Describe each column: type, rows, nulls, least and greatest value, bytes in the files.

        Zone maps tell most of it. Columns whose zone maps are not exact are read, all in one scan; blobs are not.

        Parameters
        ----------
        columns
            Dotted paths; all columns when None.
        read
            Whether values may be read. If not, what zone maps do not tell is None.

        Raises
        ------
        InvalidArgumentError
            There is no such column.

        Examples
        --------
        >>> found = lance_arrow.dataset("flights").describe()
        >>> found["id"].minimum.as_py(), found["id"].maximum.as_py(), found["id"].null_count
        (0, 99, 0)
        """
        from lance_arrow.arrow_dataset.description import described  # noqa: PLC0415 - for these alone

        return described(self, columns, read=read)

    @cached_property
    def _views(self) -> ViewedScans | None:
        """Filters rows with views; None where no column has some."""
        if not bridge.hold_views(self.schema):
            return None
        from lance_arrow.arrow_dataset.viewed_scans import ViewedScans  # noqa: PLC0415 - for views alone

        return ViewedScans(self)

    @cached_property
    def _groups(self) -> GroupedView | None:
        """Makes scans of groups of files; None where there are too few files for that."""
        table = self._table
        if (self._num_fragments if table is None else len(table.fragments)) < LEAST_GROUPED:
            return None
        from lance_arrow.arrow_dataset.grouped_view import GroupedView  # noqa: PLC0415 - for many files alone

        return GroupedView(self, table, is_off=self._has_guarantees)

    def __len__(self) -> int:
        return self.count_rows()

    def _schema_of(self, columns: Sequence[str] | None) -> pyarrow.Schema:
        return self.scanner(columns=columns if columns is None else list(columns)).projected_schema

    def _as_table(self, columns: Sequence[str] | None, filter: Predicate | None) -> pyarrow.Table:
        return self.to_table(columns, filter)

    def filter(self, expression: pyarrow.compute.Expression) -> LanceDataset:
        """Return the rows that satisfy a filter, as `pyarrow.dataset.Dataset.filter`.

        Examples
        --------
        >>> import pyarrow.compute
        >>> cheap = lance_arrow.dataset("flights").filter(pyarrow.compute.field("price") < 5)
        >>> cheap.count_rows(), cheap.count_rows("id > 5")
        (10, 4)
        """
        made: LanceDataset = super().filter(expression)
        # The files are the same: what is known of them need not be found again.
        made._table_reader = self._table
        made._has_guarantees, made._num_fragments = self._has_guarantees, self._num_fragments
        made._only_fragment, made._file_reads = self._only_fragment, self._file_reads
        if "_folder_reads" in self.__dict__:
            # Else sizes of far files might be asked for now.
            made._folder_reads = self._folder_reads
        made._groups = self._groups
        return made

    def replace_schema(self, schema: pyarrow.Schema) -> LanceDataset:
        """Return the same files seen with another schema.

        Examples
        --------
        >>> flights = lance_arrow.dataset("flights")
        >>> flights.replace_schema(pyarrow.schema({"id": "int64", "new": "string"})).head(1).to_pylist()
        [{'id': 0, 'new': None}]
        """
        return type(self).from_dataset(super().replace_schema(schema))
