"""What one row of ten columns costs out of a file that was not opened before: calls of Python and C, all threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from values import seeded

import lance_arrow
from lance_arrow import LanceFile, write_table

NUM_FILES, FILE_ROWS = 5, 1000


def rows_of(number: int) -> pa.Table:
    """Three integers, three floats, a bool, a time, and strings."""
    rng = seeded(f"file {number}")
    words = np.array(["alpha", "beta", "gamma", "delta"])
    return pa.table(
        {
            "id": np.arange(FILE_ROWS) + number * FILE_ROWS,
            "wide": rng.integers(0, 1 << 40, FILE_ROWS),
            "narrow": rng.integers(0, 100_000, FILE_ROWS, np.int32),
            "double": rng.random(FILE_ROWS),
            "nullable": pa.array(rng.random(FILE_ROWS), mask=rng.random(FILE_ROWS) < 0.1),
            "single": rng.random(FILE_ROWS).astype(np.float32),
            "flag": rng.random(FILE_ROWS) < 0.5,
            "time": pa.array(rng.integers(0, 1 << 40, FILE_ROWS), pa.timestamp("us")),
            "name": [f"name {one}" for one in rng.integers(0, 10**9, FILE_ROWS)],
            "category": words[rng.integers(0, 4, FILE_ROWS)],
        }
    )


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("cold")
    made = [folder / f"{number}.lance" for number in range(NUM_FILES)]
    for number, path in enumerate(made):
        write_table(rows_of(number), path)
    return made


def calls_of(read: Callable[[Path], object], paths: list[Path]) -> int:
    """Count the calls for the last of the files; the others make what files of one schema share."""
    for path in paths[:-1]:
        read(path)
    count = 0

    def look(frame: Any, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        read(paths[-1])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("read", "most"),
    [
        (lambda path: LanceFile(path).take([500]), 1_750),  # 4,131 before decision 0028
        (lambda path: lance_arrow.dataset(path).take([500]), 2_700),  # 5,006
    ],
    ids=["LanceFile", "dataset"],
)
def test_a_cold_row(read: Callable[[Path], pa.Table], most: int, paths: list[Path]) -> None:
    assert read(paths[0]).equals(rows_of(0).slice(500, 1))
    assert calls_of(read, paths) <= most
