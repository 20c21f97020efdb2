"""Deletion files as the reference writes them: few rows as an Arrow file, many as a roaring bitmap."""

from __future__ import annotations

import posixpath
import secrets
from functools import partial

import numpy as np
import pyarrow as pa
import pyroaring

from lance_arrow.arrays.plain_numbers import as_array
from lance_arrow.io import Location, write_file
from lance_arrow.manifests import seals
from lance_arrow.manifests.base_paths import DELETIONS
from lance_arrow.manifests.seals import arrow_footer, seal
from lance_arrow.proto.table_pb2 import DeletionFile
from lance_arrow.table.written_files import WrittenFiles

# Source: table-format 8, where writers change from one form to the other.
BITMAP_ROWS = 5000
# Without options, Arrow looks for them in the environment, each time.
_OPTIONS = pa.ipc.IpcWriteOptions()
_SCHEMA = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])


def write_deletions(
    line: Location, fragment_id: int, read_version: int, offsets: pyroaring.BitMap, files: WrittenFiles
) -> tuple[DeletionFile, Location]:
    """Write which rows of a fragment are deleted.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    fragment_id, read_version
        What the name is made of.
    offsets
        All deleted rows, old and new.
    files
        Writes the file.

    Returns
    -------
    DeletionFile
        Its entry in a manifest.
    Location
        Where it is.
    """
    is_bitmap = len(offsets) >= BITMAP_ROWS
    number = secrets.randbits(64)
    folder = files.folder(line, DELETIONS)
    name = f"{fragment_id}-{read_version}-{number}.{'bin' if is_bitmap else 'arrow'}"
    place = line.at(posixpath.join(folder, name))
    files.add(place)
    data = (_bitmap if is_bitmap else _arrow)(offsets, name.encode())
    files.begin(line, partial(write_file, place, data))
    entry = DeletionFile(
        file_type=DeletionFile.BITMAP if is_bitmap else DeletionFile.ARROW_ARRAY,
        read_version=read_version,
        id=number,
        num_deleted_rows=len(offsets),
    )
    return entry, place


def _arrow(offsets: pyroaring.BitMap, name: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, _SCHEMA, options=_OPTIONS) as writer:
        writer.write_batch(pa.record_batch([as_array(np.asarray(offsets.to_array(), np.uint32))], schema=_SCHEMA))
    data = sink.getvalue().to_pybytes()
    at = arrow_footer(data)
    assert at is not None
    return b"".join((data[:at], seal(seals.DELETIONS, name, data[:at], data[at:]), data[at:]))


def _bitmap(offsets: pyroaring.BitMap, name: bytes) -> bytes:
    offsets.run_optimize()
    data = bytes(offsets.serialize())
    return data + seal(seals.DELETIONS, name, data)
