"""Laws of the planner."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import ByteRange, coalesce, requests_for
from lance_arrow.io.source import REMOTE_COALESCING, THREADED_COALESCING

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


@given(wanted_ranges, st.integers(0, 30), st.integers(0, 60), st.integers(0, 120), st.integers(1, 8))
def test_wide_gaps_are_read_only_to_have_few_requests(ranges, least, more, span, few):
    starts, stops = _arrays(ranges)

    def planned(gap):
        return coalesce(starts, stops, max_gap_bytes=gap, max_span_bytes=span)

    most = least + more
    plan = coalesce(starts, stops, max_gap_bytes=most, max_span_bytes=span, least_gap_bytes=least, few_requests=few)
    counts = [len(planned(gap).starts) for gap in (least, most)]
    # No span cuts requests: the smallest sufficient gap is found.
    if span >= 120 and int(stops.max(initial=0)) <= 120:
        assert len(plan.starts) <= max(few, counts[1])
    wider = [gap for gap in range(least, most + 1) if np.array_equal(planned(gap).starts, plan.starts)]
    assert wider, "the plan is that of one gap between the limits"
    if counts[0] <= few and span >= 120:
        assert np.array_equal(plan.starts, planned(least).starts)


class Sized:
    """What a plan needs to know of a source."""

    def __init__(self, size: int, coalescing=REMOTE_COALESCING) -> None:
        self.coalescing = coalescing
        self._size = size

    def size(self) -> int:
        return self._size


MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    ("size", "part", "requests"),
    [(5, 0.8, 1), (5, 0.7, 5), (8, 0.8, 1), (9, 0.8, 9)],
)
def test_a_small_file_of_which_nearly_all_is_wanted_is_one_request(size, part, requests):
    starts = np.arange(size) * MEBIBYTE
    stops = starts + int(part * MEBIBYTE)
    # Ranges that come twice are not twice as much of the file.
    for twice in (1, 2):
        plan = requests_for(Sized(size * MEBIBYTE), np.tile(starts, twice), np.tile(stops, twice))
        assert len(plan.starts) == requests


def test_gaps_of_far_files_are_read_where_requests_would_be_many():
    source = Sized(1 << 30)
    for count, requests in ((8, 8), (16, 16), (17, 16), (200, 100)):
        starts = np.arange(count) * MEBIBYTE
        stops = starts + 100_000 + np.arange(count)
        plan = requests_for(source, starts, stops)
        assert len(plan.starts) == requests
        if count == 17:
            # The narrowest gap is read.
            assert plan.request_of.tolist() == [*range(15), 15, 15]


def test_waves_of_cheap_requests_read_small_gaps():
    source = Sized(1 << 30, THREADED_COALESCING)
    few = THREADED_COALESCING.many_requests
    for gap_kib, count, requests in ((48, 90, 3), (49, few, few), (50, few + 1, few), (129, 200, 200)):
        # Each gap is a byte wider than the one before.
        starts = np.cumsum(np.full(count, 8 + gap_kib) * 1024 + (np.arange(count) if gap_kib > 48 else 0))
        plan = requests_for(source, starts, starts + 8 * 1024)
        assert len(plan.starts) == requests
        if count == few + 1:
            assert plan.request_of.tolist() == [0, *range(few)]


def test_byte_range_size():
    assert ByteRange(3, 10).size == 7
