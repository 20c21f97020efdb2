"""`export`: a Lance file or table as a file of Parquet, CSV or Arrow IPC, all of it or nothing."""

from __future__ import annotations

import io
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from lance_arrow.conversion.converting import Progress
from lance_arrow.conversion.formats import ExportFormat
from lance_arrow.conversion.readers import BATCH_ROWS
from lance_arrow.conversion.reports import ExportReport
from lance_arrow.conversion.sources import PathLike
from lance_arrow.conversion.targets import check_export_name, check_file_target, check_not_a_source
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.io import AnyFileSystem, ByteSink, Location, open_sink
from lance_arrow.manifests.versions import is_table, table_location
from lance_arrow.scan.predicates import Predicate
from lance_arrow.table.lance_table import LanceTable

Compression = Literal["snappy", "zstd", "lz4", "gzip", "brotli", "none"]
_ENDINGS: dict[ExportFormat, frozenset[str]] = {
    "parquet": frozenset({".parquet", ".pq"}),
    "csv": frozenset({".csv"}),
    "ipc": frozenset({".arrow", ".feather", ".ipc"}),
}
_COMPRESSIONS: dict[ExportFormat, tuple[str, ...]] = {
    "parquet": ("snappy", "zstd", "lz4", "gzip", "brotli", "none"),
    "csv": ("none",),
    "ipc": ("zstd", "lz4", "none"),
}
_DEFAULT_ROW_GROUP = 1 << 20
_DEFAULT_GROUP_BYTES = 128 << 20
_MISFITS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)


