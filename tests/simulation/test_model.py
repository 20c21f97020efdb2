"""The model of commits has no state in which a promise is broken, and the product follows its schedules."""

from __future__ import annotations

import itertools
from collections import defaultdict

import model
import pytest
from replay import replay


def test_no_state_breaks_a_promise(whole_run: bool) -> None:
    found = model.explore(((model.ANY,),) * 3)
    assert (found.states > 1000, found.ends) == (True, 1)
    if whole_run:
        # 3 writers with 3 operations each take two minutes: `python tests/simulation/model.py`.
        assert model.explore(((model.ANY,) * 2,) * 3).states > 50_000


def test_programs_are_among_any() -> None:
    """Writers with given programs break nothing either, and have fewer states."""
    for programs in itertools.product(model.OPERATIONS, repeat=2):
        assert model.explore(tuple((one,) for one in programs)).states < 1000


@pytest.mark.parametrize("are_alike", [False, True])
def test_equal_states_go_on_alike(are_alike: bool) -> None:
    """All states are visited, with all that they remember: equal ones have steps to equal ones."""
    programs = ((model.ANY, "update"),) * 2
    first = model.start(2)
    seen, waiting = {first}, [first]
    following: dict[tuple[object, ...], set[frozenset[object]]] = defaultdict(set)
    while waiting:
        state = waiting.pop()
        after = [one for _, one in model.steps(state, programs)]
        ways = frozenset(model.canonical(one, are_alike=are_alike) for one in after)
        following[model.canonical(state, are_alike=are_alike)].add(ways)
        for one in set(after) - seen:
            seen.add(one)
            waiting.append(one)
    assert all(len(ways) == 1 for ways in following.values())
    # There was something to forget.
    assert len(seen) > 4 * len(following)


def test_a_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model._RULES, ("update", "update"), "yes")
    with pytest.raises(model.ModelError, match="an update of"):
        model.explore((("update",), ("update",)))


def test_the_product_follows(whole_run: bool) -> None:
    outcomes = set()
    for seed in range(300 if whole_run else 8):
        programs, way, end = model.schedule(seed)
        made, told, fragments = replay(way, programs)
        assert made == [version.made_by for version in end.versions[1:]], seed
        assert told == [writer.outcomes for writer in end.writers], seed
        assert fragments == [len(version.fragments) for version in end.versions], seed
        outcomes |= {one for writer in told for one in writer}
    assert outcomes == {"done", "refused", "failed"}
