"""`RowIdIndex`: finds the fragment and row of an id, over all fragments of a version at once.

    ranges    ascending starts, no overlap within a layer: one search finds the range of every id
    arrays    values of all fragments sorted together: one search finds each row with an id
    others    ranges with holes or bits: searched one by one if an id lies within their bounds

Several fragments may have an id: moved rows leave their ids behind, with deleted rows. The caller knows which rows are
deleted.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.row_ids import ArraySegment, Ids, Places, RangeSegment, RowIds, RowIdSegment, single_range

_ADDRESS_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class _Ranges:
    """Ranges that do not overlap, in ascending order: ``(n,)`` each."""

    starts: Ids
    stops: Ids
    numbers: Places
    offsets: Places

    def find(self, ids: Ids) -> tuple[Places, Places]:
        at = np.searchsorted(self.starts, ids, side="right") - 1
        is_here = (at >= 0) & (ids < self.stops[at])
        within = (ids - self.starts[at]).astype(np.int64) + self.offsets[at]
        return np.where(is_here, self.numbers[at], -1), np.where(is_here, within, -1)


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Listed ids of all fragments in ascending order, ``(n,)`` each."""

    ids: Ids
    numbers: Places
    offsets: Places

    def find(self, ids: Ids) -> Iterator[tuple[Places, Places]]:
        first, stop = np.searchsorted(self.ids, ids, side="left"), np.searchsorted(self.ids, ids, side="right")
        for nth in range(int((stop - first).max(initial=0))):
            is_here = first + nth < stop
            at = np.where(is_here, first + nth, 0)
            yield np.where(is_here, self.numbers[at], -1), np.where(is_here, self.offsets[at], -1)


class RowIdIndex:
    """Ids of some fragments.

    Parameters
    ----------
    fragments
        The fragments, in the order of rows.
    row_ids
        Returns the row ids of a fragment by its number; not called if the manifest has a single range for it.
    next_id
        As for `parse_row_ids`.

    Raises
    ------
    CorruptManifestError
        As `parse_row_ids`.
    """

    def __init__(
        self, fragments: Sequence[FragmentMeta], row_ids: Callable[[int], RowIds], next_id: int | None = None
    ) -> None:
        ranges: list[tuple[int, int, int, int]] = []
        listed: list[tuple[ArraySegment, int, int]] = []
        self._others: list[tuple[RowIdSegment, int, int]] = []
        for number, fragment in enumerate(fragments):
            if fragment.row_ids is not None and fragment.physical_rows is not None:
                found = single_range(fragment.row_ids, fragment.physical_rows)
                if found is not None and (next_id is None or found[1] <= next_id):
                    ranges.append((*found, number, 0))
                    continue
            for segment, offset in row_ids(number).placed():
                if isinstance(segment, RangeSegment):
                    ranges.append((segment.start, segment.stop, number, offset))
                elif isinstance(segment, ArraySegment):
                    listed.append((segment, number, offset))
                else:
                    self._others.append((segment, number, offset))
        self._layers = [_layer(layer) for layer in _without_overlaps(sorted(ranges))]
        self._values = _values(listed)

    def candidates(self, ids: Ids) -> Iterator[tuple[Places, Places]]:
        """Yield for each id a fragment and the offset of a row with it, or -1, until all candidates are found.

        Parameters
        ----------
        ids
            ``(n,) uint64``, ascending.
        """
        for layer in self._layers:
            yield layer.find(ids)
        yield from self._values.find(ids)
        for segment, number, offset in self._others:
            low, high = np.searchsorted(ids, (np.uint64(segment.start), np.uint64(segment.stop - 1)))  # type: ignore[attr-defined]
            high += int(high < len(ids) and int(ids[high]) == segment.stop - 1)  # type: ignore[attr-defined]
            if low >= high:
                continue
            numbers, offsets = np.full(len(ids), -1, np.int64), np.full(len(ids), -1, np.int64)
            found = segment.find(ids[low:high])
            offsets[low:high] = np.where(found >= 0, found + offset, -1)
            numbers[low:high] = np.where(found >= 0, number, -1)
            yield numbers, offsets


class AddressIndex:
    """Index of a version whose row ids are addresses.

    Parameters
    ----------
    fragment_ids
        ``(n,) int64``: ids of the fragments, in the order of rows.
    """

    def __init__(self, fragment_ids: Places) -> None:
        self._order = np.argsort(fragment_ids, kind="stable")
        self._ids = fragment_ids[self._order]

    def candidates(self, ids: Ids) -> Iterator[tuple[Places, Places]]:
        """Yield as `RowIdIndex` does; offsets may be beyond their fragment's last row."""
        if not len(self._ids):
            return
        wanted, offsets = (ids >> _ADDRESS_BITS).astype(np.int64), (ids & np.uint64(0xFFFFFFFF)).astype(np.int64)
        # In one historical table two fragments share an id: both are candidates.
        first, stop = np.searchsorted(self._ids, wanted, side="left"), np.searchsorted(self._ids, wanted, side="right")
        for nth in range(int((stop - first).max(initial=0))):
            is_here = first + nth < stop
            at = np.where(is_here, first + nth, 0)
            yield np.where(is_here, self._order[at], -1), np.where(is_here, offsets, -1)


def _without_overlaps(ranges: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Divide ranges, sorted by their starts, into layers without overlaps; usually there is one."""
    layers: list[list[tuple[int, int, int, int]]] = []
    # End of each layer, smallest first: a range extends the layer that ended first, or starts a new one.
    ends: list[tuple[int, int]] = []
    for one in ranges:
        if ends and ends[0][0] <= one[0]:
            number = ends[0][1]
            heapq.heapreplace(ends, (one[1], number))
            layers[number].append(one)
        else:
            heapq.heappush(ends, (one[1], len(layers)))
            layers.append([one])
    return layers


def _layer(ranges: list[tuple[int, int, int, int]]) -> _Ranges:
    starts, stops, numbers, offsets = zip(*ranges, strict=True)
    return _Ranges(
        np.array(starts, np.uint64),
        np.array(stops, np.uint64),
        np.array(numbers, np.int64),
        np.array(offsets, np.int64),
    )


def _values(listed: list[tuple[ArraySegment, int, int]]) -> _Values:
    empty: NDArray[np.int64] = np.empty(0, np.int64)
    ids = np.concatenate([np.empty(0, np.uint64), *(segment.values for segment, _, _ in listed)])
    numbers = np.concatenate([empty, *(np.full(len(segment), number, np.int64) for segment, number, _ in listed)])
    offsets = np.concatenate([empty, *(np.arange(offset, offset + len(one)) for one, _, offset in listed)])
    order = np.argsort(ids, kind="stable")
    return _Values(ids[order], numbers[order], offsets[order])
