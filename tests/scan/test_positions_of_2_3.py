"""Pages of 2.3 whose structure is kept as positions, by the engine, near and far."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from native_only import assert_read, lists, without_layouts
from values import seeded

from lance_arrow import LanceFile, write_table

NUM_ROWS = 700


def test_positions_of_2_3(tmp_path: Path) -> None:
    rng = seeded("positions")
    ones = pa.array(np.ones(2000, np.int64), mask=rng.random(2000) < 0.3)
    table = pa.table(
        {
            "constant": pa.array(np.full(NUM_ROWS, 5), mask=rng.random(NUM_ROWS) < 0.2),
            "lists": lists(ones, NUM_ROWS, "g"),
            "nested": lists(lists(ones, 1500, "h"), NUM_ROWS, "i"),
            "nulls": pa.nulls(NUM_ROWS, pa.list_(pa.string())),
            "struct": pa.StructArray.from_arrays(
                [lists(ones, NUM_ROWS, "j")], ["l"], mask=pa.array(np.arange(NUM_ROWS) % 5 == 0)
            ),
        }
    )
    path = tmp_path / "f.lance"
    write_table(table, path, file_version="2.3", page_bytes=3000)
    rows = np.array([0, 1, 7, 200, 201, NUM_ROWS - 1])
    assert_read(path, table, rows)
    with without_layouts(), LanceFile(path) as file:
        assert file.take(rows).to_pylist() == table.take(rows).to_pylist()
