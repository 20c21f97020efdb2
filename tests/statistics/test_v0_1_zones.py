"""`zones_of_batches`: what is told of batches as written, and what a map may say of the values as read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zones_in_memory import leaves_of

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import CorruptFileError
from lance_arrow.statistics.legacy.v0_1_zones import BatchBounds, zones_of_batches
from lance_arrow.statistics.zone_maps import ZoneMap


def leaf_of(type_: pa.DataType, nullable: bool = True) -> LeafNode:
    return leaves_of(pa.schema([pa.field("c", type_, nullable)]))[0]


def zones(
    type_: pa.DataType, batch_rows: list[int], nulls: list[int], low: list[Any], high: list[Any], nullable: bool = True
) -> ZoneMap | None:
    told = BatchBounds(np.array(nulls, np.int64), pa.array(low, type_), pa.array(high, type_))
    starts = np.concatenate([[0], np.cumsum(batch_rows)]).astype(np.int64)
    return zones_of_batches(told, leaf_of(type_, nullable), starts)


def column(found: ZoneMap | None, name: str) -> list[Any]:
    assert found is not None
    return found.zones.column(name).to_pylist()


def test_even_batches_are_zones() -> None:
    found = zones(pa.int32(), [10, 10, 4], [0, 0, 0], [1, 5, 7], [4, 6, 9])
    assert (found.rows_per_zone, found.is_partial, found.is_repeated) == (10, False, False)
    assert column(found, "min") == [1, 5, 7]
    assert column(found, "max") == [4, 6, 9]
    assert column(found, "row_count") == column(found, "value_count") == [10, 10, 4]
    assert column(found, "min_exact") == column(found, "max_exact") == [True] * 3


def test_nothing_is_known_of_batches_with_nulls_but_that_numbers_are_never_read_as_null() -> None:
    found = zones(pa.int32(), [10, 10], [0, 1], [5, 5], [6, 6])
    assert found.is_partial
    assert column(found, "min") == [5, None]
    assert column(found, "max") == [6, None]
    assert column(found, "null_count") == column(found, "nan_count") == [0, 0]
    assert not found.may_have("null_count").any()


def test_strings_of_batches_with_nulls_may_be_anything() -> None:
    found = zones(pa.string(), [10, 10], [0, 1], ["b", "b"], ["c", "c"])
    assert column(found, "min") == ["b", None]
    assert column(found, "max") == ["c", None]
    assert column(found, "null_count") == [0, None]
    assert found.may_have("null_count").tolist() == [False, True]
    assert zones(pa.string(), [10, 10], [1, 1], ["b", "b"], ["c", "c"]) is None


@pytest.mark.parametrize("low", [None, ""])
def test_a_lower_bound_without_bytes_tells_of_empty_strings_which_are_read_as_null(low: str | None) -> None:
    found = zones(pa.string(), [10], [0], [low], ["c"])
    assert column(found, "max") == ["c"]
    assert column(found, "null_count") == [None]
    assert found.is_partial


def test_strings_that_may_not_be_null_stay_empty() -> None:
    found = zones(pa.string(), [10], [0], [""], ["c"], nullable=False)
    assert column(found, "min") == [""]
    assert column(found, "null_count") == [0]
    assert not found.is_partial


def test_floats_may_be_nan() -> None:
    found = zones(pa.float64(), [10, 10], [0, 0], [-1.0, -math.inf], [2.0, math.inf])
    assert column(found, "nan_count") == [None, None]
    assert column(found, "null_count") == [0, 0]
    assert found.may_have("nan_count").all()
    # All of them may be NaN: infinities are told of nothing.
    assert column(found, "min_exact") == column(found, "max_exact") == [True, False]
    assert found.is_partial


def test_short_lower_bounds_of_strings_are_values() -> None:
    found = zones(pa.binary(), [10] * 4, [0] * 4, [b"a", b"b" * 60, b"c" * 61, b"c" * 64], [b"a", b"z", b"z", b"z"])
    assert column(found, "min_exact") == [True, True, False, False]
    assert column(found, "max_exact") == [False] * 4


def test_uneven_batches_are_cut_to_zones_of_one_length() -> None:
    found = zones(pa.int64(), [3, 10, 7], [0, 0, 0], [1, 2, 3], [9, 8, 20])
    assert found.num_zones <= 12
    step = found.rows_per_zone
    assert sum(column(found, "row_count")) == 20
    # Each of them cuts some batch, the first and the last one too: nobody knows where in it the bounds are.
    assert not any(column(found, "min_exact") + column(found, "max_exact"))
    for number, (low, high) in enumerate(zip(column(found, "min"), column(found, "max"), strict=True)):
        met = [
            batch
            for batch, (start, stop) in enumerate([(0, 3), (3, 13), (13, 20)])
            if start < min(20, (number + 1) * step) and stop > number * step
        ]
        assert low == min([1, 2, 3][batch] for batch in met)
        assert high == max([9, 8, 20][batch] for batch in met)


def test_a_common_length_is_found() -> None:
    found = zones(pa.int64(), [20, 10, 30, 5], [0] * 4, [1, 2, 3, 4], [5, 6, 7, 8])
    assert found.rows_per_zone == 10
    assert column(found, "min") == [1, 1, 2, 3, 3, 3, 4]


def test_as_many_zones_as_are_allowed_need_no_other_length() -> None:
    found = zones(pa.int64(), [10, 62], [0, 0], [1, 2], [5, 6])
    assert (found.rows_per_zone, found.num_zones) == (10, 8)


def test_a_bound_that_one_of_the_batches_lacks_is_unknown() -> None:
    found = zones(pa.string(), [10, 2, 8], [0] * 3, ["b", None, "c"], ["d", "e", None], nullable=False)
    assert found.rows_per_zone == 2
    assert column(found, "min") == ["b"] * 5 + [None] + ["c"] * 4
    assert column(found, "max") == ["d"] * 5 + ["e"] + [None] * 4
    shared = zones(pa.string(), [10, 5, 7], [0] * 3, ["b", None, "c"], ["d", "e", None], nullable=False)
    assert shared.rows_per_zone == 5
    assert column(shared, "min") == ["b", "b", None, "c", "c"]
    over = zones(pa.int64(), [3, 10, 7], [0] * 3, [None, 2, 3], [9, 8, None])
    assert over.rows_per_zone == 2
    assert column(over, "min")[:3] == [None, None, 2]
    assert column(over, "max")[5:8] == [8, None, None]


def test_no_memory_on_the_word_of_the_file() -> None:
    found = zones(pa.int64(), [1, 2**31 - 3, 1], [0] * 3, [1, 2, 3], [4, 5, 6])
    assert found.num_zones <= 12
    assert column(found, "min")[0] == 1


def test_empty_batches_say_nothing() -> None:
    lowest, highest = -(2**31), 2**31 - 1
    found = zones(
        pa.int32(), [0, 4, 0, 4, 0], [0] * 5, [lowest, 1, lowest, 3, lowest], [highest, 2, highest, 4, highest]
    )
    assert found.rows_per_zone == 4
    assert column(found, "min") == [1, 3]
    assert column(found, "max") == [2, 4]
    assert zones(pa.int32(), [0, 0], [0, 0], [lowest] * 2, [highest] * 2) is None


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("x" * 61, "x" * 61),
        ("x" * 62 + "ac", "x" * 60 + "y"),
        ("é" * 31, "é" * 29 + "ê"),
        ("\U0010ffff" * 16, None),
        (None, None),
    ],
)
def test_upper_bounds_of_cut_strings_are_raised(told: str | None, expected: str | None) -> None:
    """Of ``x * 62 + "€"`` 62 bytes are left, less than ``x * 62 + "ab"``; the whole of it is more than that."""
    found = zones(pa.string(), [10], [0], ["x"], [told])
    assert column(found, "max") == [expected]
    # Beside others, which stay what they are.
    beside = zones(pa.string(), [10] * 3, [0] * 3, ["x"] * 3, ["y", told, "z" * 61])
    assert column(beside, "max") == ["y", expected, "z" * 61]


@pytest.mark.parametrize(
    ("type_", "nulls", "low", "high", "message"),
    [
        (pa.int32(), -1, 1, 2, r"batches of \[10\] rows declare \[-1\] nulls"),
        (pa.int32(), 11, 1, 2, r"batches of \[10\] rows declare \[11\] nulls"),
        (pa.int32(), 0, 3, 2, "above"),
        (pa.string(), 0, "b", "a", "above"),
        (pa.float32(), 0, float("nan"), 2.0, "NaN"),
        (pa.float32(), 0, 1.0, float("nan"), "NaN"),
        (pa.bool_(), 0, True, False, "above"),
    ],
)
def test_contradictions(type_: pa.DataType, nulls: int, low: Any, high: Any, message: str) -> None:
    with pytest.raises(CorruptFileError, match=message):
        zones(type_, [10], [nulls], [low], [high])


@pytest.mark.parametrize("type_", [pa.int32(), pa.string(), pa.float64()])
def test_bounds_of_batches_with_nulls_are_not_looked_at(type_: pa.DataType) -> None:
    low, high = {"int32": (3, 2), "string": ("b", "a"), "double": (float("nan"), 1.0)}[str(type_)]
    zones(type_, [10, 10], [1, 10], [low, low], [high, high])


_BATCHES = st.lists(st.lists(st.tuples(st.integers(-9, 9), st.booleans()), max_size=12), min_size=1, max_size=8)


def _as_told(bound: Any, kind: str, nothing: float) -> Any:
    """An empty string comes back as null, from the statistics too; numbers never do."""
    if kind == "string":
        return bound or None
    if bound is None:
        return nothing if kind == "float64" else int(math.copysign(2**62, nothing))
    return bound


@given(_BATCHES, st.sampled_from(["int64", "string", "float64"]))
def test_zones_hold_what_is_read(batches: list[list[tuple[int, bool]]], kind: str) -> None:
    """Batches of values that lie there, each written as null or not; bounds are of those that are not."""
    made: dict[str, Any] = {
        "int64": (pa.int64(), lambda value: value),
        "string": (pa.string(), lambda value: "" if value == 0 else chr(ord("m") + value)),
        "float64": (pa.float64(), lambda value: float("nan") if value == 9 else value / 2),
    }
    type_, make = made[kind]
    read, nulls, low, high = [], [], [], []
    for batch in batches:
        lying = [make(value) for value, _ in batch]
        written = [value for value, (_, is_null) in zip(lying, batch, strict=True) if not is_null]
        written = [value for value in written if not (kind == "float64" and math.isnan(value))]
        nulls.append(sum(is_null for _, is_null in batch))
        low.append(_as_told(min(written, default=None), kind, -math.inf))
        high.append(_as_told(max(written, default=None), kind, math.inf))
        read += [None if value == "" else value for value in lying]
    found = zones(type_, [len(batch) for batch in batches], nulls, low, high)
    if found is None:
        assert kind == "string" or not read
        return
    assert found.num_zones == -(-len(read) // found.rows_per_zone) <= 4 * len(batches)
    may_be_null, may_be_nan = found.may_have("null_count"), found.may_have("nan_count")
    for number in range(found.num_zones):
        held = read[number * found.rows_per_zone : (number + 1) * found.rows_per_zone]
        assert len(held) == column(found, "row_count")[number]
        lower, upper = column(found, "min")[number], column(found, "max")[number]
        assert may_be_null[number] or None not in held
        for value in held:
            if value is None:
                continue
            if kind == "float64" and math.isnan(value):
                assert may_be_nan[number]
                continue
            assert lower is None or lower <= value
            assert upper is None or value <= upper
        exact = column(found, "min_exact")[number], column(found, "max_exact")[number]
        assert not exact[0] or lower in held
        assert not exact[1] or upper in held
