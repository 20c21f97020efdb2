"""Columns of a table are bound to those of files once, not for each fragment or each time that the table is opened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.scan.fragments import fragment_reading

COLUMNS = 40
ROWS = pa.table({f"c{number}": np.arange(30) + number for number in range(COLUMNS)})


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many columns each call binds."""
    found: list[int] = []
    bind = fragment_reading.bind_fields
    monkeypatch.setattr(
        fragment_reading,
        "bind_fields",
        lambda nodes, *others, **how: found.append(len(nodes)) or bind(nodes, *others, **how),
    )
    return found


def test_fragments_share_the_binding(tmp_path: Path, bound: list[int]) -> None:
    LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=10)
    for _ in range(3):
        batches = LanceTable.open(tmp_path / "t").to_batches(batch_size=5)
        assert pa.Table.from_batches(batches).equals(ROWS.combine_chunks())
        dataset = LanceTable.open(tmp_path / "t").dataset()
        for number, fragment in enumerate(dataset.get_fragments()):
            assert fragment.to_table().equals(ROWS.slice(10 * number, 10))
    assert bound == [COLUMNS]


def test_fragments_of_other_files_have_their_own(tmp_path: Path, bound: list[int]) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS.select(["c0", "c1"]))
    table.add_columns({"sum": "c0 + c1"})
    table.append(table.to_table())
    table.drop_columns(["c0"])
    bound.clear()
    for _ in range(2):
        whole = [fragment.to_table() for fragment in LanceTable.open(tmp_path / "t").dataset().get_fragments()]
        assert [one.column_names for one in whole] == [["c1", "sum"]] * 2
        for one in whole:
            assert one["c1"].to_pylist() == list(range(1, 31))
            assert one["sum"].to_pylist() == [2 * number + 1 for number in range(30)]
    assert bound == [2, 2]
