"""Bounds of zones against their numpy twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_kernels import bounds as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged

SIGNED, UNSIGNED, FLOATING, BIT, BYTES = range(5)
KINDS = [
    *((SIGNED, width) for width in (1, 2, 4, 8, 16, 32)),
    *((UNSIGNED, width) for width in (1, 2, 4, 8)),
    *((FLOATING, width) for width in (2, 4, 8)),
    (BIT, 1),
    (BYTES, 1),
    (BYTES, 5),
    (SIGNED, 3),
    (BYTES, 0),
]


def positions(values):
    return np.array(values, np.int64)


@st.composite
def zone_starts(draw, num_values):
    borders = draw(st.lists(st.integers(0, num_values), max_size=4))
    return positions(sorted([*borders, num_values])) if draw(st.booleans()) else positions([0, num_values])


@st.composite
def bitmaps(draw, num_values):
    offset = draw(st.integers(0, 9))
    size = (offset + num_values + 7) // 8
    sparse = draw(st.sampled_from([None, 0.02, 0.5, 0.98]))
    if sparse is None:
        return None, offset
    bits = np.random.default_rng(draw(st.integers(0, 999))).random(8 * size) < sparse
    return np.packbits(bits, bitorder="little"), offset


def special_floats(draw, width, count):
    specials = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -2.5], f"<f{width}")
    seed = draw(st.integers(0, 999))
    return np.random.default_rng(seed).choice(specials[: draw(st.integers(2, 8))], count).view(np.uint8)


@pytest.mark.share(2)
@pytest.mark.cover(1)
@pytest.mark.parametrize(("kind", "width"), KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_bound_fixed_agrees_with_twin(kind, width, data):
    count, offset = data.draw(st.integers(0, 300)), data.draw(st.integers(0, 9))
    seed = data.draw(st.integers(0, 999))
    if kind == FLOATING and data.draw(st.booleans()):
        values = special_floats(data.draw, width, count + offset)
    else:
        size = (count + offset + 7) // 8 if kind == BIT else (count + offset) * width
        # Few different bytes: equal values, and equal words of wide ones, occur.
        values = np.random.default_rng(seed).choice(np.array([0, 1, 127, 128, 255], np.uint8), size)
    starts = data.draw(zone_starts(count))
    (starts,) = data.draw(damaged([starts], max_damages=1))
    validity, bit_offset = data.draw(bitmaps(count))
    num_zones = len(starts) - 1
    bounds_bytes = num_zones * width
    assert_twins_agree(
        kernels.bound_fixed,
        twin.bound_fixed,
        values,
        offset,
        kind,
        width,
        validity,
        bit_offset,
        starts,
        np.zeros(bounds_bytes, np.uint8),
        np.zeros(bounds_bytes, np.uint8),
        np.zeros(3 * num_zones, np.int64),
    )


@given(st.data())
def test_bound_variable_agrees_with_twin(data):
    letters = st.binary(max_size=12) | st.sampled_from([b"\0", b"\0\0", b"abcdefgh", b"abcdefgh\0", b"\xff" * 9])
    values = data.draw(st.lists(letters, max_size=40))
    bits = data.draw(st.sampled_from([32, 64]))
    offsets = np.cumsum([0, *map(len, values)]).astype(f"<i{bits // 8}")
    (offsets,) = data.draw(damaged([offsets.astype(np.int64)], max_damages=1))
    offsets = np.clip(offsets, -(2**31), 2**31 - 1).astype(f"<i{bits // 8}")
    starts = data.draw(zone_starts(len(values)))
    (starts,) = data.draw(damaged([starts], max_damages=1))
    validity, bit_offset = data.draw(bitmaps(len(values)))
    num_zones = len(starts) - 1
    assert_twins_agree(
        kernels.bound_variable,
        twin.bound_variable,
        offsets.view(np.uint8),
        bits,
        np.frombuffer(b"".join(values), np.uint8),
        validity,
        bit_offset,
        starts,
        np.zeros(num_zones, np.int64),
        np.zeros(num_zones, np.int64),
        np.zeros(3 * num_zones, np.int64),
    )


@pytest.mark.parametrize("width", [4, 8])
def test_long_runs_of_floats_are_bounded_and_counted(width):
    values = np.random.default_rng(width).normal(size=100_003).astype(f"<f{width}")
    values[::7] = np.nan
    mins, maxs, counts = np.zeros(2 * width, np.uint8), np.zeros(2 * width, np.uint8), np.zeros(6, np.int64)
    starts = positions([0, 50_001, 100_003])
    kernels.bound_fixed(values.view(np.uint8), 0, FLOATING, width, None, 0, starts, mins, maxs, counts)
    zones = [values[:50_001], values[50_001:]]
    assert mins.view(values.dtype).tolist() == [np.nanmin(zone) for zone in zones]
    assert maxs.view(values.dtype).tolist() == [np.nanmax(zone) for zone in zones]
    assert counts.tolist()[4:] == [int(np.isnan(zone).sum()) for zone in zones]


def test_zero_bounds_hold_both_zeros():
    for zero in (0.0, -0.0):
        mins, maxs, counts = np.ones(8, np.uint8), np.ones(8, np.uint8), np.zeros(3, np.int64)
        kernels.bound_fixed(
            np.array([zero]).view(np.uint8), 0, FLOATING, 8, None, 0, positions([0, 1]), mins, maxs, counts
        )
        assert np.signbit(mins.view(np.float64)[0])
        assert not np.signbit(maxs.view(np.float64)[0])


def test_contradicting_arguments_are_refused():
    mins, counts = np.zeros(8, np.uint8), np.zeros(3, np.int64)
    values = np.zeros(8, np.uint8)
    with pytest.raises(InternalError, match="leave the values"):
        kernels.bound_fixed(values, 0, SIGNED, 8, None, 0, positions([0, 2]), mins, mins, counts)
    with pytest.raises(InternalError, match="counts"):
        kernels.bound_fixed(values, 0, SIGNED, 8, None, 0, positions([0, 1]), mins, mins, counts[:2])
    with pytest.raises(InternalError, match="validity"):
        kernels.bound_fixed(values, 0, SIGNED, 1, values[:0], 0, positions([0, 1]), mins, mins, counts)
