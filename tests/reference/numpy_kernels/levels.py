"""Levels entry by entry: the meaning of ``engine/door/levels.pxi``. Source: spec 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError

LevelArray = NDArray[np.uint16] | None
Positions = NDArray[np.int64]

MAX_LAYERS = 64
MAX_LEVEL = 0xFFFF
LISTS = (2, 4, 5, 6)
WITH_NULL_LEVEL = (3, 4, 6)
WITH_EMPTY_LEVEL = (5, 6)


def check_levels(rep: LevelArray, def_: LevelArray, max_rep: int, max_def: int) -> None:
    """Refuse levels above their bounds."""
    _num_entries(rep, def_)
    _check_bounds(max_rep, max_def)
    for levels, bound in ((rep, max_rep), (def_, max_def)):
        if levels is not None and (levels > bound).any():
            raise CorruptPageError("a level is above its bound", detail=int(np.argmax(levels > bound)))


def count_rows_and_values(rep: LevelArray, def_: LevelArray, max_rep: int, max_visible: int) -> tuple[int, int]:
    """Count entries that start a row, and entries that own a value."""
    num_entries = _num_entries(rep, def_)
    if (rep is None) != (max_rep == 0):
        raise InternalError("repetition levels exist exactly where there are lists")
    _check_bounds(max_rep, max_visible)
    if rep is None:
        return num_entries, num_entries
    check_levels(rep, None, max_rep, 0)
    values = num_entries if def_ is None else int((def_ <= max_visible).sum())
    return int((rep == max_rep).sum()), values


def select_rows(
    rep: NDArray[np.uint16],
    def_: LevelArray,
    max_rep: int,
    max_visible: int,
    chunk_level_starts: Positions,
    chunk_value_starts: Positions,
    chunk_first_rows: Positions,
    chunk_num_rows: Positions,
    run_starts: Positions,
    run_stops: Positions,
    out_level_starts: Positions,
    out_level_stops: Positions,
    out_value_starts: Positions,
    out_value_stops: Positions,
) -> None:
    """Find the level entries and values of runs of rows in chunks, which need not be neighbours."""
    num_chunks, num_runs = len(chunk_first_rows), len(run_starts)
    if def_ is not None and len(def_) != len(rep):
        raise InternalError("definition levels and entries differ in number")
    if not len(chunk_num_rows) == len(chunk_level_starts) - 1 == len(chunk_value_starts) - 1 == num_chunks:
        raise InternalError("arrays over chunks have contradicting lengths")
    if any(
        len(a) != num_runs for a in (run_stops, out_level_starts, out_level_stops, out_value_starts, out_value_stops)
    ):
        raise InternalError("arrays over runs have different lengths")
    _check_bounds(max_rep - 1, max_visible)
    visible = np.ones(len(rep), bool) if def_ is None else def_ <= max_visible
    starts: dict[int, tuple[int, int]] = {}
    stops: dict[int, tuple[int, int]] = {}
    next_row = 0
    for chunk in range(num_chunks):
        start, stop = int(chunk_level_starts[chunk]), int(chunk_level_starts[chunk + 1])
        first_row, num_rows = int(chunk_first_rows[chunk]), int(chunk_num_rows[chunk])
        value, value_stop = int(chunk_value_starts[chunk]), int(chunk_value_starts[chunk + 1])
        if not 0 <= start <= stop <= len(rep) or first_row < next_row or num_rows < 0:
            raise InternalError("the chunks are not in order", detail=chunk)
        if (rep[start:stop] > max_rep).any():
            raise CorruptPageError("a repetition level is above the number of lists", detail=chunk)
        places = start + np.flatnonzero(rep[start:stop] == max_rep)
        if len(places) != num_rows or int(visible[start:stop].sum()) != value_stop - value:
            raise CorruptPageError("a chunk has not the rows or values it should have", detail=chunk)
        for row, place in enumerate(places.tolist(), first_row):
            # Only a row that directly follows ends the row before it.
            starts[row] = (place, value + int(visible[start:place].sum()))
            stops[row] = starts[row]
        next_row = first_row + num_rows
        if chunk + 1 == num_chunks or chunk_first_rows[chunk + 1] != next_row:
            stops[next_row] = (stop, value_stop)
    for run, (first, last) in enumerate(zip(run_starts.tolist(), run_stops.tolist(), strict=True)):
        if first >= last or (run and first < run_stops[run - 1]):
            raise InternalError("the runs are not sorted, disjoint and full", detail=run)
        if any(row not in starts for row in range(first, last)) or last not in stops:
            raise InternalError("a run is not covered by the chunks", detail=run)
        out_level_starts[run], out_value_starts[run] = starts[first]
        out_level_stops[run], out_value_stops[run] = stops[last]


def check_open_rows(
    rep: NDArray[np.uint16],
    max_rep: int,
    chunk_level_starts: Positions,
    left_before: Positions,
    left_after: Positions,
) -> None:
    """Check how each chunk begins and what it leaves of a row it does not finish."""
    if not len(chunk_level_starts) - 1 == len(left_before) == len(left_after):
        raise InternalError("arrays over chunks have contradicting lengths")
    _check_bounds(max_rep - 1, 0)
    for chunk, (before, after) in enumerate(zip(left_before.tolist(), left_after.tolist(), strict=True)):
        start, stop = int(chunk_level_starts[chunk]), int(chunk_level_starts[chunk + 1])
        if not 0 <= start <= stop <= len(rep):
            raise InternalError("the chunks leave the levels", detail=chunk)
        starts = np.flatnonzero(rep[start:stop] == max_rep)
        if start == stop or (len(starts) > 0 and starts[0] == 0) == (before > 0):
            raise CorruptPageError("the start of a chunk contradicts the repetition index", detail=chunk)
        left = stop - start - (int(starts[-1]) if len(starts) else 0)
        if after not in (0, left):
            raise CorruptPageError("a chunk leaves another part of a row than the index says", detail=chunk)


def validity_from_levels(
    def_: NDArray[np.uint16], null_level: int, out_bits: NDArray[np.uint8], out_bit_offset: int
) -> int:
    """Set a bit for every entry below the null level, clear it for the others, and count those."""
    if not 1 <= null_level <= MAX_LEVEL:
        raise InternalError("a null level is at least 1")
    return _put_bits(out_bits, out_bit_offset, (def_ < null_level).tolist())


@dataclass(slots=True)
class _Layer:
    kind: int
    below: int
    """Levels used by the layers inside."""
    num_lists: int
    """Lists among the layers up to this one."""
    dimension: int = 0
    """Slots of the layer inside that make one slot of this, a fixed-size list of structs; 0 for other layers."""

    @property
    def is_list(self) -> bool:
        return self.kind in LISTS

    @property
    def null_level(self) -> int | None:
        return self.below + 1 if self.kind in WITH_NULL_LEVEL else None

    @property
    def empty_level(self) -> int | None:
        return self.top if self.kind in WITH_EMPTY_LEVEL else None

    @property
    def top(self) -> int:
        """Levels used up to this layer."""
        return self.below + (self.kind in WITH_NULL_LEVEL) + (self.kind in WITH_EMPTY_LEVEL)

    def slot(self, level: int) -> str:
        """What an entry's level makes of a slot that this layer gets from it."""
        if level == self.null_level:
            return "null"
        if level == self.empty_level:
            return "empty"
        return "placeholder" if level > self.top else "valid"


