"""The short form of `fuzz.py`: some hundred damaged files of every layout and codec, the same at every run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from witness import Witness

pytestmark = pytest.mark.interop
CASES = 700


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    folder = Path(__file__).parent
    sys.path.insert(0, str(folder))
    specification = importlib.util.spec_from_file_location("fuzz", folder / "fuzz.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_damaged_files_give_rows_or_a_lance_error(fuzz: ModuleType, witness: Witness, tmp_path: Path) -> None:
    assert fuzz.write_seeds(tmp_path, witness, versions=("2.0", "2.1", "2.3"), nulls_of=("some",)) > 40
    outcomes, failures = fuzz.run(tmp_path, 2024, CASES, 200)
    assert not failures, json.dumps(failures[:3], indent=1)
    assert sum(outcomes.values()) == CASES
    assert outcomes["read"] > CASES / 20
    assert outcomes["CorruptFileError"] + outcomes["CorruptPageError"] > CASES / 4
