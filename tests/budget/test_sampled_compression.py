"""Compression is chosen by samples: pages that LZ4 cannot make smaller cost no calls of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls

import lance_arrow_codecs.lz4
from lance_arrow import LanceFile, LanceFormat, write_table

ROWS = 25_000
FILES = 20


class Compressions:
    """Counts the calls of the LZ4 scheme, and the bytes that it is given."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.num_bytes = 0
        real = lance_arrow_codecs.lz4.Lz4.compress

        def compress(scheme, data, starts, sizes, level):
            self.num_bytes += int(np.sum(sizes))
            return real(scheme, data, starts, sizes, level)

        patch.setattr(lance_arrow_codecs.lz4.Lz4, "compress", compress)


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
