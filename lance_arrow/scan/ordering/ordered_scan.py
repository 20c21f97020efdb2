"""`first_positions`: which rows come first in an order; zones that cannot hold one of them are not read.

sources ─► zones, the one with the best possible row first ─► waves of zones ─► keys ─► `TopRows`
                             ▲                                                            │
                             └──────────── zones that may still hold a better row ────────┘

The first wave is what the promises of zones ask for, and often all that is needed. Each further wave reads twice as
many rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.runtime import Runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments.field_sources import expanded
from lance_arrow.scan.fragments.table_zones import BoundedZones
from lance_arrow.scan.ordering.sort_keys import KeyColumn, SortKey, as_sortable
from lance_arrow.scan.ordering.top_rows import TopRows
from lance_arrow.scan.ordering.zone_ranks import ZoneRanks, ranks_of
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.windows import WINDOW_ROWS, Windows
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import intersection, joined_ranges

_GROWTH = 2


@dataclass(frozen=True, slots=True, eq=False)
class OrderedSource:
    """A source of rows that are to be ordered.

    Parameters
    ----------
    found
        Reads the columns of the keys, in rows that may satisfy the filter.
    projection
        Cuts the keys out of these columns.
    zones
        Zones of the first key; None where there are none.
    firsts
        ``(m,) int64``, ascending: position of the first row of each file. Positions of sources do not overlap.
    row_starts
        ``(m,) int64``: which row of the source that is; None where the source is one file.
    """

    found: FilteredReading
    projection: Projection
    zones: BoundedZones | None
    firsts: NDArray[np.int64]
    row_starts: NDArray[np.int64] | None = None

    def positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of rows of the source, ``(n,) int64``."""
        if self.row_starts is None:
            return self.firsts[0] + rows
        members = np.searchsorted(self.row_starts, rows, side="right") - 1
        found: NDArray[np.int64] = self.firsts[members] + rows - self.row_starts[members]
        return found


def first_positions(
    sources: Sequence[OrderedSource], keys: Sequence[SortKey], most: int | None, runtime: Runtime
) -> NDArray[np.int64]:
    """Return the positions of the first rows in order, ``(n,) int64``; rows with equal keys are in order of positions.

    Parameters
    ----------
    sources
        Where rows come from.
    keys
        The order, at least one key.
    most
        How many rows are wanted; all when None.
    runtime
        Threads and memory.

    Raises
    ------
    LanceError, OSError
        As `FilteredReading`.
    """
    top = TopRows(keys, most)
    sources = [source for source in sources if len(source.found.rows)]
    if most == 0 or not sources:
        return np.empty(0, np.int64)
    found = top.settle()
    wave, rest = _first_wave(sources, keys[0], most)
    is_far = any(source.found.reading.is_far for source in sources)
    while len(wave):
        for columns, positions in runtime.ahead(_read_window, _windows(sources, wave, keys, runtime), is_far=is_far):
            top.add(columns, positions)
        found = top.settle()
        wave, rest = _next_wave(sources, keys, wave, rest, top)
    return found


def _first_wave(sources: Sequence[OrderedSource], key: SortKey, most: int | None) -> tuple[ZoneRanks, ZoneRanks]:
    """Divide zones into those to read first, and those that may be read later, the best first."""
    type_ = as_sortable(pa.nulls(0, sources[0].projection.stored.field(0).type)).type
    parts = []
    for number, source in enumerate(sources):
        rows, zones = source.found.rows, source.zones if most is not None else None
        sure = source.found.sure if source.found.has_filter else rows
        parts.append(ZoneRanks.of(key, number, rows, sure, zones, type_))
    ranks = ranks_of(parts)
    order = ranks.best_first(key)
    if most is None:
        return ranks.chosen(order), ranks.chosen(order[:0])
    promised = ranks.promised(key, most)
    if promised is None:
        enough = int(np.searchsorted(np.cumsum(ranks.num_rows[order]), most)) + 1
        num_first = max(enough, int(ranks.is_open.sum()))
    else:
        bound, counts = promised
        signs = ranks.signs(key, bound)
        order = order[signs[order] <= 0]
        num_first = int(np.searchsorted(np.cumsum(counts[order]), most)) + 1
        num_first = max(num_first, int(np.count_nonzero(signs < 0)))
    return ranks.chosen(order[:num_first]), ranks.chosen(order[num_first:])


def _next_wave(
    sources: Sequence[OrderedSource], keys: Sequence[SortKey], wave: ZoneRanks, rest: ZoneRanks, top: TopRows
) -> tuple[ZoneRanks, ZoneRanks]:
    """Choose twice as many rows as before, from the zones that may hold a better row than the last one found."""
    if top.bound is not None and len(rest):
        signs = rest.signs(keys[0], top.bound)
        may_be = signs < 0
        ties = signs == 0
        if len(keys) == 1:
            # Of equal rows, the earlier one is better.
            before = np.empty(len(rest), np.int64)
            for number in np.unique(rest.sources).tolist():
                own = rest.sources == number
                before[own] = sources[number].positions(rest.starts[own])
            ties &= before < top.last_position
        rest = rest.chosen(may_be | ties)
    most_rows = _GROWTH * int(wave.num_rows.sum())
    num_next = int(np.searchsorted(np.cumsum(rest.num_rows), most_rows)) + 1
    numbers = np.arange(len(rest))
    return rest.chosen(numbers[:num_next]), rest.chosen(numbers[num_next:])


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    source: OrderedSource
    keys: Sequence[SortKey]
    rows: RowRanges


def _windows(
    sources: Sequence[OrderedSource], wave: ZoneRanks, keys: Sequence[SortKey], runtime: Runtime
) -> Iterator[_Task]:
    """Cut the rows of a wave into windows within the memory budget."""
    settings = runtime.settings
    for number in np.unique(wave.sources).tolist():
        source = sources[number]
        own = np.flatnonzero(wave.sources == number)
        own = own[np.argsort(wave.starts[own])]
        rows = intersection(source.found.rows, joined_ranges(wave.starts[own], wave.stops[own]))
        source.found.check_looked_at(rows)
        nodes = source.projection.nodes
        windows = Windows(
            rows,
            None,
            weights=source.found.weights(),
            max_bytes=settings.window_bytes(settings.num_threads + 1, len(nodes)),
            max_rows=WINDOW_ROWS,
        )
        for window in windows:
            yield _Task(source, keys, window.rows)


def _read_window(task: _Task) -> tuple[list[KeyColumn], NDArray[np.int64]]:
    """Read the keys of a window, and where its rows are."""
    source = task.source
    rows = source.found.matching(task.rows)
    if not len(rows):
        return [], np.empty(0, np.int64)
    batches, counts = source.found.reading.read(rows)
    source.found.receipt.tally.add(counts, rows.num_rows)
    shown = [source.projection.apply(batch) for batch in batches]
    columns = []
    for number, key in enumerate(task.keys):
        arrays = [as_sortable(batch.column(number)) for batch in shown]
        columns.append(key.column(arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)))
    return columns, source.positions(expanded(rows.starts, rows.stops))
