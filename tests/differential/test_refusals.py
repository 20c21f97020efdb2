"""The engine refuses what a second reader refuses: a few random tables a day, with some damage each."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import VERSIONS, refused


@pytest.mark.parametrize("version", VERSIONS)
def test_damage_is_told_as_the_second_reader_tells_it(version: str, tmp_path: Path, whole_run: bool) -> None:
    num_refused, failures = 0, []
    seeds = range(1000, 1008 if whole_run else 1003)
    for seed in seeds:
        counts, found = refused(version, seed, tmp_path)
        num_refused += counts["refused"]
        failures += found
    assert not failures
    assert num_refused > 5 * len(seeds) // 4