class _Tree:
    """Slots of every layer, filled entry by entry from the outside in."""

    def __init__(self, layers: Sequence[int], dimensions: Sequence[int]) -> None:
        self.layers: list[_Layer] = []
        for kind, dimension in zip(layers, dimensions, strict=True):
            below = self.layers[-1].top if self.layers else 0
            num_lists = (self.layers[-1].num_lists if self.layers else 0) + (kind in LISTS)
            self.layers.append(_Layer(kind, below, num_lists, dimension))
        self.validity: list[list[bool]] = [[] for _ in layers]
        self.list_starts: list[list[int]] = [[] for _ in layers]
        self.is_open = [False] * len(layers)
        self.filled = [0] * len(layers)
        self.first_level = [0] * len(layers)

    def add(self, rep: int, level: int, entry: int) -> None:
        num_lists = self.layers[-1].num_lists
        if rep > num_lists or level > self.layers[-1].top:
            raise CorruptPageError("a level is above its bound", detail=entry)
        # The entry adds one item to the list around the layers it starts.
        started = [n for n, layer in enumerate(self.layers) if layer.num_lists <= rep]
        around = started[-1] + 1 if started else 0
        if around < len(self.layers) and not self.is_open[around]:
            raise CorruptPageError("an entry continues a list that is not open", detail=entry)
        for n, layer in enumerate(self.layers):
            if layer.num_lists < rep and self.filled[n]:
                raise CorruptPageError("a list begins inside a fixed-size list", detail=entry)
        # Inside a fixed-size list that is not full, it and the layers around it up to the next list have a slot.
        for n in list(started):
            if self.filled[n]:
                started = [one for one in started if one < n or self.layers[one].num_lists > self.layers[n].num_lists]
        for n in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[n]
            slot = layer.slot(level)
            if n in started:
                # Children of a null struct are null where they can be.
                self.validity[n].append(slot != "null" and not (slot == "placeholder" and layer.null_level is not None))
                if layer.is_list:
                    self.list_starts[n].append(len(self.validity[n - 1]))
                    self.is_open[n] = slot == "valid"
            elif layer.is_list and slot != "valid":
                raise CorruptPageError("a null or empty list does not start at its entry", detail=entry)
            if layer.dimension and layer.num_lists <= rep and (n - 1) in started:
                self._fill(n, level, entry)
            if layer.is_list and slot != "valid":
                for inner in range(n):
                    self.is_open[inner] = False
                return

    def _fill(self, n: int, level: int, entry: int) -> None:
        """Add a slot of the layer inside to the fixed-size list that is being filled, or to the next."""
        above = max(level, self.layers[n].below)
        if self.filled[n] == 0:
            self.first_level[n] = above
        elif above != self.first_level[n]:
            raise CorruptPageError("the entries of a fixed-size list disagree", detail=entry)
        self.filled[n] = (self.filled[n] + 1) % self.layers[n].dimension

    def finish(self) -> None:
        if any(self.filled):
            raise CorruptPageError("the last fixed-size list is not full")


