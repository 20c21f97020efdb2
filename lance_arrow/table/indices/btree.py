"""`btree_remake`: a BTREE index whose entries name rows by address, with the addresses that the rows have now.

Source: table-format 12.3. `page_data.lance` holds values in order, nulls first, and an address for each; pages are runs
of `batch_size` rows. `page_lookup.lance` holds the first and the last value of each page, and how many are null.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lance_arrow.files.lance_file import LanceFile
from lance_arrow.io import Location
from lance_arrow.proto.table_pb2 import IndexMetadata
from lance_arrow.table.indices.moves import RowMoves
from lance_arrow.table.indices.remake import WRITABLE_VERSIONS, IndexTarget, Remake

_DATA, _LOOKUP = "page_data.lance", "page_lookup.lance"
_BATCH_SIZE, _IS_PARTITIONED = b"batch_size", b"range_partitioned"
_MAX_PAGE_ROWS = 1 << 20
_NEWEST_KNOWN = 1


def btree_remake(index: IndexMetadata, folder: Location) -> Remake | None:
    """Return what makes a BTREE index again; None where its files, or its version, are not understood.

    Parameters
    ----------
    index
        The index, one that holds addresses.
    folder
        Where its files lie.

    Raises
    ------
    LanceError, FileNotFoundError
        A file of the index is damaged, or not there.
    """
    # Releases before 4.0 do not list files.
    files = {file.path for file in index.files} or {_DATA, _LOOKUP}
    if index.index_version > _NEWEST_KNOWN or files != {_DATA, _LOOKUP}:
        return None
    with _opened(folder, _DATA) as data, _opened(folder, _LOOKUP) as lookup:
        size = lookup.metadata.get(_BATCH_SIZE, b"")
        if not size.isdigit() or not 0 < int(size) <= _MAX_PAGE_ROWS:
            return None
        if lookup.metadata.get(_IS_PARTITIONED, b"false") != b"false" or data.version not in WRITABLE_VERSIONS:
            return None
        names = data.schema.names
        if names != ["values", "ids"] or data.schema.field("ids").type != pa.uint64():
            return None
        if not lookup.schema.equals(_lookup_schema(data.schema.field("values").type)):
            return None
        return _BTreeRemake(folder, data.schema, lookup.schema, int(size), data.version)


class _BTreeRemake(Remake):
    def __init__(self, folder: Location, data: pa.Schema, lookup: pa.Schema, page_rows: int, file_version: str) -> None:
        self._folder = folder
        self._data, self._lookup = data, lookup
        self._page_rows = page_rows
        self._file_version = file_version

    def write(self, moves: RowMoves, covered: frozenset[int], target: IndexTarget) -> None:
        """See `Remake.write`."""
        bounds: list[pa.RecordBatch] = []

        def pages() -> Iterator[pa.RecordBatch]:
            for number, page in enumerate(self._pages(moves)):
                column = page.column(0)
                counts = pa.array([column.null_count], pa.uint32()), pa.array([number], pa.uint32())
                ends = column.slice(0, 1), column.slice(len(column) - 1)
                bounds.append(pa.RecordBatch.from_arrays([*ends, *counts], schema=self._lookup))
                yield page

        target.write(_DATA, self._data, pages(), self._file_version)
        target.write(_LOOKUP, self._lookup, bounds, self._file_version)

    def _pages(self, moves: RowMoves) -> Iterator[pa.RecordBatch]:
        """Yield entries of rows that are live, as many as a page has."""
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in self._entries(moves):
            start = 0
            while start < batch.num_rows:
                piece = batch.slice(start, self._page_rows - count)
                held.append(piece)
                start += piece.num_rows
                count += piece.num_rows
                if count == self._page_rows:
                    yield _together(held)
                    held, count = [], 0
        if count:
            yield _together(held)

    def _entries(self, moves: RowMoves) -> Iterator[pa.RecordBatch]:
        with _opened(self._folder, _DATA) as file:
            for batch in file.to_batches(batch_size=self._page_rows):
                old = np.asarray(batch.column(1).to_numpy(zero_copy_only=False), np.uint64)
                new, is_kept = moves.addresses(old)
                moved = pa.RecordBatch.from_arrays([batch.column(0), pa.array(new)], schema=self._data)
                yield moved if is_kept.all() else moved.filter(pa.array(is_kept))


def _opened(folder: Location, name: str) -> LanceFile:
    return LanceFile(folder.at(posixpath.join(folder.path, name)))


def _together(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(held).combine_chunks().to_batches()
    return batch


def _lookup_schema(values: pa.DataType) -> pa.Schema:
    counts = [pa.field(name, pa.uint32(), nullable=False) for name in ("null_count", "page_idx")]
    return pa.schema([("min", values), ("max", values), *counts])
