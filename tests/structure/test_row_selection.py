"""Row arithmetic obeys its laws: nothing lost, nothing twice, the caller's order restored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.structure.row_selection import (
    by_page,
    difference,
    disjoint_union,
    intersection,
    joined_ranges,
    marked,
    scaled,
    take_order,
)


def rows_of(ranges: RowRanges) -> list[int]:
    return [row for start, stop in zip(ranges.starts, ranges.stops, strict=True) for row in range(start, stop)]


@given(st.lists(st.integers(0, 200), max_size=60))
def test_taken_rows_come_back_in_the_callers_order(indices):
    order = take_order(np.array(indices, np.int64), 201)
    read = rows_of(order.rows)
    assert read == sorted(set(indices))
    assert (order.rows.starts[1:] > order.rows.stops[:-1]).all(), "neighbours are joined"
    laid_out = read if order.positions is None else [read[p] for p in order.positions.tolist()]
    assert laid_out == indices


@pytest.mark.parametrize("step", [7, -7, 1, -1])
def test_rows_named_by_a_slice_of_an_array_lie_in_a_row_for_native_code(step):
    wanted = np.arange(100, dtype=np.int64)[::step]
    order = take_order(wanted, 100)
    assert order.rows.starts.flags.c_contiguous
    assert order.rows.stops.flags.c_contiguous
    assert rows_of(order.rows) == sorted(wanted.tolist())


@pytest.mark.parametrize("wrong", [-1, 10, 2**40])
def test_a_row_that_does_not_exist_is_named(wrong):
    with pytest.raises(InvalidArgumentError, match=f"row {wrong} does not exist") as caught:
        take_order(np.array([3, wrong, 4], np.int64), 10)
    assert caught.value.detail == wrong


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.sets(st.integers(0, 107)))
def test_pages_share_out_the_rows(page_lengths, wanted):
    starts = np.concatenate(([0], np.cumsum(page_lengths))).astype(np.int64)
    wanted = sorted(row for row in wanted if row < starts[-1])
    order = take_order(np.array(wanted, np.int64), int(starts[-1]))
    got = []
    for page, part in by_page(order.rows, starts):
        assert len(part) > 0
        assert part.stops[-1] <= page_lengths[page]
        got += [row + int(starts[page]) for row in rows_of(part)]
    assert got == wanted


def test_scaled_rows_count_items():
    rows = scaled(RowRanges(np.array([1, 5]), np.array([2, 8])), 3)
    assert rows_of(rows) == [3, 4, 5, *range(15, 24)]


def test_covers_is_exact():
    assert RowRanges.one(0, 5).covers(0, 5)
    assert not RowRanges.one(0, 4).covers(0, 5)
    assert not RowRanges(np.array([0, 3]), np.array([2, 5])).covers(0, 5)
    assert len(RowRanges.one(3, 3)) == 0


@st.composite
def ranges(draw: st.DrawFn) -> RowRanges:
    borders = sorted(draw(st.sets(st.integers(0, 40), max_size=10)))
    borders = np.array(borders[: len(borders) // 2 * 2], np.int64)
    return joined_ranges(borders[::2], borders[1::2])


@given(ranges(), ranges())
def test_ranges_are_sets(left, right):
    both, only = intersection(left, right), difference(left, right)
    assert set(rows_of(both)) == set(rows_of(left)) & set(rows_of(right))
    assert set(rows_of(only)) == set(rows_of(left)) - set(rows_of(right))
    assert rows_of(disjoint_union(only, both)) == rows_of(left)


@given(ranges(), st.data())
def test_marked_rows_are_kept(rows, data):
    flags = data.draw(st.lists(st.sampled_from([True, False, None]), min_size=rows.num_rows, max_size=rows.num_rows))
    unwanted = data.draw(st.integers(0, 9))
    kept = marked(rows, pa.array([True] * unwanted + flags, pa.bool_())[unwanted:])
    assert rows_of(kept) == [row for row, flag in zip(rows_of(rows), flags, strict=True) if flag]
    assert (kept.starts[1:] > kept.stops[:-1]).all(), "neighbours are joined"
