"""What is known of a value, or of a condition, in each zone: the domain in which filters are judged.

A `Condition` says which of true, false and null may occur among the rows of a zone, a `ValueRange` which values may.
Everything errs on one side only: what may not occur, does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow.statistics.zone_maps import ZoneMap

Flags = NDArray[np.bool_]

UNCOMPARABLE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
"""What Arrow raises for values that it cannot compare or cast."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Which outcomes may occur in each zone, ``(num_zones,) bool`` each."""

    true: Flags
    false: Flags
    null: Flags

    @classmethod
    def unknown(cls, num_zones: int) -> Condition:
        """Anything may occur."""
        may = np.ones(num_zones, np.bool_)
        return cls(may, may, may)

    @classmethod
    def constant(cls, value: bool | None, num_zones: int) -> Condition:
        """Only `value` occurs."""
        yes, no = np.ones(num_zones, np.bool_), np.zeros(num_zones, np.bool_)
        return cls(yes if value is True else no, yes if value is False else no, yes if value is None else no)

    def inverted(self) -> Condition:
        return Condition(self.false, self.true, self.null)

    def and_kleene(self, other: Condition) -> Condition:
        null = (self.null & (other.true | other.null)) | (other.null & (self.true | self.null))
        return Condition(self.true & other.true, self.false | other.false, null)

    def and_strict(self, other: Condition) -> Condition:
        """Null as soon as one side is."""
        known, other_known = self.true | self.false, other.true | other.false
        false = (self.false & other_known) | (known & other.false)
        return Condition(self.true & other.true, false, self.null | other.null)

    def chosen(self, then: Condition, otherwise: Condition) -> Condition:
        """`then` where this is true, `otherwise` where it is false."""
        return Condition(
            (self.true & then.true) | (self.false & otherwise.true),
            (self.true & then.false) | (self.false & otherwise.false),
            self.null | (self.true & then.null) | (self.false & otherwise.null),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ValueRange:
    """Which values may occur in each zone.

    Parameters
    ----------
    low, high
        ``(num_zones,)`` arrays of the values' type: no value that is neither null nor NaN is outside. Null: unbounded.
    value, null, nan
        ``(num_zones,) bool``: whether such a value, a null, a NaN may occur.
    """

    low: pa.Array
    high: pa.Array
    value: Flags
    null: Flags
    nan: Flags

    @classmethod
    def of_zones(cls, zone_map: ZoneMap) -> ValueRange:
        """What a zone map says of a leaf that has one item per row."""
        nulls, nans = zone_map.counts("null_count"), zone_map.counts("nan_count")
        values = zone_map.counts("value_count") - nulls - nans
        may_be_null, may_be_nan = zone_map.may_have("null_count"), zone_map.may_have("nan_count")
        return cls(zone_map.low, zone_map.high, values > 0, may_be_null, may_be_nan)

    @classmethod
    def of_literal(cls, scalar: pa.Scalar, num_zones: int) -> ValueRange:
        """The same value in every zone."""
        yes, no = np.ones(num_zones, np.bool_), np.zeros(num_zones, np.bool_)
        is_nan = scalar.is_valid and pa.types.is_floating(scalar.type) and scalar.as_py() != scalar.as_py()
        bound = pa.repeat(pa.scalar(None, scalar.type) if is_nan else scalar, num_zones)
        return cls(
            bound,
            bound,
            yes if scalar.is_valid and not is_nan else no,
            no if scalar.is_valid else yes,
            yes if is_nan else no,
        )

    @property
    def type(self) -> pa.DataType:
        return self.low.type

    def with_bounds(self, low: pa.Array, high: pa.Array) -> ValueRange:
        return ValueRange(low, high, self.value, self.null, self.nan)

    def as_condition(self) -> Condition:
        """Booleans, as outcomes."""
        true, false = surely(pc.invert(self.high)), surely(self.low)
        return Condition(self.value & ~true, self.value & ~false, self.null)


def surely(answers: pa.Array) -> Flags:
    """Answers as flags; what is null, since a bound is missing, is not sure."""
    flags: Flags = answers.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def _holds(comparison: Callable[[pa.Array, pa.Array], pa.Array], left: pa.Array, right: pa.Array) -> Flags:
    """Tell where bounds of one type surely compare; where one is missing, nothing is sure."""
    return surely(comparison(left, right))


def less(left: ValueRange, right: ValueRange, *, or_equal: bool) -> Condition:
    """Judge ``left < right``, or ``left <= right``."""
    below, not_below = (pc.less_equal, pc.greater) if or_equal else (pc.less, pc.greater_equal)
    both = left.value & right.value
    never = _holds(not_below, left.low, right.high)
    always = _holds(below, left.high, right.low)
    nan = _meets_nan(left, right)
    return Condition(both & ~never, (both & ~always) | nan, left.null | right.null)


def equal(left: ValueRange, right: ValueRange) -> Condition:
    """Judge ``left == right``."""
    both = left.value & right.value
    apart = _holds(pc.less, left.high, right.low) | _holds(pc.less, right.high, left.low)
    same = _holds(pc.equal, left.low, left.high) & _holds(pc.equal, right.low, right.high)
    same &= _holds(pc.equal, left.low, right.low)
    nan = _meets_nan(left, right)
    return Condition(both & ~apart, (both & ~same) | nan, left.null | right.null)


def _meets_nan(left: ValueRange, right: ValueRange) -> Flags:
    """Whether a comparison may be one with NaN: it is false for every other side."""
    return (left.nan & (right.value | right.nan)) | (right.nan & (left.value | left.nan))


def within(values: ValueRange, low: pa.Scalar, high: pa.Scalar | None) -> tuple[Flags, Flags]:
    """Tell in which zones some value may be in ``low <= value < high`` (None: no end), and in which all are."""
    outside = surely(pc.less(values.high, low))
    inside = surely(pc.greater_equal(values.low, low))
    if high is not None:
        outside |= surely(pc.greater_equal(values.low, high))
        inside &= surely(pc.less(values.high, high))
    return values.value & ~outside, inside


def member(values: ValueRange, wanted: pa.Array) -> tuple[Flags, Flags]:
    """Tell in which zones some value may be one of `wanted` (no nulls, no NaN), and in which each is.

    Zeros of both signs are equal to comparisons, but may be different members.
    """
    if not len(wanted):
        none = np.zeros(len(values.value), np.bool_)
        return none, none
    ordered = wanted.take(pc.array_sort_indices(wanted))
    keys, low, high = (_keys(one) for one in (ordered, values.low, values.high))
    has_low, has_high = (one.is_valid().to_numpy(zero_copy_only=False) for one in (values.low, values.high))
    first = np.where(has_low, np.searchsorted(keys, low, "left"), 0)
    stop = np.where(has_high, np.searchsorted(keys, high, "right"), len(keys))
    may = values.value & (first < stop)
    single = _holds(pc.equal, values.low, values.high)
    if pa.types.is_floating(values.type):
        single &= ~surely(pc.equal(values.low, pa.scalar(0.0, values.type)))
    return may, single & may


def _keys(array: pa.Array) -> NDArray[Any]:
    """Values as numpy compares them: numbers, or Python objects in the same order as Arrow's; nulls are anything."""
    type_ = array.type
    types = pa.types
    if types.is_string(type_) or types.is_large_string(type_):
        array, type_ = array.cast(pa.large_binary()), pa.large_binary()
    is_number = types.is_integer(type_) or types.is_floating(type_)
    if types.is_boolean(type_):
        return array.cast(pa.uint8()).fill_null(0).to_numpy()  # type: ignore[no-any-return]
    if types.is_temporal(type_):
        array = array.view(pa.int32() if type_.bit_width == 32 else pa.int64())
        is_number = True
    if is_number:
        return array.fill_null(0).to_numpy()  # type: ignore[no-any-return]
    known = array.drop_null()
    filler = known[0].as_py() if len(known) else (b"" if not types.is_decimal(type_) else 0)
    listed = np.empty(len(array), object)
    listed[:] = [filler if value is None else value for value in array.to_pylist()]
    return listed
