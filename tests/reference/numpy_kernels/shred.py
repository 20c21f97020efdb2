"""Validity and offsets to levels, slot by slot: the meaning of ``engine/door/encode/shred.pxi``. Source: spec 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError, InvalidArgumentError

Levels: TypeAlias = NDArray[np.uint16]
Positions: TypeAlias = NDArray[np.int64]
Offsets: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
ShredNode: TypeAlias = tuple[int, NDArray[np.uint8] | None, int, Offsets | None, int, int]

MAX_NODES = 64
MAX_LEVEL = 0xFFFF


def shred_levels(
    nodes: Sequence[ShredNode],
    num_rows: int,
    levels: Levels,
    out_rep: Levels | None,
    out_def: Levels,
    out_run_starts: Positions,
    out_run_stops: Positions,
    seen: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write the levels of rows, mark what occurred, and list the visible slots as runs."""
    if not len(nodes) == len(levels) == len(seen) or len(nodes) > MAX_NODES:
        raise InternalError("arrays over nodes have different lengths")
    if levels.shape[1] != 2 or seen.shape[1] != 2:
        raise InternalError("a node has a null and an empty level")
    if len(out_run_starts) != len(out_run_stops):
        raise InternalError("arrays over runs have different lengths")
    if out_rep is not None and len(out_rep) != len(out_def):
        raise InternalError("repetition and definition levels differ in number")
    _check_nodes(nodes, num_rows, levels)
    walk = _Walk(nodes, levels)
    if (out_rep is not None) != (walk.num_lists[0] > 0):
        raise InternalError("repetition levels exist exactly where there are lists")
    for row in range(num_rows):
        walk.grow(0, row, walk.num_lists[0], 0)
    if len(walk.entries) > len(out_def):
        raise InternalError("there is no room for all entries")
    for entry, (rep, level) in enumerate(walk.entries):
        out_def[entry] = level
        if out_rep is not None:
            out_rep[entry] = rep
    for node, kind in walk.seen:
        seen[node, kind] = 1
    runs = _runs(walk.slots)
    if len(runs) <= len(out_run_starts):
        for number, (start, stop) in enumerate(runs):
            out_run_starts[number], out_run_stops[number] = start, stop
    return len(walk.entries), len(runs)


def _check_nodes(nodes: Sequence[ShredNode], num_rows: int, levels: Levels) -> None:
    if not nodes:
        raise InternalError("there must be 1 to 64 nodes")
    if not 0 <= num_rows <= nodes[0][0]:
        raise InternalError("there are more rows than slots")
    for n, (num_slots, validity, bit_offset, offsets, dimension, first_item) in enumerate(nodes):
        if min(num_slots, first_item, dimension) < 0:
            raise InternalError("a node has a negative size", detail=n)
        if validity is not None:
            if bit_offset < 0 or bit_offset + num_slots > 8 * len(validity):
                raise InvalidArgumentError("a validity bitmap is shorter than its array", detail=n)
            if levels[n, 0] == 0:
                raise InternalError("a node that may be null has no level for it", detail=n)
        if offsets is not None and len(offsets) != num_slots + 1:
            raise InvalidArgumentError("a list does not have one offset more than slots", detail=n)
        if offsets is not None and levels[n, 1] == 0:
            raise InternalError("a list has no level for empty ones", detail=n)
        is_last = n + 1 == len(nodes)
        if is_last and (offsets is not None or dimension):
            raise InternalError("the inner-most node is a list", detail=n)
        if offsets is not None and dimension:
            raise InternalError("a list cannot have a dimension", detail=n)
        if not is_last and offsets is None and first_item + num_slots * max(1, dimension) > nodes[n + 1][0]:
            raise InvalidArgumentError("a node has fewer items than the node around it needs", detail=n + 1)


