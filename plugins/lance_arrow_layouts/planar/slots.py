"""From positions to levels: the entries of selected rows, and which leaf slots they own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.spi import LayerKind, Levels, Limits, RowRanges
from lance_arrow_layouts.planar.structure import LoadedLayer

_BYTES_PER_ENTRY = 32
"""What an entry takes while it is made: slot, both levels, and their copies when lists are opened."""


@dataclass(slots=True, eq=False)
class _Entries:
    """Entries while layers are opened from the outside in; a slot of -1 belongs to a null or empty list."""

    slots: NDArray[np.int64]
    rep: NDArray[np.uint16]
    def_: NDArray[np.uint16]


def slot_runs(layers: Sequence[LoadedLayer], rows: RowRanges) -> RowRanges:
    """Return the leaf slots of the selected rows."""
    starts, stops = rows.starts, rows.stops
    for layer in layers:
        if layer.lists is not None:
            starts, stops = layer.lists.items_before(starts), layer.lists.items_before(stops)
    return without_empty(starts, stops)


def without_empty(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> RowRanges:
    """Return the ranges that hold something."""
    kept = stops > starts
    return RowRanges(starts[kept], stops[kept])


def levels_of(
    layers: Sequence[LoadedLayer], kinds: tuple[LayerKind, ...], rows: RowRanges, limits: Limits
) -> tuple[Levels, NDArray[np.int64], NDArray[np.uint16]]:
    """Expand positions to the levels of the selected rows.

    Returns
    -------
    levels
        Entries of the rows.
    slots, slot_levels
        Of every entry that owns a leaf slot: the slot, and its definition level.

    Raises
    ------
    CorruptPageError
        A list that is not empty lies in something null.
    ResourceLimitError
        The rows hold more entries than a batch may.
    """
    max_rep = sum(kind.is_list for kind in kinds)
    num_rows = rows.num_rows
    limits.check("max_batch_bytes", num_rows * _BYTES_PER_ENTRY)
    lengths = rows.stops - rows.starts
    before = np.cumsum(lengths) - lengths
    slots = np.arange(num_rows) + np.repeat(rows.starts - before, lengths)
    entries = _Entries(slots, np.full(num_rows, max_rep, np.uint16), np.zeros(num_rows, np.uint16))
    open_lists = max_rep
    for layer in layers:
        _mark_nulls(entries, layer)
        if layer.lists is not None:
            open_lists -= 1
            _open_lists(entries, layer, open_lists, limits)
    has_levels = any(kind.num_def_levels for kind in kinds)
    levels = Levels(kinds, len(entries.slots), entries.rep if max_rep else None, entries.def_ if has_levels else None)
    if not max_rep:
        return levels, entries.slots, entries.def_
    owners = entries.slots >= 0
    return levels, entries.slots[owners], entries.def_[owners]


def _mark_nulls(entries: _Entries, layer: LoadedLayer) -> None:
    """Give entries whose slot is null the layer's level, where nothing outside is null already."""
    if layer.bound.validity.has_nulls:
        nulls = layer.validity.nulls(entries.slots) & (entries.slots >= 0) & (entries.def_ == 0)
        entries.def_[nulls] = layer.bound.null_level


def _open_lists(entries: _Entries, layer: LoadedLayer, open_lists: int, limits: Limits) -> None:
    """Replace the entry of each list that holds items by one per item; other lists have no slot any more."""
    lists = layer.lists
    assert lists is not None
    alive = entries.slots >= 0
    holds = np.zeros(len(entries.slots), bool)
    places = np.searchsorted(lists.positions, entries.slots)
    if len(lists.positions):
        holds = alive & (lists.positions[np.minimum(places, len(lists.positions) - 1)] == entries.slots)
    if (entries.def_[holds] > 0).any():
        raise CorruptPageError("a list of a structure holds items inside something null")
    entries.def_[alive & ~holds & (entries.def_ == 0)] = layer.bound.empty_level
    first_items = lists.item_starts[places[holds]]
    repeats = np.ones(len(entries.slots), np.int64)
    repeats[holds] = lists.item_starts[places[holds] + 1] - first_items
    # Counts sum to at most 2**63, so this cannot wrap around before the limit is checked.
    total = int(repeats[holds].sum()) + int(np.count_nonzero(~holds))
    limits.check("max_batch_bytes", total * _BYTES_PER_ENTRY)
    starts = np.cumsum(repeats) - repeats
    slots = np.full(len(repeats), -1, np.int64)
    slots[holds] = first_items
    within = np.arange(total) - np.repeat(starts, repeats)
    rep = np.repeat(entries.rep, repeats)
    rep[within > 0] = open_lists
    entries.slots = np.repeat(slots, repeats) + within
    entries.rep = rep
    entries.def_ = np.repeat(entries.def_, repeats)
