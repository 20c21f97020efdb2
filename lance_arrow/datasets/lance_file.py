"""`LanceFile`: one Lance file, opened once, read by columns and rows; works without the native bridge."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.assembly.row_reader import ReadCounts, RowReader
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.datasets.predicates import Predicate, as_expression, columns_of
from lance_arrow.datasets.projection import Projection, column_paths
from lance_arrow.datasets.row_arguments import Rows, as_offsets, as_rows
from lance_arrow.datasets.windows import WINDOW_ROWS, Window, Windows, may_be_sliced
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import AnyFileSystem, MeteredSource, open_source
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.spi import ReadReport, RowRanges
from lance_arrow.structure.row_selection import take_order


class LanceFile:
    """One Lance data file.

    Parameters
    ----------
    source
        Local path, URL (chains too), path-like object, `pyarrow.Buffer`, bytes.
    filesystem
        fsspec or pyarrow filesystem that `source` is a path of.
    storage_options
        Options for the filesystem of a URL.
    runtime
        Plugins and limits; the default ones when None.

    Raises
    ------
    CorruptFileError
        Not a Lance file, or a damaged one.
    UnsupportedError
        A version that cannot be read.
    FileNotFoundError
        There is nothing at this path.
    """

    def __init__(
        self,
        source: Any,
        *,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self._runtime = runtime if runtime is not None else default_runtime()
        opened = open_source(source, filesystem=filesystem, storage_options=storage_options)
        with ExitStack() as on_failure:
            on_failure.callback(opened.close)
            self._source = MeteredSource(opened)
            self._file = LanceFileReader(self._source, limits=self._runtime.settings.limits)
            self._rows = RowReader(self._file, self._runtime)
            self._everything: Projection | None = None
            on_failure.pop_all()

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of all columns, with field and schema metadata."""
        return self._file.schema

    @property
    def num_rows(self) -> int:
        """Rows in the file."""
        return self._file.num_rows

    @property
    def version(self) -> str:
        """File version: ``2.1``, ``2.2`` or ``2.3``."""
        return str(self._file.version)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """Schema metadata."""
        return dict(self._file.schema.metadata or {})

    @property
    def name(self) -> str:
        """Printable place, free of credentials."""
        return self._source.name

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Predicate | None = None,
        rows: Rows | None = None,
    ) -> pa.Table:
        """Read all rows, or some ranges of them, or those of them that satisfy a filter.

        Parameters
        ----------
        columns
            Dotted paths in the wanted order, repeated ones as often as named; all columns when None. A path through
            structs gives the field it ends at (``a.b`` is named ``b``); one into a list or map keeps that with items
            of the chosen fields alone (``items.x``, or ``items.item.x``, is named ``items``).
        filter
            Expression or DNF tuples over the file's columns; its columns and the wanted ones are read, no others.
        rows
            A slice, ``(start, stop)``, or several of these in ascending order; only they are read. All rows when None.

        Raises
        ------
        InvalidArgumentError
            A column or row that does not exist; it is named.
        UnknownEncodingError, UnsupportedError
            A wanted column cannot be read; the message names it.
        CorruptFileError
            The file is damaged.
        """
        projection = Projection.of(self._rows.roots, self.schema, columns)
        selected = as_rows(rows, self.num_rows)
        if filter is not None:
            found = self._filtered(filter, columns, None, selected)
            return _table([projection.cut(batch) for batch in found], projection.schema)
        started = time.perf_counter()
        before = self._source.snapshot()
        parts = list(self._runtime.map(lambda window: self._read(projection, window), list(Windows(selected, None))))
        batches = [batch for part, _ in parts for batch in part]
        self._report(projection, [counts for _, counts in parts], selected.num_rows, before, started)
        return _table(batches, projection.schema)

    def take(self, indices: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by offset, in the caller's order, duplicates kept.

        Parameters
        ----------
        indices
            Row offsets: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            Dotted paths; all columns when None.

        Raises
        ------
        InvalidArgumentError
            An offset is negative or not below `num_rows`; the message names it.
        """
        started = time.perf_counter()
        before = self._source.snapshot()
        projection = self._projection(columns)
        order = take_order(as_offsets(indices), self.num_rows)
        read, counts = self._rows.take(projection.nodes, order.rows)
        batches = [projection.apply(batch) for batch in read]
        table = _table(batches, projection.schema)
        self._report(projection, [counts], table.num_rows, before, started)
        if order.positions is None:
            return table
        if not table.num_columns:
            # pyarrow's `take` forgets how many rows a table without columns has.
            nothing = pa.array([{}] * len(order.positions), pa.struct([]))
            return pa.Table.from_batches([pa.RecordBatch.from_struct_array(nothing)])
        return table.take(pa.array(order.positions))

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        *,
        filter: Predicate | None = None,
        rows: Rows | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in order, in batches; only some of the file is in memory at any time.

        Windows of rows are decoded ahead on the runtime's threads, within ``Settings.memory_budget_bytes``.

        Parameters
        ----------
        columns, filter, rows
            As for `read`.
        batch_size
            Rows of every batch but the last, wherever pages end. With a filter: the most rows of a batch. When None,
            batches hold at most 131,072 rows, and fewer where these would take more than a part of the budget.

        Raises
        ------
        InvalidArgumentError
            At once: a column, row or batch size that makes no sense.
        LanceError
            While iterating, as `read`.

        Notes
        -----
        A batch is cut short only where 32-bit offsets cannot count its bytes.
        """
        if batch_size is not None and (not isinstance(batch_size, (int, np.integer)) or batch_size < 1):
            raise InvalidArgumentError(
                f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size
            )
        batch_rows = None if batch_size is None else min(int(batch_size), max(self.num_rows, 1))
        projection = Projection.of(self._rows.roots, self.schema, columns)
        selected = as_rows(rows, self.num_rows)
        if filter is not None:
            return map(projection.cut, self._filtered(filter, columns, batch_rows, selected))
        return self._iterate(projection, batch_rows, selected)

    def count_rows(self, filter: Predicate | None = None) -> int:
        """Count rows, all of them or those that satisfy `filter` (an expression or DNF tuples)."""
        if filter is None:
            return self.num_rows
        return sum(batch.num_rows for batch in self._filtered(filter, [], None, as_rows(None, self.num_rows)))

    def close(self) -> None:
        """Release the file; reads after it fail."""
        self._source.close()

    def __enter__(self) -> LanceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        columns = len(self.schema.names)
        return f"LanceFile({self.name!r}, version={self.version}, rows={self.num_rows:,}, columns={columns})"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all rows as an Arrow C stream, a fresh one at each call."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _projection(self, columns: Sequence[str] | None) -> Projection:
        """Resolve columns; that of all columns, which most takes want, is kept."""
        if columns is not None:
            return Projection.of(self._rows.roots, self.schema, columns)
        if self._everything is None:
            self._everything = Projection.of(self._rows.roots, self.schema, None)
        return self._everything

    def _filtered(
        self, filter: Predicate, columns: Sequence[str] | None, batch_rows: int | None, rows: RowRanges
    ) -> Iterator[pa.RecordBatch]:
        """Read what the filter and `columns` (None: all) reach into, and keep the rows that satisfy it."""
        expression = as_expression(filter)
        paths = columns_of(expression, self.schema)
        if columns is not None:
            paths += tuple(column_paths(columns, self._rows.roots))
        if columns is None or not paths:
            projection = Projection.of(self._rows.roots, self.schema, None)
        else:
            projection = Projection.covering(self._rows.roots, self.schema, paths)
        return (batch.filter(expression) for batch in self._iterate(projection, batch_rows, rows))

    def _read(self, projection: Projection, window: Window) -> tuple[list[pa.RecordBatch], ReadCounts]:
        batches, counts = self._rows.read(projection.nodes, window.rows)
        metadata = projection.schema.metadata
        return [projection.apply(batch).replace_schema_metadata(metadata) for batch in batches], counts

    def _iterate(self, projection: Projection, batch_rows: int | None, rows: RowRanges) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        before = self._source.snapshot()
        settings = self._runtime.settings
        windows = Windows(
            rows,
            batch_rows,
            weights=self._rows.weights(projection.nodes),
            max_bytes=settings.window_bytes(settings.num_threads + 1),
            max_rows=WINDOW_ROWS if batch_rows is None or may_be_sliced(projection.nodes) else batch_rows,
        )

        def read(window: Window) -> tuple[Window, list[pa.RecordBatch], ReadCounts]:
            return window, *self._read(projection, window)

        counts: list[ReadCounts] = []
        num_rows = 0
        num_ahead = settings.windows_within_budget(windows.batch_bytes()) - 1
        for window, part, part_counts in self._runtime.ahead(read, windows, num_ahead=num_ahead):
            windows.learn(window, sum(batch.nbytes for batch in part))
            counts.append(part_counts)
            num_rows += window.rows.num_rows
            yield from _slices(part, batch_rows)
        self._report(projection, counts, num_rows, before, started)

    def _report(
        self, projection: Projection, counts: Sequence[ReadCounts], rows: int, before: Any, started: float
    ) -> None:
        if not self._runtime.is_watched:
            return
        stats = self._source.snapshot() - before
        self._runtime.finished(
            ReadReport(
                files=1,
                pages=sum(one.pages for one in counts),
                rows=rows,
                requests=stats.requests,
                requested_bytes=stats.bytes_wanted,
                fetched_bytes=stats.bytes_fetched,
                columns=tuple(leaf.path for node in projection.nodes for leaf in node.leaves()),
                seconds=time.perf_counter() - started,
            )
        )


def _slices(batches: list[pa.RecordBatch], size: int | None) -> Iterator[pa.RecordBatch]:
    """Cut batches; the list is emptied, so that nothing of it is held once its last slice is out."""
    while batches:
        batch = batches.pop(0)
        step = size or max(1, batch.num_rows)
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    if not len(schema):
        # A table of no columns has no row count in pyarrow unless a batch carries it.
        return pa.Table.from_batches(list(batches)) if batches else pa.table({})
    return pa.Table.from_batches(batches, schema)
