"""Compressed decimals and scattered integers: their sizes beside Parquet's, and rows that the reference reads."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from money import line_items
from same import assert_same, taken
from witness import Witness

from lance_arrow import LanceFile, write_table

NUM_ROWS = 300_000
"""More than one page of decimals: the larger ones are written in Python, the others natively."""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return line_items(NUM_ROWS)


def num_bytes(table: pa.Table, path: Path, **options: str) -> int:
    write_table(table, path, **options)
    return os.path.getsize(path)


@pytest.mark.cover(1)
@pytest.mark.interop
@pytest.mark.parametrize("preset", ["default", "compact"])
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_the_reference_reads_them(witness: Witness, tmp_path: Path, table: pa.Table, version: str, preset: str) -> None:
    for number, rows in enumerate((table, table.slice(77, 3000), table.slice(5, 260))):
        path = tmp_path / f"{number}.lance"
        write_table(rows, path, file_version=version, preset=preset)
        assert_same(witness.read(path), rows)
        some = sorted(set(np.random.default_rng(number).integers(0, rows.num_rows, 50).tolist()))
        assert_same(witness.take(path, some), taken(rows, some))
        with LanceFile(path) as file:
            assert_same(file.read(), rows)
            assert_same(file.take(some), taken(rows, some))


@pytest.mark.parametrize(
    ("column", "most"), [("price", 1.35), ("rebate", 1.35), ("distance", 1.06), ("quantity", 1.06)]
)
def test_sizes_beside_parquet(tmp_path: Path, table: pa.Table, column: str, most: float) -> None:
    part = table.select([column])
    pq.write_table(part, tmp_path / "file.parquet", compression="zstd")
    ratio = num_bytes(part, tmp_path / "file.lance") / os.path.getsize(tmp_path / "file.parquet")
    assert ratio < most


def test_a_price_takes_a_third_of_its_bytes(tmp_path: Path, table: pa.Table) -> None:
    # LZ4 stores a token, two or three bytes and a distance: at most six, with the heads of frames and chunks.
    assert num_bytes(table.select(["price"]), tmp_path / "a.lance") < 6.1 * NUM_ROWS
    # Random bytes stay as they are: nothing is compressed that does not become much smaller.
    noise = np.random.default_rng(1).integers(0, 256, 16 * NUM_ROWS, dtype=np.uint8)
    keys = pa.table({"key": pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), NUM_ROWS, [None, pa.py_buffer(noise)])})
    size = num_bytes(keys, tmp_path / "b.lance")
    assert 16 * NUM_ROWS < size < 16.2 * NUM_ROWS


def test_fast_files_hold_plain_decimals(tmp_path: Path, table: pa.Table) -> None:
    assert num_bytes(table.select(["price"]), tmp_path / "a.lance", preset="fast") > 16 * NUM_ROWS


def test_distances_take_eight_bits(tmp_path: Path, table: pa.Table) -> None:
    sizes = [
        num_bytes(table.select(["distance"]), tmp_path / f"{one}.lance", preset=one) for one in ("default", "fast")
    ]
    assert 1 < sizes[0] / NUM_ROWS < 1.1
    assert 13 / 8 < sizes[1] / NUM_ROWS < 1.1 * 13 / 8
