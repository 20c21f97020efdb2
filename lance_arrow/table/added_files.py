"""`write_added_files`: columns beside those that are there: a file for each fragment, of as many rows as its others."""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.plain_numbers import as_numbers
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema
from lance_arrow.files.data_file_writer import DataFileWriter
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import Location, make_folder
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.proto.table_pb2 import DataFile
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.data_files import send_data_file
from lance_arrow.table.row_deletion import ADDRESS
from lance_arrow.table.written_files import WrittenFiles

_NULL_ROWS = 1 << 16


def write_added_files(
    line: Location,
    reader: TableReader,
    fields: Sequence[SchemaField],
    columns: Sequence[str],
    compute: Callable[[pa.RecordBatch], Sequence[pa.Array]],
    files: WrittenFiles,
    *,
    options: WriteOptions,
    batch_size: int | None = None,
) -> dict[int, DataFile]:
    """Compute columns of all live rows, in their order; deleted rows are null.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    reader
        Reads the version.
    fields
        The new fields, numbered; the file has them in this order.
    columns
        Columns of the table that are needed.
    compute
        Makes the arrays of the fields for rows with those columns.
    files
        Told of each file before it is made, and sends its end.
    options
        How to write.
    batch_size
        The most rows that are computed at once.

    Returns
    -------
    dict
        The new files, by fragment id.

    Raises
    ------
    LanceError, OSError
        As `compute`, `TableReader.batches` and `LanceWriter`.
    """
    wanted = [*columns, ADDRESS]
    made = _AddedFiles(line, reader, fields, files, options)
    try:
        for batch in reader.batches(reader.projection(wanted), None, batch_size, wants_all=True):
            if batch.num_rows:
                addresses = as_numbers(batch.column(batch.num_columns - 1))
                made.write(compute(batch.select(range(len(columns))) if columns else batch.select([])), addresses)
        made.finish()
    finally:
        made.abort()
    return made.files


class _AddedFiles:
    """The files of the fragments, one after another."""

    def __init__(
        self,
        line: Location,
        reader: TableReader,
        fields: Sequence[SchemaField],
        written: WrittenFiles,
        options: WriteOptions,
    ) -> None:
        self.files: dict[int, DataFile] = {}
        self._line, self._reader, self._fields = line, reader, fields
        self._written, self._options = written, options
        # Deleted rows have no values.
        self._schema = pa.schema([field.with_nullable(True) for field in arrow_schema(fields, {})])
        self._folder = posixpath.join(line.path, DATA)
        self._number = 0
        self._name = ""
        self._writer: DataFileWriter | None = None
        self._position = 0
        make_folder(line.given, self._folder)

    def write(self, arrays: Sequence[pa.Array], addresses: NDArray[np.uint64]) -> None:
        """Write values of the next live rows, which lie at these addresses."""
        owners = (addresses >> np.uint64(32)).astype(np.int64)
        offsets = (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)
        starts = np.flatnonzero(np.concatenate([np.ones(1, bool), owners[1:] != owners[:-1]])).tolist()
        for start, stop in zip(starts, [*starts[1:], len(owners)], strict=True):
            self._move_to(int(owners[start]))
            assert self._writer is not None
            part = offsets[start:stop]
            some = arrays if stop - start == len(owners) else [array.slice(start, stop - start) for array in arrays]
            for rows in _spread(some, part, self._position, self._schema):
                self._writer.write(rows)
            self._position = int(part[-1]) + 1

    def finish(self) -> None:
        """Finish the files of all fragments."""
        while self._number < len(self._reader.fragments):
            self._next()

    def abort(self) -> None:
        """Give up the file that is being written, if there is one."""
        if self._writer is not None:
            self._writer.abort()

    def _move_to(self, fragment_id: int) -> None:
        while self._reader.fragments[self._number].id != fragment_id:
            self._next()
        if self._writer is None:
            self._writer = self._begin()

    def _next(self) -> None:
        """Finish the file of a fragment; rows behind the last one with a value are null."""
        writer = self._writer = self._begin() if self._writer is None else self._writer
        num_rows = self._reader.fragment(self._number).num_physical
        for rows in _nulls(num_rows - self._position, self._schema):
            writer.write(rows)
        fragment_id = self._reader.fragments[self._number].id
        self.files[fragment_id] = send_data_file(writer, self._line, self._name, self._written)
        self._writer, self._position = None, 0
        self._number += 1

    def _begin(self) -> DataFileWriter:
        self._name = f"{uuid.uuid4()}.lance"
        place = self._line.at(posixpath.join(self._folder, self._name))
        self._written.add(place)
        return DataFileWriter(place, self._schema, self._fields, self._options)


def _spread(
    arrays: Sequence[pa.Array], offsets: NDArray[np.int64], start: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield rows from `start` on, nulls where there is no value."""
    yield from _nulls(int(offsets[0]) - start, schema)
    span = int(offsets[-1]) + 1 - int(offsets[0])
    if span != len(offsets):
        places: NDArray[np.signedinteger] = np.full(span, -1, np.int32 if span < 1 << 31 else np.int64)
        places[offsets - offsets[0]] = np.arange(len(offsets), dtype=places.dtype)
        indices = pa.array(places, mask=places < 0)
        # Copied first: what is taken of slices of nested lists is not to be relied on.
        arrays = [pa.concat_arrays([array]).take(indices) for array in arrays]
    yield pa.RecordBatch.from_arrays(list(arrays), schema=schema)


def _nulls(num_rows: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(0, num_rows, _NULL_ROWS):
        count = min(_NULL_ROWS, num_rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(count, field.type) for field in schema], schema=schema)
