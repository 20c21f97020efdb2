"""Facts that pages of a column carry to the next ones: in the order of the pages, whichever thread is faster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from lance_arrow.structure.carried_facts import CarriedFacts


def chain(length: int) -> list[CarriedFacts]:
    pages: list[CarriedFacts] = [CarriedFacts()]
    while len(pages) < length:
        pages.append(CarriedFacts(pages[-1]))
    return pages


@contextmanager
def ended(page: CarriedFacts) -> Iterator[None]:
    try:
        yield
    finally:
        page.end()


def count(before: Any) -> int:
    return 1 if before is None else before + 1


def test_a_page_gets_the_fact_of_the_page_before() -> None:
    for number, page in enumerate(chain(5), 1):
        with ended(page):
            assert page.carried("n", count) == number


def test_the_first_fact_of_a_page_is_carried() -> None:
    first, second = chain(2)
    with ended(first):
        assert [first.carried("n", lambda _, number=number: number) for number in (3, 4)] == [3, 4]
    with ended(second):
        assert second.carried("n", lambda before: before) == 3


def test_pages_without_the_fact_are_passed() -> None:
    first, second, third = chain(3)
    with ended(first):
        first.carried("n", count)
    with ended(second):
        second.carried("other", count)
    with ended(third):
        assert third.carried("n", count) == 2
        assert third.carried("other", count) == 2
        assert third.carried("none", lambda before: before) is None


def test_a_page_that_fails_is_passed() -> None:
    first, second = chain(2)
    with pytest.raises(ValueError, match="no page"), ended(first):
        raise ValueError("no page")
    with ended(second):
        assert second.carried("n", count) == 1


def test_a_page_waits_for_those_before_it() -> None:
    pages = chain(40)
    may_begin = threading.Event()

    def encode(number: int) -> int:
        with ended(pages[number]):
            if number == 0:
                assert may_begin.wait(30)
            # Every third page has no need of the fact.
            return 0 if number % 3 == 2 else pages[number].carried("n", count)

    with ThreadPoolExecutor(8) as threads:
        futures = [threads.submit(encode, number) for number in range(len(pages))]
        may_begin.set()
        found = [future.result(30) for future in futures]
    assert [one for one in found if one] == list(range(1, 28))


def test_pages_that_are_done_are_not_kept() -> None:
    pages = chain(100)
    # Neighbours end in the wrong order, as two threads may do it.
    for number in range(0, 100, 2):
        with ended(pages[number]):
            pages[number].carried("n", count)
            with ended(pages[number + 1]):
                pages[number + 1].carried("n", count)
    length, page = 0, pages[-1]
    while page is not None:
        length, page = length + 1, page._before
    assert length <= 4
