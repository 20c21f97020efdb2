"""Which cells of a matrix run every day: enough that each pair of values meets; `--whole` runs all of them.

`@pytest.mark.cover(2)` keeps as few cells of a parametrized test as hold every pair of values that two of its
parameters have together in some cell; `cover(1)` holds every value. `@pytest.mark.share(3)` keeps each third cell, of
those that `cover` keeps if there are both. `@pytest.mark.whole` leaves out a test, or a cell. Cells that are named on
the command line always run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations

import pytest


def covering(cells: Sequence[Sequence[Hashable]], strength: int) -> set[int]:
    """Choose cells (by number) that hold every combination of `strength` values that any cell holds.

    The next one chosen holds most combinations that are missing; of several, the one whose values were chosen least.
    """
    held = [set(combinations(enumerate(cell), min(strength, len(cell)))) for cell in cells]
    missing = set().union(*held)
    chosen: set[int] = set()
    used: Counter[tuple[int, Hashable]] = Counter()
    while missing:
        best = max(
            (number for number in range(len(cells)) if number not in chosen),
            key=lambda number: (len(held[number] & missing), -sum(used[value] for value in enumerate(cells[number]))),
        )
        chosen.add(best)
        missing -= held[best]
        used.update(enumerate(cells[best]))
    return chosen


def _values(item: pytest.Item) -> tuple[Hashable, ...]:
    """Return the values of a cell's parameters; those that cannot be compared stand for themselves."""
    values: list[Hashable] = []
    for _, value in sorted(item.callspec.params.items()):
        try:
            hash(value)
        except TypeError:
            values.append(id(value))
        else:
            # 1, 1.0 and True are three values.
            values.append((type(value), value))
    return tuple(values)


def left_out(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that only `--whole` runs."""
    found: set[pytest.Item] = set()
    matrices: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("whole") is not None:
            found.add(item)
        elif any(item.get_closest_marker(name) is not None for name in ("cover", "share")):
            matrices.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cells in matrices.values():
        chosen, cover = list(range(len(cells))), cells[0].get_closest_marker("cover")
        if cover is not None:
            chosen = sorted(covering([_values(item) for item in cells], *cover.args))
        share = cells[0].get_closest_marker("share")
        if share is not None:
            (step,) = share.args
            chosen = chosen[::step]
        kept = {cells[number] for number in chosen}
        found.update(item for item in cells if item not in kept)
    return found


def add_options(parser: pytest.Parser) -> None:
    """Add `--whole`."""
    parser.addoption("--whole", action="store_true", help="run every cell of every matrix, and what takes long")


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what `--whole` alone runs, unless single cells were named."""
    if config.getoption("whole") or any("[" in argument for argument in config.args):
        return
    left = left_out(items)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]
