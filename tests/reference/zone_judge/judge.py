"""Filters judged on zones by pyarrow and numpy, function by function: the oracle of `engine/prune/zone_program.cpp`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path
from lance_arrow.statistics.zone_bounds import successor
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import has_order, is_text, is_variable
from zone_judge.values import (
    UNCOMPARABLE,
    Condition,
    Flags,
    ValueRange,
    equal,
    less,
    member,
    within,
)

Tree: TypeAlias = tuple[Any, ...]

_MATCH_NULLS, _SKIP_NULLS = 0, 1
_WILDCARDS = b"%_\\"


def verdicts(tree: Tree, zone_maps: Mapping[Path, ZoneMap], num_zones: int) -> NDArray[np.int8]:
    """Judge each zone; as `ZonePredicate.verdicts`."""
    found = _Judge(zone_maps, num_zones, {}).condition(tree)
    # What may be true is MAYBE, and ALL where it can be nothing else.
    verdicts = found.true.astype(np.int8)
    verdicts += found.true & ~(found.false | found.null)
    return verdicts


@dataclass(frozen=True, slots=True, eq=False)
class _Judge:
    """Walks a tree bottom up; what Arrow cannot compare is unknown.

    `literals` and `fields` hold what is known of nodes, by identity, and of paths.
    """

    zone_maps: Mapping[Path, ZoneMap]
    num_zones: int
    literals: dict[int, ValueRange]
    fields: dict[Path, ValueRange] = field(default_factory=dict)

    def condition(self, node: Tree) -> Condition:
        """Outcomes of a boolean expression."""
        try:
            if node[0] == "call" and node[1] in _CONDITIONS:
                found = _CONDITIONS[node[1]](self, node)
                return self._unknown if found is None else found
            values = self.values(node)
            if values is not None and pa.types.is_boolean(values.type):
                return values.as_condition()
        except UNCOMPARABLE:
            pass
        return self._unknown

    @property
    def _unknown(self) -> Condition:
        return Condition.unknown(self.num_zones)

    def values(self, node: Tree) -> ValueRange | None:
        """Values of an expression; None when nothing is known."""
        if node[0] == "literal":
            known = self.literals.get(id(node))
            if known is None and isinstance(node[1], pa.Scalar) and has_order(node[1].type):
                known = self.literals[id(node)] = _comparable(ValueRange.of_literal(node[1], self.num_zones))
            return known
        if node[0] == "field":
            zone_map = self.zone_maps.get(node[1])
            # Items of lists are not rows.
            if zone_map is None or zone_map.is_repeated:
                return None
            values = self.fields.get(node[1])
            if values is None:
                values = self.fields[node[1]] = _comparable(ValueRange.of_zones(zone_map))
            if values.type == node[2]:
                return values
            if pa.types.is_dictionary(node[2]):
                # Arrow holds an index of a null item to be a valid value, until it is cast.
                values = replace(values, value=values.value | values.null)
            # A dataset may show the file's values as another type; dictionaries are bounded by their values.
            return _cast(values, node[2]) if has_order(node[2]) and not pa.types.is_float16(node[2]) else values
        if node[1] != "cast" or len(node[2]) != 1:
            return None
        inner = self.values(node[2][0])
        return None if inner is None else _cast(inner, node[4])

    def both(self, node: Tree) -> tuple[ValueRange, ValueRange] | None:
        """Values of two arguments, of the same type."""
        left, right = (self.values(one) for one in node[2])
        if left is None or right is None:
            return None
        left, right = _as_precise(left, right.type), _as_precise(right, left.type)
        return (left, right) if left.type == right.type else None


def _comparable(values: ValueRange) -> ValueRange:
    """Arrow compares no half floats: they are judged as floats, which hold the same numbers."""
    if not pa.types.is_float16(values.type):
        return values
    return values.with_bounds(values.low.cast(pa.float32()), values.high.cast(pa.float32()))


def _as_precise(values: ValueRange, other: pa.DataType) -> ValueRange:
    """Give decimals as many digits as those they are compared with: Arrow compares them by value."""
    own = values.type
    are_decimals = pa.types.is_decimal(own) and pa.types.is_decimal(other)
    if not are_decimals or own.scale != other.scale or own.precision >= other.precision:
        return values
    return values.with_bounds(values.low.cast(other), values.high.cast(other))


def _cast(values: ValueRange, to: pa.DataType) -> ValueRange | None:
    """Cast bounds where casts keep the order of values; a value that cannot be cast fails the scan too."""
    if values.type == to:
        return values
    if not _keeps_order(values.type, to):
        return None
    # Integers of many digits are rounded, which keeps their order.
    is_exact = not (pa.types.is_integer(values.type) and pa.types.is_floating(to))
    return values.with_bounds(values.low.cast(to, safe=is_exact), values.high.cast(to, safe=is_exact))


def _keeps_order(of: pa.DataType, to: pa.DataType) -> bool:
    types = pa.types
    if types.is_integer(of):
        return (types.is_floating(to) and to.bit_width >= 32) or types.is_decimal(to) or _is_wider_integer(of, to)
    if types.is_floating(of):
        return types.is_floating(to) and to.bit_width > of.bit_width
    if types.is_decimal(of):
        # Digits before and after the point only become more.
        return types.is_decimal(to) and to.scale >= of.scale and to.precision - to.scale >= of.precision - of.scale
    if types.is_timestamp(of) and types.is_timestamp(to):
        return (of.tz is None) == (to.tz is None) and _is_finer(of.unit, to.unit)
    if types.is_duration(of) and types.is_duration(to):
        return _is_finer(of.unit, to.unit)
    if types.is_time(of) and types.is_time(to):
        return _is_finer(of.unit, to.unit)
    if types.is_date(of):
        return types.is_date64(to) or (types.is_timestamp(to) and to.tz is None and types.is_date32(of))
    # Strings become binary of the same bytes, not the other way round.
    return is_variable(of) and is_variable(to) and (is_text(of) or not is_text(to))


def _is_wider_integer(of: pa.DataType, to: pa.DataType) -> bool:
    if not pa.types.is_integer(to) or to.bit_width < of.bit_width:
        return False
    same_sign = pa.types.is_signed_integer(of) == pa.types.is_signed_integer(to)
    # Of unsigned numbers of the same width, only those that can be cast come this far: bounds beyond that raise.
    return same_sign or bool(pa.types.is_signed_integer(to))


def _is_finer(of: str, to: str) -> bool:
    units = ("s", "ms", "us", "ns")
    return units.index(to) >= units.index(of)


def _none(num_zones: int) -> Flags:
    return np.zeros(num_zones, np.bool_)


# --- functions; each returns None when its arguments are unknown ------------------------------------------------------


def _less(judge: _Judge, node: Tree, *, or_equal: bool, swapped: bool) -> Condition | None:
    both = judge.both(node)
    if both is None:
        return None
    left, right = both[::-1] if swapped else both
    return less(left, right, or_equal=or_equal)


def _equal(judge: _Judge, node: Tree) -> Condition | None:
    both = judge.both(node)
    return None if both is None else equal(*both)


def _not_equal(judge: _Judge, node: Tree) -> Condition | None:
    found = _equal(judge, node)
    return None if found is None else found.inverted()


def _and_kleene(judge: _Judge, node: Tree) -> Condition:
    return reduce(Condition.and_kleene, [judge.condition(one) for one in node[2]])


def _or_kleene(judge: _Judge, node: Tree) -> Condition:
    return reduce(Condition.and_kleene, [judge.condition(one).inverted() for one in node[2]]).inverted()


def _and(judge: _Judge, node: Tree) -> Condition:
    return reduce(Condition.and_strict, [judge.condition(one) for one in node[2]])


def _or(judge: _Judge, node: Tree) -> Condition:
    return reduce(Condition.and_strict, [judge.condition(one).inverted() for one in node[2]]).inverted()


def _invert(judge: _Judge, node: Tree) -> Condition:
    return judge.condition(node[2][0]).inverted()


def _if_else(judge: _Judge, node: Tree) -> Condition:
    condition, then, otherwise = (judge.condition(one) for one in node[2])
    return condition.chosen(then, otherwise)


def _true_unless_null(judge: _Judge, node: Tree) -> Condition:
    value, null, nan = _null_facts(judge, node[2][0])
    return Condition(value | nan, _none(judge.num_zones), null)


def _null_facts(judge: _Judge, node: Tree) -> tuple[Flags, Flags, Flags]:
    """Whether a value, a null, a NaN may occur: any, where nothing is known."""
    if pa.types.is_boolean(node[-1]):
        found = judge.condition(node)
        return found.true | found.false, found.null, _none(judge.num_zones)
    try:
        values = judge.values(node)
    except UNCOMPARABLE:
        values = None
    if values is None:
        anything = Condition.unknown(judge.num_zones)
        return anything.true, anything.null, _none(judge.num_zones)
    return values.value, values.null, values.nan


def _is_null(judge: _Judge, node: Tree) -> Condition:
    value, null, nan = _null_facts(judge, node[2][0])
    if node[3]:
        return Condition(null | nan, value, _none(judge.num_zones))
    return Condition(null, value | nan, _none(judge.num_zones))


def _is_valid(judge: _Judge, node: Tree) -> Condition:
    value, null, nan = _null_facts(judge, node[2][0])
    return Condition(value | nan, null, _none(judge.num_zones))


def _is_nan(judge: _Judge, node: Tree) -> Condition | None:
    values = judge.values(node[2][0])
    return None if values is None else Condition(values.nan, values.value, values.null)


def _is_in(judge: _Judge, node: Tree) -> Condition | None:
    values = judge.values(node[2][0])
    if values is None or not isinstance(node[3], tuple):
        return None
    given, null_matching = node[3]
    wanted = given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given
    if not isinstance(wanted, pa.Array) or null_matching not in (_MATCH_NULLS, _SKIP_NULLS):
        return None
    if wanted.type != values.type:
        if pa.types.is_floating(wanted.type):
            return None
        wanted = wanted.cast(values.type)
    has_null, has_nan = wanted.null_count > 0, False
    wanted = wanted.drop_null()
    if pa.types.is_floating(wanted.type):
        is_nan = pc.is_nan(wanted)
        has_nan = bool(pc.any(is_nan).as_py())
        wanted = wanted.filter(pc.invert(is_nan))
    may, always = member(values, wanted)
    null_matches = has_null and null_matching == _MATCH_NULLS
    true = may | (values.nan if has_nan else False) | (values.null if null_matches else False)
    # NaN may be a member for one kernel and none for another: it is both.
    false = (values.value & ~always) | values.nan | (values.null if not null_matches else False)
    return Condition(true, false, _none(judge.num_zones))


def _starts_with(judge: _Judge, node: Tree) -> Condition | None:
    return None if node[3][1] else _prefix(judge, node[2][0], node[3][0], is_whole=True)


def _match_like(judge: _Judge, node: Tree) -> Condition | None:
    """A pattern matches nothing that does not begin with what stands before its first wildcard."""
    pattern, ignores_case = node[3]
    end = next((place for place, one in enumerate(pattern) if one in _WILDCARDS), len(pattern))
    return None if ignores_case else _prefix(judge, node[2][0], pattern[:end], is_whole=False)


def _prefix(judge: _Judge, node: Tree, prefix: bytes, *, is_whole: bool) -> Condition | None:
    values = judge.values(node)
    if values is None or not is_variable(values.type):
        return None
    raw = values.with_bounds(values.low.cast(pa.large_binary()), values.high.cast(pa.large_binary()))
    stop = successor(prefix, False)
    end = None if stop is None else pa.scalar(stop, pa.large_binary())
    may, always = within(raw, pa.scalar(prefix, pa.large_binary()), end)
    return Condition(may, values.value & ~always if is_whole else values.value, values.null)


_CONDITIONS: Mapping[str, Callable[[_Judge, Tree], Condition | None]] = {
    "less": partial(_less, or_equal=False, swapped=False),
    "less_equal": partial(_less, or_equal=True, swapped=False),
    "greater": partial(_less, or_equal=False, swapped=True),
    "greater_equal": partial(_less, or_equal=True, swapped=True),
    "equal": _equal,
    "not_equal": _not_equal,
    "and_kleene": _and_kleene,
    "or_kleene": _or_kleene,
    "and": _and,
    "or": _or,
    "invert": _invert,
    "if_else": _if_else,
    "true_unless_null": _true_unless_null,
    "is_null": _is_null,
    "is_valid": _is_valid,
    "is_nan": _is_nan,
    "is_in": _is_in,
    "starts_with": _starts_with,
    "match_like": _match_like,
}
