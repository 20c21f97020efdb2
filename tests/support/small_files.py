"""Rows of tables and datasets that consist of many small files."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from values import seeded


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
