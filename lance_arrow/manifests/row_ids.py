"""Stable row ids of a fragment: segments as stored, searched without expanding them.

    range  holes  bitmap  sorted array  array        one after the other: ids in row order, deleted rows included

Source: lance.table.RowIdSequence, U64Segment. Bits are numbered from the least significant one, as in all writers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from lance_arrow.errors import CorruptManifestError
from lance_arrow.proto.reading import parse
from lance_arrow.proto.rowids_pb2 import EncodedU64Array, RowDatasetVersionSequence, RowIdSequence, U64Segment

Ids = NDArray[np.uint64]
Places = NDArray[np.int64]
_POPCOUNT = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)
_MAX_ROWS = 1 << 32


class RowIdSegment(Protocol):
    """A run of ids."""

    def __len__(self) -> int: ...

    def at(self, places: Places) -> Ids:
        """Return the ids at places, each below the length."""
        ...

    def find(self, ids: Ids) -> Places:
        """Return the place of each id, -1 if it is not in the segment; the last place of duplicates."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RangeSegment:
    """``start .. stop - 1``."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def at(self, places: Places) -> Ids:
        return np.uint64(self.start) + places.astype(np.uint64)

    def find(self, ids: Ids) -> Places:
        inside = _inside(ids, self.start, self.stop)
        offset = np.where(inside, ids - np.uint64(self.start), np.uint64(0)).astype(np.int64)
        return np.where(inside, offset, -1)


@dataclass(frozen=True, slots=True, eq=False)
class HolesSegment:
    """A range without some values, `holes`, which ascend."""

    start: int
    stop: int
    holes: Ids

    def __len__(self) -> int:
        return self.stop - self.start - len(self.holes)

    def at(self, places: Places) -> Ids:
        before = (self.holes - np.uint64(self.start)).astype(np.int64) - np.arange(len(self.holes))
        return np.uint64(self.start) + (places + np.searchsorted(before, places, side="right")).astype(np.uint64)

    def find(self, ids: Ids) -> Places:
        found = RangeSegment(self.start, self.stop).find(ids)
        low = np.searchsorted(self.holes, ids, side="left")
        is_hole = np.searchsorted(self.holes, ids, side="right") > low
        return np.where((found < 0) | is_hole, -1, found - low)


@dataclass(frozen=True, eq=False)
class BitmapSegment:
    """The values of a range whose bit is set; bits beyond the range are clear."""

    start: int
    stop: int
    bitmap: NDArray[np.uint8]

    @cached_property
    def _ones_before(self) -> NDArray[np.int64]:
        """Number of set bits before each byte, then of all."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(_POPCOUNT[self.bitmap], dtype=np.int64)])

    def __len__(self) -> int:
        return int(self._ones_before[-1])

    def at(self, places: Places) -> Ids:
        number = np.searchsorted(self._ones_before, places, side="right") - 1
        rank = places - self._ones_before[number]
        bits = np.unpackbits(self.bitmap[number][:, None], axis=1, bitorder="little")
        bit = (np.cumsum(bits, axis=1) > rank[:, None]).argmax(axis=1)
        ids: Ids = np.uint64(self.start) + (number * 8 + bit).astype(np.uint64)
        return ids

    def find(self, ids: Ids) -> Places:
        inside = _inside(ids, self.start, self.stop)
        offset = np.where(inside, ids - np.uint64(self.start), np.uint64(0)).astype(np.int64)
        if not len(self.bitmap):
            return np.full(len(ids), -1, np.int64)
        byte, bit = self.bitmap[offset >> 3], (offset & 7).astype(np.uint8)
        is_set = inside & ((byte >> bit) & 1).astype(bool)
        below = _POPCOUNT[byte & ((np.uint8(1) << bit) - np.uint8(1))]
        return np.where(is_set, self._ones_before[offset >> 3] + below, -1)


@dataclass(frozen=True, eq=False)
class ArraySegment:
    """Values as a list, in any order."""

    values: Ids

    @cached_property
    def _order(self) -> tuple[Ids, Places]:
        """The sorted values, and the original place of each."""
        order = np.argsort(self.values, kind="stable")
        return self.values[order], order

    def __len__(self) -> int:
        return len(self.values)

    def at(self, places: Places) -> Ids:
        return self.values[places]

    def find(self, ids: Ids) -> Places:
        ascending, order = self._order
        after = np.searchsorted(ascending, ids, side="right")
        if not len(ascending):
            return np.full(len(ids), -1, np.int64)
        found = ascending[np.maximum(after - 1, 0)] == ids
        return np.where((after > 0) & found, order[np.maximum(after - 1, 0)], -1)


