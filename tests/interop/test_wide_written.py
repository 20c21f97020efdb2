"""Wide files, whose pages are written natively, read by the reference: scanned, and taken from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from flat_tables import flat_table
from same import assert_same, taken
from witness import Witness

from lance_arrow import LanceTable, write_table

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_random_columns(witness: Witness, tmp_path: Path, version: str) -> None:
    for seed in range(40):
        table = flat_table(seed)
        path = tmp_path / f"{seed}.lance"
        write_table(table, path, file_version=version)
        assert_same(witness.read(path), table)
        rows = sorted(set(np.random.default_rng(seed).integers(0, table.num_rows, 5).tolist()))
        assert_same(witness.take(path, rows), taken(table, rows))


def test_a_thousand_columns(witness: Witness, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({f"c{number}": rng.normal(size=100) for number in range(1000)})
    write_table(table, tmp_path / "file.lance")
    assert_same(witness.read(tmp_path / "file.lance"), table)
    assert_same(witness.read(tmp_path / "file.lance", ["c7", "c999"]), table.select(["c7", "c999"]))
    rows = LanceTable.create(tmp_path / "table.lance", table)
    rows.append(table)
    assert_same(witness.read_directory(tmp_path / "table.lance"), pa.concat_tables([table, table]))
