"""How many leaves of random tables the native engine reads: the share must not fall."""

from __future__ import annotations

from pathlib import Path

import pytest
from native_leaves import WAYS, count
from witness import Witness

SEEDS, SEEDS_EVERY_DAY = range(60), range(30)
# Leaves of these tables that layouts in Python read, for each way in `WAYS`. Numbers may only fall.
LEFT = {"2.0": (0, 0, 0, 0), "2.1": (0, 0, 0, 0), "2.2": (0, 0, 0, 0), "2.3": (0, 0, 0, 0)}


@pytest.mark.interop
@pytest.mark.parametrize("version", LEFT)
def test_the_engine_reads_no_fewer_leaves(witness: Witness, tmp_path: Path, version: str, whole_run: bool) -> None:
    seeds = SEEDS if whole_run else SEEDS_EVERY_DAY
    counts, reasons = count(version, seeds, witness, tmp_path)
    left = tuple(counts["all", way] - counts["native", way] for way in WAYS)
    assert counts["all", "take"] > len(seeds)
    assert all(one <= most for one, most in zip(left, LEFT[version], strict=True)), (left, reasons.most_common(10))
