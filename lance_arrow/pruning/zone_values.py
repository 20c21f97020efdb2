"""Values in zone predicates: types of comparisons, and casts that keep the order of values."""

from __future__ import annotations

import pyarrow as pa

from lance_arrow.engine import NativeZones
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import form_of, is_text, is_variable

UNCOMPARABLE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
"""Errors of Arrow for values that it cannot compare or cast."""


def casts_between(of: pa.DataType, types: tuple[pa.DataType, ...]) -> tuple[pa.DataType, ...] | None:
    """Return the casts through `types`; empty if they do not change the comparison.

    None if a cast loses the order of values.
    """
    casts = []
    is_same = True
    for to in types:
        if of == to:
            continue
        if not keeps_order(of, to):
            return None
        casts.append(to)
        is_same &= are_alike(of, to)
        of = to
    return () if is_same else tuple(casts)


def cast_bounds(bounds: pa.Array, casts: tuple[pa.DataType, ...]) -> pa.Array | None:
    """Cast bounds or literals; None if one cannot be cast: the scan would fail at such a value too."""
    try:
        for to in casts:
            # Large integers are rounded, which keeps their order.
            is_exact = not (pa.types.is_integer(bounds.type) and pa.types.is_floating(to))
            bounds = bounds.cast(to, safe=is_exact)
    except UNCOMPARABLE:
        return None
    return bounds


def zones_as(zone_map: ZoneMap, types: tuple[pa.DataType, ...]) -> NativeZones | None:
    """Return a zone map whose values are cast through `types`; None if nothing is known after the casts."""
    # Items of lists are not rows.
    casts = None if zone_map.is_repeated else casts_between(zone_map.low.type, types)
    if casts is None:
        return None
    if not casts:
        return zone_map.native
    if casts not in zone_map.cast:
        zone_map.cast[casts] = _cast_zones(zone_map, casts)
    return zone_map.cast[casts]


def _cast_zones(zone_map: ZoneMap, casts: tuple[pa.DataType, ...]) -> NativeZones | None:
    low, high = (cast_bounds(one, casts) for one in (zone_map.low, zone_map.high))
    form = form_of(casts[-1])
    if low is None or high is None or form is None:
        return None
    return NativeZones(low, high, *form, zone_map.flags)


def keeps_order(of: pa.DataType, to: pa.DataType) -> bool:
    """Return whether a cast keeps the order of values."""
    types = pa.types
    if types.is_integer(of):
        return (types.is_floating(to) and to.bit_width >= 32) or types.is_decimal(to) or _is_wider_integer(of, to)
    if types.is_floating(of):
        return types.is_floating(to) and to.bit_width > of.bit_width
    if types.is_decimal(of):
        # The numbers of digits before and after the point only grow.
        return types.is_decimal(to) and to.scale >= of.scale and to.precision - to.scale >= of.precision - of.scale
    if types.is_timestamp(of) and types.is_timestamp(to):
        return (of.tz is None) == (to.tz is None) and _is_finer(of.unit, to.unit)
    if types.is_duration(of) and types.is_duration(to):
        return _is_finer(of.unit, to.unit)
    if types.is_time(of) and types.is_time(to):
        return _is_finer(of.unit, to.unit)
    if types.is_date(of):
        return types.is_date64(to) or (types.is_timestamp(to) and to.tz is None and types.is_date32(of))
    # Strings can become binary with the same bytes, but not the reverse.
    return is_variable(of) and is_variable(to) and (is_text(of) or not is_text(to))


def _is_wider_integer(of: pa.DataType, to: pa.DataType) -> bool:
    if not pa.types.is_integer(to) or to.bit_width < of.bit_width:
        return False
    same_sign = pa.types.is_signed_integer(of) == pa.types.is_signed_integer(to)
    # Of unsigned numbers of the same width, only values in range are cast: others raise.
    return same_sign or bool(pa.types.is_signed_integer(to))


def _is_finer(of: str, to: str) -> bool:
    units = ("s", "ms", "us", "ns")
    return units.index(to) >= units.index(of)


def are_alike(of: pa.DataType, to: pa.DataType) -> bool:
    """Return whether values of two types compare equally, if a cast between them keeps their order."""
    one, other = form_of(of), form_of(to)
    return one is not None and other is not None and one[0] == other[0] and _unit(of) == _unit(to)


def _unit(type_: pa.DataType) -> object:
    """Return the unit of a temporal type, the scale of a decimal, or None."""
    if pa.types.is_date(type_):
        return type_.id
    return type_.scale if pa.types.is_decimal(type_) else getattr(type_, "unit", None)
