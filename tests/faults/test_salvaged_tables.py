"""The short form of `salvaged_tables.py`: some damaged tables a day, the same every run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from salvaged import Tally
from salvaged_tables import salvaged


def test_saved_rows_are_the_original_ones(tmp_path: Path) -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    failures: list[str] = []
    for seed in range(50):
        kind, tally, found = salvaged(seed, tmp_path)
        tallies[kind].add(tally)
        failures += found
    assert not failures
    assert len(tallies) > 8
    for kind in ("data file changed", "data file missing", "deletion file missing", "newest manifest cut off"):
        assert tallies[kind].saved > tallies[kind].by_read
