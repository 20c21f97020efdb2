"""Reads by the engine alone, lists with null ones that hold items, and all ways of reading a file near and far."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFile
from lance_arrow.scan.legacy.v2_0_row_reader import V20RowReader
from lance_arrow.scan.row_reader import RowReader


@contextmanager
def without_layouts() -> Iterator[None]:
    """Fail where layouts in Python read a leaf."""

    def refuse(*_: object) -> None:
        raise AssertionError("layouts in Python read a leaf")

    with patch.object(RowReader, "_decode_leaves", refuse), patch.object(V20RowReader, "_decode_leaves", refuse):
        yield


def lists(items: pa.Array, num_rows: int, word: str, *, is_large: bool = False) -> pa.Array:
    """Lists of any length; some are null, and hold items all the same."""
    rng = seeded(word)
    offsets = np.sort(rng.integers(0, len(items) + 1, num_rows + 1))
    offsets[[0, -1]] = 0, len(items)
    valid = rng.random(num_rows) > 0.2
    kind, width = (pa.large_list, np.int64) if is_large else (pa.list_, np.int32)
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    buffers = [bitmap, pa.py_buffer(offsets.astype(width).tobytes())]
    return pa.Array.from_buffers(kind(items.type), num_rows, buffers, children=[items])


def reads(path: Path, rows: np.ndarray) -> Iterator[tuple[pa.Table, pa.Table]]:
    """All rows in windows, and some of them: near, and far."""
    store = CountingStore({"f.lance": path.read_bytes()})
    for source, filesystem in ((path, None), ("f.lance", store)):
        with LanceFile(source, filesystem=filesystem) as file:
            yield pa.Table.from_batches(file.to_batches(batch_size=90)), file.take(rows)


def assert_read(path: Path, table: pa.Table, rows: np.ndarray) -> None:
    """Assert that a file holds a table, read whole in windows and by rows, near and far."""
    for found, taken in reads(path, rows):
        found.validate(full=True)
        assert found.to_pylist() == table.to_pylist()
        assert taken.to_pylist() == table.take(rows).to_pylist()
