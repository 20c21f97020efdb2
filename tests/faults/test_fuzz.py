"""The short form of `fuzz.py`: some hundred damaged files of every layout and codec, the same at every run."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import fuzz
import pytest
from fuzz_runs import Run
from witness import Witness

pytestmark = pytest.mark.interop
CASES, CASES_EVERY_DAY = 600, 100


def test_damaged_files_give_rows_or_a_lance_error(witness: Witness, tmp_path: Path, whole_run: bool) -> None:
    cases = CASES if whole_run else CASES_EVERY_DAY
    assert fuzz.write_seeds(tmp_path, witness, versions=("2.0", "2.1", "2.3"), nulls_of=("some",)) > 40
    make = functools.partial(fuzz.make, tmp_path, 2024)
    found = Run(Path(fuzz.__file__), tmp_path, make, 2024, cases, 200).all()
    outcomes = found.outcomes
    assert not found.failures, json.dumps(found.failures[:3], indent=1)
    assert found.tried == cases
    assert outcomes["read"] > cases / 20
    assert outcomes["CorruptFileError"] + outcomes["CorruptPageError"] > cases / 5
    # Those that we wrote: other rows would be a failure.
    assert outcomes["ours noticed"] + outcomes["ours right"] == -(-cases // fuzz.OURS_EVERY)
    assert outcomes["ours noticed"] > cases / 5
