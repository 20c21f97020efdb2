"""`LanceFile`: one Lance file, opened once, read by columns and rows; works without the native bridge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_paths import project
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.choices import Blobs, Dictionaries, Verify
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import AnyFileSystem, VerifiedSource, locate, open_source
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.projection import Projection, column_paths
from lance_arrow.scan.row_arguments import Rows, as_offsets, as_rows
from lance_arrow.scan.row_taking import as_table, take_rows

if TYPE_CHECKING:
    from lance_arrow.files.blob_file import BlobFile
    from lance_arrow.scan.predicates import Predicate


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
    verify
        What is compared with the checksums of a file that has them: ``"touched"``, what describes the file, and every
        block when something of it is first read; ``"full"``, the whole file when it is opened; ``"off"``, nothing.

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
        dictionaries: Dictionaries = "keep",
        runtime: Runtime | None = None,
        blobs: Blobs = "bytes",
        allow_external_blobs: bool = False,
        verify: Verify = "touched",
    ) -> None:
        self._runtime = runtime if runtime is not None else default_runtime()
        options = ReadOptions(
            dictionaries=dictionaries, blobs=blobs, allow_external_blobs=allow_external_blobs, verify=verify
        )
        place = locate(source, filesystem=filesystem, storage_options=storage_options)
        opened = open_source(source if place is None else place)
        with ExitStack() as on_failure:
            on_failure.callback(opened.close)
            self._source = VerifiedSource(opened)
            self._file = LanceFileReader(self._source, limits=self._runtime.settings.limits, verify=verify)
            self._rows = row_reader(self._file, self._runtime, options)
            self._opened = OpenFile(self._source, self._rows, place)
            self._batches = FileBatches(self._opened)
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
        """File version: ``0.1``, ``2.0``, ``2.1``, ``2.2`` or ``2.3``."""
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
            Expression, DNF tuples, or SQL (``"a > 3 AND s IN ('x')"``, see `parse_sql`), over the file's columns. These
            are decoded where zone maps leave rows, the wanted ones where the filter does; no others are read.
        rows
            A slice, ``(start, stop)``, or several of these in ascending order; only they are read. All rows when None.

        Raises
        ------
        InvalidArgumentError
            A column or row that does not exist; it is named. A filter that does not fit the file, or fails on a value.
        UnknownEncodingError, UnsupportedError
            A wanted column cannot be read; the message names it.
        CorruptFileError
            The file is damaged.
        ResourceLimitError
            It is a thousand times smaller than its rows, which are above `Limits.max_expanded_bytes`.
        """
        projection = Projection.of(self._rows.roots, self.schema, columns)
        selected = as_rows(rows, self.num_rows)
        return as_table(self._batches.at_once(projection, filter, selected), projection.schema)

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
        return take_rows(self._opened, self._projection(columns), as_offsets(indices))

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
            A blob is not where the file says, or in a place that may not be read.
        """
        from lance_arrow.files.blob_file import open_blobs  # noqa: PLC0415 - for blobs alone

        projection = Projection.of(self._rows.roots, self.schema, [column])
        leaf = projection.outputs[0].node
        if not (isinstance(leaf, LeafNode) and leaf.is_blob and projection.stored.field(0).type == leaf.field.type):
            raise InvalidArgumentError(f"column {column!r} holds no blobs", path=self.name, detail=column)
        table = take_rows(self._opened, projection, as_offsets(indices), descriptors=True)
        return [
            blob
            for chunk in table.column(0).chunks
            for blob in open_blobs(self._opened.blobs.places(leaf, chunk), f"{self.name}[{column}]")
        ]

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
        A batch is cut short only where 32-bit offsets cannot count its bytes, and where its blobs have more bytes than
        ``Settings.blob_batch_bytes``, or than an eighth of the budget.
        """
        if batch_size is not None and (not isinstance(batch_size, (int, np.integer)) or batch_size < 1):
            raise InvalidArgumentError(
                f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size
            )
        batch_rows = None if batch_size is None else min(int(batch_size), max(self.num_rows, 1))
        projection = Projection.of(self._rows.roots, self.schema, columns)
        selected = as_rows(rows, self.num_rows)
        return self._batches.stream(projection, filter, batch_rows, selected)

    def count_rows(self, filter: Predicate | None = None) -> int:
        """Count rows, all of them or those that satisfy `filter`; zones that can tell by themselves are not read."""
        if filter is None:
            return self.num_rows
        return self._batches.count(filter, as_rows(None, self.num_rows))

    def zones(self, column: str) -> pa.RecordBatch | None:
        """Return the zone map of a column: bounds and counts of runs of rows, by which filtered reads skip rows.

        Parameters
        ----------
        column
            Dotted path of a leaf.

        Returns
        -------
        RecordBatch or None
            One row per zone: ``min``, ``max``, ``min_exact``, ``max_exact``, ``null_count``, ``nan_count``,
            ``row_count``, ``value_count``; None when the file has no map for the column. Nulls and NaN that nobody
            has counted (files of 0.1) are null.

        Raises
        ------
        InvalidArgumentError
            There is no such column, or it has columns below it.
        CorruptFileError
            The map is damaged.
        """
        (path,) = column_paths([column], self._rows.roots)
        (node,) = project(self._rows.roots, [path])
        leaves = list(node.leaves())
        if len(leaves) != 1:
            paths = ", ".join(leaf.path for leaf in leaves)
            raise InvalidArgumentError(f"column {column!r} has no zones itself, those below it may: {paths}")
        (found,) = self._opened.zones.get(leaves)
        return None if found is None else found.zones

    def close(self) -> None:
        """Release the file; reads after it fail, those of its blobs too."""
        self._opened.close()

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

    def _repr_html_(self) -> str:
        from lance_arrow.html_repr import as_html  # noqa: PLC0415 - for notebooks alone

        facts = {"file": self.name, "version": self.version, "rows": f"{self.num_rows:,}"}
        return as_html("LanceFile", facts, self.schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all rows as an Arrow C stream, a fresh one at each call."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _projection(self, columns: Sequence[str] | None) -> Projection:
        """Resolve columns; that of all columns, which most takes want, is kept."""
        if columns is None:
            return self._opened.everything
        return Projection.of(self._rows.roots, self.schema, columns)