def _grow(
    rep: LevelArray, def_: LevelArray, num_entries: int, layers: NDArray[np.uint8], dimensions: Positions | None
) -> _Tree:
    if num_entries < 0 or any(levels is not None and len(levels) != num_entries for levels in (rep, def_)):
        raise InternalError("levels and entries differ in number")
    kinds = layers.tolist()
    if not 1 <= len(kinds) <= MAX_LAYERS or kinds[0] in LISTS or any(not 1 <= kind <= 6 for kind in kinds):
        raise InternalError("unknown layers")
    sizes = dimensions.tolist() if dimensions is not None and len(dimensions) else [0] * len(kinds)
    if len(sizes) != len(kinds) or any(
        size < 0 or (size and (n == 0 or kind in LISTS))
        for n, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
    ):
        raise InternalError("a layer cannot have this dimension")
    tree = _Tree(kinds, sizes)
    if (rep is None) != (tree.layers[-1].num_lists == 0):
        raise InternalError("repetition levels exist exactly where there are lists")
    for entry in range(num_entries):
        tree.add(0 if rep is None else int(rep[entry]), 0 if def_ is None else int(def_[entry]), entry)
    tree.finish()
    return tree


def measure_layers(
    rep: LevelArray,
    def_: LevelArray,
    num_entries: int,
    layers: NDArray[np.uint8],
    dimensions: Positions | None,
    out_slots: Positions,
) -> None:
    """Count the slots that each layer gets."""
    if len(out_slots) != len(layers):
        raise InternalError("out_slots and layers differ in number")
    tree = _grow(rep, def_, num_entries, layers, dimensions)
    out_slots[:] = [len(validity) for validity in tree.validity]


def unravel(
    rep: LevelArray,
    def_: LevelArray,
    num_entries: int,
    layers: NDArray[np.uint8],
    dimensions: Positions | None,
    out_validity: Sequence[NDArray[np.uint8] | None],
    out_offsets: Sequence[NDArray[np.int32] | NDArray[np.int64] | None],
    slots: Positions,
    null_counts: Positions,
) -> None:
    """Append validity bits and list offsets of every layer after the `slots` that are there, and count on."""
    if any(len(one) != len(layers) for one in (out_validity, out_offsets, slots, null_counts)):
        raise InternalError("arrays over layers have different lengths")
    tree = _grow(rep, def_, num_entries, layers, dimensions)
    for n, validity in enumerate(tree.validity):
        _check_room(tree.layers[n], validity, int(slots[n]), out_validity[n], out_offsets[n])
    stops = slots + [len(validity) for validity in tree.validity]
    for n, (bits, offsets) in enumerate(zip(out_validity, out_offsets, strict=True)):
        if offsets is not None and tree.layers[n].is_list:
            items = [slots[n - 1] + start for start in tree.list_starts[n]] + [stops[n - 1]]
            if items[-1] > np.iinfo(offsets.dtype).max:
                raise InternalError("a list has more items than its offsets can count", detail=n)
            offsets[slots[n] : stops[n] + 1] = items
        if bits is not None:
            _put_bits(bits, int(slots[n]), tree.validity[n])
        null_counts[n] += tree.validity[n].count(False)
    slots[:] = stops


def _check_room(
    layer: _Layer,
    validity: list[bool],
    slot: int,
    bits: NDArray[np.uint8] | None,
    offsets: NDArray[np.signedinteger] | None,
) -> None:
    if slot < 0:
        raise InternalError("a layer begins at a negative slot")
    if bits is None:
        if not all(validity):
            raise InternalError("a layer has nulls but no bitmap")
    elif slot + len(validity) > bits.size * 8:
        raise InternalError("a layer's bitmap is too small")
    needed = slot + 1 + (len(validity) if layer.is_list else 0)
    if offsets is not None and len(offsets) < needed:
        raise InternalError("a list's offsets are too few")


def _put_bits(out_bits: NDArray[np.uint8], bit_offset: int, bits: Sequence[bool]) -> int:
    if bit_offset < 0 or bit_offset + len(bits) > out_bits.size * 8:
        raise InternalError("the bitmap is too small for the entries")
    whole = np.unpackbits(out_bits, bitorder="little")
    whole[bit_offset : bit_offset + len(bits)] = bits
    out_bits[:] = np.packbits(whole, bitorder="little")
    return len(bits) - sum(bits)


def _num_entries(rep: LevelArray, def_: LevelArray) -> int:
    lengths: Iterator[int] = (len(levels) for levels in (rep, def_) if levels is not None)
    distinct = set(lengths)
    if len(distinct) != 1:
        raise InternalError("there are no levels, or their numbers differ")
    return distinct.pop()


def _check_bounds(*bounds: int) -> None:
    if any(not 0 <= bound <= MAX_LEVEL for bound in bounds):
        raise InternalError("a bound is not a 16-bit level")
