"""Deleted rows of a fragment: either form of file to sorted row offsets, and what is left of a selection.

Offsets count the rows of the fragment's files, whatever row ids say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyroaring
from numpy.typing import NDArray

from lance_arrow.errors import CorruptManifestError, MissingFileError, located
from lance_arrow.io import Location, open_source
from lance_arrow.manifests.fragments import DeletionFileMeta
from lance_arrow.settings import Limits
from lance_arrow.spi import RowRanges

_COLUMN_TYPES = (pa.uint32(), pa.int32())


@dataclass(frozen=True, slots=True, eq=False)
class DeletionVector:
    """Deleted rows.

    Parameters
    ----------
    offsets
        ``(n,) int64``, strictly ascending.
    num_rows
        Rows of the fragment, deleted ones included.
    """

    offsets: NDArray[np.int64]
    num_rows: int

    @property
    def num_live(self) -> int:
        """Rows that are left."""
        return self.num_rows - len(self.offsets)

    def live(self) -> RowRanges:
        """Return the rows that are left."""
        starts = np.concatenate([np.zeros(1, np.int64), self.offsets + 1])
        stops = np.append(self.offsets, self.num_rows)
        kept = stops > starts
        return RowRanges(starts[kept], stops[kept])

    def offsets_of(self, live_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the n-th rows that are left lie, for ``(k,) int64`` numbers n, each below `num_live`."""
        # Before the i-th deleted row lie `offsets[i] - i` rows that are left.
        before = self.offsets - np.arange(len(self.offsets))
        return live_rows + np.searchsorted(before, live_rows, side="right")


def read_deletions(
    place: Location, meta: DeletionFileMeta, num_rows: int, *, manifest_path: str, limits: Limits | None = None
) -> DeletionVector:
    """Read and check one deletion file.

    Parameters
    ----------
    place
        The file.
    meta
        What the manifest tells of it.
    num_rows
        Rows of the fragment, deleted ones included.
    manifest_path
        For error messages.
    limits
        `max_metadata_bytes` bounds the file; the default ones when None.

    Raises
    ------
    MissingFileError
        The manifest names it, but it is not there.
    CorruptManifestError
        It cannot be decoded, an offset lies beyond the fragment, or its rows are not as many as the manifest says.
    """
    with located(path=place.name):
        data = _content(place, manifest_path, limits if limits is not None else Limits())
        offsets = _bitmap(data) if meta.is_bitmap else _arrow(data)
        if len(offsets) and (offsets[0] < 0 or offsets[-1] >= num_rows):
            wrong = int(offsets[0] if offsets[0] < 0 else offsets[-1])
            raise CorruptManifestError(f"row {wrong} is deleted, the fragment has {num_rows}", detail=wrong)
        if meta.num_deleted_rows is not None and len(offsets) != meta.num_deleted_rows:
            raise CorruptManifestError(
                f"{len(offsets)} rows are deleted, the manifest {manifest_path!r} says {meta.num_deleted_rows}"
            )
        return DeletionVector(offsets, num_rows)


def _content(place: Location, manifest_path: str, limits: Limits) -> bytes:
    try:
        source = open_source(place)
    except FileNotFoundError as error:
        raise MissingFileError(
            f"the manifest {manifest_path!r} names the deletion file {place.name!r}, which is not there",
            path=place.name,
        ) from error
    try:
        size = limits.check("max_metadata_bytes", source.size())
        (data,) = source.read(np.array([0]), np.array([size]))
        return data.tobytes()
    finally:
        source.close()


def _bitmap(data: bytes) -> NDArray[np.int64]:
    try:
        bitmap = pyroaring.BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        raise CorruptManifestError(f"not a roaring bitmap: {error}") from error
    return np.array(bitmap.to_array(), np.int64)


def _arrow(data: bytes) -> NDArray[np.int64]:
    try:
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            schema = reader.schema
            if len(schema) != 1 or schema.field(0).type not in _COLUMN_TYPES:
                raise CorruptManifestError(f"deleted rows are columns {schema.to_string()!r}, expected one of uint32")
            table = reader.read_all()
            table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise CorruptManifestError(f"not an Arrow file of row offsets: {error}") from error
    column = table.column(0)
    if column.null_count:
        raise CorruptManifestError(f"{column.null_count} of the deleted rows are null")
    # Their order is that of a hash table.
    offsets = np.sort(column.to_numpy().astype(np.int64))
    return offsets[np.append(True, np.diff(offsets) > 0)[: len(offsets)]]
