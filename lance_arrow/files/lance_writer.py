"""`LanceWriter`: write one Lance file batch by batch; `write_table`: write a file in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from lance_arrow.choices import FileVersionName, Preset
from lance_arrow.container.checksum_writer import ChecksumWriter
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.file_form import FileForm
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.errors import InvalidArgumentError, NotPicklableError
from lance_arrow.files.batch_inputs import schema_and_rows
from lance_arrow.files.row_writers import row_writer
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE, WriteOptions
from lance_arrow.files.writer_plan import writer_plan
from lance_arrow.io import AnyFileSystem, open_sink
from lance_arrow.runtime import Runtime, default_runtime


class OneFileWriter:
    """Writes one Lance data file with given `WriteOptions`; `LanceWriter` is its public form.

    Parameters
    ----------
    sink, schema, filesystem, storage_options, runtime
        As for `LanceWriter`.
    options
        How to write.
    """

    _wanted_fields: tuple[SchemaField, ...] = ()

    def __init__(
        self,
        sink: Any,
        schema: pa.Schema,
        options: WriteOptions,
        *,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        runtime = runtime if runtime is not None else default_runtime()
        plan = writer_plan(schema, options, runtime, self._fields_of, self._wanted_fields)
        self._stored, self._plain = plan.stored, plan.plain
        self._is_broken = self._is_finished = False
        # Until there is a sink, there is nothing to give up.
        self._is_closed = True
        self._sink = open_sink(sink, filesystem=filesystem, storage_options=storage_options)
        self._is_closed = False
        try:
            self._file = FileWriter(self._sink, plan.form, block_sums=ChecksumWriter() if options.checksums else None)
            self._rows = row_writer(options.version)(self._file, plan, runtime, options.page_bytes)
        except BaseException:
            self._sink.abort()
            raise

    def _fields_of(self, schema: pa.Schema) -> Sequence[SchemaField]:
        """Number the fields of the file's schema."""
        return fields_from_arrow(schema)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the file. Some types of the rows are stored as other types."""
        return self._stored.schema

    @property
    def form(self) -> FileForm:
        """Columns of the file."""
        return self._file.form

    @property
    def num_rows(self) -> int:
        """Rows written so far."""
        return self._rows.num_rows

    @property
    def num_bytes(self) -> int:
        """Bytes written to the sink so far; the size of the file once it is closed."""
        return self._sink.position

    def write(self, data: Any) -> None:
        """Write rows of the writer's schema: a batch, a table, or other rows that `write_table` accepts.

        Raises
        ------
        InvalidArgumentError
            Columns or types differ from the schema, or a null is in a field that allows none. No row of this batch was
            written, and the writer can go on.
        LanceError
            A value cannot be encoded. The writer cannot go on, and `close` raises an error.

        Examples
        --------
        >>> with lance_arrow.LanceWriter("new.lance", pyarrow.schema({"id": "int64"})) as writer:
        ...     writer.write(pyarrow.table({"id": [1, 2, 3]}))
        >>> writer.num_rows
        3
        """
        self._check_open()
        _, rows = schema_and_rows(data, self._stored.given)
        for one in rows:
            stored = self._stored.stored(one, self._plain)
            if stored.num_rows:
                self._is_broken = True
                self._rows.write(stored)
                self._is_broken = False

    def hold_at_most(self, num_bytes: int) -> int:
        """Write pages early if rows of more than `num_bytes` wait for theirs; return the bytes that still do.

        Raises
        ------
        LanceError
            A value cannot be encoded. The writer cannot go on, and `close` raises an error.

        Examples
        --------
        >>> rows = pyarrow.table({"id": [1, 2, 3]})
        >>> with lance_arrow.LanceWriter("new.lance", rows.schema) as writer:
        ...     writer.write(rows)
        ...     held_bytes = writer.hold_at_most(0)
        >>> held_bytes
        0
        """
        self._check_open()
        self._is_broken = True
        held_bytes = self._rows.hold_at_most(num_bytes)
        self._is_broken = False
        return held_bytes

    def close(self) -> None:
        """Finish the file and move it to its place. Closing twice is allowed.

        Raises
        ------
        InvalidArgumentError
            An earlier `write` failed halfway; no file appears.
        """
        if self._is_closed:
            return
        if not self._is_finished:
            self._finish()
        self._is_closed = True
        self._sink.close()

    def _finish(self) -> None:
        """Encode the end of the file; nothing can be written from then on."""
        if self._is_broken:
            self.abort()
            raise InvalidArgumentError("a write failed halfway: the file cannot be finished")
        self._is_finished = True
        try:
            self._rows.finish()
            self._file.finish(self._rows.num_rows)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Stop writing; no file appears."""
        if not self._is_closed:
            self._is_closed = True
            self._sink.abort()

    def _check_open(self) -> None:
        if self._is_closed or self._is_finished:
            raise InvalidArgumentError("the writer is closed")
        if self._is_broken:
            raise InvalidArgumentError("an earlier write failed halfway")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __reduce__(self) -> tuple[object, ...]:
        raise NotPicklableError(
            f"a {type(self).__name__} holds a file that this process is writing; pickle the path and the schema, and "
            "make the writer in the process that writes",
            path=self._sink.name,
        )

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "broken" if self._is_broken else "open"
        columns = len(self.schema.names)
        return (
            f"{type(self).__name__}({self._sink.name!r}, version={self.form.version}, rows={self.num_rows:,}, "
            f"columns={columns}, {state})"
        )

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self.abort()


