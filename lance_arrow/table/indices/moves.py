"""`RowMoves`: where the rows of rewritten fragments lay, and where they lie now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.errors import InternalError
from lance_arrow.scan.fragments.field_sources import expanded
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.operations.rewriting import RewriteGroup

_OFFSET_BITS = np.uint64(32)
_OFFSETS = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class _Place:
    """A fragment among those that were rewritten: its number, its group, and the live rows of the group before it."""

    number: int
    group: int
    rank: int


class RowMoves:
    """Live rows of groups of fragments, which lie in new fragments now, in the same order.

    Parameters
    ----------
    reader
        Of the version before.
    groups
        Numbers of its fragments.
    made
        The same groups, with new fragments that have their ids.
    """

    def __init__(self, reader: TableReader, groups: Sequence[range], made: Sequence[RewriteGroup]) -> None:
        self._reader = reader
        self._groups = groups
        self._new = [[(one.id, one.physical_rows) for one in group.new] for group in made]
        self._numbers = {fragment.id: number for number, fragment in enumerate(reader.fragments)}
        self._places: dict[int, _Place] = {}
        for at, group in enumerate(groups):
            rank = 0
            for number in group:
                self._places[reader.fragments[number].id] = _Place(number, at, rank)
                rank += reader.fragment(number).num_rows
            if rank != sum(rows for _, rows in self._new[at]):
                raise InternalError("a group of fragments was rewritten with more or fewer rows than it had")

    @property
    def fragments(self) -> frozenset[int]:
        """Ids of the fragments that are gone."""
        return frozenset(self._places)

    def addresses(self, old: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Tell where rows lie now.

        Parameters
        ----------
        old
            ``(n,) uint64``: addresses before, in any order; those in other fragments stay as they are.

        Returns
        -------
        addresses
            ``(n,) uint64``: addresses now.
        is_kept
            ``(n,) bool``: whether the row was live, so that there is an address.
        """
        new = old.copy()
        is_kept = np.ones(len(old), bool)
        fragments = old >> _OFFSET_BITS
        order = np.argsort(fragments, kind="stable")
        ids, firsts = np.unique(fragments[order], return_index=True)
        stops = np.append(firsts, len(order))[1:]
        for number, first, stop in zip(ids.tolist(), firsts, stops, strict=True):
            rows = order[first:stop]
            place = self._places.get(number)
            if place is not None:
                new[rows], is_kept[rows] = self._moved(place, (old[rows] & _OFFSETS).astype(np.int64))
        return new, is_kept

    def live_offsets(self, fragment: int) -> NDArray[np.int64]:
        """Return the offsets of the live rows of a fragment before, ``(n,) int64``; none of one that is not there."""
        number = self._numbers.get(fragment)
        if number is None:
            return np.empty(0, np.int64)
        live = self._reader.fragment(number).live
        return expanded(live.starts, live.stops)

    def values(self, group: int, path: str) -> Iterator[pa.Array]:
        """Yield the values of a column of the live rows of a group, in order."""
        part = self._reader.part(self._groups[group])
        for batch in part.batches(part.projection([path]), None, None):
            yield batch.column(0)

    def new_fragments(self, group: int) -> list[tuple[int, int]]:
        """Return the ids and rows of the new fragments of a group."""
        return self._new[group]

    def groups_within(self, covered: frozenset[int]) -> list[int]:
        """Return the groups whose fragments are all covered."""
        return [
            at
            for at, group in enumerate(self._groups)
            if covered.issuperset(self._reader.fragments[number].id for number in group)
        ]

    def _moved(self, place: _Place, offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        live = self._reader.fragment(place.number).live
        before = place.rank + np.concatenate([np.zeros(1, np.int64), np.cumsum(live.stops - live.starts)])
        at = np.searchsorted(live.starts, offsets, side="right") - 1
        is_live = (at >= 0) & (offsets < np.concatenate([live.stops, [0]])[at])
        rank = np.where(is_live, before[at] + offsets - np.concatenate([live.starts, [0]])[at], 0)
        new = self._new[place.group]
        if not new:
            return np.zeros(len(offsets), np.uint64), np.zeros(len(offsets), bool)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([rows for _, rows in new])])
        holder = np.searchsorted(starts, rank, side="right") - 1
        holder = np.minimum(holder, len(new) - 1)
        ids = np.array([number for number, _ in new], np.uint64)
        return (ids[holder] << _OFFSET_BITS) | (rank - starts[holder]).astype(np.uint64), is_live
