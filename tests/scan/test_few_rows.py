"""A few rows of a large 2.0 page cost a few of its ends, not all: same rows, far fewer bytes; damage is noticed."""

from __future__ import annotations

from pathlib import Path

import forged_arrays
import numpy as np
import pyarrow as pa
import pytest
from forge import take
from forge_pages import words
from same import assert_same, taken

import lance_arrow
from lance_arrow.errors import CorruptPageError
from lance_arrow.spi import ReadReport

NUM_ROWS = 60_000


def lists_and_words() -> pa.Table:
    rng = np.random.default_rng(8)
    words_ = [None if row % 11 == 5 else f"word {row}" for row in range(NUM_ROWS)]
    lists = [None if row % 13 == 7 else [row] * int(rng.integers(0, 4)) for row in range(NUM_ROWS)]
    return pa.table({"s": words_, "l": pa.array(lists, pa.list_(pa.int32()))})


def test_few_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = lists_and_words()
    path = tmp_path / "file.lance"
    lance_arrow.write_table(expected, path, file_version="2.0", rows_per_zone=0, checksums=False)
    picks = [0, 1, 5, 7, 30_000, NUM_ROWS - 1]
    with lance_arrow.LanceFile(path) as file:
        reports: list[ReadReport] = []
        monkeypatch.setattr(type(file._runtime), "is_watched", True)
        monkeypatch.setattr(file._runtime, "finished", reports.append)
        assert_same(taken(expected, picks), file.take(picks))
    assert reports[-1].requested_bytes < 2_000


@pytest.mark.parametrize("name", forged_arrays.GOOD)
def test_every_encoding(tmp_path: Path, name: str) -> None:
    file = forged_arrays.GOOD[name]
    path = tmp_path / "file.lance"
    path.write_bytes(file.build())
    last = file.table.num_rows - 1
    for rows in ([last], [0], [last, 0], list(range(0, last + 1, 2)), list(range(1, last + 1))):
        assert_same(taken(file.table, rows), take(path, rows))


@pytest.mark.parametrize(
    ("file", "ends", "rows"),
    [
        (forged_arrays.TEXTS, [12, 2, 1, 5, 17, 11], [2]),
        (forged_arrays.TEXTS, [12, 2, 5, 5, 17, 2**63], [5]),
        (forged_arrays.TEXTS, [12, 2, 5, 5, 17, 24], [5]),
        (forged_arrays.LISTS, [2, 6, 3, 4], [1]),
        (forged_arrays.LISTS, [2, 8, 5, 4], [2]),
    ],
)
def test_damaged_ends_are_noticed(tmp_path: Path, file: forged_arrays.Forged, ends: list[int], rows: list[int]) -> None:
    path = tmp_path / "file.lance"
    path.write_bytes(file.with_page(file.page.with_buffer(0, words(ends, 8))).build())
    with pytest.raises(CorruptPageError) as caught:
        take(path, rows)
    assert caught.value.page == 0
    assert caught.value.path == str(path)
