"""The short form of `flipped.py`: some bits of files of each version, preset and kind of column, the same every run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FLIPS, FLIPS_EVERY_DAY = 150, 60
SEED = 2024


@pytest.fixture(scope="module")
def flipped() -> ModuleType:
    specification = importlib.util.spec_from_file_location("flipped", Path(__file__).with_name("flipped.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["flipped"] = module
    specification.loader.exec_module(module)
    return module


def test_a_flipped_bit_is_noticed_or_harmless(flipped: ModuleType, tmp_path: Path, whole_run: bool) -> None:
    count = FLIPS if whole_run else FLIPS_EVERY_DAY
    files = flipped.whole_files()
    assert len(files) == 33
    noticed = 0
    for number in range(count):
        whole, bit = flipped.flip(files, SEED, number)
        outcomes = flipped.attempt(whole, tmp_path / "damaged.lance", whole.flipped(bit), number)
        assert set(outcomes.values()) <= {"right", "noticed"}, (number, whole.name, bit, outcomes)
        noticed += "noticed" in outcomes.values()
    # What lies between blocks may hold anything; nearly everything else is noticed by somebody.
    assert noticed > count / 2


def test_sound_files_are_right_at_every_door(flipped: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "sound.lance"
    for name in flipped.TABLES:
        whole = flipped.Whole(name, "2.2", "default")
        path.write_bytes(whole.content)
        for door, read, expected in flipped.doors(whole, 5):
            assert flipped.same_rows(read(path), expected()), (name, door)
