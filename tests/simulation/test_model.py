"""The model of commits has no state in which a promise is broken, and the product follows its schedules."""

from __future__ import annotations

import itertools

import model
import pytest
from replay import replay


def test_no_state_breaks_a_promise() -> None:
    found = [model.explore(tuple((one,) for one in two)) for two in itertools.product(model.OPERATIONS, repeat=2)]
    assert sum(states for states, _ in found) > 400
    assert all(ends > 1 for _, ends in found)


def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model._RULES, ("update", "update"), "yes")
    with pytest.raises(model.ModelError, match="an update of"):
        model.explore((("update",), ("update",)))


def test_the_product_follows(whole_run: bool) -> None:
    outcomes = set()
    for seed in range(300 if whole_run else 8):
        way, end = model.schedule(seed)
        made, told, fragments = replay(way)
        assert made == [version.made_by for version in end.versions[1:]], seed
        assert told == [writer.outcomes for writer in end.writers], seed
        assert fragments == [len(version.fragments) for version in end.versions], seed
        outcomes |= {one for writer in told for one in writer}
    assert outcomes == {"done", "refused", "failed"}
