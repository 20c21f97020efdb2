"""The index cache keeps what was used last, under its budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.structure.index_cache import IndexCache


@dataclass
class Index:
    nbytes: int


def test_least_recently_used_goes_first():
    cache = IndexCache(30)
    for name in "abc":
        cache.put(name, Index(10))
    assert cache.get("a") is not None
    cache.put("d", Index(10))
    assert cache.get("b") is None
    assert [cache.get(name) is not None for name in "acd"] == [True, True, True]
    assert cache.held_bytes == 30


def test_many_at_once_are_used_like_each_by_itself():
    cache = IndexCache(30)
    held = {name: Index(10) for name in "abc"}
    for name, index in held.items():
        cache.put(name, index)
    assert cache.get_many(["c", "nobody", "a"]) == [held["c"], None, held["a"]]
    cache.put("d", Index(10))
    assert cache.get("b") is None


def test_an_index_above_the_budget_is_not_kept_and_evicts_nobody():
    cache = IndexCache(30)
    cache.put("small", Index(10))
    cache.put("huge", Index(31))
    assert cache.get("huge") is None
    assert cache.get("small") is not None


def test_replacing_counts_once():
    cache = IndexCache(30)
    cache.put("a", Index(20))
    cache.put("a", Index(5))
    assert cache.held_bytes == 5


@pytest.mark.parametrize("budget_bytes", [10_000, 700])
def test_many_of_a_file_are_kept_like_each_by_itself(budget_bytes: int) -> None:
    """With the larger budget all fit, which is found at once."""
    many, few = IndexCache(budget_bytes), IndexCache(budget_bytes)
    files = [[((name, 0, number), Index(5)) for number in range(100)] for name in ("a", "b")]
    # Some are known already, some come twice.
    for indices in (*files, files[0][40:] + files[1][:40], files[0] + files[0]):
        many.put_many(indices)
        for key, index in indices:
            few.put(key, index)
        keys = [key for of_file in files for key, _ in of_file]
        assert many.get_many(keys) == few.get_many(keys)
        assert many.held_bytes == few.held_bytes
    for cache in (many, few):
        cache.forget("a")
        assert cache.held_bytes == 5 * sum(index is not None for index in cache.get_many(keys[100:]))
        assert not any(cache.get_many(keys[:100]))


@given(st.integers(0, 100), st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 60)), max_size=60))
def test_the_sum_of_what_is_held_never_exceeds_the_budget(budget_bytes, puts):
    cache = IndexCache(budget_bytes)
    for name, size in puts:
        cache.put(name, Index(size))
        held = [cache.get(name) for name in "abcdefgh"]
        assert cache.held_bytes == sum(index.nbytes for index in held if index is not None) <= budget_bytes
        found = cache.get(name)
        assert found is None or found.nbytes == size, "what is found is what was put last"


def test_an_index_replaced_by_one_above_the_budget_is_forgotten():
    cache = IndexCache(30)
    cache.put("a", Index(10))
    cache.put("a", Index(31))
    assert cache.get("a") is None
    assert cache.held_bytes == 0


def test_threads_share_it():
    cache = IndexCache(100)

    def work(seed: int) -> None:
        for step in range(3000):
            name = (seed * 31 + step * 7) % 40
            cache.put(name, Index(name % 17))
            found = cache.get((name * 13 + seed) % 40)
            assert found is None or found.nbytes < 17

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, seed) for seed in range(8)]:
            done.result()
    held = [cache.get(name) for name in range(40)]
    assert cache.held_bytes == sum(index.nbytes for index in held if index is not None) <= 100


def test_what_a_closed_file_had_is_dropped():
    cache = IndexCache(100)
    for token in ("first", "second"):
        for page in range(3):
            cache.put((token, 0, page), Index(10))
    cache.forget("first")
    assert cache.held_bytes == 30
    assert cache.get_many([("first", 0, 0), ("second", 0, 0)])[0] is None
    assert cache.get(("second", 0, 2)) is not None
    cache.forget("nobody")
    cache.put(("first", 0, 0), Index(5))
    assert cache.held_bytes == 35


def test_an_index_that_grew_is_counted_by_what_it_takes():
    cache = IndexCache(100)
    index = Index(10)
    cache.put("a", index)
    index.nbytes = 40
    cache.put("a", index)
    assert cache.held_bytes == 40
    cache.forget("a")
    assert cache.held_bytes == 0


@dataclass
class View:
    nbytes: int
    was_used: bool = False

    def take_used(self) -> bool:
        used, self.was_used = self.was_used, False
        return used


def test_views_go_with_the_first_index_they_refer_to() -> None:
    cache = IndexCache(40)
    for page in range(3):
        cache.put(("file", page), Index(10))
    view = View(10)
    cache.put_view(("file", "view"), view)
    assert cache.get(("file", "view")) is view
    # The same index again, with what it takes by now, changes nothing.
    index = cache.get(("file", 0))
    assert index is not None
    cache.put(("file", 0), index)
    assert cache.get(("file", "view")) is view
    # That of another file displaces the oldest page, and so the view of the pages.
    cache.put(("other", 0), Index(10))
    assert cache.get(("file", "view")) is None
    assert cache.held_bytes == 30
    cache.forget("file")
    cache.put(("other", 1), Index(10))
    assert cache.held_bytes == 20


def test_pages_that_are_used_through_a_view_count_as_used() -> None:
    cache = IndexCache(40)
    for page in range(2):
        cache.put(("file", page), Index(10))
    view = View(10)
    cache.put_view(("file", "view"), view)
    cache.put(("other", 0), Index(10))
    view.was_used = True
    cache.put(("other", 1), Index(10))
    assert cache.get(("other", 0)) is None
    assert [cache.get(("file", page)) is not None for page in (0, 1, "view")] == [True] * 3
    assert not view.was_used


def test_views_above_the_budget_are_not_kept() -> None:
    cache = IndexCache(40)
    cache.put(("file", 0), Index(10))
    cache.put_view(("file", "view"), View(50))
    assert cache.get(("file", "view")) is None
    cache.put(("other", 0), Index(40))
    assert cache.held_bytes == 40
