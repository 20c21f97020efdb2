"""Ranges that are asked ahead: the same bytes, each asked once, within the budget, and errors where they are wanted."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import TruncatedReadError
from lance_arrow.io.ahead_source import AheadBudget, AheadSource, PlannedRequests
from lance_arrow.io.buffer_source import BufferSource
from lance_arrow.io.source import REMOTE_COALESCING

SIZE = 4000
DATA = np.random.default_rng(5).integers(0, 256, SIZE, np.uint8)


class Far(BufferSource):
    """Bytes in memory that count their requests, and fail where they are told to."""

    def __init__(self) -> None:
        super().__init__(DATA.tobytes(), name="far")
        self.coalescing = REMOTE_COALESCING
        self.asked: list[tuple[int, int]] = []
        self.failing: set[tuple[int, int]] = set()
        self.gate = threading.Event()
        self.gate.set()

    def read(self, starts, stops):
        self.gate.wait(10)
        places = list(zip(starts.tolist(), stops.tolist(), strict=True))
        self.asked += places
        if self.failing.intersection(places):
            raise TruncatedReadError("no", path=self.name, byte_range=places[0])
        return super().read(starts, stops)


def plan(*pieces: tuple[int, int, int, int]) -> PlannedRequests:
    return PlannedRequests(*np.array(pieces, np.int64).reshape(-1, 4).T.copy())


def even(num: int, rows: int = 100) -> PlannedRequests:
    step = SIZE // num
    return plan(*((k * step, (k + 1) * step, k * rows, (k + 1) * rows) for k in range(num)))


def ranges(*places: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    starts, stops = np.array(places, np.int64).reshape(-1, 2).T
    return starts.copy(), stops.copy()


def settled() -> None:
    """Wait for the requests that were made."""
    for thread in threading.enumerate():
        if thread.name.startswith("lance-arrow-far"):
            thread.join(10)


@given(
    st.lists(st.integers(0, SIZE), max_size=12, unique=True).map(sorted),
    st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted), max_size=6),
    st.integers(0, SIZE),
    st.integers(0, 20),
    st.integers(0, 20),
)
def test_bytes_are_those_of_the_source(borders, wanted, max_bytes, needed_from, reach):
    pairs = list(zip(borders[::2], borders[1::2], strict=False))
    source, budget = Far(), AheadBudget(max_bytes)
    ahead = AheadSource(source, plan(*((a, b, k, k + 1) for k, (a, b) in enumerate(pairs))), budget)
    ahead.move(needed_from, reach)
    starts, stops = ranges(*wanted)
    found = ahead.read(starts, stops)
    ahead.move(needed_from + 5, reach + 5)
    again, places = ahead.read_arena(starts, stops)
    for number, (start, stop) in enumerate(wanted):
        assert found[number].tobytes() == DATA[start:stop].tobytes()
        at = int(places[number])
        assert again[at : at + stop - start].tobytes() == DATA[start:stop].tobytes()
    ahead.close()
    assert budget._held_bytes == 0


def test_each_byte_is_asked_once_in_the_order_of_rows():
    source, budget = Far(), AheadBudget(SIZE)
    ahead = AheadSource(source, even(8), budget)
    ahead.move(0, 300)
    for k in range(8):
        start = k * SIZE // 8
        ahead.read(*ranges((start, start + 250)))
        ahead.read(*ranges((start + 100, start + SIZE // 8)))
        ahead.move((k + 1) * 100, (k + 4) * 100)
    ahead.close()
    settled()
    assert sorted(source.asked) == [(k * 500, (k + 1) * 500) for k in range(8)]


def test_no_more_is_held_than_the_budget_allows():
    source, budget = Far(), AheadBudget(1200)
    source.gate.clear()
    ahead = AheadSource(source, even(8), budget)
    ahead.move(0, 1 << 40)
    assert budget._held_bytes == 1000
    ahead.move(100, 1 << 40)
    assert budget._held_bytes == 1000
    source.gate.set()
    ahead.close()
    settled()
    assert len(source.asked) <= 3


def test_rows_that_are_wanted_now_do_not_wait_for_the_budget():
    source, budget = Far(), AheadBudget(500)
    ahead = AheadSource(source, even(8), budget)
    ahead.move(0, 1 << 40)
    (last,) = ahead.read(*ranges((SIZE - 10, SIZE)))
    assert last.tobytes() == DATA[-10:].tobytes()
    # Otherwise its threads wait for more.
    ahead.close()


def test_two_scans_of_one_budget_share_it():
    budget = AheadBudget(1000)
    one, two = (AheadSource(Far(), even(8), budget) for _ in range(2))
    one.move(0, 1 << 40)
    two.move(0, 1 << 40)
    assert budget._held_bytes == 1000
    one.close()
    two.move(0, 1 << 40)
    assert budget._held_bytes == 1000
    two.close()
    assert budget._held_bytes == 0


def test_a_request_that_fails_is_made_again_for_what_is_wanted():
    source, budget = Far(), AheadBudget(SIZE)
    source.failing = {(0, 500)}
    ahead = AheadSource(source, even(8), budget)
    ahead.move(0, 1 << 40)
    (found,) = ahead.read(*ranges((10, 20)))
    assert found.tobytes() == DATA[10:20].tobytes()
    source.failing.add((30, 40))
    with pytest.raises(TruncatedReadError) as caught:
        ahead.read(*ranges((30, 40)))
    assert caught.value.byte_range == (30, 40)
    ahead.close()


def test_a_range_behind_the_end_is_refused():
    with pytest.raises(TruncatedReadError):
        AheadSource(Far(), even(8), AheadBudget(SIZE)).read(*ranges((SIZE - 1, SIZE + 1)))


def test_nothing_is_asked_after_the_end():
    source, budget = Far(), AheadBudget(SIZE)
    source.gate.clear()
    ahead = AheadSource(source, even(40), budget)
    ahead.move(0, 1 << 40)
    ahead.close()
    source.gate.set()
    settled()
    assert len(source.asked) <= REMOTE_COALESCING.requests_in_flight
    # A window that is still running reads by itself.
    (found,) = ahead.read(*ranges((0, 3)))
    assert found.tobytes() == DATA[:3].tobytes()
