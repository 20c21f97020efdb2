"""Tables and datasets that consist of many small files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_once import copied, key_of
from values import seeded

from lance_arrow import write_table
from lance_arrow.container.joined_files import SmallFiles

_LETTERS = np.random.default_rng(5).integers(97, 123, 100_000, np.uint8).tobytes().decode()


def small_file_rows(number: int, num_rows: int) -> pa.RecordBatch:
    """Rows of one file: three integers, three floats, a bool, a time, and strings; `id` counts on from file to file."""
    rng = seeded(f"fragment {number}")
    rows = np.arange(num_rows) + number * num_rows
    letters = rng.integers(97, 123, 20 * num_rows, np.uint8)
    offsets = np.arange(num_rows + 1, dtype=np.int32) * 20
    return pa.record_batch(
        {
            "id": rows,
            "wide": rng.integers(0, 1 << 40, num_rows),
            "narrow": rng.integers(0, 100_000, num_rows, np.int32),
            "double": rng.random(num_rows),
            "nullable": pa.array(rng.random(num_rows), mask=rng.random(num_rows) < 0.1),
            "single": rng.random(num_rows).astype(np.float32),
            "flag": rng.random(num_rows) < 0.5,
            "time": pa.array(rows * 1000, pa.timestamp("us")),
            "name": pa.StringArray.from_buffers(num_rows, pa.py_buffer(offsets), pa.py_buffer(letters)),
            "category": [f"category {one}" for one in rng.integers(0, 20, num_rows)],
        }
    )


@functools.cache
def mixed_rows(start: int, stop: int) -> pa.Table:
    """Rows of many types, with nulls."""
    rows = range(start, stop)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "s": pa.array([None if i % 3 == 0 else f"row {i}" for i in rows]),
            "f": pa.array([i * 0.5 for i in rows], pa.float32()),
            "l": pa.array([[i] * (i % 4) if i % 7 else None for i in rows], pa.list_(pa.int32())),
            "st": pa.array([{"x": i, "y": [f"{i}"]} if i % 5 else None for i in rows]),
            "fixed": pa.array([[i, -i] for i in rows], pa.list_(pa.int16(), 2)),
            "d": pa.array([f"kind {i % 4}" for i in rows]).dictionary_encode(),
            "word": pa.array([f"word {i % 3}" for i in rows]),
            "text": pa.array([_LETTERS[i * 7 : i * 7 + 40 + i % 9] for i in rows]),
            "b": pa.array([i % 3 == 1 for i in rows]),
            "none": pa.nulls(len(rows), pa.int32()),
            "same": pa.array([7] * len(rows), pa.int16()),
        }
    )


def bare_files(folder: Path, rows: pa.Table, file_rows: int, **how: Any) -> Path:
    """Write rows to files of a folder, or copy what was once written so; returns the folder."""

    def write(made: Path) -> None:
        made.mkdir()
        for number in range(-(-rows.num_rows // file_rows)):
            write_table(rows.slice(number * file_rows, file_rows), made / f"{number:04}.lance", **how)

    return copied(("bare files", key_of(rows, file_rows, how)), folder, write)


def noted_ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that takes, for each group that is opened by the ends of its files, how many files it has."""
    found: list[int] = []
    opened = SmallFiles.open_ends

    def noted(filesystem: Any, paths: Any, *rest: Any, **options: Any) -> SmallFiles:
        found.append(len(paths))
        return opened(filesystem, paths, *rest, **options)

    monkeypatch.setattr(SmallFiles, "open_ends", noted)
    return found
