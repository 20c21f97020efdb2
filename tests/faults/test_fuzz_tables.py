"""The short form of `fuzz_tables.py`: some damaged tables that this package wrote, with one seed."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import fuzz_tables
from fuzz_runs import Run
from fuzz_table_seeds import write_tables

CASES = 80
SEED = 2024


def test_damaged_tables_give_right_rows_or_a_lance_error(tmp_path: Path) -> None:
    assert write_tables(tmp_path, None) == 6
    make = functools.partial(fuzz_tables.make, tmp_path, tmp_path, SEED)
    found = Run(Path(fuzz_tables.__file__), tmp_path, make, SEED, CASES, 400).all()
    assert not found.failures, json.dumps(found.failures[:3], indent=1)
    assert found.tried == CASES
    # The others have checksums that fit the damage: there is nothing to compare.
    assert found.outcomes["ours noticed"] + found.outcomes["ours right"] > CASES / 2
    assert found.outcomes["ours noticed"] > CASES / 5
