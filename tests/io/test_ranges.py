"""Laws of the planner."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import ByteRange, coalesce

wanted_ranges = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 40)).map(lambda r: (r[0], r[0] + r[1])), max_size=40
)


def _arrays(ranges):
    both = np.array(ranges, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(wanted_ranges, st.integers(0, 60), st.integers(0, 120))
def test_the_plan_keeps_its_laws(ranges, gap, span):
    starts, stops = _arrays(ranges)
    plan = coalesce(starts, stops, max_gap_bytes=gap, max_span_bytes=span)
    full = [r for r in ranges if r[1] > r[0]]

    assert len(plan.starts) <= len(full)
    assert (plan.stops > plan.starts).all()
    assert (plan.starts[1:] >= plan.stops[:-1]).all()
    if full:
        assert plan.starts[0] == min(r[0] for r in full)
        assert plan.stops[-1] == max(r[1] for r in full)

    content = np.arange(500) % 251
    responses = [content[a:b] for a, b in zip(plan.starts, plan.stops, strict=True)]
    for (start, stop), piece in zip(ranges, plan.slices(responses), strict=True):
        assert piece.tolist() == content[start:stop].tolist()

    for request, (start, stop) in enumerate(zip(plan.starts.tolist(), plan.stops.tolist(), strict=True)):
        inside = sorted(r for r, at in zip(ranges, plan.request_of, strict=True) if at == request)
        assert (inside[0][0], max(r[1] for r in inside)) == (start, stop)
        reach, overlapping = inside[0][1], True
        for begin, end in inside[1:]:
            assert begin - reach <= gap
            overlapping &= begin < reach
            reach = max(reach, end)
        assert stop - start <= span or overlapping

    # Greedy: two neighbours are apart only because a limit says so.
    for left in range(len(plan.starts) - 1):
        hole = plan.starts[left + 1] - plan.stops[left]
        following = sorted(r for r, at in zip(ranges, plan.request_of, strict=True) if at == left + 1)
        reach = following[0][1]
        for begin, end in following[1:]:
            reach = max(reach, end) if begin < reach else reach
        assert hole > gap or reach - plan.starts[left] > span


@pytest.mark.parametrize(
    ("starts", "stops", "gap", "span"),
    [([5], [4], 0, 1), ([-1], [4], 0, 1), ([0], [1, 2], 0, 1), ([0], [1], -1, 1), ([0], [1], 0, -1)],
)
def test_nonsense_is_refused(starts, stops, gap, span):
    with pytest.raises(InvalidArgumentError):
        coalesce(np.array(starts), np.array(stops), max_gap_bytes=gap, max_span_bytes=span)


def test_positions_near_the_end_of_the_number_range():
    top = np.iinfo(np.int64).max
    starts = np.array([top - 100, top - 10, 0], np.int64)
    stops = np.array([top - 90, top, 10], np.int64)
    plan = coalesce(starts, stops, max_gap_bytes=top, max_span_bytes=50)
    assert plan.starts.tolist() == [0, top - 100, top - 10]
    wide = coalesce(starts, stops, max_gap_bytes=top, max_span_bytes=top)
    assert (wide.starts.tolist(), wide.stops.tolist()) == ([0], [top])


def test_four_thousand_ranges_are_planned_in_a_blink():
    generator = np.random.default_rng(7)
    starts = generator.integers(0, 1 << 30, 4000)
    stops = starts + generator.integers(0, 10_000, 4000)
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        coalesce(starts, stops, max_gap_bytes=1 << 20, max_span_bytes=16 << 20)
        times.append(time.perf_counter() - begun)
    # Quadratic planners need more than a second here; the bound is loose because machines are shared.
    assert min(times) < 0.02


def test_byte_range_size():
    assert ByteRange(3, 10).size == 7
