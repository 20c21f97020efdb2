"""Deliberate breaks of the commit path: the simulator finds each; the seeds that do are known."""

from __future__ import annotations

import pytest
from breaks import BREAKS
from find_breaks import seed_of

# About the first seed that finds each, as `python tests/simulation/find_breaks.py` counts: a read that takes another
# number of calls moves it.
FOUND_BY = {
    "no conditional write": 3,
    "no conflict check": 3,
    "a forgotten pair": 3,
    "forgotten keys": 80,
    "early cleanup": 84,
    "young versions removed": 1,
    "cleanup blind to branches": 116,
    "row ids given again": 0,
    "fragment ids given again": 0,
    "manifest before its data": 0,
    "restore that forgets": 35,
    "tag of nothing": 18,
    "lost answer not known": 5,
    "files removed in doubt": 6,
}


def test_all_are_known() -> None:
    assert FOUND_BY.keys() == BREAKS.keys()
    assert len(BREAKS) >= 10
    assert max(FOUND_BY.values()) < 1000


_EVERY_DAY = ("no conditional write", "forgotten keys", "manifest before its data")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in _EVERY_DAY else pytest.mark.whole) for name in BREAKS]
)
def test_a_break_is_found(name: str) -> None:
    assert seed_of(name, 100, first=FOUND_BY[name]) is not None