class _Walk:
    """Entries of all rows, in order, and the slots of the leaf that they own."""

    def __init__(self, nodes: Sequence[ShredNode], levels: Levels) -> None:
        self.nodes, self.levels = nodes, levels.tolist()
        self.num_lists = [sum(node[3] is not None for node in nodes[n:]) for n in range(len(nodes) + 1)]
        self.entries: list[tuple[int, int]] = []
        self.slots: list[int] = []
        self.seen: set[tuple[int, int]] = set()

    def grow(self, n: int, slot: int, rep: int, level: int) -> None:
        """Write the entries of slot `slot` of node `n`; `level` is not 0 inside something null."""
        if n == len(self.nodes):
            self.entries.append((rep, level))
            self.slots.append(slot)
            return
        _, _, _, offsets, dimension, first_item = self.nodes[n]
        start, stop = slot, slot + 1
        if dimension:
            start, stop = first_item + slot * dimension, first_item + (slot + 1) * dimension
        if offsets is not None:
            start, stop = int(offsets[slot]), int(offsets[slot + 1])
            if not 0 <= start <= stop <= self.nodes[n + 1][0]:
                raise InvalidArgumentError("list offsets descend or leave their items", detail=n)
        if level == 0:
            level = self._own_level(n, slot, offsets is not None and start == stop)
        if offsets is not None and level:
            self.entries.append((rep, level))
            return
        for item in range(start, stop):
            first = item == start or offsets is None
            self.grow(
                n + 1,
                item if offsets is not None or dimension else slot,
                rep if first else self.num_lists[n + 1],
                level,
            )

    def _own_level(self, n: int, slot: int, is_empty: bool) -> int:
        _, validity, bit_offset, _, _, _ = self.nodes[n]
        bit = bit_offset + slot
        if validity is not None and not (int(validity[bit // 8]) >> (bit % 8)) & 1:
            self.seen.add((n, 0))
            return self.levels[n][0]
        if is_empty:
            self.seen.add((n, 1))
            return self.levels[n][1]
        return 0


def _runs(slots: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for slot in slots:
        if runs and runs[-1][1] == slot:
            runs[-1] = runs[-1][0], slot + 1
        else:
            runs.append((slot, slot + 1))
    return runs


def number_levels(nodes: NDArray[np.uint8], out: Levels) -> None:
    """Number what may be null, or an empty list, from the inner-most node on."""
    _check_traits(nodes, out)
    level = 0
    out[:] = 0
    for node in range(len(nodes) - 1, -1, -1):
        # Nulls of structs around a node, up to the next list, are marked in it too; not in the leaf.
        around = _items_around(nodes, node) if node < len(nodes) - 1 else range(0)
        if any(nodes[one, 2] or _always_has_nulls(nodes, one) for one in (*around, node)):
            out[node, 0] = level = level + 1
        if nodes[node, 0]:
            out[node, 1] = level = level + 1


def end_levels(
    nodes: NDArray[np.uint8], levels: Levels, seen: NDArray[np.uint8], def_: Levels, out_layers: NDArray[np.uint8]
) -> bool:
    """Add what the reference needs to what was seen, write the layers, and renumber the levels that are left."""
    _check_traits(nodes, levels, seen)
    if len(out_layers) != len(nodes):
        raise InternalError("arrays over nodes have different lengths")
    is_null = False
    for node in range(len(nodes) - 1):
        is_null |= bool(seen[node, 0]) or _always_has_nulls(nodes, node)
        seen[node, 0] |= is_null
        is_null &= not nodes[node, 0]
    lists = np.flatnonzero(nodes[:, 0])
    if len(lists) > 1:
        seen[lists, 1] |= seen[lists, 0] == 0
    kinds = {(0, 0, 0): 1, (0, 1, 0): 3, (1, 0, 0): 2, (1, 1, 0): 4, (1, 0, 1): 5, (1, 1, 1): 6}
    out_layers[:] = [kinds[int(nodes[n, 0]), *map(int, seen[n] > 0)] for n in range(len(nodes) - 1, -1, -1)]
    used = np.sort(levels[(levels > 0) & (seen > 0)])
    table = np.zeros(2 * len(nodes) + 1, np.uint16)
    table[used] = np.arange(1, len(used) + 1)
    if not np.array_equal(used, np.arange(1, len(used) + 1)):
        if (def_ >= len(table)).any():
            raise InternalError("a level is not in the table", detail=int(np.argmax(def_ >= len(table))))
        def_[:] = table[def_]
    return len(used) > 0


def _check_traits(nodes: NDArray[np.uint8], *others: NDArray[np.generic]) -> None:
    if not 1 <= len(nodes) <= MAX_NODES or nodes.shape[1] != 3:
        raise InternalError("a node has three traits, and a leaf 1 to 64 nodes")
    if any(other.shape != (len(nodes), 2) for other in others):
        raise InternalError("arrays over nodes have different lengths")


def _items_around(nodes: NDArray[np.uint8], node: int) -> range:
    """Return the nodes around a node, up to the next list."""
    first = node
    while first > 0 and not nodes[first - 1, 0]:
        first -= 1
    return range(first, node)


def _always_has_nulls(nodes: NDArray[np.uint8], node: int) -> bool:
    """Return whether a node is a struct around a list, and the schema allows nulls."""
    return bool(not nodes[node, 0] and nodes[node, 1] and nodes[node + 1 :, 0].any())


def _nulls(def_: Levels | None, max_visible: int) -> list[bool]:
    """For each visible value, whether it is null."""
    if not 0 <= max_visible <= MAX_LEVEL:
        raise InternalError("a bound is not a 16-bit level")
    return [] if def_ is None else [level != 0 for level in def_.tolist() if level <= max_visible]


def clear_null_values(def_: Levels, max_visible: int, bytes_per_value: int, values: NDArray[np.uint8]) -> None:
    """Zero the bytes of null values."""
    nulls = _nulls(def_, max_visible)
    if bytes_per_value < 0:
        raise InternalError("a value has a negative size")
    for value, is_null in enumerate(nulls):
        if is_null and bytes_per_value:
            if (value + 1) * bytes_per_value > len(values):
                raise InternalError("a null value lies outside the values", detail=value)
            values[value * bytes_per_value : (value + 1) * bytes_per_value] = 0


def fill_null_bits(def_: Levels, max_visible: int, bits_per_value: int, bits: NDArray[np.uint8], value: bool) -> None:
    """Set or clear the bits of null values."""
    nulls = _nulls(def_, max_visible)
    if bits_per_value < 1:
        raise InternalError("a value has no bits")
    whole = np.unpackbits(bits, bitorder="little")
    for number, is_null in enumerate(nulls):
        if is_null:
            if (number + 1) * bits_per_value > len(whole):
                raise InternalError("a null value lies outside the values", detail=number)
            whole[number * bits_per_value : (number + 1) * bits_per_value] = value
    bits[:] = np.packbits(whole, bitorder="little")


def _pieces(
    offsets: Offsets, run_starts: Positions, run_stops: Positions, def_: Levels | None, max_visible: int
) -> Iterator[tuple[int, bool]]:
    """Slots of the runs, and whether their value is null."""
    if len(run_starts) != len(run_stops):
        raise InternalError("arrays over runs have different lengths")
    nulls = _nulls(def_, max_visible)
    value = 0
    for run, (start, stop) in enumerate(zip(run_starts.tolist(), run_stops.tolist(), strict=True)):
        if not 0 <= start <= stop < len(offsets):
            raise InternalError("a run leaves the values", detail=run)
        for slot in range(start, stop):
            yield slot, value < len(nulls) and nulls[value]
            value += 1


def shred_offsets(
    offsets: Offsets,
    data_bytes: int,
    run_starts: Positions,
    run_stops: Positions,
    def_: Levels | None,
    max_visible: int,
    out_offsets: Offsets,
    base: int,
) -> tuple[int, int]:
    """Write the offsets of visible values from `base` on; null values are empty."""
    if out_offsets.itemsize != offsets.itemsize:
        raise InternalError("input and output offsets must have the same width")
    if len(out_offsets) < 1 or base < 0:
        raise InternalError("there is no first offset")
    out_offsets[0] = end = base
    spans: list[tuple[int, int]] = []
    for value, (slot, is_null) in enumerate(_pieces(offsets, run_starts, run_stops, def_, max_visible)):
        first, last = (0, 0) if is_null else (int(offsets[slot]), int(offsets[slot + 1]))
        if not is_null and value + 1 >= len(out_offsets):
            raise InternalError("there is no room for all offsets")
        if not 0 <= first <= last <= data_bytes:
            raise InvalidArgumentError("offsets descend or leave their bytes")
        end += last - first
        if end > np.iinfo(offsets.dtype).max:
            raise InvalidArgumentError("the values of one page have more bytes than their offsets can count")
        if value + 1 < len(out_offsets):
            out_offsets[value + 1] = end
        if first < last:
            spans.append((first, last))
    touching = all(left[1] == right[0] for left, right in pairwise(spans))
    return end - base, (spans[0][0] if spans else 0) if touching else -1


def shred_bytes(
    offsets: Offsets,
    data: NDArray[np.uint8],
    run_starts: Positions,
    run_stops: Positions,
    def_: Levels | None,
    max_visible: int,
    out: NDArray[np.uint8],
) -> None:
    """Copy the bytes of visible values that are not null back to back."""
    written = 0
    for slot, is_null in _pieces(offsets, run_starts, run_stops, def_, max_visible):
        if is_null:
            continue
        first, last = int(offsets[slot]), int(offsets[slot + 1])
        if not 0 <= first <= last <= len(data):
            raise InvalidArgumentError("offsets descend or leave their bytes")
        if written + last - first > len(out):
            raise InternalError("there is no room for all bytes")
        out[written : written + last - first] = data[first:last]
        written += last - first
