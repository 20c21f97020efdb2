"""`zones_remake`: a ZONEMAP index without the zones of fragments that are gone, and with those of the new ones.

Source: table-format 12.1.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.zone_indices import ZONE_FILE
from lance_arrow.proto.table_pb2 import IndexMetadata, ZoneMapIndexDetails
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.field_paths import field_paths
from lance_arrow.table.indices.moves import RowMoves
from lance_arrow.table.indices.remake import IndexTarget, Remake
from lance_arrow.table.method_arguments import INDEX_ROWS_PER_ZONE
from lance_arrow.table.zone_index import (
    ZONE_FILE_VERSION,
    bounds_type,
    zone_batch,
    zone_row,
    zone_schema,
)

_ROWS_PER_ZONE = b"rows_per_zone"
_MAX_ROWS_PER_ZONE = 1 << 31


def zones_remake(index: IndexMetadata, folder: Location, base: ManifestMeta, reader: TableReader) -> Remake | None:
    """Return what makes a ZONEMAP index again; None where its file, or its version, is not understood.

    Parameters
    ----------
    index
        The index.
    folder
        Where its file lies.
    base, reader
        The version, and what reads it.

    Raises
    ------
    LanceError, FileNotFoundError
        The file of the index is damaged, or not there.
    """
    paths = [path for path, field in field_paths(base.fields) if list(index.fields) == [field.id]]
    if index.index_version != 0 or not paths:
        return None
    try:
        bounds = bounds_type(reader, paths[0])
    except InvalidArgumentError:
        return None
    with LanceFile(_place(folder)) as file:
        given = file.metadata.get(_ROWS_PER_ZONE, str(INDEX_ROWS_PER_ZONE).encode())
        if not given.isdigit() or not 0 < int(given) <= _MAX_ROWS_PER_ZONE:
            return None
        schema = zone_schema(bounds, int(given))
        if file.schema.names != schema.names or file.schema.types != schema.types:
            return None
    return _ZonesRemake(folder, paths[0], schema, int(given))


class _ZonesRemake(Remake):
    def __init__(self, folder: Location, path: str, schema: pa.Schema, rows_per_zone: int) -> None:
        self._folder = folder
        self._path = path
        self._schema = schema
        self._rows_per_zone = rows_per_zone

    def write(self, moves: RowMoves, covered: frozenset[int], target: IndexTarget) -> None:
        """See `Remake.write`."""
        target.write(ZONE_FILE, self._schema, self._zones(moves, covered), ZONE_FILE_VERSION)

    def details(self, old: bytes) -> bytes:
        """See `Remake.details`: which rows are null is not told, as the index's file of the reference may."""
        return ZoneMapIndexDetails(rows_per_zone=self._rows_per_zone).SerializeToString()

    def _zones(self, moves: RowMoves, covered: frozenset[int]) -> Iterator[pa.RecordBatch]:
        gone = pa.array(sorted(moves.fragments), pa.uint64())
        with LanceFile(_place(self._folder)) as file:
            old = file.read()
        kept = old.filter(pc.invert(pc.is_in(old["fragment_id"], value_set=gone)))
        yield from (pa.RecordBatch.from_arrays(one.columns, schema=self._schema) for one in kept.to_batches())
        for group in moves.groups_within(covered):
            values = _Values(moves.values(group, self._path))
            for number, num_rows in moves.new_fragments(group):
                rows = []
                for start in range(0, num_rows, self._rows_per_zone):
                    length = min(self._rows_per_zone, num_rows - start)
                    rows.append(zone_row(values.take(length), number, start, length))
                if rows:
                    yield zone_batch(rows, self._schema)


class _Values:
    """Values that come in pieces, handed out as many at a time as a zone has."""

    def __init__(self, pieces: Iterator[pa.Array]) -> None:
        self._pieces = pieces
        self._left: pa.Array | None = None

    def take(self, count: int) -> pa.Array:
        held: list[pa.Array] = []
        while count:
            piece = self._left if self._left is not None else next(self._pieces, None)
            if piece is None:
                raise InternalError("rows of a column are missing that are to be indexed")
            held.append(piece.slice(0, count))
            count -= len(held[-1])
            self._left = piece.slice(len(held[-1])) if len(held[-1]) < len(piece) else None
        return pa.concat_arrays(held)


def _place(folder: Location) -> Location:
    return folder.at(posixpath.join(folder.path, ZONE_FILE))
