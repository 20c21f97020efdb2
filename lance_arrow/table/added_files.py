"""`write_added_files`: columns beside those that are there: a file for each fragment, of as many rows as its others."""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.container.fields import SchemaField
from lance_arrow.container.schema import arrow_schema
from lance_arrow.files.data_file_writer import DataFileWriter
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import Location, make_folder
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.proto.table_pb2 import DataFile
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.data_files import data_file
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
        Told of each file before it is made.
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
    schema = arrow_schema(fields, {})
    # Deleted rows have no values.
    loose = pa.schema([field.with_nullable(True) for field in schema])
    wanted = [*columns, ADDRESS]
    made: dict[int, DataFile] = {}
    folder = posixpath.join(line.path, DATA)
    for number, fragment in enumerate(reader.fragments):
        single = reader.part([number])
        name = f"{uuid.uuid4()}.lance"
        place = Location(line.filesystem, posixpath.join(folder, name))
        make_folder(line.filesystem, folder)
        files.add(place)
        writer = DataFileWriter(place, loose, fields, options)
        try:
            position = 0
            for batch in single.batches(single.projection(wanted), wanted, None, batch_size):
                offsets = _offsets(batch)
                arrays = compute(batch.select(range(len(columns))) if columns else batch.select([]))
                for rows in _spread(arrays, offsets, position, loose):
                    writer.write(rows)
                position = int(offsets[-1]) + 1
            for rows in _nulls(single.fragment(0).num_physical - position, loose):
                writer.write(rows)
            writer.close()
        except BaseException:
            writer.abort()
            raise
        made[fragment.id] = data_file(name, fields, options.version, writer.num_bytes)
    return made


def _offsets(batch: pa.RecordBatch) -> NDArray[np.int64]:
    addresses = batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False)
    return (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _spread(
    arrays: Sequence[pa.Array], offsets: NDArray[np.int64], start: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield rows from `start` on, nulls where there is no value."""
    yield from _nulls(int(offsets[0]) - start, schema)
    span = int(offsets[-1]) + 1 - int(offsets[0])
    if span != len(offsets):
        places = np.full(span, -1, np.int64)
        places[offsets - offsets[0]] = np.arange(len(offsets))
        indices = pa.array(places, mask=places < 0)
        # Copied first: what is taken of slices of nested lists is not to be relied on.
        arrays = [pa.concat_arrays([array]).take(indices) for array in arrays]
    yield pa.RecordBatch.from_arrays(list(arrays), schema=schema)


def _nulls(num_rows: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(0, num_rows, _NULL_ROWS):
        count = min(_NULL_ROWS, num_rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(count, field.type) for field in schema], schema=schema)
