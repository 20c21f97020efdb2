"""The short form of `killed.py`: a few writers killed while they write."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

WRITERS, WRITERS_EVERY_DAY = 12, 6
SEED = 5

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="writers are forked")


@pytest.fixture(scope="module")
def killed() -> ModuleType:
    specification = importlib.util.spec_from_file_location("killed", Path(__file__).with_name("killed.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["killed"] = module
    specification.loader.exec_module(module)
    return module


def test_killed_writers_leave_whole_files_or_none(killed: ModuleType, tmp_path: Path, whole_run: bool) -> None:
    count = WRITERS if whole_run else WRITERS_EVERY_DAY
    outcomes, failures = killed.run(tmp_path, SEED, count, 200)
    assert not failures, failures
    assert sum(outcomes.values()) == count
    # Those who were left alone show that the others were killed at work.
    for number, name in enumerate(killed.WAYS):
        whole = tmp_path / f"whole {number}"
        assert whole.rename(tmp_path / f"whole {name}").is_dir()
        assert killed.outcome(tmp_path / f"whole {name}") in ("new", "all files whole")


def test_a_begun_file_of_a_dataset_does_not_open(killed: ModuleType, tmp_path: Path) -> None:
    whole = tmp_path / "whole dataset"
    whole.mkdir()
    killed.by_dataset(whole, killed.rows(killed.NUM_ROWS))
    path = max(whole.iterdir())
    content = path.read_bytes()
    for size in (0, 1, 100, len(content) // 2, len(content) - 9, len(content) - 1):
        path.write_bytes(content[:size])
        assert killed.outcome(whole) == "some files whole, one begun"
