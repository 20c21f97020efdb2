"""Summary kernels against their numpy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import summaries as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged


@given(st.data())
def test_groups_agree_with_twin(data):
    word_bits = data.draw(st.sampled_from([8, 16, 32, 64]))
    count = data.draw(st.integers(0, 1500))
    packed_bits = data.draw(st.integers(0, word_bits))
    values = np.random.default_rng(count).integers(0, 2**64, count, np.uint64) & np.uint64(2**packed_bits - 1)
    values = values.astype(f"<u{word_bits // 8}")
    repeated = data.draw(st.sampled_from([1, 2, 700]))
    values = np.repeat(values[::repeated], repeated)[:count]
    borders = data.draw(st.lists(st.integers(0, len(values)), max_size=4))
    value_starts = np.array([0, *sorted(borders), len(values)], np.int64)
    values, value_starts = data.draw(damaged([values.view(np.uint8), value_starts], max_damages=1))
    out = [np.full(len(value_starts) - 1, 7, np.int64) for _ in range(2)]
    assert_twins_agree(kernels.measure_groups, twin.measure_groups, values, value_starts, word_bits, *out)


@given(st.integers(1, 20), st.integers(0, 30), st.data())
def test_all_equal_agrees_with_twin(width, count, data):
    value = np.random.default_rng(width).integers(0, 256, width, np.uint8)
    values = data.draw(damaged([np.tile(value, count)], max_damages=1))[0]
    if data.draw(st.booleans()):
        values = values[: data.draw(st.integers(0, len(values)))]
    assert_twins_agree(kernels.all_equal, twin.all_equal, values, width)


def test_a_change_counts_where_it_happens():
    values = np.array([5, 5, 6, 6, 5, 0], np.uint8)
    bits, changes = np.zeros(3, np.int64), np.zeros(3, np.int64)
    kernels.measure_groups(values, np.array([0, 2, 5, 6]), 8, bits, changes)
    assert bits.tolist() == [3, 3, 0]
    assert changes.tolist() == [0, 2, 1]


def test_mistakes_are_the_callers():
    one = np.zeros(1, np.int64)
    with pytest.raises(InternalError, match="none of 8, 16, 32, 64"):
        kernels.measure_groups(np.zeros(4, np.uint8), np.array([0, 1]), 24, one, one.copy())
    with pytest.raises(InternalError, match="contradicting lengths"):
        kernels.measure_groups(np.zeros(4, np.uint8), np.empty(0, np.int64), 8, one, one.copy())
    with pytest.raises(InternalError, match="not positive"):
        kernels.all_equal(np.zeros(4, np.uint8), 0)
