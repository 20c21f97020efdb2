"""Numpy twins of `kernels.bounds`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]
_SIGNED, _UNSIGNED, _FLOATING, _BIT, _BYTES = range(5)
_WIDTHS = {_SIGNED: (1, 2, 4, 8, 16, 32), _UNSIGNED: (1, 2, 4, 8), _FLOATING: (2, 4, 8), _BIT: (1,)}


def _check_zones(validity: _Bytes | None, bit_offset: int, zone_starts: _Positions, counts: _Positions) -> None:
    num_zones = len(zone_starts) - 1
    if num_zones < 0 or len(counts) != 3 * num_zones:
        raise InternalError("the counts do not fit")
    falls = np.flatnonzero(zone_starts < np.concatenate([[0], zone_starts[:-1]]))
    if len(falls):
        raise InternalError("zone_starts descend", detail=int(falls[0]))
    if validity is not None and (bit_offset < 0 or zone_starts[-1] > 8 * len(validity) - bit_offset):
        raise InternalError("zone_starts leave the validity")


def _valid(validity: _Bytes | None, bit_offset: int, start: int, stop: int) -> NDArray[np.bool_]:
    if validity is None:
        return np.ones(stop - start, np.bool_)
    bits = np.unpackbits(validity, bitorder="little")
    return bits[bit_offset + start : bit_offset + stop].astype(np.bool_)


def _keys(raw: _Bytes, kind: int, width: int) -> list[Any]:
    """Values as Python objects in the wanted order; NaN is None."""
    rows = [bytes(row) for row in raw.reshape(-1, width)]
    if kind == _BYTES:
        return list(rows)
    if kind == _FLOATING:
        numbers = raw.view(f"<f{width}").astype(np.float64)
        return [None if np.isnan(number) else float(number) for number in numbers]
    return [int.from_bytes(row, "little", signed=kind == _SIGNED) for row in rows]


def bound_fixed(
    values: _Bytes,
    value_offset: int,
    kind: int,
    width: int,
    validity: _Bytes | None,
    bit_offset: int,
    zone_starts: _Positions,
    mins: _Bytes,
    maxs: _Bytes,
    counts: _Positions,
) -> None:
    """Bound fixed-width values; see the kernel."""
    _check_zones(validity, bit_offset, zone_starts, counts)
    if width < 1 or value_offset < 0:
        raise InternalError("the width or offset of values is out of range")
    held = 8 * len(values) if kind == _BIT else len(values) // width
    if zone_starts[-1] > held - value_offset:
        raise InternalError("zone_starts leave the values")
    if len(zone_starts) - 1 > min(len(mins), len(maxs)) // width:
        raise InternalError("the bounds do not fit")
    if kind != _BYTES and width not in _WIDTHS.get(kind, ()):
        raise InternalError("values of this kind and width have no order")
    if kind == _BIT:
        values, kind = np.unpackbits(values, bitorder="little"), _UNSIGNED
    for zone, (start, stop) in enumerate(zip(zone_starts[:-1].tolist(), zone_starts[1:].tolist(), strict=True)):
        valid = _valid(validity, bit_offset, start, stop)
        raw = values[(value_offset + start) * width : (value_offset + stop) * width].reshape(-1, width)[valid]
        keys = _keys(np.ascontiguousarray(raw).reshape(-1), kind, width)
        numbers = [key for key in keys if key is not None]
        counts.reshape(3, -1)[:, zone] = len(numbers), len(valid) - len(keys), len(keys) - len(numbers)
        if not numbers:
            continue
        for out, best, zero in ((mins, min(numbers), -0.0), (maxs, max(numbers), 0.0)):
            bound = bytes(raw[keys.index(best)])
            if kind == _FLOATING and best == 0:
                bound = np.array([zero], f"<f{width}").tobytes()
            out[zone * width : (zone + 1) * width] = np.frombuffer(bound, np.uint8)


def bound_variable(
    offsets: _Bytes,
    offset_bits: int,
    data: _Bytes,
    validity: _Bytes | None,
    bit_offset: int,
    zone_starts: _Positions,
    min_indices: _Positions,
    max_indices: _Positions,
    counts: _Positions,
) -> None:
    """Find smallest and greatest values; see the kernel."""
    if len(zone_starts) == 0 or len(counts) != 3 * (len(zone_starts) - 1):
        raise InternalError("the counts do not fit")
    if len(min_indices) != len(zone_starts) - 1 or len(max_indices) != len(zone_starts) - 1:
        raise InternalError("the bounds do not fit")
    if offset_bits not in (32, 64):
        raise InternalError("offsets have 32 or 64 bits")
    _check_zones(validity, bit_offset, zone_starts, counts)
    width = offset_bits // 8
    places = offsets[: len(offsets) // width * width].view(f"<i{width}").astype(np.int64)
    if len(zone_starts) > 1 and zone_starts[-1] >= len(places):
        raise InternalError("zone_starts leave the offsets")
    for zone, (start, stop) in enumerate(zip(zone_starts[:-1].tolist(), zone_starts[1:].tolist(), strict=True)):
        chosen = start + np.flatnonzero(_valid(validity, bit_offset, start, stop))
        for at in chosen.tolist():
            if not 0 <= places[at] <= places[at + 1] <= len(data):
                raise InternalError("offsets leave the data", detail=at)
        found = {at: bytes(data[places[at] : places[at + 1]]) for at in chosen.tolist()}
        counts.reshape(3, -1)[:, zone] = len(found), stop - start - len(found), 0
        min_indices[zone] = min(found, key=lambda at: found[at], default=-1)
        max_indices[zone] = max(found, key=lambda at: found[at], default=-1)