def export(
    source: PathLike,
    target: PathLike,
    *,
    format: ExportFormat | None = None,
    columns: Sequence[str] | None = None,
    filter: Predicate | None = None,
    version: int | None = None,
    tag: str | None = None,
    compression: Compression | None = None,
    row_group_size: int | None = None,
    overwrite: bool = False,
    filesystem: AnyFileSystem | None = None,
    target_filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> ExportReport:
    """Write the rows of a Lance file or table as one file of another format.

    All or nothing: an export that fails or is killed leaves no file, and does not change what was there.

    Parameters
    ----------
    source
        A Lance file, or the folder of a table: local path or URL.
    target
        The new file. Its ending selects the format: ``.parquet``, ``.csv``, ``.arrow``, ``.feather``, ``.ipc``.
    format
        ``"parquet"``, ``"csv"`` or ``"ipc"``; when None, selected by the name of the target.
    columns, filter
        As for `LanceFile.read`: dotted paths, and an expression, tuples or SQL.
    version, tag
        Version of a table, by number or tag; the newest one when both are None.
    compression
        Compression of Parquet (``"snappy"`` when None) or Arrow IPC (``"none"`` when None).
    row_group_size
        Rows of a row group of Parquet (1,048,576 when None), or of a batch of Arrow IPC (65,536 when None). The
        defaults are lower if the rows would take more than 128 MiB of memory.
    overwrite
        Whether to replace an existing file. If False, an existing file is an error.
    filesystem, target_filesystem, storage_options
        As for `convert`.
    on_progress
        Called after every batch, with rows.

    Returns
    -------
    ExportReport
        Rows and bytes written.

    Raises
    ------
    FileNotFoundError
        There is no source.
    TargetExistsError
        The target exists, and `overwrite` is False.
    InvalidArgumentError
        The name of the target has no known format, or contradicts `format`. A column does not exist. An option does not
        apply to the format.
    UnsupportedError
        The other format cannot hold a column: nothing was written.

    Examples
    --------
    >>> report = lance_arrow.export("flights", "cheap.parquet", filter="price < 5")
    >>> report.num_rows, report.format
    (10, 'parquet')
    """
    begun = time.perf_counter()
    place = table_location(target, target_filesystem, None if target_filesystem is not None else storage_options)
    chosen = _format(place, format)
    options = _options(chosen, compression, row_group_size)
    root = table_location(source, filesystem, None if filesystem is not None else storage_options)
    check_not_a_source(place, [root])
    check_file_target(place, overwrite=overwrite)
    with _Rows(root, columns, filter, version, tag, plain_json=chosen == "csv") as rows:
        _check_holds(rows.schema, chosen)
        with open_sink(place) as sink:
            _write(rows, sink, chosen, options, on_progress)
            check_file_target(place, overwrite=overwrite)
        return ExportReport(
            source=root.name,
            source_kind="file" if rows.version is None else "table",
            table_version=rows.version,
            target=place.name,
            format=chosen,
            num_rows=rows.num_rows,
            num_bytes=sink.position,
            columns=rows.schema.names,
            seconds=time.perf_counter() - begun,
        )


class _Options:
    """Options of the file."""

    def __init__(self, compression: str, group_rows: int, group_bytes: int | None = None) -> None:
        self.compression = compression
        self.group_rows = group_rows
        self.group_bytes = group_bytes


def _format(target: Location, format: ExportFormat | None) -> ExportFormat:
    ending = posixpath.splitext(target.path)[1].lower()
    chosen = format or next((name for name, endings in _ENDINGS.items() if ending in endings), None)
    if chosen is None:
        known = ", ".join(sorted(one for endings in _ENDINGS.values() for one in endings))
        raise InvalidArgumentError(
            f"the name does not tell the format: end it in {known}, or give --format (format=)", path=target.name
        )
    if chosen not in _ENDINGS:
        raise InvalidArgumentError(f"format is {chosen!r}, expected parquet, csv or ipc", detail=chosen)
    check_export_name(target, _ENDINGS[chosen], chosen)
    return chosen


def _options(format: ExportFormat, compression: str | None, row_group_size: int | None) -> _Options:
    default = "snappy" if format == "parquet" else "none"
    chosen = compression or default
    if chosen not in _COMPRESSIONS[format]:
        known = ", ".join(_COMPRESSIONS[format])
        raise InvalidArgumentError(f"compression is {chosen!r}, {format} has {known}", detail=compression)
    if row_group_size is None:
        return _Options(chosen, _DEFAULT_ROW_GROUP if format == "parquet" else BATCH_ROWS, _DEFAULT_GROUP_BYTES)
    if format == "csv":
        raise InvalidArgumentError("CSV has no row groups", detail=row_group_size)
    if not isinstance(row_group_size, int) or isinstance(row_group_size, bool) or row_group_size < 1:
        raise InvalidArgumentError(
            f"row_group_size is {row_group_size!r}, expected an integer, at least 1", detail=row_group_size
        )
    return _Options(chosen, row_group_size)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with strings for JSON: CSV holds text alone."""
    return pa.schema(
        [one.with_type(one.type.storage_type) if isinstance(one.type, pa.JsonType) else one for one in schema],
        schema.metadata,
    )


class _Rows:
    """The rows that are wanted, of a file or a table."""

    def __init__(
        self,
        root: Location,
        columns: Sequence[str] | None,
        filter: Predicate | None,
        version: int | None,
        tag: str | None,
        *,
        plain_json: bool,
    ) -> None:
        self.num_rows = 0
        self.version: int | None = None
        self._file: LanceFile | None = None
        if is_table(root):
            table = LanceTable.open(root.path, version=version, tag=tag, filesystem=root.filesystem)
            self.version = table.version
            self.total = table.count_rows() if filter is None else None
            batches = table.to_batches(columns, filter, BATCH_ROWS)
            empty = table.take([], columns)
        else:
            if version is not None or tag is not None:
                raise InvalidArgumentError("only tables have versions and tags", path=root.name)
            self._file = LanceFile(root)
            self.total = self._file.num_rows if filter is None else None
            batches = self._file.to_batches(columns, BATCH_ROWS, filter=filter)
            empty = self._file.take([], columns)
        self._batches = batches
        self._shown = empty.schema
        self.schema = _plain_schema(empty.schema) if plain_json else empty.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            self.num_rows += batch.num_rows
            yield (
                batch
                if self.schema is self._shown
                else pa.RecordBatch.from_arrays(
                    [
                        getattr(column, "storage", column) if to.type != column.type else column
                        for column, to in zip(batch.columns, self.schema, strict=True)
                    ],
                    schema=self.schema,
                )
            )

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class _SinkFile(io.RawIOBase):
    """A sink as a file that pyarrow writes to."""

    def __init__(self, sink: ByteSink) -> None:
        super().__init__()
        self._sink = sink

    def writable(self) -> bool:
        """See `io.IOBase`."""
        return True

    def write(self, data: Any) -> int:
        """See `io.RawIOBase`."""
        view = memoryview(data)
        self._sink.write(view)
        return view.nbytes

    def tell(self) -> int:
        """See `io.IOBase`."""
        return self._sink.position


def _open_writer(target: Any, schema: pa.Schema, format: ExportFormat, options: _Options) -> Any:
    if format == "parquet":
        return pq.ParquetWriter(target, schema, compression=options.compression)
    if format == "csv":
        return csv.CSVWriter(target, schema)
    compression = None if options.compression == "none" else options.compression
    return pa.ipc.new_file(target, schema, options=pa.ipc.IpcWriteOptions(compression=compression))


def _check_holds(schema: pa.Schema, format: ExportFormat) -> None:
    """Try every column in memory, without rows, so that a type which is refused is named before there is a file."""
    for field in schema:
        one = pa.schema([field.with_nullable(True)])
        try:
            with _open_writer(io.BytesIO(), one, format, _Options("none", 1)) as writer:
                writer.write_table(pa.Table.from_arrays([pa.nulls(1, field.type)], schema=one))
        except _MISFITS as error:
            raise UnsupportedError(
                f"{format} cannot hold {field.type}: {error}; leave the column out with --columns (columns=)",
                column=field.name,
            ) from error


def _write(rows: _Rows, sink: ByteSink, format: ExportFormat, options: _Options, on_progress: Progress | None) -> None:
    waiting: list[pa.RecordBatch] = []
    num_waiting = num_bytes = 0
    with pa.PythonFile(_SinkFile(sink), "w") as file, _open_writer(file, rows.schema, format, options) as writer:
        for batch in rows:
            start = 0
            while start < batch.num_rows:
                piece = batch.slice(start, options.group_rows - num_waiting)
                waiting.append(piece)
                num_waiting += piece.num_rows
                num_bytes += piece.nbytes
                start += piece.num_rows
                is_large = options.group_bytes is not None and num_bytes >= options.group_bytes
                if num_waiting == options.group_rows or is_large:
                    _flush(writer, waiting, rows.schema, options)
                    waiting, num_waiting, num_bytes = [], 0, 0
            if on_progress is not None:
                on_progress(rows.num_rows, rows.total)
        if waiting:
            _flush(writer, waiting, rows.schema, options)


def _flush(writer: Any, waiting: list[pa.RecordBatch], schema: pa.Schema, options: _Options) -> None:
    table = pa.Table.from_batches(waiting, schema)
    if isinstance(writer, pq.ParquetWriter):
        writer.write_table(table, row_group_size=options.group_rows)
    elif isinstance(writer, csv.CSVWriter):
        writer.write_table(table)
    else:
        writer.write_table(table.combine_chunks(), max_chunksize=options.group_rows)
