"""`LanceFile`: one Lance file, opened once, read by columns and rows; needs no native bridge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_paths import project
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.read_options import ReadOptions, check_paths
from lance_arrow.choices import (
    Blobs,
    Dictionaries,
    Json,
    OnCorruption,
    Strings,
    Verify,
    check_choice,
    fixed_strings,
    names,
)
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import InvalidArgumentError, NotPicklableError
from lance_arrow.files.frame_reads import FrameReads
from lance_arrow.io import AnyFileSystem, Location, VerifiedSource, locate, open_source
from lance_arrow.runtime import Runtime, default_runtime, making_objects
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.projection import Projection, column_paths
from lance_arrow.scan.row_arguments import Rows, as_offsets, as_rows
from lance_arrow.scan.row_taking import as_table, take_noted, take_rows

if TYPE_CHECKING:
    from lance_arrow.files.blob_file import BlobFile
    from lance_arrow.files.salvaging.damaged_reads import DamagedRead
    from lance_arrow.files.salvaging.reports import LostRows
    from lance_arrow.scan.predicates import Predicate


class LanceFile(FrameReads):
    """One Lance data file: read columns and rows, count, take rows by number. A context manager that closes the file.

    Parameters
    ----------
    source
        Local path, URL (chains too), path-like object, `pyarrow.Buffer`, bytes.
    filesystem
        fsspec or pyarrow filesystem, or store of obstore, that `source` is a path of.
    storage_options
        Options for the filesystem of a URL.
    dictionaries
        ``"keep"``: return dictionary columns as dictionary arrays. ``"decode"``: return them as plain values, at any
        depth; `schema` has the type of the values.
    strings
        ``"plain"``: return strings as such. ``"dictionary"``: return columns of strings that are stored as dictionaries
        as dictionary arrays. They are found in the pages, and named in `read_dictionary`. ``"view"``: return strings
        and binary values, at any depth, as ``string_view`` and ``binary_view``: of long or repeated values no byte is
        copied after decoding.
    read_dictionary
        Columns of strings, or binary values, to return as dictionary arrays with 32-bit codes, as dotted paths.
        Values that lie plainly are encoded.
    runtime
        Plugins and limits; the default ones when None.
    blobs
        How blob columns are read: ``"bytes"``, their values, or ``"descriptors"``, the places of the values.
    json
        How columns of binary JSON are read: ``"text"``, as ``arrow.json``, or ``"bytes"``, as they are stored.
    allow_external_blobs
        Whether to read blobs from external addresses that the file names. False by default, because a file may name any
        address.
    verify
        When bytes are compared with checksums, if the file has them. ``"touched"``: metadata when the file is opened,
        each block when it is first read. ``"full"``: the whole file when it is opened. ``"off"``: never.
    memory_map
        Whether to map a local file into memory, which saves a copy of what is read. For files that do not change: one
        that becomes shorter meanwhile ends the process.

    Raises
    ------
    CorruptFileError
        `source` is not a Lance file, or is damaged.
    UnsupportedError
        The file has a version that cannot be read.
    FileNotFoundError
        There is no file at this path.

    Examples
    --------
    >>> with lance_arrow.LanceFile("flights.lance") as file:
    ...     table = file.take([3, 1], columns=["id"])
    >>> table["id"].to_pylist()
    [3, 1]
    """

    def __init__(
        self,
        source: Any,
        *,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        dictionaries: Dictionaries = "keep",
        strings: Strings = "plain",
        read_dictionary: Sequence[str] = (),
        runtime: Runtime | None = None,
        blobs: Blobs = "bytes",
        json: Json = "text",
        allow_external_blobs: bool = False,
        verify: Verify = "touched",
        memory_map: bool = False,
    ) -> None:
        self._runtime = runtime if runtime is not None else default_runtime()
        options = ReadOptions(
            dictionaries=dictionaries,
            blobs=blobs,
            json=json,
            allow_external_blobs=allow_external_blobs,
            verify=verify,
            read_dictionary=read_dictionary,
            strings=fixed_strings(strings),
            memory_map=memory_map,
        )
        place = locate(source, filesystem=filesystem, storage_options=storage_options)
        self._reopening = place, options, runtime is None
        settings = None if runtime is None else runtime.settings
        opened = open_source(source if place is None else place, settings=settings, memory_map=memory_map)
        with ExitStack() as on_failure:
            on_failure.callback(opened.close)
            is_far = opened.coalescing.requests_in_flight
            self._source = VerifiedSource(self._runtime.keeping(opened) if is_far else opened)
            self._file = LanceFileReader(self._source, limits=self._runtime.settings.limits, verify=verify)
            self._rows = row_reader(self._file, self._runtime, options)
            if strings == "dictionary":
                options = self._with_dictionaries(options)
                self._reopening = place, options, runtime is None
            if options.read_dictionary:
                check_paths(self._rows.schema, options.read_dictionary)
            self._opened = OpenFile(self._source, self._rows, place)
            self._batches = FileBatches(self._opened)
            self._lost: tuple[LostRows, ...] = ()
            on_failure.pop_all()

    def _with_dictionaries(self, options: ReadOptions) -> ReadOptions:
        """Read the columns that lie as dictionaries as such."""
        from lance_arrow.scan.stored_dictionaries import stored_dictionaries  # noqa: PLC0415 - where asked for alone

        found = stored_dictionaries(self._rows)
        options = replace(options, read_dictionary=(*options.read_dictionary, *found))
        self._rows.release()
        self._rows = row_reader(self._file, self._runtime, options)
        return options

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of all columns, with field and schema metadata."""
        return self._rows.schema

    @property
    def num_rows(self) -> int:
        """Number of rows in the file."""
        return self._file.num_rows

    @property
    def version(self) -> str:
        """File version: ``0.1``, ``2.0``, ``2.1``, ``2.2`` or ``2.3``."""
        return str(self._file.version)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """Schema metadata."""
        return dict(self._file.facts.metadata or {})

    @property
    def name(self) -> str:
        """Path or URL of the file, without credentials."""
        return self._source.name

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        filter: Predicate | None = None,
        rows: Rows | None = None,
        on_corruption: OnCorruption = "raise",
    ) -> pa.Table:
        """Read all rows, ranges of rows, or the rows that satisfy a filter.

        Parameters
        ----------
        columns
            Dotted paths in the wanted order; repeated ones are returned repeatedly; all columns when None. A path
            through structs returns the field at its end: ``a.b`` is named ``b``. A path into a list or map returns the
            list with only the chosen fields of its items: ``items.x`` is named ``items``.
        filter
            Expression, DNF tuples, or SQL (``"a > 3 AND s IN ('x')"``, see `parse_sql`), over the file's columns. Zone
            maps exclude rows first, then the columns of the filter are decoded, then the wanted columns of the rows
            that are left.
        rows
            A slice, ``(start, stop)``, or several of these in ascending order. Other rows are not read. All rows when
            None.
        on_corruption
            What is done with values that cannot be read. ``"raise"``: the error is raised. ``"null"``: they are null.
            Rows are left out where their column allows no nulls, and where nothing of them is left. ``"skip"``: their
            rows are left out. `lost` says which these are. All is read twice, rows between ranges too. Not with a
            filter.

        Raises
        ------
        InvalidArgumentError
            A column or row does not exist; the message names it. Or the filter does not fit the file, or fails on a
            value.
        UnknownEncodingError, UnsupportedError
            A wanted column cannot be read; the message names it.
        CorruptFileError
            The file is damaged.
        ResourceLimitError
            The rows take more than `Limits.max_expanded_bytes`, and a thousand times the size of the file.

        Examples
        --------
        >>> file = lance_arrow.LanceFile("flights.lance")
        >>> file.read(["id"], filter="price > 49").num_rows
        1
        """
        with making_objects(self._rows.file.footer.num_columns):
            if on_corruption != "raise":
                return self._damaged_read(columns, filter, rows, on_corruption).read()
            projection = self._projection(columns)
            selected = as_rows(rows, self.num_rows)
            return as_table(self._batches.at_once(projection, filter, selected), projection.schema)

    @property
    def lost(self) -> tuple[LostRows, ...]:
        """What the last read with `on_corruption` could not read: columns, rows, pages, byte ranges and causes."""
        return self._lost

    def _damaged_read(
        self, columns: Sequence[str] | None, filter: Predicate | None, rows: Rows | None, on_corruption: OnCorruption
    ) -> DamagedRead:
        from lance_arrow.files.salvaging.damaged_reads import DamagedRead  # noqa: PLC0415 - for damaged files alone

        check_choice("on_corruption", names(OnCorruption), on_corruption)
        if filter is not None:
            raise InvalidArgumentError("a filter of damaged columns has no answer: filter what on_corruption returns")
        read = DamagedRead(self._opened, columns, as_rows(rows, self.num_rows), on_corruption)
        self._lost = tuple(read.lost)
        return read

    def take(self, indices: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by number. The result has the order and the duplicates of `indices`.

        Parameters
        ----------
        indices
            Row numbers, from 0: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            Dotted paths; all columns when None.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below `num_rows`; the message has the number.

        Examples
        --------
        >>> file = lance_arrow.LanceFile("flights.lance")
        >>> file.take([3, 1], ["id"])["id"].to_pylist()
        [3, 1]
        """
        projection = self._projection(columns)
        table = take_noted(self._opened, projection, indices)
        return take_rows(self._opened, projection, as_offsets(indices)) if table is None else table

    def take_blobs(self, column: str, indices: Any) -> list[BlobFile | None]:
        """Open the blobs of rows as file objects, by row number. No value is read yet.

        Parameters
        ----------
        column
            Dotted path of a blob column.
        indices
            As for `take`.

        Returns
        -------
        list
            A `BlobFile` for each row, None for nulls. They read from this file, and fail once it is closed.

        Raises
        ------
        InvalidArgumentError
            The column holds no blobs, or a row does not exist.
        CorruptFileError, MissingFileError, UnsupportedError
            A blob is missing or damaged, or at an address that may not be read.

        Examples
        --------
        >>> image = pyarrow.field("image", pyarrow.large_binary(), metadata={"lance-encoding:blob": "true"})
        >>> rows = pyarrow.table([[b"first", b"second"]], schema=pyarrow.schema([image]))
        >>> lance_arrow.write_table(rows, "images.lance")
        >>> (blob,) = lance_arrow.LanceFile("images.lance").take_blobs("image", [1])
        >>> blob.read()
        b'second'
        """
        from lance_arrow.files.blob_file import open_blobs  # noqa: PLC0415 - for blobs alone

        projection = Projection.of(self._rows.roots, self._rows.metadata, [column])
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
        on_corruption: OnCorruption = "raise",
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in order, in batches, with bounded memory.

        Rows are decoded ahead on the runtime's threads, within ``Settings.memory_budget_bytes``.

        Parameters
        ----------
        columns, filter, rows, on_corruption
            As for `read`. Unless it is ``"raise"``, batches may be shorter than `batch_size`.
        batch_size
            Rows of every batch except the last. With a filter, the most rows of a batch. When None, batches hold at
            most 131,072 rows, and fewer if these would take more than a part of the memory budget.

        Raises
        ------
        InvalidArgumentError
            A column or row does not exist, or the batch size is not a positive integer. It is raised by the call.
        LanceError
            While iterating, as `read`.

        Notes
        -----
        A batch is shorter only in two cases: 32-bit offsets cannot count its bytes, or its blobs have too many bytes.
        The limit for blobs is ``Settings.blob_batch_bytes``, and an eighth of the memory budget.

        Examples
        --------
        >>> file = lance_arrow.LanceFile("flights.lance")
        >>> [batch.num_rows for batch in file.to_batches(batch_size=60)]
        [60, 40]
        """
        if batch_size is not None and (not isinstance(batch_size, (int, np.integer)) or batch_size < 1):
            raise InvalidArgumentError(
                f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size
            )
        if on_corruption != "raise":
            read = self._damaged_read(columns, filter, rows, on_corruption)
            return (batch for table in read.tables() for batch in table.to_batches(max_chunksize=batch_size))
        batch_rows = None if batch_size is None else min(int(batch_size), max(self.num_rows, 1))
        projection = self._projection(columns)
        selected = as_rows(rows, self.num_rows)
        return self._batches.stream(projection, filter, batch_rows, selected)

    def count_rows(self, filter: Predicate | None = None) -> int:
        """Count all rows, or those that satisfy `filter`. Zones whose bounds have the answer are not decoded.

        Examples
        --------
        >>> file = lance_arrow.LanceFile("flights.lance")
        >>> file.count_rows("id < 10")
        10
        """
        if filter is None:
            return self.num_rows
        return self._batches.count(filter)

    def zones(self, column: str) -> pa.RecordBatch | None:
        """Return the zone map of a column: bounds and counts of runs of rows, with which filtered reads skip rows.

        Parameters
        ----------
        column
            Dotted path of a leaf: a column without fields below it.

        Returns
        -------
        RecordBatch or None
            One row per zone: ``min``, ``max``, ``min_exact``, ``max_exact``, ``null_count``, ``nan_count``,
            ``row_count``, ``value_count``. None when the file has no map for the column. Files of 0.1 do not count
            nulls and NaN; these counts are null.

        Raises
        ------
        InvalidArgumentError
            The file has no such column, or the column has others below it.
        CorruptFileError
            The map is damaged.

        Examples
        --------
        >>> file = lance_arrow.LanceFile("flights.lance")
        >>> file.zones("id")["max"].to_pylist()
        [99]
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
        """Close the file. Later reads of it and of its blobs fail."""
        self._opened.close()

    def __enter__(self) -> LanceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self.num_rows

    def __reduce__(self) -> tuple[object, ...]:
        place, options, by_default = self._reopening
        if place is None or not by_default:
            raise NotPicklableError(
                "a LanceFile of bytes in memory, or with a runtime of its own, cannot be pickled; pickle the bytes or "
                "the path, and open the file where it is read",
                path=self.name,
            )
        return _reopened, (place, options)

    def __repr__(self) -> str:
        columns = len(self.schema.names)
        return f"LanceFile({self.name!r}, version={self.version}, rows={self.num_rows:,}, columns={columns})"

    def _repr_html_(self) -> str:
        from lance_arrow.html_repr import as_html, file_bars  # noqa: PLC0415 - for notebooks alone

        facts = {"file": self.name, "version": self.version, "rows": f"{self.num_rows:,}"}
        return as_html("LanceFile", facts, self.schema, file_bars(self._file))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all rows as an Arrow C stream, a fresh one at each call."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _schema_of(self, columns: Sequence[str] | None) -> pa.Schema:
        return self._projection(columns).schema

    def _as_table(self, columns: Sequence[str] | None, filter: Predicate | None) -> pa.Table:
        return self.read(columns, filter=filter)

    def _projection(self, columns: Sequence[str] | None) -> Projection:
        """Resolve columns; that of all columns, which most takes want, is kept."""
        if columns is None:
            return self._opened.everything
        return Projection.of(self._rows.roots, self._rows.metadata, columns)


def _reopened(place: Location, options: ReadOptions) -> LanceFile:
    """Open the file that was pickled."""
    return LanceFile(
        place,
        dictionaries=options.dictionaries,
        blobs=options.blobs,
        json=options.json,
        allow_external_blobs=options.allow_external_blobs,
        verify=options.verify,
        read_dictionary=options.read_dictionary,
        strings=options.strings,
        memory_map=options.memory_map,
    )
