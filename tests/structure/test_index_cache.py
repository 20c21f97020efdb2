"""The index cache keeps what was used last, under its budget."""

from __future__ import annotations

from dataclasses import dataclass

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
