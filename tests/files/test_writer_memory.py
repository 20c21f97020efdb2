"""What waits in a writer follows the memory budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceFile, LanceWriter
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.files.row_writer import RowWriter
from lance_arrow.io import open_source
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings

BUDGET = 1 << 20
BATCH_ROWS = 512


def batches() -> list[pa.RecordBatch]:
    """8 MB of rows in 200 columns, some of them wider than others."""
    random = np.random.default_rng(3)
    columns = {f"c{number}": random.integers(0, 1 << 60, 5120) for number in range(195)}
    table = pa.table({**columns, **{f"t{number}": ["some text " * number] * 5120 for number in range(5)}})
    return table.to_batches(max_chunksize=BATCH_ROWS)


def num_pages(path: Path, num_columns: int) -> int:
    with LanceFileReader(open_source(path)) as reader:
        return sum(len(meta.pages) for meta in reader.columns(range(num_columns)))


def test_many_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = batches()
    held: list[int] = []
    write = RowWriter.write

    def watched(self: RowWriter, *arguments: Any) -> None:
        write(self, *arguments)
        held.append(self._held_bytes() + (0 if self._plain is None else self._plain.held_bytes))

    monkeypatch.setattr(RowWriter, "write", watched)
    pages = {}
    for budget in (BUDGET, 512 << 20):
        path = tmp_path / f"{budget}.lance"
        with LanceWriter(path, given[0].schema, runtime=Runtime(Settings(memory_budget_bytes=budget))) as writer:
            for batch in given:
                writer.write(batch)
        with LanceFile(path) as file:
            assert file.read() == pa.Table.from_batches(given)
        pages[budget] = num_pages(path, 200)
    assert pages[512 << 20] == 200
    assert 1000 < pages[BUDGET] <= 200 * len(given)
    assert len(held) == 2 * len(given)
    assert max(held[: len(given)]) <= BUDGET // 2 < min(held[len(given) + 1 :])


def test_pages_follow_a_small_budget(tmp_path: Path) -> None:
    table = pa.table({"a": np.random.default_rng(4).integers(0, 1 << 60, 1 << 16)})
    with LanceWriter(tmp_path / "f", table.schema, runtime=Runtime(Settings(memory_budget_bytes=BUDGET))) as writer:
        writer.write(table)
    with LanceFile(tmp_path / "f") as file:
        assert file.read() == table
    assert num_pages(tmp_path / "f", 1) == table.nbytes // (BUDGET // 32)
