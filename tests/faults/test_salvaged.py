"""Short forms of `salvaged.py` and `salvaged_tables.py`: some damaged files and tables a day, the same every run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import salvaged_tables
from salvaged import KINDS, Tally, salvaged


@pytest.mark.parametrize("checksums", [True, False], ids=["checksums", "plain"])
def test_saved_rows_of_files_are_the_original_ones(checksums: bool, tmp_path: Path, whole_run: bool) -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    failures: list[str] = []
    for seed in range(120 if whole_run else 32):
        kind, tally, found = salvaged(seed, tmp_path, checksums=checksums)
        tallies[kind].add(tally)
        failures += found
    assert not failures
    if checksums:
        assert set(tallies) == set(KINDS)
        for kind in ("table of columns", "footer", "end of the file zeroed", "end of the file cut off"):
            assert tallies[kind].saved == tallies[kind].values > tallies[kind].by_read
        assert tallies["some bytes of pages"].saved > tallies["some bytes of pages"].by_read


def test_saved_rows_of_tables_are_the_original_ones(tmp_path: Path, whole_run: bool) -> None:
    tallies: dict[str, Tally] = defaultdict(Tally)
    failures: list[str] = []
    for seed in range(50 if whole_run else 25):
        kind, tally, found = salvaged_tables.salvaged(seed, tmp_path)
        tallies[kind].add(tally)
        failures += found
    assert not failures
    assert len(tallies) > 8
    for kind in ("data file changed", "data file missing", "deletion file missing", "newest manifest cut off"):
        assert tallies[kind].saved > tallies[kind].by_read
