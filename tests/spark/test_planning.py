"""Partitions: every row left once and in order, weights near each other, limits kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.spark.planning import ALIGNED_ROWS, plan_splits

ROWS = st.lists(st.integers(0, 100_000), max_size=40)


@given(ROWS, st.one_of(st.none(), st.integers(1, 50_000)), st.one_of(st.none(), st.integers(1, 1 << 20)))
def test_each_row_is_in_exactly_one_piece(rows: list[int], split_rows: int | None, split_bytes: int | None) -> None:
    left = np.array(rows, np.int64)
    sizes = left * 7.0
    # A partition of a row each would only be slow.
    split_bytes = None if split_bytes is None else max(split_bytes, int(sizes.sum()) // 2000)
    split_rows = None if split_rows is None else max(split_rows, int(left.sum()) // 2000)
    plan = plan_splits(left, sizes, split_rows=split_rows, split_bytes=split_bytes)
    seen = [
        (number, start, stop)
        for number, start, stop in zip(plan.fragments.tolist(), plan.starts.tolist(), plan.stops.tolist(), strict=True)
    ]
    expected = 0
    at = dict.fromkeys(range(len(rows)), 0)
    for number, start, stop in seen:
        assert start == at[number] < stop
        at[number] = stop
        expected += stop - start
    assert [at[number] for number in range(len(rows))] == rows
    assert expected == sum(rows)
    assert seen == sorted(seen)
    assert plan.borders[0] == 0
    assert plan.borders[-1] == len(seen)
    assert (np.diff(plan.borders) > 0).all() or not seen


@given(st.lists(st.integers(1, 100_000), min_size=1, max_size=40), st.integers(1, 10_000))
def test_rows_of_a_partition_stay_below_the_limit(rows: list[int], split_rows: int) -> None:
    split_rows = min(max(split_rows, sum(rows) // 2000), ALIGNED_ROWS - 1)
    left = np.array(rows, np.int64)
    plan = plan_splits(left, left * 1.0, split_rows=split_rows)
    sizes = plan.stops - plan.starts
    totals = np.add.reduceat(sizes, plan.borders[:-1])
    assert totals.max() <= split_rows
    # Neighbours were packed: any two of them together are more than one may hold.
    assert (totals[:-1] + totals[1:] > split_rows).all() or len(sizes) > plan.num_partitions


def test_bytes_decide_and_cuts_are_aligned() -> None:
    left = np.array([1_000_000, 10, 10], np.int64)
    sizes = np.array([100e6, 1e3, 1e3])
    plan = plan_splits(left, sizes, split_bytes=10_000_000)
    assert plan.num_partitions == 10
    assert (plan.starts % ALIGNED_ROWS == 0).all()
    assert plan.fragments[plan.borders[-2] :].tolist()[-2:] == [1, 2]


def test_many_small_fragments_share_partitions() -> None:
    left = np.full(10_000, 100, np.int64)
    plan = plan_splits(left, np.full(10_000, 1 << 20, np.float64))
    counts = np.diff(plan.borders)
    assert plan.num_partitions == pytest.approx(10_000 / 128, abs=1)
    assert counts.max() == 128


def test_nothing_left_is_no_partition() -> None:
    assert plan_splits(np.zeros(3, np.int64), np.zeros(3)).num_partitions == 0
    assert plan_splits(np.zeros(0, np.int64), np.zeros(0)).num_partitions == 0
