"""How work is shared among threads: in order, bounded, and not at all where there is one thing to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings


def thread_of(_: object) -> int:
    return threading.get_ident()


def test_one_item_alone_is_for_the_consumer() -> None:
    runtime = Runtime(Settings(num_threads=3))
    assert list(runtime.ahead(thread_of, [1])) == [threading.get_ident()]
    assert list(runtime.ahead(thread_of, [])) == []
    assert threading.get_ident() not in list(runtime.ahead(thread_of, [1, 2]))
    assert list(Runtime(Settings(num_threads=1)).ahead(thread_of, [1, 2])) == 2 * [threading.get_ident()]


def test_items_are_asked_for_no_further_ahead_than_wanted() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            asked.append(item)
            yield item

    for threads, num_ahead, most in ((1, 5, 1), (3, 0, 1), (3, 1, 2), (3, 4, 5)):
        asked.clear()
        found = Runtime(Settings(num_threads=threads)).ahead(lambda item: item * 2, items(), num_ahead=num_ahead)
        assert next(found) == 0
        assert len(asked) == most
        assert list(found) == [item * 2 for item in range(1, 20)]


def test_first_results_do_not_wait_for_items_ahead_where_the_consumer_may_stop() -> None:
    done = threading.Semaphore(0)
    asked: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            if item > 1:
                # What was begun before has ended, and is seen to have: its thread waits for work again.
                done.acquire()
                time.sleep(0.02)
            asked.append(item)
            yield item

    def work(item: int) -> int:
        done.release()
        return item * 2

    runtime = Runtime(Settings(num_threads=3))
    found = runtime.ahead(work, items(), num_ahead=8, may_stop=True)
    taken = [next(found) for _ in range(3)]
    assert taken == [0, 2, 4]
    # One more is ahead for each that was taken.
    assert len(asked) <= 6
    assert list(found) == [item * 2 for item in range(3, 20)]
    asked.clear()
    assert next(runtime.ahead(work, items(), num_ahead=8)) == 0
    assert len(asked) == 9


@pytest.mark.parametrize("may_stop", [False, True])
def test_nothing_is_ahead_of_a_first_item_alone(*, may_stop: bool) -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            asked.append(item)
            yield item

    runtime = Runtime(Settings(num_threads=3))
    found = runtime.ahead(lambda item: item * 2, items(), num_ahead=4, may_stop=may_stop, is_first_alone=True)
    assert next(found) == 0
    assert asked == [0]
    assert list(found) == [item * 2 for item in range(1, 20)]
    assert list(runtime.ahead(str, [], is_first_alone=True)) == []
    assert list(runtime.ahead(str, [1], is_first_alone=True)) == ["1"]
