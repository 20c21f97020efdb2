"""The forge itself: its good files are read equal, by us at every door and by the reference package."""

from __future__ import annotations

from pathlib import Path

import forged
import numpy as np
import pytest
from forge import dataset, scan, take
from same import assert_same, taken
from witness import Witness

# Legal, and read by us; the reference's own reader refuses them or has never written such.
ONLY_OURS = {"packed_levels"}


@pytest.mark.parametrize("name", forged.GOOD)
def test_good_files_are_read_equal(name: str, tmp_path: Path) -> None:
    file = forged.GOOD[name]
    path = tmp_path / "good.lance"
    path.write_bytes(file.build())
    assert_same(file.table, scan(path))
    assert_same(file.table, dataset(path))
    rows = np.random.default_rng(5).integers(0, file.table.num_rows, 12).tolist()
    assert_same(taken(file.table, rows), take(path, rows))


@pytest.mark.interop
@pytest.mark.parametrize("name", [name for name in forged.GOOD if name not in ONLY_OURS])
def test_the_reference_reads_them_too(name: str, witness: Witness, tmp_path: Path) -> None:
    file = forged.GOOD[name]
    path = tmp_path / "good.lance"
    path.write_bytes(file.build())
    assert_same(file.table.replace_schema_metadata(None), witness.read(path).replace_schema_metadata(None))
