"""The share of matrices that runs every day: it holds every pair, and no test is left out for another reason."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import pytest
from everyday import covering, leave_out, left_out


def combined(cells: list[tuple[Any, ...]], strength: int) -> set[Any]:
    return {one for cell in cells for one in combinations(enumerate(cell), strength)}


@pytest.mark.parametrize("strength", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(3,), (5, 4), (6, 4, 5, 3), (2, 2, 2, 2, 2)])
def test_every_combination_is_held_by_few(sizes: tuple[int, ...], strength: int) -> None:
    cells = list(product(*map(range, sizes)))
    chosen = [cells[number] for number in covering(cells, strength)]
    strength = min(strength, len(sizes))
    assert combined(chosen, strength) == combined(cells, strength)
    largest = sorted(sizes)[-strength:]
    least = 1
    for size in largest:
        least *= size
    assert least <= len(chosen) <= 2 * least


def test_cells_that_are_not_there_are_not_asked_for() -> None:
    cells = [(0, 0, 0), (0, 0, 1), (1, 1, 0)]
    assert covering(cells, 2) == {0, 1, 2}
    assert covering([(0, 0), (0, 1), (1, 1)], 1) == {0, 2}
    assert covering([], 2) == set()


def test_values_are_used_evenly() -> None:
    cells = list(product(range(20), ("here", "there")))
    chosen = [cells[number] for number in covering(cells, 1)]
    assert len(chosen) == 20
    assert 8 <= sum(place == "here" for _, place in chosen) <= 12


class Item(SimpleNamespace):
    """What a test is to those who choose."""

    __hash__ = object.__hash__

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)


def matrix(**marks: pytest.Mark) -> list[Item]:
    return [
        Item(nodeid=f"f.py::t[{a}-{b}-{c}]", callspec=SimpleNamespace(params={"a": a, "b": b, "c": c}), marks=marks)
        for a, b, c in product((1, 1.0, True), ([1], [2]), range(3))
    ]


def test_equal_values_of_other_types_are_values_of_their_own() -> None:
    items = matrix(cover=pytest.mark.cover(1).mark)
    kept = [item for item in items if item not in left_out(items)]
    assert {type(item.callspec.params["a"]) for item in kept} == {int, float, bool}
    # Values without a hash count by what they are: each list of the matrix is one.
    assert 3 <= len(kept) <= len(items)


def test_a_share_is_of_cells_in_their_order() -> None:
    every, covered = (
        matrix(share=pytest.mark.share(3).mark),
        matrix(share=pytest.mark.share(2).mark, cover=pytest.mark.cover(1).mark),
    )
    assert [item for item in every if item not in left_out(every)] == every[::3]
    alone = matrix(cover=pytest.mark.cover(1).mark)
    kept = [number for number, item in enumerate(alone) if item not in left_out(alone)]
    assert [number for number, item in enumerate(covered) if item not in left_out(covered)] == kept[::2]


def test_marks_say_what_is_left_out() -> None:
    plain, slow = matrix(), matrix(whole=pytest.mark.whole.mark)
    assert left_out([*plain, *slow]) == set(slow)


@pytest.mark.parametrize(
    ("is_whole", "arguments", "left"),
    [(False, ["tests"], True), (True, ["tests"], False), (False, ["f.py::t[1-[1]-0]"], False)],
)
def test_what_is_asked_for_runs(is_whole: bool, arguments: list[str], left: bool) -> None:
    deselected: list[Item] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(list(items)))
    config = SimpleNamespace(getoption=lambda name: is_whole, args=arguments, hook=hook)
    items = matrix(whole=pytest.mark.whole.mark)
    leave_out(config, items)
    assert (items == []) is left
    assert len(items) + len(deselected) == 18


def test_this_run_has_the_option(pytestconfig: pytest.Config, whole_run: bool) -> None:
    assert whole_run is pytestconfig.getoption("whole")
