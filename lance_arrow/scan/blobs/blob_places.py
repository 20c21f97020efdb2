"""Turn descriptors into places: source, offset and size of each blob of an array; no blob is read or allocated here.

Every place is checked against its source, so that readers can trust it. Source: BlobLayout, and the descriptor struct
of blob columns. Kind 0 is in the data file, 1 and 2 are in sidecars, 3 is at an address, 4 is kept by the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.blob_fields import PLACE_TYPE
from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.io import Positions, RangeSource
from lance_arrow.late_arrow import pc
from lance_arrow.scan.blobs.blob_sources import BlobSources

INLINE, PACKED, DEDICATED, EXTERNAL, MANAGED = range(5)


@dataclass(frozen=True, slots=True, eq=False)
class BlobPlaces:
    """Places of ``n`` blobs.

    Parameters
    ----------
    valid
        ``(n,) bool``, None when no blob is null.
    starts, sizes
        ``(n,) int64`` bytes from the start of the source, and bytes; 0 for nulls.
    sources
        Where the bytes are.
    source_of
        ``(n,) int64``: index into `sources`; -1 for blobs of no bytes.
    """

    valid: NDArray[np.bool_] | None
    starts: Positions
    sizes: Positions
    sources: tuple[RangeSource, ...]
    source_of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


def find_places(descriptors: pa.StructArray, sources: BlobSources, data_stop: int) -> BlobPlaces:
    """Find the bytes of every blob.

    Parameters
    ----------
    descriptors
        Of `PLACE_TYPE` or `DESCRIPTOR_TYPE`.
    sources
        The data file and what lies beside it; sidecars and addresses are opened here.
    data_stop
        Where the values of the data file end.

    Raises
    ------
    CorruptFileError
        A place is not within its source, or there is no such kind of blob.
    MissingFileError, UnsupportedError
        As `BlobSources`; also for blobs that only a table can find.
    """
    valid = None
    if descriptors.null_count:
        valid = descriptors.is_valid().to_numpy(zero_copy_only=False)
    found = _Finder(sources, data_stop, _numbers(descriptors, "position", valid), _numbers(descriptors, "size", valid))
    if descriptors.type == PLACE_TYPE:
        found.inline(np.flatnonzero(found.sizes))
    else:
        found.of_kinds(descriptors, _numbers(descriptors, "kind", valid))
    return BlobPlaces(valid, found.starts, found.lengths, tuple(found.opened), found.source_of)


def _numbers(descriptors: pa.StructArray, name: str, valid: NDArray[np.bool_] | None) -> NDArray[np.unsignedinteger]:
    """One field as ``(n,)`` unsigned; 0 for nulls, whatever lies below them."""
    values: NDArray[np.unsignedinteger] = descriptors.field(name).to_numpy(zero_copy_only=False)
    return values if valid is None else np.where(valid, values, values.dtype.type(0))


class _Finder:
    """The places while they are found, source by source."""

    def __init__(
        self,
        sources: BlobSources,
        data_stop: int,
        positions: NDArray[np.unsignedinteger],
        sizes: NDArray[np.unsignedinteger],
    ) -> None:
        self._sources = sources
        self._data_stop = data_stop
        self._positions = positions
        self.sizes = sizes
        self.opened: list[RangeSource] = []
        self.starts = np.zeros(len(sizes), np.int64)
        self.lengths = np.zeros(len(sizes), np.int64)
        self.source_of = np.full(len(sizes), -1, np.int64)

    def inline(self, rows: NDArray[np.int64]) -> None:
        """Blobs in the data file: before its metadata."""
        if len(rows):
            self._place(rows, self._sources.file, self._data_stop, "values end")

    def of_kinds(self, descriptors: pa.StructArray, kinds: NDArray[np.unsignedinteger]) -> None:
        """Blobs of the second kind, by where they say they are."""
        if len(kinds) and int(kinds.max()) > EXTERNAL:
            self._refuse_kind(int(kinds.max()))
        self.inline(np.flatnonzero((kinds == INLINE) & (self.sizes > 0)))
        beside = np.flatnonzero(((kinds == PACKED) | (kinds == DEDICATED)) & (self.sizes > 0))
        if len(beside):
            ids = descriptors.field("blob_id").to_numpy(zero_copy_only=False)[beside]
            for blob_id in np.unique(ids).tolist():
                source = self._sources.sidecar(blob_id)
                self._place(beside[ids == blob_id], source, source.size(), f"the sidecar {source.name!r} ends")
        elsewhere = np.flatnonzero(kinds == EXTERNAL)
        if len(elsewhere):
            self._external(descriptors.take(pa.array(elsewhere)), elsewhere)

    def _external(self, descriptors: pa.StructArray, rows: NDArray[np.int64]) -> None:
        if pc.max(descriptors.field("blob_id")).as_py():
            raise UnsupportedError("a blob lies below a base path, which only its table knows")
        uris = descriptors.field("blob_uri").dictionary_encode()
        numbers = uris.indices.to_numpy()
        for number, uri in enumerate(uris.dictionary.to_pylist()):
            source = self._sources.external(uri)
            mine = rows[numbers == number]
            # Position and size 0 mean the whole of it.
            whole = mine[(self._positions[mine] == 0) & (self.sizes[mine] == 0)]
            self._place(mine, source, source.size(), f"{source.name!r} ends")
            self.lengths[whole] = source.size()

    def _place(self, rows: NDArray[np.int64], source: RangeSource, stop: int, what: str) -> None:
        positions, sizes = self._positions[rows], self.sizes[rows]
        # Unsigned and without a sum: nothing here can wrap.
        outside = (positions > stop) | (sizes > np.uint64(stop) - np.minimum(positions, np.uint64(stop)))
        if outside.any():
            bad = int(np.argmax(outside))
            raise CorruptPageError(
                f"a blob has {sizes[bad]} bytes at {positions[bad]}, but {what} at {stop}", detail=int(rows[bad])
            )
        self.starts[rows], self.lengths[rows] = positions, sizes
        self.source_of[rows] = len(self.opened)
        self.opened.append(source)

    def _refuse_kind(self, kind: int) -> None:
        if kind == MANAGED:
            raise UnsupportedError("a blob is kept by its table, and only the table knows where")
        raise CorruptPageError(f"a blob is of kind {kind}, expected at most {MANAGED}", detail=kind)
