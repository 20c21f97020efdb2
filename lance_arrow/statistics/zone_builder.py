"""`ZoneBuilder`: builds the zone map of one leaf from consecutive chunks of its column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode, inner_fields, storage_type
from lance_arrow.arrays.list_items import list_items
from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.late_arrow import pc
from lance_arrow.statistics.packed_zones import encode_packed
from lance_arrow.statistics.plain_maps import encode_plain
from lance_arrow.statistics.zone_bounds import Bounds, bound_array, merge_bounds
from lance_arrow.statistics.zone_maps import ZoneMap, encode_zones
from lance_arrow.statistics.zone_types import DEFAULT_ROWS_PER_ZONE, bounds_type, zones_schema

_OTHER_BYTES_PER_ZONE = 8
_SMALLEST_BUDGET_BYTES = 4096
_COLUMN_BYTES_PER_MAP_BYTE = 1000
MAX_COARSER = 4
"""Most times by which zones may become longer so that an existing zone map can be added."""


class ZoneBuilder:
    """Bounds of runs of rows of one leaf.

    Zones count rows of the file. The bounds of a zone hold for every visible value of the leaf in its rows. Visible
    values are not null, and not inside a null struct or list. `ZoneMap` documents the counts.

    Parameters
    ----------
    leaf
        A leaf for which `bounds_type` is not None.
    rows_per_zone
        Rows of every zone but the last.

    Attributes
    ----------
    rows_per_zone
        As given; a larger multiple after `finish` with `column_bytes`, or after `add_zones`.
    num_rows
        Rows that were added.

    Raises
    ------
    InvalidArgumentError
        `rows_per_zone` is out of range.
    """

    def __init__(self, leaf: LeafNode, rows_per_zone: int = DEFAULT_ROWS_PER_ZONE) -> None:
        bounds = bounds_type(leaf)
        if bounds is None:
            raise InternalError(f"a leaf of type {leaf.field.type} has no zone map", column=leaf.path)
        if isinstance(rows_per_zone, bool) or not isinstance(rows_per_zone, int) or not 1 <= rows_per_zone < 1 << 32:
            raise InvalidArgumentError(
                f"rows_per_zone is {rows_per_zone!r}, expected an integer of 1 to {2**32 - 1}", detail=rows_per_zone
            )
        self.rows_per_zone = rows_per_zone
        self._leaf = leaf
        self._type = bounds
        self.num_rows = 0
        self._parts: list[Bounds] = []
        self._slots: list[NDArray[np.int64]] = []
        self._first_rows: list[NDArray[np.int64]] = []

    def add(self, array: pa.Array) -> None:
        """Add the next rows.

        Parameters
        ----------
        array
            Rows of the top-level column of the leaf; may be a slice. A zone may continue in the next chunk.
        """
        if not len(array):
            return
        step = self.rows_per_zone
        start, stop = self.num_rows, self.num_rows + len(array)
        first_border = (start // step + 1) * step
        if stop <= first_border:
            borders = np.array([start, stop], np.int64)
        else:
            borders = np.concatenate([[start], np.arange(first_border, stop, step), [stop]]).astype(np.int64)
        values, starts = _values(array, _steps(self._leaf, array.type), borders - start)
        self._add_part(bound_array(values, starts), starts[1:] - starts[:-1], borders[:-1])
        self.num_rows = stop

    def add_bounds(self, bounds: Bounds, num_rows: int) -> None:
        """Add the next rows by the bounds of their zones; the first row begins a zone."""
        starts = np.arange(0, num_rows, self.rows_per_zone, dtype=np.int64)
        slots = bounds.num_values + bounds.num_nulls + bounds.num_nans
        self._add_part(bounds, slots, self.num_rows + starts)
        self.num_rows += num_rows

    def add_zones(self, zone_map: ZoneMap) -> bool:
        """Add the next rows by their zone map, whose zones become parts of these zones.

        Zones must not cross borders of these zones. Longer zones make all zones longer, at most `MAX_COARSER` times.

        Parameters
        ----------
        zone_map
            Zone map of the same leaf, for the added rows.

        Returns
        -------
        bool
            False if the zones do not fit; then nothing was added, and the values are needed.
        """
        rows, slots = zone_map.counts("row_count"), zone_map.counts("value_count")
        own, other = self.rows_per_zone, zone_map.rows_per_zone
        step = own if len(rows) < 2 and rows.sum() <= own else max(own, other)
        if zone_map.is_partial or zone_map.low.type != self._type or step % own or step > MAX_COARSER * own:
            return False
        first_rows = self.num_rows + np.cumsum(rows) - rows
        if (first_rows // step != (first_rows + rows - 1) // step).any():
            return False
        nulls, nans = zone_map.counts("null_count"), zone_map.counts("nan_count")
        exact = [zone_map.zones.column(name).to_numpy(zero_copy_only=False) for name in ("min_exact", "max_exact")]
        self.rows_per_zone = step
        bounds = Bounds(zone_map.low, zone_map.high, *exact, slots - nulls - nans, nulls, nans)
        self._add_part(bounds, slots, first_rows)
        self.num_rows += int(rows.sum())
        return True

    def _add_part(self, bounds: Bounds, slots: NDArray[np.int64], first_rows: NDArray[np.int64]) -> None:
        """Keep bounds of the next rows; short parts are joined, since each takes 3 KiB beside its bounds."""
        for held, part in ((self._parts, bounds), (self._slots, slots), (self._first_rows, first_rows)):
            held.append(part)
        # A part is joined with the one before it if that is not much longer, so each zone is copied a few times.
        while len(self._slots) > 1 and len(self._slots[-2]) <= 2 * len(self._slots[-1]):
            self._parts[-2:] = [_concatenated(self._parts[-2:])]
            for numbers in (self._slots, self._first_rows):
                numbers[-2:] = [np.concatenate(numbers[-2:])]

    def finish(self, column_bytes: int | None = None) -> pa.RecordBatch:
        """Return the zone map, of `zones_schema`.

        Parameters
        ----------
        column_bytes
            Bytes of the leaf's pages in the file. Pairs of zones are joined repeatedly, until the map takes at most a
            thousandth of these bytes, or 4 KiB. None keeps `rows_per_zone`.
        """
        zones = self._zones(column_bytes)
        if zones is None:
            schema = zones_schema(self._type)
            return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
        return zones.batch(self._type)

    def encode(self, column_bytes: int | None = None) -> bytes:
        """Return the serialized zone map: ``finish(column_bytes)``, packed if it has one zone."""
        zones = self._zones(column_bytes)
        if zones is None:
            return encode_zones(self.finish(column_bytes))
        if len(zones.rows) == 1:
            packed = encode_packed(zones.bounds, int(zones.rows[0]), int(zones.slots[0]))
            if packed is not None:
                return packed
        if not zones.is_plain:
            return encode_zones(zones.batch(self._type))
        bounds = zones.bounds
        return encode_plain(
            bounds.mins, bounds.maxs, bounds.num_nulls, zones.rows, lambda: encode_zones(zones.batch(self._type))
        )

    def _zones(self, column_bytes: int | None) -> _Zones | None:
        """Return the zones, joined as `column_bytes` requires; None without rows."""
        if not self._parts:
            return None
        if len(self._parts) == 1 and len(self._slots[0]) == 1:
            return _Zones(self._parts[0], np.array([self.num_rows]), self._slots[0])
        first_rows = np.concatenate(self._first_rows)
        zones = _Zones(
            _concatenated(self._parts),
            np.diff(np.append(first_rows, self.num_rows)),
            np.concatenate(self._slots),
        ).joined(first_rows // self.rows_per_zone)
        if column_bytes is not None:
            factor = _factor(zones, column_bytes, self.rows_per_zone)
            zones = zones.joined(np.arange(len(zones.slots)) // factor)
            self.rows_per_zone *= factor
        return zones


class _Zones(NamedTuple):
    """Zones or parts of zones: their bounds, and ``(num_zones,) int64`` rows and visible items."""

    bounds: Bounds
    rows: NDArray[np.int64]
    slots: NDArray[np.int64]

    @property
    def is_plain(self) -> bool:
        """Whether each row has one item, there is no NaN, and all bounds are values."""
        bounds, rows = self.bounds, self.rows.tobytes()
        # Few numbers are compared faster as bytes than as arrays.
        return (
            (bounds.num_values + bounds.num_nulls).tobytes() == rows
            and self.slots.tobytes() == rows
            and 0 not in bounds.min_exact.tobytes()
            and 0 not in bounds.max_exact.tobytes()
            and not bounds.mins.null_count + bounds.maxs.null_count
        )

    def joined(self, owners: NDArray[np.int64]) -> _Zones:
        """Join neighbours with the same (ascending) owner."""
        starts = np.concatenate([[0], np.flatnonzero(np.diff(owners)) + 1, [len(owners)]]).astype(np.int64)
        if len(starts) - 1 == len(owners):
            return self
        rows, slots = (np.add.reduceat(counts, starts[:-1]) for counts in (self.rows, self.slots))
        return _Zones(merge_bounds(self.bounds, starts), rows, slots)

    def batch(self, type_: pa.DataType) -> pa.RecordBatch:
        bounds = self.bounds
        counts = (bounds.num_nulls, bounds.num_nans, self.rows, self.slots)
        exact = (bounds.min_exact, bounds.max_exact)
        # `pa.array` would import pandas.
        flags = [_plain(pa.bool_(), len(one), np.packbits(one, bitorder="little")) for one in exact]
        numbers = [_plain(pa.int64(), len(one), np.ascontiguousarray(one, np.int64)) for one in counts]
        return pa.RecordBatch.from_arrays([bounds.mins, bounds.maxs, *flags, *numbers], schema=zones_schema(type_))


def _plain(type_: pa.DataType, length: int, data: NDArray[Any]) -> pa.Array:
    """Return an array without nulls."""
    return pa.Array.from_buffers(type_, length, [None, pa.py_buffer(data)], 0)


def _factor(zones: _Zones, column_bytes: int, rows_per_zone: int) -> int:
    """Return how many zones to join, a power of two. It depends on the rows, not on their chunks."""
    num_zones = len(zones.slots)
    zone_bytes = (zones.bounds.mins.nbytes + zones.bounds.maxs.nbytes) // num_zones + _OTHER_BYTES_PER_ZONE
    budget = max(_SMALLEST_BUDGET_BYTES, column_bytes // _COLUMN_BYTES_PER_MAP_BYTE)
    factor = 1
    while -(-num_zones // factor) > 1 and -(-num_zones // factor) * zone_bytes > budget:
        if 2 * factor * rows_per_zone >= 1 << 32:
            break
        factor *= 2
    return factor


def _concatenated(parts: list[Bounds]) -> Bounds:
    if len(parts) == 1:
        return parts[0]
    joined = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("min_exact", "max_exact", "num_values", "num_nulls", "num_nans")
    }
    return Bounds(
        pa.concat_arrays([part.mins for part in parts]), pa.concat_arrays([part.maxs for part in parts]), **joined
    )


def _steps(leaf: LeafNode, type_: pa.DataType) -> tuple[int, ...]:
    """Return the numbers of the children on the path from the column to the leaf."""
    if len(leaf.leaf.nodes) == 1:
        return ()
    for names, steps in _paths(type_, len(leaf.leaf.nodes) - 1):
        if f".{leaf.path}".endswith("".join(f".{name}" for name in names)):
            return steps
    raise InternalError(f"the column, of type {type_}, does not hold the leaf", column=leaf.path)


def _paths(type_: pa.DataType, depth: int) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Yield names and numbers of the children `depth` levels below a type."""
    if depth == 0:
        yield (), ()
        return
    for number, field in enumerate(inner_fields(storage_type(type_))):
        for names, steps in _paths(field.type, depth - 1):
            yield (field.name, *names), (number, *steps)


def _values(array: pa.Array, steps: tuple[int, ...], starts: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
    """Follow steps to the leaf; return its visible items, and the offsets of those of rows ``starts[i]`` onwards."""
    for step in steps:
        array = _without_extension(array)
        if isinstance(array, pa.StructArray):
            # Merges the nulls of the struct into those of its child.
            array = pc.struct_field(array, [step])
            continue
        array, counts = list_items(array)
        starts = np.concatenate([[0], np.cumsum(counts)])[starts].astype(np.int64)
    return _without_extension(array), starts


def _without_extension(array: pa.Array) -> pa.Array:
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array
