"""Compaction of wide tables: metadata is read once per file, files are let go, and memory follows the budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from outside import run
from resident import RESIDENT, RETURNING

from lance_arrow import LanceTable
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.runtime import default_runtime
from lance_arrow.scan import open_files
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.settings import MEBIBYTE

NUM_COLUMNS = 300
NUM_FRAGMENTS = 12
# 1.6 MiB each: as much as a large page has.
FRAGMENT_ROWS = 700

BUDGET_BYTES = 96 * MEBIBYTE
MAKE = """
import sys
import numpy as np
import pyarrow as pa
from lance_arrow import LanceTable

def batches(num_columns, num_rows):
    rng, step = np.random.default_rng(1), min(num_rows, 1000)
    for _ in range(0, num_rows, step):
        yield pa.record_batch({f"c{one}": rng.integers(0, 1 << 30, step, np.int32) for one in range(num_columns)})

def table(name, num_columns, first, others, num_rows):
    made = LanceTable.create(sys.argv[1] + name, batches(num_columns, first))
    for _ in range(others):
        made.append(list(batches(num_columns, num_rows)))
    made.delete("c0 < 100000")

table("/small", 50, 3000, 6, 1000)
table("/large", *map(int, sys.argv[2:]))
"""
# In another process, which finds no memory and no schema that were used to write the rows.
COMPACT = (
    RESIDENT
    + """
import sys
from lance_arrow import LanceTable

LanceTable.open(sys.argv[1] + "/small").compact()
large = LanceTable.open(sys.argv[1] + "/large")
num_bytes = growth(large.compact)
assert len(large.manifest.fragments) == 1
print(num_bytes)
"""
)


def rows(number: int) -> pa.Table:
    random = np.random.default_rng(number)
    return pa.table({f"c{one}": random.random(FRAGMENT_ROWS) for one in range(NUM_COLUMNS)})


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    made = LanceTable.create(tmp_path / "t.lance", rows(0))
    for number in range(1, NUM_FRAGMENTS):
        made.append(rows(number))
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[OpenFile]]:
    found: list[OpenFile] = []
    made = open_files.OpenFile

    def watched(*arguments: object, **named: object) -> OpenFile:
        found.append(made(*arguments, **named))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(open_files, "OpenFile", watched)
    yield found
    found.clear()


def test_metadata_of_all_columns_is_read_at_once(table: LanceTable, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    columns = LanceFileReader.columns

    def counted(self: LanceFileReader, wanted: list[int], *arguments: object) -> object:
        reads.append(len(wanted))
        return columns(self, wanted, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LanceFileReader, "columns", counted)
    before = table.to_table()
    reads.clear()
    table.compact()
    assert len(table.manifest.fragments) == 1
    # Pages of so few doubles are small: no metadata is read before rows are.
    assert sum(reads) <= NUM_COLUMNS * NUM_FRAGMENTS
    assert len(reads) <= NUM_FRAGMENTS
    assert table.to_table() == before


def test_columns_that_may_have_large_pages_are_judged_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = pa.array([f"some text {number}" * 9 for number in range(20_000)])
    made = LanceTable.create(tmp_path / "texts.lance", pa.table({f"c{one}": text for one in range(20)}))
    made.append(pa.table({f"c{one}": text for one in range(20)}))
    reads: list[int] = []
    columns = LanceFileReader.columns

    def counted(self: LanceFileReader, wanted: list[int], *arguments: object) -> object:
        reads.append(len(wanted))
        return columns(self, wanted, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(LanceFileReader, "columns", counted)
    made = LanceTable.open(tmp_path / "texts.lance")
    made.compact()
    assert reads[:2] == [20, 20]
    assert len(reads) <= 4


def test_files_are_let_go_by_their_columns(
    table: LanceTable, opened: list[OpenFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = LanceTable.open(table.uri)
    monkeypatch.setattr(fresh._files, "_most_columns", 2 * NUM_COLUMNS)
    assert fresh.to_table().num_rows == NUM_FRAGMENTS * FRAGMENT_ROWS
    for number in range(NUM_FRAGMENTS):
        fresh.take([number * FRAGMENT_ROWS])
    held = fresh._files._held.values()
    assert sum(one.rows.num_known_columns for one in held) <= 3 * NUM_COLUMNS
    assert 0 < len(held) < NUM_FRAGMENTS


def test_pages_are_counted_before_they_have_an_index(table: LanceTable) -> None:
    fresh = LanceTable.open(table.uri)
    indices = default_runtime().indices
    before = indices.held_bytes
    fresh.take([0])
    assert indices.held_bytes - before >= NUM_COLUMNS * 512


@pytest.mark.whole
@pytest.mark.parametrize(
    "fragments",
    [
        # Columns, rows of the first fragment, number of others, and rows of each.
        pytest.param((1_500, 30_000, 6, 1_000), id="long"),
        pytest.param((2_000, 200, 39, 200), id="many", marks=pytest.mark.whole),
    ],
)
def test_memory_of_a_compaction_is_within_the_budget(tmp_path: Path, fragments: tuple[int, ...]) -> None:
    variables = {"LANCE_ARROW_MEMORY_BYTES": str(BUDGET_BYTES), "LANCE_ARROW_THREADS": "2", **RETURNING}
    done = run(MAKE, tmp_path, *map(str, fragments), **variables)
    assert done.returncode == 0, done.stderr
    done = run(COMPACT, tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= BUDGET_BYTES
