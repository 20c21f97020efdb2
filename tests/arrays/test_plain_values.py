"""Plain values of many chunks: read straight to their place, in few requests, and compared with checksums once."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceFile, write_table
from lance_arrow.errors import LanceError

ROWS = 200_000
VALUES = np.random.default_rng(5).standard_normal(ROWS)
TABLE = pa.table({"v": VALUES, "w": VALUES[::-1].copy()})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Noise, which no codec makes smaller."""
    write_table(TABLE, tmp_path / "f.lance")
    return tmp_path / "f.lance"


def requests_of_scan(file: LanceFile) -> tuple[int, int, int]:
    """Requests of a scan, and bytes wanted and read."""
    before = file._source.snapshot()
    assert file.read().equals(TABLE)
    stats = file._source.snapshot() - before
    return stats.requests, stats.bytes_wanted, stats.bytes_fetched


def test_chunks_come_in_few_requests(path: Path) -> None:
    with LanceFile(path) as file:
        assert file.read().equals(TABLE)
        requests, wanted, fetched = requests_of_scan(file)
    # Each chunk holds 4 KiB of values behind a head of 8 bytes, which is read over.
    assert wanted >= TABLE.nbytes
    assert requests <= wanted >> 17
    assert fetched <= 1.01 * wanted


def test_the_first_scan_reads_no_more(path: Path) -> None:
    with LanceFile(path) as file:
        requests, wanted, fetched = requests_of_scan(file)
    assert requests <= wanted >> 15
    # Blocks that are compared with checksums are read whole, at both ends of a window.
    assert fetched <= 1.2 * wanted


def test_some_of_many_chunks(path: Path) -> None:
    with LanceFile(path) as file:
        for step in (511, 512, 700, 2_000, 30_000):
            rows = np.arange(7, ROWS, step)
            assert file.take(rows).equals(TABLE.take(rows))
        for start, stop in ((0, 1), (500, 3_000), (100_000, 190_000), (ROWS - 513, ROWS)):
            assert file.take(np.arange(start, stop)).equals(TABLE.slice(start, stop - start))


def test_a_file_cut_while_open_is_an_error(path: Path) -> None:
    size = path.stat().st_size
    with LanceFile(path) as file:
        assert file.read().equals(TABLE)
        for left in (size // 2, size // 4, 4096, 0):
            os.truncate(path, left)
            with pytest.raises((LanceError, OSError)) as caught:
                file.read()
            assert str(path) in str(caught.value)


def test_damage_in_any_chunk_is_found(path: Path) -> None:
    whole = path.read_bytes()
    for place in (100, 40_000, len(whole) // 3, len(whole) // 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with LanceFile(path) as file, pytest.raises(LanceError):
            file.read()
