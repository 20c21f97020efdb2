"""No index of a file stays in the caches of a runtime once it is closed, or dropped."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from lance_arrow import LanceFile, LanceFormat, Runtime, Settings, write_table
from lance_arrow.runtime import default_runtime


def test_indices_go_with_their_files(tmp_path: Path) -> None:
    write_table(pa.table({"a": np.arange(50_000), "s": [f"{one:09}" for one in range(50_000)]}), tmp_path / "a.lance")
    runtime = Runtime(Settings(num_threads=1))
    with LanceFile(tmp_path / "a.lance", runtime=runtime) as file:
        file.take([7, 40_000])
        assert runtime.indices.held_bytes > 0
    assert runtime.indices.held_bytes == 0
    dropped = LanceFile(tmp_path / "a.lance", runtime=runtime)
    dropped.take([7, 40_000])
    assert runtime.indices.held_bytes > 0
    del dropped
    gc.collect()
    assert runtime.indices.held_bytes == 0


def test_indices_go_with_their_datasets(tmp_path: Path) -> None:
    for number in range(3):
        write_table(pa.table({"a": np.arange(50_000) % 1000}), tmp_path / f"{number}.lance")
    indices = default_runtime().indices
    gc.collect()
    before = indices.held_bytes
    for _ in range(5):
        dataset = pads.dataset(tmp_path, format=LanceFormat())
        assert dataset.to_table().num_rows == 150_000
        del dataset
        gc.collect()
    # Threads of Arrow let go of what they read a moment after the scan is over.
    patience = time.monotonic() + 10
    while indices.held_bytes > before and time.monotonic() < patience:
        time.sleep(0.01)
        gc.collect()
    assert indices.held_bytes <= before
