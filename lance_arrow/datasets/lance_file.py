"""`LanceFile`: one Lance file, opened once, read by columns and rows; works without the native bridge."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.assembly.blobs import BlobReader, PendingBatch
from lance_arrow.assembly.column_tree import LeafNode, parse_path
from lance_arrow.assembly.read_options import ReadOptions
from lance_arrow.assembly.row_reader import ReadCounts, RowReader
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.datasets.blob_file import BlobFile, open_blobs
from lance_arrow.datasets.expansion import check_expansion
from lance_arrow.datasets.predicates import Predicate, as_expression, columns_of
from lance_arrow.datasets.projection import Projection
from lance_arrow.datasets.windows import WINDOW_ROWS, even_windows, windows
from lance_arrow.errors import InvalidArgumentError, located
from lance_arrow.io import AnyFileSystem, MeteredSource, locate, open_source
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
    dictionaries
        ``"keep"``: dictionary columns are dictionary arrays, as the file's schema has them; ``"decode"``: plain values,
        at any depth, and `schema` says so.
    runtime
        Plugins and limits; the default ones when None.
    blobs
        How blob columns are shown: ``"bytes"``, their values, or ``"descriptors"``, where these lie.
    allow_external_blobs
        Whether addresses of blobs that the file names are followed; refused by default, since a file may name any.

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
        dictionaries: str = "keep",
        runtime: Runtime | None = None,
        blobs: str = "bytes",
        allow_external_blobs: bool = False,
    ) -> None:
        self._runtime = runtime if runtime is not None else default_runtime()
        options = ReadOptions(dictionaries=dictionaries, blobs=blobs, allow_external_blobs=allow_external_blobs)
        place = locate(source, filesystem=filesystem, storage_options=storage_options)
        opened = open_source(source if place is None else place)
        with ExitStack() as on_failure:
            on_failure.callback(opened.close)
            self._source = MeteredSource(opened)
            self._file = LanceFileReader(self._source, limits=self._runtime.settings.limits)
            self._rows = RowReader(self._file, self._runtime, options)
            self._blobs = BlobReader(self._rows, place)
            self._everything: Projection | None = None
            on_failure.pop_all()

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of all columns, with field and schema metadata."""
        return self._rows.schema

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

    def read(self, columns: Sequence[str] | None = None, *, filter: Predicate | None = None) -> pa.Table:
        """Read all rows, or those that satisfy a filter.

        Parameters
        ----------
        columns
            Dotted paths in the wanted order; all columns when None.
        filter
            Expression or DNF tuples over the file's columns; its columns and the wanted ones are read, no others.

        Raises
        ------
        UnknownEncodingError, UnsupportedError
            A wanted column cannot be read; the message names it.
        CorruptFileError
            The file is damaged.
        ResourceLimitError
            It is a thousand times smaller than its rows, which are above `Limits.max_expanded_bytes`.
        """
        projection = Projection.of(self._rows.roots, self.schema, columns)
        if filter is not None:
            filled, kept = self._filtered(filter, columns)
            cut = (projection.cut(batch, filled=filled) for batch in kept)
            return _table(list(cut if filled else self._with_blobs(projection, cut)), projection.schema)
        started = time.perf_counter()
        before = self._source.snapshot()
        self._check_expansion(projection)
        spans = even_windows(
            self.num_rows, self._rows.divisible_bytes(projection.nodes), self._runtime.settings.num_threads
        )
        if len(spans) > 1:
            self._rows.keep_indices(projection.nodes)
        parts = list(self._runtime.map(lambda span: self._window(projection, span), spans))
        batches = list(self._with_blobs(projection, (batch for part, _ in parts for batch in part)))
        self._report(projection, [counts for _, counts in parts], self.num_rows, before, started)
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
        table, counts = self._take_stored(projection, as_offsets(indices))
        if projection.has_blobs:
            table = _table(list(self._with_blobs(projection, table.to_batches())), projection.schema)
        self._report(projection, [counts], table.num_rows, before, started)
        return table

    def take_blobs(self, column: str, indices: Any) -> list[BlobFile | None]:
        """Open blobs of rows by offset as files, in the caller's order, duplicates kept; no value is read yet.

        Parameters
        ----------
        column
            Dotted path of a blob column.
        indices
            As for `take`.

        Returns
        -------
        list
            None for nulls. The files read from this one: they fail once it is closed.

        Raises
        ------
        InvalidArgumentError
            The column holds no blobs, or there is no such row.
        CorruptFileError, MissingFileError, UnsupportedError
            A blob is not where the file says, or where nobody may look.
        """
        projection = Projection.of(self._rows.roots, self.schema, [column])
        leaf = projection.outputs[0].node
        if not (isinstance(leaf, LeafNode) and leaf.is_blob and projection.stored.field(0).type == leaf.field.type):
            raise InvalidArgumentError(f"column {column!r} holds no blobs", path=self.name, detail=column)
        table, _ = self._take_stored(projection, as_offsets(indices))
        return [
            blob
            for chunk in table.column(0).chunks
            for blob in open_blobs(self._blobs.places(leaf, chunk), f"{self.name}[{column}]")
        ]

    def _take_stored(self, projection: Projection, offsets: np.ndarray) -> tuple[pa.Table, ReadCounts]:
        """Read rows in the caller's order, with descriptors in place of blobs."""
        order = take_order(offsets, self.num_rows)
        read, counts = self._rows.take(projection.nodes, order.rows)
        batches = [projection.apply(batch) for batch in read]
        table = _table(batches, projection.stored)
        if order.positions is None:
            return table, counts
        if not table.num_columns:
            # pyarrow's `take` forgets how many rows a table without columns has.
            nothing = pa.array([{}] * len(order.positions), pa.struct([]))
            return pa.Table.from_batches([pa.RecordBatch.from_struct_array(nothing)]), counts
        return table.take(pa.array(order.positions)), counts

    def to_batches(
        self, columns: Sequence[str] | None = None, batch_size: int = WINDOW_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows in order, at most `batch_size` per batch.

        A few windows of rows are decoded ahead on the runtime's threads; memory stays bounded by them.
        """
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise InvalidArgumentError(
                f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size
            )
        projection = Projection.of(self._rows.roots, self.schema, columns)
        return self._iterate(projection, min(int(batch_size), max(self.num_rows, 1)))

    def count_rows(self, filter: Predicate | None = None) -> int:
        """Count rows, all of them or those that satisfy `filter` (an expression or DNF tuples)."""
        if filter is None:
            return self.num_rows
        return sum(batch.num_rows for batch in self._filtered(filter, [])[1])

    def close(self) -> None:
        """Release the file; reads after it fail, those of its blobs too."""
        self._blobs.close()
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

    def _filtered(self, filter: Predicate, columns: Sequence[str] | None) -> tuple[bool, Iterator[pa.RecordBatch]]:
        """Read what the filter and `columns` (None: all) reach into, and keep the rows that satisfy it.

        Blobs are left as descriptors, unless the filter looks at some: the first item tells.
        """
        expression = as_expression(filter)
        paths = columns_of(expression, self.schema)
        filled = Projection.covering(self._rows.roots, self.schema, paths).has_blobs
        if columns is not None:
            names = set(self.schema.names)
            paths += tuple(parse_path(column, names) for column in columns)
        if columns is None or not paths:
            projection = Projection.of(self._rows.roots, self.schema, None)
        else:
            projection = Projection.covering(self._rows.roots, self.schema, paths)
        self._check_expansion(projection)
        batches = self._iterate(projection, WINDOW_ROWS, with_blobs=filled)
        return filled, (batch.filter(expression) for batch in batches)

    def _with_blobs(self, projection: Projection, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the bytes of blobs in place of their descriptors, in pieces of few bytes, a few of them ahead."""
        if not projection.has_blobs:
            return iter(batches)
        nodes = [output.node for output in projection.outputs]
        pieces = (piece for batch in batches for piece in self._blobs.pending(nodes, batch).pieces())
        first = list(islice(pieces, 2))
        if len(first) < 2:
            # Handing one piece to a thread would cost more than a small take.
            return (piece.filled() for piece in first)
        return iter(self._runtime.ahead(PendingBatch.filled, chain(first, pieces)))

    def _check_expansion(self, projection: Projection) -> None:
        with located(path=self.name):
            check_expansion(projection.nodes, self.num_rows, self._source.size(), self._runtime.settings.limits)

    def _window(self, projection: Projection, span: tuple[int, int]) -> tuple[list[pa.RecordBatch], ReadCounts]:
        batches, counts = self._rows.read(projection.nodes, RowRanges.one(*span))
        return [projection.apply(batch) for batch in batches], counts

    def _iterate(self, projection: Projection, batch_size: int, *, with_blobs: bool = True) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        before = self._source.snapshot()
        counts: list[ReadCounts] = []
        rows = 0
        stored = self._stored_batches(projection, batch_size, counts)
        for batch in self._with_blobs(projection, stored) if with_blobs else stored:
            rows += batch.num_rows
            yield batch
        self._report(projection, counts, rows, before, started)

    def _stored_batches(
        self, projection: Projection, batch_size: int, counts: list[ReadCounts]
    ) -> Iterator[pa.RecordBatch]:
        for part, part_counts in self._runtime.ahead(
            lambda span: self._window(projection, span), windows(self.num_rows, batch_size, projection.nodes)
        ):
            counts.append(part_counts)
            for batch in part:
                for start in range(0, batch.num_rows, batch_size):
                    yield batch.slice(start, batch_size)

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


def as_offsets(indices: Any) -> np.ndarray:
    """Turn row offsets of any usual kind into ``(n,) int64``.

    Raises
    ------
    InvalidArgumentError
        Not one-dimensional integers, a null among them, or a value beyond 63 bits.
    """
    if isinstance(indices, (pa.Array, pa.ChunkedArray)):
        if indices.null_count or not (pa.types.is_integer(indices.type) or len(indices) == 0):
            raise InvalidArgumentError(f"row offsets are {indices.type} with {indices.null_count} nulls")
        indices = indices.to_numpy(zero_copy_only=False) if isinstance(indices, pa.Array) else indices.to_numpy()
    array = np.asarray(indices)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidArgumentError(f"row offsets are {array.dtype} of shape {array.shape}, expected (n,) integers")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise InvalidArgumentError(f"row {array.max()} does not exist", detail=int(array.max()))
    return array.astype(np.int64, copy=False)


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    if not len(schema):
        # A table of no columns has no row count in pyarrow unless a batch carries it.
        return pa.Table.from_batches(list(batches)) if batches else pa.table({})
    return pa.Table.from_batches(batches, schema)
