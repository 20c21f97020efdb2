"""The order of row offsets against its numpy twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import row_order as twin

from lance_arrow import kernels
from lance_arrow.testing.twins import assert_twins_agree

LARGEST = (1 << 63) - 1
ROWS = st.lists(st.integers(-2, 12) | st.sampled_from([-(1 << 63), LARGEST - 1, LARGEST]), max_size=6)


@given(ROWS, st.sampled_from([0, 5, 10, LARGEST]))
def test_smallest_step_agrees_with_twin(rows, num_rows):
    assert_twins_agree(kernels.smallest_step, twin.smallest_step, np.array(rows, np.int64), num_rows)


@pytest.mark.parametrize(
    ("rows", "step"),
    [([], 2), ([0], 2), ([0, 2, 9], 2), ([0, 2, 3], 1), ([3, 3], 0), ([5, 1], 0), ([10], -1), ([0, -1], -1)],
)
def test_steps(rows, step):
    assert kernels.smallest_step(np.array(rows, np.int64), 10) == step


def test_every_other_offset_is_looked_at():
    assert kernels.smallest_step(np.arange(10)[::2], 10) == 2
    assert kernels.smallest_step(np.arange(10)[::-1], 10) == 0
