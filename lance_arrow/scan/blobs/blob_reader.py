"""`BlobReader`: the values of the blobs of one file, read in a wave of their own.

descriptors ─► find_places (checked, nothing read) ─► one allocation, and one read per source, straight into it
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_destination import Allocator
from lance_arrow.arrays.column_tree import LeafNode, storage_type
from lance_arrow.errors import ResourceLimitError, located
from lance_arrow.io import Location, MeteredSource, fetch_into
from lance_arrow.scan.blobs.native_blobs import read_blobs
from lance_arrow.scan.row_reader import RowReader

if TYPE_CHECKING:
    from lance_arrow.scan.blobs.blob_places import BlobPlaces
    from lance_arrow.scan.blobs.blob_sources import BlobSources

_INT32_MAX = np.iinfo(np.int32).max


class BlobReader:
    """Blobs of one open file; shared by threads.

    Parameters
    ----------
    rows
        The file's rows, which come with descriptors.
    place
        Where the file is; None for a file in memory.
    """

    def __init__(self, rows: RowReader, place: Location | None) -> None:
        self._rows = rows
        self._file = rows.file
        self._settings = rows.runtime.settings
        self._place = place
        self._opened: BlobSources | None = None
        self._is_closed = False
        self._lock = Lock()

    def places(self, node: LeafNode, descriptors: pa.StructArray) -> BlobPlaces:
        """Find the bytes of every blob of one column; see `find_places` for the errors."""
        from lance_arrow.scan.blobs.blob_places import find_places  # noqa: PLC0415 - for blobs alone

        with located(path=self._file.name, column=node.path):
            return find_places(descriptors, self._sources, self._file.footer.data_stop)

    def read(self, leaf: LeafNode, places: BlobPlaces, pool: pa.MemoryPool | None) -> pa.Array:
        """Read the bytes of one column, of the type that callers see, into one allocation.

        Raises
        ------
        ResourceLimitError
            They are more than `Limits.max_batch_bytes`, or than the type can hold.
        TruncatedReadError, OSError
            As reading goes.
        """
        with located(path=self._file.name, column=leaf.path):
            return _read(places, leaf.shown.type, Allocator(self._settings.limits, pool))

    def read_few(self, leaf: LeafNode, descriptors: pa.StructArray, most_bytes: int) -> pa.Array | None:
        """Read blobs that callers see as bytes, at once; None where `pending` must find and read the same blobs.

        Parameters
        ----------
        leaf
            What the descriptors are of.
        most_bytes
            More than that are left to `pending`, which cuts them to pieces.
        """
        source = self._file.source
        if not isinstance(source, MeteredSource):
            return None
        return read_blobs(
            descriptors, leaf.shown.type, source, self._file.footer.data_stop, most_bytes, self._rows.runtime
        )

    def close(self) -> None:
        """Close sidecars and all other opened sources."""
        with self._lock:
            self._is_closed = True
            if self._opened is not None:
                self._opened.close()

    @property
    def _sources(self) -> BlobSources:
        with self._lock:
            if self._opened is None:
                from lance_arrow.scan.blobs.blob_sources import BlobSources  # noqa: PLC0415 - for blobs alone

                allowed = self._rows.options.allow_external_blobs
                self._opened = BlobSources(self._file.source, self._place, allow_external=allowed)
                if self._is_closed:
                    self._opened.close()
            return self._opened


def _read(places: BlobPlaces, type_: pa.DataType, allocator: Allocator) -> pa.Array:
    storage = storage_type(type_)
    width = 4 if pa.types.is_binary(storage) else 8
    # In floating point: sums of 64-bit sizes may wrap.
    about = float(places.sizes.sum(dtype=np.float64))
    if width == 4 and about > _INT32_MAX:
        raise ResourceLimitError(f"{about:.0f} bytes of blobs in a column of type {storage}")
    allocator.limits.check("max_batch_bytes", int(about))
    offset_buffer, offsets = allocator.allocate((len(places) + 1) * width)
    ends = offsets.view(f"i{width}")
    ends[0] = 0
    np.cumsum(places.sizes, out=ends[1:])
    buffer, out = allocator.allocate(int(ends[-1]))
    _fetch(places, ends[:-1].astype(np.int64, copy=False), out)
    validity, null_count = _validity(places.valid, allocator)
    array = pa.Array.from_buffers(storage, len(places), [validity, offset_buffer, buffer], null_count)
    return type_.wrap_array(array) if isinstance(type_, pa.BaseExtensionType) else array


def _fetch(places: BlobPlaces, out_starts: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    for number, source in enumerate(places.sources):
        rows = np.flatnonzero((places.source_of == number) & (places.sizes > 0))
        if len(rows):
            starts = places.starts[rows]
            fetch_into(source, starts, starts + places.sizes[rows], out, out_starts[rows])


def _validity(valid: NDArray[np.bool_] | None, allocator: Allocator) -> tuple[pa.Buffer | None, int]:
    if valid is None or valid.all():
        return None, 0
    buffer, bits = allocator.bitmap(len(valid))
    bits[:] = np.packbits(valid, bitorder="little")
    return buffer, int(len(valid) - np.count_nonzero(valid))
