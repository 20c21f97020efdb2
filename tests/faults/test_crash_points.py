"""Crashes at some of the calls that each operation makes; `nox -s crashes` does all."""

from __future__ import annotations

import crash_points
import pytest


@pytest.mark.parametrize("name", crash_points.CASES)
def test_old_or_new(name: str, whole_run: bool) -> None:
    count = crash_points.points_of(crash_points.CASES[name], crash_points.base_of(crash_points.CASES[name]))
    step = max(1, count // (3 if whole_run else 2))
    assert list(crash_points.crashes(name, step, start=count - 1))
