"""`ZoneRanks`: zones of all sources in the order of the best row that each may hold; what zones promise before a read.

    zone    bounds      may hold, ascending         promises
    0       3 … 90      nothing before 3            one row of 3, all others up to 90
    1       5 … 7       nothing before 5            one row of 5, all others up to 7
    2       no map      anything                    nothing

For two rows in ascending order, the promises of zones 0 and 1 bound the second row by 5. Zones that begin after 5 are
never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.late_arrow import pc
from lance_arrow.scan.fragments.table_zones import BoundedZones
from lance_arrow.scan.ordering.sort_keys import NAN_CLASS, Bound, KeyColumn, SortKey, as_sortable, joined, picked
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.structure.row_selection import difference, joined_ranges, rows_before


@dataclass(frozen=True, slots=True)
class _Promises:
    """Rows that exist for sure: `counts` of them are at or before `keys`, in the zones `owners`."""

    keys: KeyColumn
    counts: NDArray[np.int64]
    owners: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneRanks:
    """Zones that hold candidate rows.

    Parameters
    ----------
    sources, starts, stops
        ``(n,) int64``: number of the source, and rows of it.
    num_rows
        ``(n,) int64`` candidates in the zone.
    best
        First key that a row of the zone may have.
    is_open
        ``(n,) bool``: nothing is known; `best` holds the first class.
    promises
        What the zones hold for sure.
    """

    sources: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    num_rows: NDArray[np.int64]
    best: KeyColumn
    is_open: NDArray[np.bool_]
    promises: _Promises

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(
        cls, key: SortKey, number: int, rows: RowRanges, sure: RowRanges, zones: BoundedZones | None, type_: pa.DataType
    ) -> ZoneRanks:
        """Rank the zones of one source.

        Parameters
        ----------
        key
            First key of the order.
        number
            Number of the source.
        rows, sure
            Candidates, and those of them that are in the result for sure if the order wants them.
        zones
            Zones of the key; None where there are none.
        type_
            Type of the key's values, as `as_sortable` makes it.
        """
        parts, gaps = [], RowRanges.one(0, int(rows.stops[-1]) if len(rows) else 0)
        if zones is not None and len(zones.starts):
            parts.append(_mapped(key, number, rows, sure, zones))
            gaps = difference(gaps, joined_ranges(zones.starts, zones.stops))
        parts.append(_unmapped(number, rows, gaps, type_))
        return ranks_of(parts)

    def chosen(self, zones: NDArray[np.bool_] | NDArray[np.int64]) -> ZoneRanks:
        """Return some of the zones, which promise nothing any more."""
        rows = np.flatnonzero(zones) if zones.dtype == np.bool_ else zones
        columns = (self.sources[rows], self.starts[rows], self.stops[rows], self.num_rows[rows])
        return ZoneRanks(*columns, picked(self.best, rows), self.is_open[rows], _nothing(self.best.values.type))

    def signs(self, key: SortKey, bound: Bound) -> NDArray[np.int8]:
        """Return -1 for zones that may hold rows before a bound, 0 for rows at it, 1 if all are after it, ``(n,)``."""
        signs = key.compare(self.best, bound)
        signs[self.is_open] = -1
        return signs

    def best_first(self, key: SortKey) -> NDArray[np.int64]:
        """Return the order in which to read zones; equal ones are in the order of their rows."""
        columns = [pa.array(self.best.ranks), pa.array(~self.is_open), self.best.values]
        batch = pa.RecordBatch.from_arrays(columns, ["rank", "is_known", "best"])
        orders = [("is_known", "ascending"), ("rank", "ascending"), ("best", key.order)]
        found: NDArray[np.int64] = pc.sort_indices(batch, sort_keys=orders).to_numpy().astype(np.int64)
        return found

    def promised(self, key: SortKey, num_rows: int) -> tuple[Bound, NDArray[np.int64]] | None:
        """Return a key that `num_rows` rows have, or one before it; and how many of these each zone has, ``(n,)``.

        None where the zones do not promise so many rows.
        """
        keys, counts = self.promises.keys, self.promises.counts
        if counts.sum() < num_rows:
            return None
        columns = [pa.array(keys.ranks), keys.values]
        batch = pa.RecordBatch.from_arrays(columns, ["rank", "value"])
        orders = [("rank", "ascending"), ("value", key.order)]
        order = pc.sort_indices(batch, sort_keys=orders).to_numpy().astype(np.int64)
        last = int(np.searchsorted(np.cumsum(counts[order]), num_rows))
        bound = keys.at(int(order[last]))
        kept = key.compare(keys, bound) <= 0
        found = np.zeros(len(self), np.int64)
        np.add.at(found, self.promises.owners[kept], counts[kept])
        return bound, found


def ranks_of(parts: Sequence[ZoneRanks]) -> ZoneRanks:
    """Put zones of sources one after another; there is at least one part."""
    before = np.cumsum([0, *(len(part) for part in parts)])
    return ZoneRanks(
        np.concatenate([part.sources for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.stops for part in parts]),
        np.concatenate([part.num_rows for part in parts]),
        joined([part.best for part in parts]),
        np.concatenate([part.is_open for part in parts]),
        _Promises(
            joined([part.promises.keys for part in parts]),
            np.concatenate([part.promises.counts for part in parts]),
            np.concatenate([part.promises.owners + start for part, start in zip(parts, before[:-1], strict=True)]),
        ),
    )


def _nothing(type_: pa.DataType) -> _Promises:
    none = np.empty(0, np.int64)
    return _Promises(KeyColumn(np.empty(0, np.uint8), pa.array([], type_)), none, none)


def _unmapped(number: int, rows: RowRanges, gaps: RowRanges, type_: pa.DataType) -> ZoneRanks:
    """Rank candidates between zones: each gap may hold anything."""
    counts = rows_before(rows, gaps.stops) - rows_before(rows, gaps.starts)
    held = np.flatnonzero(counts)
    best = KeyColumn(np.zeros(len(held), np.uint8), pa.nulls(len(held), type_))
    sources, is_open = np.full(len(held), number, np.int64), np.ones(len(held), np.bool_)
    return ZoneRanks(sources, gaps.starts[held], gaps.stops[held], counts[held], best, is_open, _nothing(type_))


def _mapped(key: SortKey, number: int, rows: RowRanges, sure: RowRanges, zones: BoundedZones) -> ZoneRanks:
    counts = rows_before(rows, zones.stops) - rows_before(rows, zones.starts)
    held = np.flatnonzero(counts)
    starts, stops, counts = zones.starts[held], zones.stops[held], counts[held]
    sure_counts = rows_before(sure, stops) - rows_before(sure, starts)
    content = _Content.of(zones.zone_map, held, stops - starts, sure_counts, key)
    best = content.best(key)
    # A bound may be missing where there are values.
    is_open = (content.flags == 0) | ((best.ranks == key.value_class) & ~_valid(best.values))
    sources = np.full(len(held), number, np.int64)
    return ZoneRanks(sources, starts, stops, counts, best, is_open, content.promises(key))


@dataclass(frozen=True, slots=True)
class _Content:
    """What zones may hold, and what they hold for sure.

    Parameters
    ----------
    flags
        ``(n,) uint8`` as `ZoneMap.flags`.
    first, last
        Bounds of the values, in the direction of the key.
    is_first
        ``(n,) bool``: a row that is in the result for sure has the first bound as its value.
    values, nans, nulls
        ``(n,) int64``: how many rows that are in the result for sure have a value, NaN, null, at least.
    """

    flags: NDArray[np.uint8]
    first: pa.Array
    last: pa.Array
    is_first: NDArray[np.bool_]
    values: NDArray[np.int64]
    nans: NDArray[np.int64]
    nulls: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        zone_map: ZoneMap,
        held: NDArray[np.int64],
        lengths: NDArray[np.int64],
        sure: NDArray[np.int64],
        key: SortKey,
    ) -> _Content:
        chosen = pa.array(held)
        low, high = (as_sortable(one.take(chosen)) for one in (zone_map.low, zone_map.high))
        ascending = key.order == "ascending"
        exact = zone_map.are_exact("min" if ascending else "max")[held]
        flags = zone_map.flags[held]
        # Rows that are deleted, or that a filter may leave out, can be any of those that the map counts.
        missing = lengths - sure
        most, least = {}, {}
        for name in ("null_count", "nan_count"):
            counts = zone_map.counts(name)[held]
            is_unknown = zone_map.may_have(name)[held] & (counts == 0)
            most[name] = np.where(is_unknown, lengths, counts)
            least[name] = np.maximum(counts - missing, 0)
        values = np.maximum(sure - most["null_count"] - most["nan_count"], 0)
        first, last = (low, high) if ascending else (high, low)
        is_first = exact & (missing == 0) & (values > 0) & _valid(first)
        return cls(flags, first, last, is_first, values, least["nan_count"], least["null_count"])

    def best(self, key: SortKey) -> KeyColumn:
        """Return the first key that a row may have."""
        has_value, has_null, has_nan = (self.flags & bit != 0 for bit in (1, 2, 4))
        ranks = np.where(has_nan, NAN_CLASS, key.null_class if key.nulls == "at_end" else key.value_class)
        first, rank = (has_value, key.value_class) if key.nulls == "at_end" else (has_null, key.null_class)
        ranks = np.where(first, rank, ranks).astype(np.uint8)
        nothing = pa.scalar(None, self.first.type)
        return KeyColumn(ranks, pc.if_else(pa.array(ranks == key.value_class), self.first, nothing))

    def promises(self, key: SortKey) -> _Promises:
        owners = np.arange(len(self.flags))
        rest = np.where(_valid(self.last), self.values - self.is_first, 0)
        none = pa.nulls(len(owners), self.first.type)
        kinds = [
            (key.value_class, self.first, self.is_first.astype(np.int64)),
            (key.value_class, self.last, rest),
            (NAN_CLASS, none, self.nans),
            (key.null_class, none, self.nulls),
        ]
        parts = []
        for rank, values, counts in kinds:
            kept = np.flatnonzero(counts > 0)
            column = KeyColumn(np.full(len(kept), rank, np.uint8), values.take(pa.array(kept)))
            parts.append((column, counts[kept], owners[kept]))
        columns, counts, zones = zip(*parts, strict=True)
        return _Promises(joined(columns), np.concatenate(counts), np.concatenate(zones))


def _valid(values: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values.is_valid().to_numpy(zero_copy_only=False)
    return found
