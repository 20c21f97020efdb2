"""Bytes of far files that are kept: each asked once, within the budget, by one thread for all."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import InvalidArgumentError, TruncatedReadError
from lance_arrow.io import MeteredSource, VerifiedSource
from lance_arrow.io.buffer_source import BufferSource
from lance_arrow.io.kept_bytes import KeptBytes
from lance_arrow.io.kept_source import KeptSource
from lance_arrow.io.source import REMOTE_COALESCING
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings

SIZE = 4000
DATA = np.random.default_rng(7).integers(0, 256, SIZE, np.uint8)


class Far(BufferSource):
    """Bytes in memory that note their requests, wait at a gate, and fail as often as they are told to."""

    def __init__(self, content: bytes = DATA.tobytes()) -> None:
        super().__init__(content, name="far")
        self.coalescing = REMOTE_COALESCING
        self.waves: list[list[tuple[int, int]]] = []
        self.failures = 0
        self.begun = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    @property
    def asked(self) -> list[tuple[int, int]]:
        return [one for wave in self.waves for one in wave]

    def read(self, starts: Any, stops: Any) -> Any:
        places = list(zip(starts.tolist(), stops.tolist(), strict=True))
        self.waves.append(places)
        fails = self.failures > 0
        self.failures -= 1
        self.begun.set()
        self.gate.wait(10)
        if fails:
            raise TruncatedReadError("no", path=self.name, byte_range=places[0])
        return super().read(starts, stops)


def ranges(*places: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    starts, stops = np.array(places, np.int64).reshape(-1, 2).T
    return starts.copy(), stops.copy()


def check(source: Any, *places: tuple[int, int]) -> None:
    found = source.read(*ranges(*places))
    assert [one.tobytes() for one in found] == [DATA[start:stop].tobytes() for start, stop in places]


def test_a_byte_is_asked_for_once() -> None:
    far = Far()
    source = KeptSource(far, KeptBytes(SIZE))
    check(source, (100, 200), (300, 400))
    check(source, (150, 350), (120, 130), (300, 400), (7, 7))
    check(source, (0, 1000))
    assert far.waves == [[(100, 200), (300, 400)], [(200, 300)], [(0, 100), (400, 1000)]]
    data, places = source.read_arena(*ranges((10, 20), (390, 410)))
    assert [data[at] for at in places] == [DATA[10], DATA[390]]
    assert len(far.waves) == 3


places = st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(lambda sides: (min(sides), max(sides)))


@given(st.lists(st.lists(places, max_size=5), max_size=8), st.sampled_from([0, 700, SIZE]))
def test_all_reads_are_right_whatever_the_budget(reads: list[list[tuple[int, int]]], budget: int) -> None:
    far, kept = Far(), KeptBytes(budget)
    source = KeptSource(far, kept)
    for wanted in reads:
        check(source, *wanted)
        assert kept.held_bytes <= budget
    if budget == SIZE:
        counts = np.zeros(SIZE, int)
        for start, stop in far.asked:
            counts[start:stop] += 1
        assert counts.max(initial=0) <= 1


def test_ranges_of_one_read_that_share_bytes_ask_once() -> None:
    far = Far()
    check(KeptSource(far, KeptBytes(0)), (0, 100), (50, 150), (150, 160), (20, 30))
    assert far.asked == [(0, 160)]


def test_neighbours_stay_separate_where_they_are_large() -> None:
    content = bytes(6 << 20)
    far, span = Far(content), REMOTE_COALESCING.max_span_bytes
    source = KeptSource(far, KeptBytes(0))
    # Blocks of checksums make neighbours overlap.
    source.read(*ranges((0, span + 100), (span, 2 * span)))
    assert far.asked == [(0, span + 100), (span + 100, 2 * span)]


def test_many_small_kept_parts_do_not_shatter_a_read() -> None:
    far = Far()
    source = KeptSource(far, KeptBytes(SIZE))
    check(source, *((at, at + 2) for at in range(0, SIZE, 20)))
    far.waves.clear()
    check(source, (0, SIZE))
    assert len(far.asked) <= 1 + REMOTE_COALESCING.requests_in_flight


def test_the_end_stays_whatever_the_budget() -> None:
    far = Far()
    source = KeptSource(far, KeptBytes(0))
    check(source, (3000, SIZE))
    check(source, (3500, 3600), (2990, 3010))
    assert far.asked == [(3000, SIZE), (2990, 3000)]


def test_files_share_the_budget_and_the_least_recent_goes() -> None:
    kept, one, two = KeptBytes(250), Far(), Far()
    first, second = KeptSource(one, kept), KeptSource(two, kept)
    check(first, (0, 100))
    check(second, (0, 100))
    check(first, (0, 100))
    check(second, (200, 300))
    assert kept.held_bytes == 200
    check(first, (0, 100))
    assert one.asked == [(0, 100)]
    check(second, (0, 100))
    assert two.asked == [(0, 100), (200, 300), (0, 100)]


def test_closed_and_dropped_files_free_their_bytes() -> None:
    kept = KeptBytes(SIZE)
    closed, dropped = KeptSource(Far(), kept), KeptSource(Far(), kept)
    check(closed, (0, 100))
    check(dropped, (0, 50))
    assert kept.held_bytes == 150
    closed.close()
    assert kept.held_bytes == 50
    with pytest.raises(InvalidArgumentError):
        closed.read(*ranges((0, 100)))
    del dropped
    assert kept.held_bytes == 0


def test_ranges_outside_of_the_file_are_refused_before_a_request() -> None:
    far = Far()
    source = KeptSource(far, KeptBytes(SIZE))
    for place, error in (((SIZE - 1, SIZE + 1), TruncatedReadError), ((-1, 5), InvalidArgumentError)):
        with pytest.raises(error):
            source.read(*ranges(place))
    assert not far.asked


def _side_by_side(far: Far, source: KeptSource, first: tuple[int, int], second: tuple[int, int]) -> list[object]:
    """Read two ranges in two threads, the second when the first is in flight; returns what they got."""
    far.gate.clear()
    got: list[object] = [None, None]

    def read(number: int, place: tuple[int, int]) -> None:
        try:
            got[number] = source.read(*ranges(place))[0].tobytes()
        except TruncatedReadError as error:
            got[number] = error

    threads = [threading.Thread(target=read, args=(0, first))]
    threads[0].start()
    assert far.begun.wait(10)
    threads.append(threading.Thread(target=read, args=(1, second)))
    threads[1].start()
    far.gate.set()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    return got


def test_threads_that_want_the_same_bytes_ask_once() -> None:
    far = Far()
    got = _side_by_side(far, KeptSource(far, KeptBytes(0)), (0, 1000), (500, 1500))
    assert got == [DATA[:1000].tobytes(), DATA[500:1500].tobytes()]
    # The second finds the first in flight, or comes when nothing is left of it: the budget keeps no byte.
    assert far.asked[0] == (0, 1000)
    assert far.asked[1] in {(1000, 1500), (500, 1500)}


def test_a_failed_request_is_the_failure_of_who_made_it() -> None:
    far = Far()
    far.failures = 1
    source = KeptSource(far, KeptBytes(SIZE))
    got = _side_by_side(far, source, (0, 1000), (500, 800))
    assert isinstance(got[0], TruncatedReadError)
    assert got[1] == DATA[500:800].tobytes()
    check(source, (0, 1000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_child_waits_for_no_request_of_its_parent() -> None:
    far = Far()
    source = KeptSource(far, KeptBytes(SIZE))
    far.gate.clear()
    thread = threading.Thread(target=lambda: source.read(*ranges((0, 1000))))
    thread.start()
    assert far.begun.wait(10)
    child = os.fork()
    if child == 0:
        far.gate.set()
        found = source.read(*ranges((100, 200)))[0].tobytes()
        os._exit(7 if found == DATA[100:200].tobytes() else 1)
    far.gate.set()
    thread.join(10)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("meter", [MeteredSource, VerifiedSource])
def test_a_meter_counts_the_requests_that_were_made(meter: type[MeteredSource]) -> None:
    far = Far()
    source = meter(KeptSource(far, KeptBytes(SIZE)))
    check(source, (0, 100))
    source.read_arena(*ranges((50, 150), (200, 300)))
    spent = source.snapshot()
    assert (spent.requests, spent.bytes_fetched) == (3, 250)
    assert (spent.ranges_wanted, spent.bytes_wanted) == (3, 300)


def test_a_runtime_has_one_budget_for_its_far_files() -> None:
    runtime = Runtime(Settings(memory_budget_bytes=16 << 10))
    far = [Far(), Far()]
    one, two = (runtime.keeping(source) for source in far)
    check(one, (0, 900))
    check(two, (0, 900))
    check(one, (0, 900))
    assert [len(source.asked) for source in far] == [2, 1]
