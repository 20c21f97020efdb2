"""Deleted rows of a fragment: both forms of deletion files to sorted row offsets, and the live rows of a selection.

Offsets count the rows of the fragment's files, independent of row ids.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyroaring
from numpy.typing import NDArray

from lance_arrow.errors import CorruptManifestError, LanceError, MissingFileError, located
from lance_arrow.io import AnyFileSystem, Location, open_source, read_each, read_whole
from lance_arrow.manifests.arrow_numbers import read_numbers
from lance_arrow.manifests.fragments import DeletionFileMeta
from lance_arrow.manifests.seals import DELETIONS, RECORD, arrow_footer, check_seal
from lance_arrow.settings import Limits
from lance_arrow.spi.rows import RowRanges

_BYTES_PER_OFFSET = 8
_MOST_BYTES_PER_ROW = 8
_OTHER_BYTES = 16 << 10
"""Bytes to read if the size is unknown: deletion files have at most four bytes per row, and little else."""
_WAVE_BYTES = 16 << 20
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


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
        """Number of live rows."""
        return self.num_rows - len(self.offsets)

    def live(self) -> RowRanges:
        """Return the live rows."""
        starts = np.concatenate([np.zeros(1, np.int64), self.offsets + 1])
        stops = np.append(self.offsets, self.num_rows)
        kept = stops > starts
        return RowRanges(starts[kept], stops[kept])

    def offsets_of(self, live_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row offsets of the n-th live rows, for ``(k,) int64`` numbers n below `num_live`."""
        if not len(live_rows):
            return live_rows
        # Of a list of many rows only the part between the first and the last one is looked at.
        first, last = self._num_before(live_rows.min()), self._num_before(live_rows.max())
        before = self.offsets[first:last] - np.arange(first, last)
        return live_rows + (first + np.searchsorted(before, live_rows, side="right"))

    def _num_before(self, live_row: np.int64) -> int:
        """Return how many deleted rows are before the n-th live row."""
        offsets = self.offsets
        # There are `offsets[i] - i` live rows before the i-th deleted row.
        return bisect_right(range(len(offsets)), live_row, key=lambda number: offsets[number] - number)


def read_deletions(
    place: Location, meta: DeletionFileMeta, num_rows: int, *, manifest_path: str, limits: Limits | None = None
) -> DeletionVector:
    """Read and check one deletion file.

    Parameters
    ----------
    place
        The file.
    meta
        Its entry in the manifest.
    num_rows
        Rows of the fragment, deleted ones included.
    manifest_path
        For error messages.
    limits
        `max_metadata_bytes` limits the file, `max_expanded_bytes` the list of its rows; default limits when None.

    Raises
    ------
    MissingFileError
        The file in the manifest does not exist.
    CorruptManifestError
        It cannot be decoded, an offset is beyond the fragment, or the number of rows differs from the manifest.
    ResourceLimitError
        The list of deleted rows would exceed `max_expanded_bytes`.
    """
    with located(path=place.name):
        limits = limits if limits is not None else Limits()
        data = _content(place, _expected_bytes(meta, num_rows, limits), manifest_path, limits)
        return _vector(data, meta, num_rows, manifest_path, limits)


def read_many_deletions(
    filesystem: AnyFileSystem | None,
    paths: Sequence[str],
    metas: Sequence[DeletionFileMeta],
    num_rows: Sequence[int],
    *,
    manifest_path: str,
    limits: Limits,
) -> list[DeletionVector | None]:
    """Read deletion files of many fragments, as many at once as have a few megabytes.

    Parameters
    ----------
    filesystem, paths
        Where they are.
    metas, num_rows, manifest_path, limits
        For each file, and for all, as `read_deletions`.

    Returns
    -------
    list
        None for files that `read_deletions` is to read: it tells what is wrong with them, if anything is.
    """
    expected = [_expected_bytes(meta, count, limits) for meta, count in zip(metas, num_rows, strict=True)]
    found: list[DeletionVector | None] = []
    wave_of = np.cumsum(expected) // _WAVE_BYTES
    for wave in np.split(np.arange(len(paths)), np.flatnonzero(np.diff(wave_of)) + 1):
        some = wave.tolist()
        try:
            read = read_each(filesystem, [paths[one] for one in some], [expected[one] for one in some])
        except (LanceError, OSError):
            read = [None] * len(some)
        for one, data in zip(some, read, strict=True):
            try:
                vector = None if data is None else _vector(data, metas[one], num_rows[one], manifest_path, limits)
            except LanceError:
                vector = None
            found.append(vector)
    return found


