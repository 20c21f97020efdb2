"""Rows into data files: new fragments, each in one file, before any version names them."""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_arrow.container.fields import SchemaField
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.batch_inputs import Rows
from lance_arrow.files.copied_rows import CopiedRows
from lance_arrow.files.data_file_writer import DataFileWriter
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import Location
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.fragments import MAX_ROWS
from lance_arrow.proto.table_pb2 import DataFile, DataFragment
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE
from lance_arrow.table.written_files import LARGE_WRITES, WrittenFiles

# Files of whole rows: they have more parts than those of added columns.
_FILES_AT_ONCE = 4


def write_fragments(
    line: Location,
    schema: pa.Schema,
    fields: Sequence[SchemaField],
    rows: Iterator[Rows | CopiedRows],
    files: WrittenFiles,
    *,
    options: WriteOptions,
    max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
    prefix: str = "",
) -> list[DataFragment]:
    """Write rows.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    schema, fields
        Schema of the rows, and the same columns with the ids of the table.
    rows
        In order; pages of `CopiedRows` are copied where these fit the file.
    files
        Told of each file before it is made; the ends of files are sent by `WrittenFiles.begin`.
    options
        How to write.
    max_rows_per_file
        Rows of a fragment.
    prefix
        What names of files begin with, so that a job of many processes can tell its own.

    Returns
    -------
    list of DataFragment
        In row order, without ids; none when there are no rows.

    Raises
    ------
    LanceError
        As `LanceWriter`.
    OSError
        Errors of the filesystem, unchanged.
    """
    if not isinstance(max_rows_per_file, int) or isinstance(max_rows_per_file, bool) or max_rows_per_file < 1:
        raise InvalidArgumentError(
            f"max_rows_per_file is {max_rows_per_file!r}, expected an integer, at least 1", detail=max_rows_per_file
        )
    limit = min(max_rows_per_file, MAX_ROWS - 1)
    fragments: list[DataFragment] = []
    writer: DataFileWriter | None = None
    name = ""
    try:
        for piece in _pieces(rows, limit):
            if writer is None:
                name, writer = _begin(line, schema, fields, files, options, prefix)
            if isinstance(piece, CopiedRows):
                writer.copy(piece)
            else:
                writer.write(piece)
            if writer.num_rows == limit:
                fragments.append(_finish(writer, line, name, files))
                writer = None
        if writer is not None:
            fragments.append(_finish(writer, line, name, files))
            writer = None
    finally:
        if writer is not None:
            writer.abort()
    return fragments


def send_data_file(
    writer: DataFileWriter, line: Location, name: str, files: WrittenFiles, *, most: int = LARGE_WRITES
) -> DataFile:
    """End a data file, and send its end while other work goes on.

    Returns
    -------
    DataFile
        Which fields it holds, in which columns. Source: lance.table.DataFile.
    """
    writer.finish()
    files.begin(line, writer.close, most=most)
    form = writer.form
    columns = sorted(form.field_ids)
    major, minor = (int(part) for part in str(form.version).split("."))
    return DataFile(
        path=name,
        fields=[form.field_ids[column] for column in columns],
        column_indices=columns,
        file_major_version=major,
        file_minor_version=minor,
        file_size_bytes=writer.num_bytes,
    )


def _pieces(rows: Iterator[Rows | CopiedRows], limit: int) -> Iterator[Rows | CopiedRows]:
    """Cut rows where files end; pages are not cut."""
    room = limit
    for one in rows:
        if isinstance(one, CopiedRows) and one.num_rows <= room:
            yield one
            room = room - one.num_rows or limit
            continue
        for part in one.read(None) if isinstance(one, CopiedRows) else (one,):
            start = 0
            while start < part.num_rows:
                piece = part if part.num_rows <= room and not start else part.slice(start, room)
                yield piece
                start += piece.num_rows
                room = room - piece.num_rows or limit


def _begin(
    line: Location,
    schema: pa.Schema,
    fields: Sequence[SchemaField],
    files: WrittenFiles,
    options: WriteOptions,
    prefix: str,
) -> tuple[str, DataFileWriter]:
    folder = files.folder(line, DATA)
    name = f"{prefix}{uuid.uuid4()}.lance"
    place = line.at(posixpath.join(folder, name))
    files.add(place)
    return name, DataFileWriter(place, schema, fields, options)


def _finish(writer: DataFileWriter, line: Location, name: str, files: WrittenFiles) -> DataFragment:
    return DataFragment(
        physical_rows=writer.num_rows, files=[send_data_file(writer, line, name, files, most=_FILES_AT_ONCE)]
    )