class LanceWriter(OneFileWriter):
    """Writes one Lance data file. The file appears at its place when `close` succeeds, not before.

    Parameters
    ----------
    sink
        Local path, URL (chains too), path-like object, or a binary file open for writing.
    schema
        Schema of the rows. A type that the format cannot store raises an error here, before the first byte is written.
    file_version, preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
        As for `WriteOptions`.
    filesystem
        fsspec or pyarrow filesystem, or store of obstore, that `sink` is a path of.
    storage_options
        Options for the filesystem of a URL.
    runtime
        Plugins, limits and threads; the default ones when None.

    Raises
    ------
    UnsupportedError
        A type cannot be stored, or not in this file version; the column is named.
    InvalidArgumentError
        An option or a field name is not valid.

    Examples
    --------
    >>> table = pyarrow.table({"id": range(100)})
    >>> with lance_arrow.LanceWriter("batches.lance", table.schema) as writer:
    ...     for batch in table.to_batches(max_chunksize=50):
    ...         writer.write(batch)
    >>> writer.num_rows
    100
    """

    def __init__(
        self,
        sink: Any,
        schema: pa.Schema,
        *,
        file_version: FileVersionName = "2.2",
        preset: Preset = "default",
        rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
        checksums: bool = True,
        column_options: Mapping[str, Mapping[str, Any]] | None = None,
        allow_private_encodings: bool = False,
        page_bytes: int = DEFAULT_PAGE_BYTES,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        options = WriteOptions(
            file_version=file_version,
            preset=preset,
            rows_per_zone=rows_per_zone,
            checksums=checksums,
            column_options=column_options or {},
            allow_private_encodings=allow_private_encodings,
            page_bytes=page_bytes,
        )
        super().__init__(sink, schema, options, filesystem=filesystem, storage_options=storage_options, runtime=runtime)


def write_table(
    table: Any,
    sink: Any,
    *,
    file_version: FileVersionName = "2.2",
    preset: Preset = "default",
    rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
    checksums: bool = True,
    column_options: Mapping[str, Mapping[str, Any]] | None = None,
    allow_private_encodings: bool = False,
    page_bytes: int = DEFAULT_PAGE_BYTES,
    schema: pa.Schema | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    runtime: Runtime | None = None,
) -> None:
    """Write rows as one Lance file.

    Parameters
    ----------
    table
        A `pyarrow.Table`, `RecordBatch`, `RecordBatchReader`, `Dataset`, an object with ``__arrow_c_stream__`` (pandas,
        Polars, DuckDB), or an iterable of batches. Streams are written batch by batch, with bounded memory.
    sink, filesystem, storage_options, runtime
        As for `LanceWriter`.
    file_version, preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
        As for `WriteOptions`.
    schema
        Schema of an iterable of batches that may be empty.

    Raises
    ------
    LanceError
        As `LanceWriter`; no file appears.

    Examples
    --------
    >>> table = pyarrow.table({"id": [1, 2, 3]})
    >>> lance_arrow.write_table(table, "numbers.lance")
    >>> lance_arrow.read_table("numbers.lance").equals(table)
    True
    """
    found, rows = schema_and_rows(table, schema)
    options = WriteOptions(
        file_version=file_version,
        preset=preset,
        rows_per_zone=rows_per_zone,
        checksums=checksums,
        column_options=column_options or {},
        allow_private_encodings=allow_private_encodings,
        page_bytes=page_bytes,
    )
    with OneFileWriter(
        sink, found, options, filesystem=filesystem, storage_options=storage_options, runtime=runtime
    ) as writer:
        for one in rows:
            writer.write(one)