def _expected_bytes(meta: DeletionFileMeta, num_rows: int, limits: Limits) -> int:
    count = num_rows if meta.num_deleted_rows is None else min(num_rows, meta.num_deleted_rows)
    return min(_MOST_BYTES_PER_ROW * count + _OTHER_BYTES, limits.max_metadata_bytes)


def _vector(data: bytes, meta: DeletionFileMeta, num_rows: int, manifest_path: str, limits: Limits) -> DeletionVector:
    bounds = _Bounds(num_rows, meta.num_deleted_rows, manifest_path, limits)
    read = _bitmap if meta.is_bitmap else _arrow
    return DeletionVector(read(data, meta.name.encode(), bounds), num_rows)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Limits of a deletion file, checked before its rows are listed: a few bytes may name billions of them."""

    num_rows: int
    num_deleted_rows: int | None
    manifest_path: str
    limits: Limits

    def check_count(self, count: int) -> None:
        """Raise for more rows than the fragment has, and for more than may be listed at once."""
        if count > self.num_rows:
            raise CorruptManifestError(f"{count} rows are deleted, the fragment has {self.num_rows}", detail=count)
        self.limits.check("max_expanded_bytes", count * _BYTES_PER_OFFSET)

    def check(self, count: int, least: int, greatest: int) -> None:
        """Compare deleted rows with the fragment, and with the count in the manifest."""
        if count and (least < 0 or greatest >= self.num_rows):
            wrong = least if least < 0 else greatest
            raise CorruptManifestError(f"row {wrong} is deleted, the fragment has {self.num_rows}", detail=wrong)
        if self.num_deleted_rows is not None and count != self.num_deleted_rows:
            raise CorruptManifestError(
                f"{count} rows are deleted, the manifest {self.manifest_path!r} declares {self.num_deleted_rows}"
            )


def _content(place: Location, expected_bytes: int, manifest_path: str, limits: Limits) -> bytes:
    try:
        data = read_whole(place, expected_bytes)
        if data is not None:
            return data
        source = open_source(place)
    except FileNotFoundError as error:
        raise MissingFileError(
            f"the manifest {manifest_path!r} names the deletion file {place.name!r}, which does not exist",
            path=place.name,
        ) from error
    try:
        size = limits.check("max_metadata_bytes", source.size())
        (content,) = source.read(np.array([0]), np.array([size]))
        return content.tobytes()
    finally:
        source.close()


def _bitmap(data: bytes, name: bytes, bounds: _Bounds) -> NDArray[np.int64]:
    record, sealed = data[-RECORD.size :], data[: -RECORD.size]
    is_sealed = check_seal(DELETIONS, record, "the deletion file", name, sealed)
    try:
        bitmap = pyroaring.BitMap.deserialize(sealed if is_sealed else data)
    except (ValueError, IndexError) as error:
        raise CorruptManifestError(f"not a roaring bitmap: {error}") from error
    if not is_sealed and (size := len(bitmap.serialize())) < len(data):
        raise CorruptManifestError(f"{len(data) - size} bytes behind a bitmap of {size} are not a checksum of it")
    if not bitmap:
        bounds.check(0, 0, 0)
        return np.empty(0, np.int64)
    bounds.check(len(bitmap), bitmap.min(), bitmap.max())
    bounds.check_count(len(bitmap))
    return np.array(bitmap.to_array(), np.int64)


def _arrow(data: bytes, name: bytes, bounds: _Bounds) -> NDArray[np.int64]:
    footer = arrow_footer(data)
    if footer is None or footer < RECORD.size:
        raise CorruptManifestError("not an Arrow file of row offsets: its footer lies outside of it")
    at = footer - RECORD.size
    is_sealed = check_seal(DELETIONS, data[at:footer], "the deletion file", name, data[:at], data[footer:])
    if not is_sealed and data[footer - len(_END_OF_STREAM) : footer] != _END_OF_STREAM:
        raise CorruptManifestError(
            "before the footer of a deletion file is neither the end of its stream nor a checksum"
        )
    offsets = _ascending(read_numbers(data, bounds.check_count))
    bounds.check(len(offsets), *((int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)))
    return offsets


def _ascending(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return distinct offsets in order: the reference writes them in the order of a hash table."""
    if (offsets[1:] > offsets[:-1]).all():
        return offsets
    # Faster than `np.unique`, which sorts after it has hashed.
    offsets = np.sort(offsets)
    return offsets[np.append(offsets[1:] != offsets[:-1], True)]