class RowIds:
    """The ids of a fragment's rows.

    Parameters
    ----------
    segments
        In row order.
    """

    def __init__(self, segments: Sequence[RowIdSegment]) -> None:
        self.segments = tuple(segment for segment in segments if len(segment))
        self._starts = np.cumsum([0, *(len(segment) for segment in self.segments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def placed(self) -> Iterator[tuple[RowIdSegment, int]]:
        """Yield the segments, and the offset of the first row of each."""
        return zip(self.segments, self._starts.tolist(), strict=False)

    @cached_property
    def bounds(self) -> tuple[int, int] | None:
        """Smallest and largest possible id; None without rows."""
        found = [
            (int(one.values.min()), int(one.values.max()))
            if isinstance(one, ArraySegment)
            else (one.start, one.stop - 1)  # type: ignore[attr-defined]
            for one in self.segments
        ]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None

    @property
    def greatest(self) -> int:
        """The largest id; -1 without rows."""
        # All forms except lists are ascending.
        last = [
            int(one.values.max()) if isinstance(one, ArraySegment) else int(one.at(np.array([len(one) - 1]))[0])
            for one in self.segments
        ]
        return max(last, default=-1)

    def at(self, offsets: Places) -> Ids:
        """Return the ids of rows, ``(n,) int64`` offsets below the length, in any order."""
        if len(self.segments) == 1:
            return self.segments[0].at(offsets)
        if not len(offsets):
            return np.empty(0, np.uint64)
        ids = np.empty(len(offsets), np.uint64)
        segment_of = np.searchsorted(self._starts, offsets, side="right") - 1
        # One pass for any number of segments.
        order = np.argsort(segment_of, kind="stable")
        borders = np.flatnonzero(np.diff(segment_of[order], prepend=-1))
        for first, picks in zip(borders.tolist(), np.split(order, borders[1:]), strict=True):
            number = int(segment_of[order[first]])
            ids[picks] = self.segments[number].at(offsets[picks] - self._starts[number])
        return ids

    def find(self, ids: Ids) -> Places:
        """Return the row offset of each id, -1 if no row has it."""
        found = np.full(len(ids), -1, np.int64)
        for start, segment in zip(self._starts.tolist(), self.segments, strict=False):
            here = segment.find(ids)
            found = np.where(here >= 0, here + start, found)
        return found


def parse_row_ids(data: bytes, num_rows: int, next_id: int | None = None) -> RowIds:
    """Parse the row ids of a fragment.

    Parameters
    ----------
    data
        A serialized RowIdSequence.
    num_rows
        Rows of the fragment, deleted ones included.
    next_id
        The first unused id of the version, from its manifest; not checked when None.

    Raises
    ------
    CorruptManifestError
        A segment contradicts itself, the numbers of ids and rows differ, or an id is not below `next_id`.
    """
    message = parse(RowIdSequence, data, what="the row ids", error=CorruptManifestError)
    ids = RowIds([_segment(segment) for segment in message.segments])
    if len(ids) != num_rows:
        raise CorruptManifestError(f"there are {len(ids)} row ids for {num_rows} rows", detail=len(ids))
    if next_id is not None and (greatest := ids.greatest) >= next_id:
        raise CorruptManifestError(
            f"a row has the id {greatest}, the manifest says that new rows get ids from {next_id}", detail=greatest
        )
    return ids


def single_range(data: bytes, num_rows: int) -> tuple[int, int] | None:
    """Return the ids of a fragment if they are one range, without full parsing; None if `parse_row_ids` is needed.

    Most fragments have one range, and a version may have a hundred thousand fragments.
    """
    try:
        segments = RowIdSequence.FromString(data).segments
    except DecodeError:
        return None
    if len(segments) != 1 or segments[0].WhichOneof("segment") != "range":
        return None
    start, stop = segments[0].range.start, segments[0].range.end
    return (start, stop) if stop - start == num_rows and num_rows > 0 else None


class RowVersions:
    """The version in which each row of a fragment was created or changed.

    Parameters
    ----------
    versions
        ``(n,) uint64``, one per run.
    stops
        ``(n,) int64``: end of each run, ascending; the last one is the number of rows.
    """

    def __init__(self, versions: Ids, stops: Places) -> None:
        self._versions = versions
        self._stops = stops

    def at(self, offsets: Places) -> Ids:
        """Return the versions of rows, by offset in any order."""
        return self._versions[np.searchsorted(self._stops, offsets, side="right")]


def parse_row_versions(data: bytes, num_rows: int) -> RowVersions:
    """Parse the row versions of a fragment: a run has as many rows as its span has values; the values are not used.

    Parameters
    ----------
    data
        A serialized RowDatasetVersionSequence.
    num_rows
        Rows of the fragment, deleted ones included.

    Raises
    ------
    CorruptManifestError
        As `parse_row_ids`.
    """
    message = parse(RowDatasetVersionSequence, data, what="the row versions", error=CorruptManifestError)
    lengths = [len(_segment(run.span)) for run in message.runs]
    if sum(lengths) != num_rows:
        raise CorruptManifestError(f"there are {sum(lengths)} row versions for {num_rows} rows", detail=sum(lengths))
    return RowVersions(np.array([run.version for run in message.runs], np.uint64), np.cumsum(lengths, dtype=np.int64))


def _segment(message: U64Segment) -> RowIdSegment:
    kind = message.WhichOneof("segment")
    if kind == "range":
        return RangeSegment(*_bounds(message.range.start, message.range.end))
    if kind == "range_with_holes":
        start, stop = _bounds(message.range_with_holes.start, message.range_with_holes.end, is_bounded=False)
        return _with_holes(start, stop, _array(message.range_with_holes.holes))
    if kind == "range_with_bitmap":
        start, stop = _bounds(message.range_with_bitmap.start, message.range_with_bitmap.end, is_bounded=False)
        return _with_bitmap(start, stop, message.range_with_bitmap.bitmap)
    if kind == "sorted_array":
        values = _array(message.sorted_array)
        if (values[1:] < values[:-1]).any():
            raise CorruptManifestError("row ids that are declared as sorted are not sorted")
        return ArraySegment(values)
    if kind == "array":
        return ArraySegment(_array(message.array))
    raise CorruptManifestError("a segment of row ids has no known form")


def _bounds(start: int, stop: int, *, is_bounded: bool = True) -> tuple[int, int]:
    if stop < start:
        raise CorruptManifestError(f"row ids reach from {start} to {stop}, which is before")
    if is_bounded and stop - start > _MAX_ROWS:
        raise CorruptManifestError(f"a segment has {stop - start} row ids, a fragment has at most {_MAX_ROWS} rows")
    return start, stop


def _with_holes(start: int, stop: int, holes: Ids) -> HolesSegment:
    if (holes[1:] <= holes[:-1]).any():
        raise CorruptManifestError("holes among row ids do not ascend")
    if len(holes) and not (start <= int(holes[0]) and int(holes[-1]) < stop):
        raise CorruptManifestError(f"holes {holes[0]}..{holes[-1]} leave the row ids {start}..{stop}")
    if stop - start - len(holes) > _MAX_ROWS:
        raise CorruptManifestError(f"a segment has {stop - start - len(holes)} row ids")
    return HolesSegment(start, stop, holes)


def _with_bitmap(start: int, stop: int, data: bytes) -> BitmapSegment:
    span = stop - start
    if len(data) != -(-span // 8):
        raise CorruptManifestError(f"a bitmap of row ids has {len(data)} bytes for a range of {span}")
    bitmap = np.frombuffer(data, np.uint8)
    if span % 8 and int(bitmap[-1]) >> span % 8:
        raise CorruptManifestError(f"a bitmap of row ids has bits beyond its range of {span}")
    return BitmapSegment(start, stop, bitmap)


def _array(message: EncodedU64Array) -> Ids:
    kind = message.WhichOneof("array")
    if kind == "u64_array":
        return _numbers(message.u64_array.values, "<u8").astype(np.uint64, copy=False)
    if kind == "u16_array":
        return _based(message.u16_array.base, _numbers(message.u16_array.offsets, "<u2"))
    if kind == "u32_array":
        return _based(message.u32_array.base, _numbers(message.u32_array.offsets, "<u4"))
    if kind is None:
        return np.empty(0, np.uint64)
    raise CorruptManifestError(f"an array of row ids has the unknown form {kind!r}")


def _based(base: int, offsets: NDArray[np.integer]) -> Ids:
    values = np.uint64(base) + offsets.astype(np.uint64)
    if len(values) and int(offsets.max()) + base >= 1 << 64:
        raise CorruptManifestError(f"row ids beyond 64 bits: {base} + {offsets.max()}")
    return values


def _numbers(data: bytes, dtype: str) -> NDArray[np.integer]:
    if len(data) % np.dtype(dtype).itemsize:
        raise CorruptManifestError(f"an array of row ids has {len(data)} bytes, expected numbers of {dtype[1:]}")
    return np.frombuffer(data, dtype)


def _inside(ids: Ids, start: int, stop: int) -> NDArray[np.bool_]:
    if stop <= start:
        return np.zeros(len(ids), bool)
    return (ids >= np.uint64(start)) & (ids <= np.uint64(stop - 1))
