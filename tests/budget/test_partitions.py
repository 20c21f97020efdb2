"""`write_dataset` with hundreds of open files: memory, and calls of Python, do not grow with the batches of Arrow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from resident import RETURNING

BUDGET_BYTES = 32 << 20
NUM_FILES = 400


_PROGRAM = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
from lance_arrow import LanceFormat
from lance_arrow.arrow_dataset.dataset_sink import DatasetSink

ROWS, BATCHES, NUM_FILES, WIDTH = 40_000, 10, 400, 100
folder, name = sys.argv[1:]
schema = pa.schema([("part", pa.int32()), ("key", pa.int64()), ("text", pa.string())])
hive = pads.partitioning(pa.schema([("part", pa.int32())]), flavor="hive")
letters = np.random.default_rng(1).integers(97, 123, ROWS * WIDTH, dtype=np.uint8)
text = pa.StringArray.from_buffers(
    ROWS, pa.py_buffer(np.arange(ROWS + 1, dtype=np.int32) * WIDTH), pa.py_buffer(letters)
)
calls = []

def batches(count, num_files):
    for number in range(count):
        keys = np.arange(number * ROWS, (number + 1) * ROWS)
        yield pa.record_batch([(keys % num_files).astype(np.int32), keys, text], schema=schema)

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))

def write(path, count, num_files):
    pads.write_dataset(
        batches(count, num_files), path, schema=schema, format=LanceFormat() if name == "lance" else name,
        partitioning=hive, max_partitions=num_files,
    )

for method in ("write", "finish"):
    def counted(self, *arguments, _own=getattr(DatasetSink, method)):
        calls.append(None)
        return _own(self, *arguments)
    setattr(DatasetSink, method, counted)

write(folder + "/before", 1, 20)
before = peak()
calls.clear()
write(folder + "/after", BATCHES, NUM_FILES)
print(peak() - before, len(calls))
"""


def growth_and_calls(folder: Path, name: str, budget_bytes: int) -> tuple[int, int]:
    """Write a dataset in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), name],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **RETURNING, "LANCE_ARROW_MEMORY_BYTES": str(budget_bytes)},
    )
    growth, calls = map(int, done.stdout.split())
    return growth, calls


@pytest.mark.whole
def test_hundreds_of_files_stay_within_the_budget(tmp_path: Path) -> None:
    # Rows are 44 MB. Arrow holds rows that it has not given to the files yet, for each format; Parquet holds none.
    arrows, _ = growth_and_calls(tmp_path / "parquet", "parquet", BUDGET_BYTES)
    growth, calls = growth_and_calls(tmp_path / "lance", "lance", BUDGET_BYTES)
    assert growth <= arrows + BUDGET_BYTES
    # Arrow has 40 batches for each file. Its share of half the budget is 40 KB, and it has 110 KB of rows.
    assert calls <= NUM_FILES * (1 + 110 // 40 + 1)


def test_files_that_fit_get_one_call_each(tmp_path: Path) -> None:
    _, calls = growth_and_calls(tmp_path, "lance", 1 << 30)
    assert calls == NUM_FILES
