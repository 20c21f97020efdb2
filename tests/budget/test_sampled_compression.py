"""Compression is chosen by samples: pages that LZ4 cannot make smaller cost no calls of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls
from money import decimals

import lance_arrow_codecs.lz4
import lance_arrow_codecs.zstd
from lance_arrow import LanceFile, LanceFormat, write_table

ROWS = 25_000
FILES = 20
LARGE_ROWS = 600_000
"""Two pages of values of 16 bytes: one page alone is written natively."""
SAMPLED_BYTES = 4 * 1024 * 16
"""Four samples of 1,024 values of 16 bytes."""


class Compressions:
    """Counts the bytes that a scheme is given, by level too."""

    def __init__(self, patch: pytest.MonkeyPatch, scheme: type = lance_arrow_codecs.lz4.Lz4) -> None:
        self.by_level: Counter[int | None] = Counter()
        real = scheme.compress

        def compress(scheme, data, starts, sizes, level):
            self.by_level[level] += int(np.sum(sizes))
            return real(scheme, data, starts, sizes, level)

        patch.setattr(scheme, "compress", compress)

    @property
    def num_bytes(self) -> int:
        return self.by_level.total()


def doubles(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.random(ROWS))


def keys(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.integers(0, 1 << 40, ROWS))


def floats_with_nulls(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.random(ROWS).astype(np.float32), mask=rng.random(ROWS) < 0.1)


def times(rng: np.random.Generator) -> pa.Array:
    begun = rng.integers(1_600_000_000, 1_700_000_000) * 1_000_000
    return pa.array(begun + np.arange(ROWS) * 1_000_000).cast(pa.timestamp("us"))


@pytest.mark.parametrize("make", [doubles, keys, floats_with_nulls])
def test_incompressible_pages_are_written_without_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[np.random.Generator], pa.Array]
) -> None:
    found, compressions = [], Compressions(monkeypatch)
    for num_columns in (2, 12):
        table = pa.table({f"c{number}": make(np.random.default_rng(number)) for number in range(num_columns)})
        write_table(table, tmp_path / "first.lance")
        found.append(count_calls(lambda table=table: write_table(table, tmp_path / "file.lance")))
    assert compressions.num_bytes == 0
    # Zone maps of several zones are described by Python.
    assert (found[1] - found[0]) / 10 <= 250


@pytest.mark.parametrize("version", ["2.2", "2.3"])
def test_large_pages_are_not_compressed_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    compressions = Compressions(monkeypatch)
    table = pa.table({"x": np.random.default_rng(0).random(2_000_000)})
    write_table(table, tmp_path / "file.lance", file_version=version)
    assert compressions.num_bytes == 0


def test_compressible_pages_are_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compressions = Compressions(monkeypatch)
    table = pa.table({"x": times(np.random.default_rng(0))})
    write_table(table, tmp_path / "file.lance")
    assert compressions.num_bytes > table.nbytes / 2
    # Packed values alone take more than half of the bytes.
    assert (tmp_path / "file.lance").stat().st_size < table.nbytes / 3
    with LanceFile(tmp_path / "file.lance") as file:
        assert file.read().equals(table)


def test_partitions_of_numbers_are_not_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compressions = Compressions(monkeypatch)
    rng = np.random.default_rng(0)
    table = pa.table({"part": rng.integers(0, FILES, ROWS * FILES), "key": rng.integers(0, 1 << 40, ROWS * FILES)})
    hive = pads.partitioning(pa.schema([("part", pa.int64())]), flavor="hive")
    pads.write_dataset(table, tmp_path / "parts", format=LanceFormat(), partitioning=hive)
    assert len(list(tmp_path.glob("parts/*/*"))) == FILES
    assert compressions.num_bytes == 0


def test_prices_are_compressed_once_and_their_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = np.random.default_rng(3).integers(90_000, 10_000_000, LARGE_ROWS)
    table = pa.table({"price": decimals(prices, pa.decimal128(15, 2), None)})
    compressions = Compressions(monkeypatch)
    write_table(table, tmp_path / "native.lance")
    assert compressions.num_bytes == 0
    assert (tmp_path / "native.lance").stat().st_size < table.nbytes / 2
    # Pages of 2.3 are written in Python.
    write_table(table, tmp_path / "file.lance", file_version="2.3")
    assert compressions.num_bytes == table.nbytes + 2 * SAMPLED_BYTES


def test_random_keys_of_16_bytes_are_only_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(4).integers(0, 256, 16 * LARGE_ROWS, dtype=np.uint8)
    keys = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), LARGE_ROWS, [None, pa.py_buffer(noise)])
    compressions = Compressions(monkeypatch)
    write_table(pa.table({"key": keys}), tmp_path / "file.lance", file_version="2.3")
    assert compressions.num_bytes == 2 * SAMPLED_BYTES


def test_small_pages_of_prices_need_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, compressions = [], Compressions(monkeypatch)
    prices = np.random.default_rng(5).integers(90_000, 10_000_000, (12, 3000))
    for num_columns in (2, 12):
        columns = {f"c{one}": decimals(prices[one], pa.decimal128(15, 2), None) for one in range(num_columns)}
        table = pa.table(columns)
        write_table(table, tmp_path / "first.lance")
        found.append(count_calls(lambda table=table: write_table(table, tmp_path / "file.lance")))
    assert compressions.num_bytes == 0
    assert (found[1] - found[0]) / 10 <= 30
    assert (tmp_path / "file.lance").stat().st_size < table.nbytes / 2


def test_compact_compresses_each_page_once_at_its_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = np.random.default_rng(6).integers(90_000, 10_000_000, 300_000)
    table = pa.table({"price": decimals(prices, pa.decimal128(15, 2), None), "number": prices})
    compressions = Compressions(monkeypatch, lance_arrow_codecs.zstd.Zstd)
    write_table(table, tmp_path / "file.lance", preset="compact")
    assert set(compressions.by_level) == {6, 8}
    assert table["price"].nbytes <= compressions.by_level[8] <= table.nbytes
    # Samples: at most four of 32 KiB, of each child of both columns.
    assert compressions.by_level[6] <= 8 * 4 * (32 << 10)
