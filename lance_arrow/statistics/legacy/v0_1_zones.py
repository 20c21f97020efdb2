"""`zones_of_batches`: a zone map from the batch statistics of a 0.1 file, as far as they hold for the values read.

    batches   |     400     |  100  |       500       |          statistics describe the values as they were written
    zones     |  250  |  250  |  250  |  250  |                  a zone is known if all batches that meet it are

Such files lose nulls, and their bounds describe only values that were not null. A null is read as the value stored in
its place, which may be any value. So nothing is known of a batch with nulls. Empty strings are read as nulls. No count
shows this, but the lower bound does. Source: spec 0.1, 6 and 7; docs/format/zone_maps.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.arrow_arrays import true_flags
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import CorruptFileError
from lance_arrow.late_arrow import pc
from lance_arrow.statistics.zone_bounds import bound_array, successor
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import is_text, is_variable, zones_schema

_ZONES_PER_BATCH = 4
_TRUE_TEXT_BYTES = 61
"""Strings of more than 64 bytes are cut to at least 61 bytes, at the end of a character."""

_Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class BatchBounds:
    """Statistics of one leaf.

    Parameters
    ----------
    null_counts
        ``(num_batches,) int64``.
    low, high
        ``(num_batches,)`` of the leaf's type; null without a bound.
    """

    null_counts: NDArray[np.int64]
    low: pa.Array
    high: pa.Array


def zones_of_batches(told: BatchBounds, leaf: LeafNode, batch_starts: NDArray[np.int64]) -> ZoneMap | None:
    """Build the zone map of a leaf.

    Parameters
    ----------
    told
        Statistics from the file.
    leaf
        A leaf outside lists.
    batch_starts
        ``(num_batches + 1,) int64`` first rows of the batches, and the number of rows.

    Returns
    -------
    ZoneMap or None
        None if no zone has useful bounds.

    Raises
    ------
    CorruptFileError
        The statistics contradict themselves, or the rows.
    """
    rows = np.diff(batch_starts)
    if ((told.null_counts < 0) | (told.null_counts > rows)).any():
        raise CorruptFileError(f"batches of {_some(rows)} rows declare {_some(told.null_counts)} nulls")
    filled = np.flatnonzero(rows)
    if not len(filled):
        return None
    places = pa.array(filled)
    is_known = told.null_counts[filled] == 0
    low, high = (
        pc.if_else(pa.array(is_known), one.take(places), pa.scalar(None, one.type)) for one in (told.low, told.high)
    )
    _check(low, high)
    if is_text(low.type):
        high = _above_cut_strings(high)
    grid = _Grid.of(batch_starts[np.append(filled, len(rows))])
    has_nulls = _may_read_as_null(leaf, is_known, low)
    columns = _columns(grid, low, high, has_nulls)
    is_partial = any(columns[name].null_count for name in ("min", "max", "null_count", "nan_count"))
    if all(columns[name].null_count == grid.num_zones for name in ("min", "max")) and has_nulls.all():
        return None
    schema = pa.schema([field.with_nullable(True) for field in zones_schema(low.type)])
    return ZoneMap(
        pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema),
        grid.step,
        is_repeated=False,
        is_partial=is_partial,
    )


def _some(counts: NDArray[np.int64]) -> list[int]:
    found: list[int] = counts[:20].tolist()
    return found


def _check(low: pa.Array, high: pa.Array) -> None:
    if pa.types.is_floating(low.type) and any(pc.any(pc.is_nan(one)).as_py() for one in (low, high)):
        raise CorruptFileError("NaN is declared as a bound of values")
    if pc.any(pc.greater(low, high)).as_py():
        raise CorruptFileError("a lower bound is above the upper one")


def _above_cut_strings(high: pa.Array) -> pa.Array:
    """Raise upper bounds that may be below strings that were cut.

    Writers cut each string, then raise the greatest result. That may not be an upper bound of a string that was cut
    before a long character. A second string may continue with a smaller character, and is not cut.
    """
    if (pc.max(pc.binary_length(high)).as_py() or 0) <= _TRUE_TEXT_BYTES:
        return high
    return pa.array([None if one is None else _raised_bound(one) for one in high.to_pylist()], high.type)


def _raised_bound(bound: str) -> str | None:
    stored = bound.encode()
    if len(stored) <= _TRUE_TEXT_BYTES:
        return bound
    above = successor(stored[:_TRUE_TEXT_BYTES].decode(errors="ignore").encode(), True)
    return None if above is None else above.decode()


def _may_read_as_null(leaf: LeafNode, is_known: _Flags, low: pa.Array) -> _Flags:
    """Return flags of the batches with values that may be read as null, ``(num_batches,)``: only empty strings are."""
    if not is_variable(low.type) or not leaf.field.nullable:
        return np.zeros(len(low), np.bool_)
    has_text = true_flags(pc.greater(pc.binary_length(low), 0))
    return ~is_known | ~has_text


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Zones of one length over batches; none is empty.

    Parameters
    ----------
    step
        Rows of every zone but the last.
    starts, stops
        ``(num_zones,) int64`` rows.
    batches, firsts
        Numbers of the batches that meet each zone, one zone after the other; ``(num_zones + 1,) int64`` offsets of each
        zone in them.
    is_whole
        ``(num_zones,) bool``: whether all batches of a zone lie completely inside it.
    """

    step: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    batches: NDArray[np.int64]
    firsts: NDArray[np.int64]
    is_whole: _Flags

    @classmethod
    def of(cls, borders: NDArray[np.int64]) -> _Grid:
        """Cut where batches end if their lengths allow it, otherwise into a few zones for each batch."""
        num_rows, most = int(borders[-1]), _ZONES_PER_BATCH * (len(borders) - 1)
        step = int(np.gcd.reduce(borders[1:-1])) or num_rows
        if -(-num_rows // step) > most:
            step = -(-num_rows // most)
        starts = np.arange(0, num_rows, step, dtype=np.int64)
        stops = np.minimum(starts + step, num_rows)
        first = np.searchsorted(borders, starts, "right") - 1
        counts = np.searchsorted(borders, stops, "left") - first
        firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        batches = np.arange(firsts[-1]) - np.repeat(firsts[:-1] - first, counts)
        is_whole = np.isin(starts, borders) & np.isin(stops, borders)
        return cls(step, starts, stops, batches, firsts, is_whole)

    @property
    def num_zones(self) -> int:
        return len(self.starts)

    def any(self, flags: _Flags) -> _Flags:
        """Return whether a flag is set for some batch of each zone."""
        found: _Flags = np.logical_or.reduceat(flags[self.batches], self.firsts[:-1])
        return found


def _columns(grid: _Grid, low: pa.Array, high: pa.Array, has_nulls: _Flags) -> dict[str, pa.Array]:
    """Return the columns of the zone map: values unknown for one batch are unknown for its zones."""
    places, num_zones, type_ = pa.array(grid.batches), grid.num_zones, low.type
    below, above = (bound_array(one.take(places), grid.firsts) for one in (low, high))
    bounds = {}
    for name, stored, merged in (("min", low, below.mins), ("max", high, above.maxs)):
        is_open = grid.any(true_flags(stored.is_null()))
        bounds[name] = pc.if_else(pa.array(is_open), pa.scalar(None, type_), merged)
    # Bounds of floats that are all NaN are infinities; upper bounds of strings may be raised even if nothing was cut.
    is_value = pc.is_finite if pa.types.is_floating(type_) else pc.is_valid
    is_exact = {name: grid.is_whole & true_flags(is_value(bound)) for name, bound in bounds.items()}
    if is_variable(type_):
        is_exact["min"] &= true_flags(pc.less(pc.binary_length(bounds["min"]), _TRUE_TEXT_BYTES))
        is_exact["max"] = np.zeros(num_zones, np.bool_)
    rows = pa.array(grid.stops - grid.starts)
    return {
        **bounds,
        **{f"{name}_exact": pa.array(flags) for name, flags in is_exact.items()},
        "null_count": pa.array(np.zeros(num_zones, np.int64), mask=grid.any(has_nulls)),
        "nan_count": pa.array(np.zeros(num_zones, np.int64), mask=np.full(num_zones, pa.types.is_floating(type_))),
        "row_count": rows,
        "value_count": rows,
    }
