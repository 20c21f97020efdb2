"""Shares of a table that processes write, each its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_arrow import WrittenFragments, write_fragments

ROWS = 1000


def share(number: int, count: int = ROWS) -> pa.Table:
    ids = np.arange(number * ROWS, number * ROWS + count)
    return pa.table({"id": ids, "word": [f"w{one % 7}" for one in ids.tolist()]})


def write_share(job: tuple[str, int, str]) -> WrittenFragments:
    """Run in a process of its own, which finds this module: it has the path of the process that started it."""
    path, number, mode = job
    return write_fragments(share(number), path, mode=mode, max_rows_per_file=600)  # type: ignore[arg-type]
