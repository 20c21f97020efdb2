"""The short form of `fuzz_tables.py`: some damaged tables that this package wrote, with one seed; it can fail."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path

import fuzz_tables
import pytest
from fuzz_runs import Run
from fuzz_table_damage import MANIFESTS, Damage
from fuzz_table_seeds import write_tables

CASES, CASES_EVERY_DAY = 160, 60
SEED = 2024


def test_damaged_tables_give_right_rows_or_a_lance_error(tmp_path: Path, whole_run: bool) -> None:
    cases = CASES if whole_run else CASES_EVERY_DAY
    assert write_tables(tmp_path, None) == 6
    make = functools.partial(fuzz_tables.make, tmp_path, SEED)
    found = Run(Path(fuzz_tables.__file__), tmp_path, make, SEED, cases, 400).all()
    assert not found.failures, json.dumps(found.failures[:3], indent=1)
    assert found.tried == cases
    # The others have checksums that fit the damage: there is nothing to compare.
    assert found.outcomes["ours noticed"] + found.outcomes["ours right"] > cases / 2
    assert found.outcomes["ours noticed"] > cases / 5


def test_rows_of_another_version_are_a_failure(tmp_path: Path) -> None:
    write_tables(tmp_path, None)
    table = fuzz_tables.whole(tmp_path / "ours-stable.lance", tmp_path / "copy")
    nothing = Damage("data/none", b"", "a file that no version names")
    assert fuzz_tables.attempt(table, nothing, tmp_path / "copy", 1) == "ours right"
    # Names count down: the newest version is gone, and no mark says so.
    newest = min(path for path in table.files if path.startswith(MANIFESTS) and path.endswith(".manifest"))
    number = next(one for one in range(100) if "rows" in fuzz_tables.asked(table, random.Random(one)))
    with pytest.raises(AssertionError, match="other rows, without an error"):
        fuzz_tables.attempt(table, Damage(newest, None, "removed"), tmp_path / "copy", number)
