"""A slice of `nox -s soundness`: no statistic ever changes what a filter finds; and the comparison can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from checking import Checked, check
from engine_checking import PREDICATES, EnginesChecked, check_engines
from filter_cases import filter_case

from lance_arrow.pruning import zone_pruning
from lance_arrow.pruning.zone_predicates import Verdict, ZonePredicate

NUM_CASES, STRIDE = 2000, 200
CASES_EVERY_DAY = 80
ENGINE_CASES, ENGINE_CASES_EVERY_DAY = 30, 6


def checked(cases: range, folder: Path) -> Checked:
    seen = Checked()
    for number in cases:
        check(number, folder, seen)
    return seen


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.whole) for first in range(STRIDE, NUM_CASES, STRIDE))]
)
def test_engines_find_the_same_rows_by_their_doors(tmp_path: Path, first: int, whole_run: bool) -> None:
    count = ENGINE_CASES if whole_run else ENGINE_CASES_EVERY_DAY
    seen = EnginesChecked()
    for number in range(first, first + count):
        check_engines(number, tmp_path, seen)
    assert seen.compared == count * PREDICATES
    assert seen.found > 20 * seen.compared


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.whole) for first in range(STRIDE, NUM_CASES, STRIDE))]
)
def test_filters_find_the_same_rows_by_every_door(tmp_path: Path, first: int, whole_run: bool) -> None:
    count = STRIDE if whole_run else CASES_EVERY_DAY
    seen = checked(range(first, first + count), tmp_path)
    assert seen.compared > count * 2 // 3
    assert seen.pruned > seen.zones // 10
    assert seen.sure > 0
    assert seen.as_dictionaries > count // 20


@pytest.mark.parametrize("lie", [Verdict.NO, Verdict.ALL])
def test_a_wrong_verdict_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Verdict) -> None:
    def verdicts(self: ZonePredicate, zone_maps: object, num_zones: int) -> object:
        found = truth(self, zone_maps, num_zones)
        found[: num_zones // 2] = lie
        return found

    truth = ZonePredicate.verdicts
    monkeypatch.setattr(zone_pruning.ZonePredicate, "verdicts", verdicts)
    with pytest.raises(AssertionError):
        checked(range(20), tmp_path)


def test_cases_are_the_same_at_every_call() -> None:
    first, again = filter_case(7), filter_case(7)
    assert first.table.equals(again.table)
    assert first.expression.equals(again.expression)
