"""Rows that do not fit 32-bit offsets come as several batches, none lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from witness import Witness

from lance_arrow import LanceFile
from lance_arrow.arrays import column_destination
from lance_arrow.io.source import REMOTE_COALESCING
from lance_arrow.runtime import Runtime
from lance_arrow.scan import row_reader
from lance_arrow.settings import Settings
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.structure.row_selection import halves, take_order


def rows_of(ranges):
    return [row for start, stop in zip(ranges.starts, ranges.stops, strict=True) for row in range(start, stop)]


@given(st.sets(st.integers(0, 300), min_size=2))
def test_halves_share_out_the_rows(wanted):
    rows = take_order(np.array(sorted(wanted), np.int64), 301).rows
    first, second = halves(rows)
    assert rows_of(first) + rows_of(second) == sorted(wanted)
    assert 0 < first.num_rows < len(wanted)
    assert min(len(first), len(second)) > 0
    assert (first.stops > first.starts).all()
    assert (second.stops > second.starts).all()


@pytest.mark.interop
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_columns_beyond_32_bit_offsets_are_split(
    witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    table = pa.table(
        {
            "text": [None if i % 9 == 0 else f"value {i}" * (i % 13) for i in range(3000)],
            "list": pa.array([list(range(i % 7)) for i in range(3000)], pa.list_(pa.int32())),
            "large": pa.array([f"large {i}" for i in range(3000)], pa.large_string()),
        }
    )
    path = witness.write(table, tmp_path / "file.lance", version)
    # Real overflows take 2 GiB; the border is moved instead.
    for module in (row_reader, column_destination):
        monkeypatch.setattr(module, "_INT32_MAX", 2000)
    wanted = [2999, 0, 17, 17, 1500, *range(200, 900)]
    with LanceFile(path) as file:
        got = file.read()
        assert got["text"].num_chunks > 10
        assert got.equals(table)
        assert max(len(chunk.buffers()[2]) for chunk in got["text"].chunks) <= 2000
        assert file.take(wanted).to_pylist() == [table.slice(i, 1).to_pylist()[0] for i in wanted]
        assert pa.Table.from_batches(file.to_batches(batch_size=700)).equals(table)
        assert file.read(["large"])["large"].num_chunks == 1


@pytest.mark.interop
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_any_window_of_rows_is_what_the_whole_holds(witness: Witness, tmp_path: Path, version: str) -> None:
    random, num_rows = np.random.default_rng(3), 6000
    nulls = random.random(num_rows) < 0.1
    table = pa.table(
        {
            "text": pa.array([f"some text of row {i * 7919 % 10_007}" for i in range(num_rows)]),
            "nullable": pa.array([f"{i * 31:x}" for i in range(num_rows)], pa.large_string(), mask=nulls),
            "long": pa.array([f"{i}" * random.integers(0, 60) for i in range(num_rows)], mask=nulls),
            "number": pa.array(random.integers(0, 1 << 50, num_rows), mask=nulls),
            "flag": pa.array(random.random(num_rows) < 0.5, mask=nulls),
            "double": random.random(num_rows),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(random.random(128 * num_rows)), 128),
            "pair": pa.FixedSizeListArray.from_arrays(pa.array(random.random(2 * num_rows)), 2),
            "list": pa.array([[f"{i}", None, "item"][: i % 4] for i in range(num_rows)]),
        }
    )
    path = witness.write(table, tmp_path / "file.lance", version)
    borders = [0, 1, 1023, 1024, 1025, 4096, num_rows - 1, num_rows, *random.integers(0, num_rows, 5).tolist()]
    with LanceFile(path) as file:
        reader = file._rows
        for start in borders:
            for stop in borders:
                if start < stop:
                    batches, _ = reader.read(reader.roots, RowRanges.one(start, stop))
                    assert pa.Table.from_batches(batches).equals(table.slice(start, stop - start)), (start, stop)


@pytest.mark.interop
def test_indices_kept_for_windows_are_not_read_again(witness: Witness, tmp_path: Path) -> None:
    table = pa.table({"text": [f"text {i * 7919}" for i in range(9000)], "number": np.arange(9000) * 7919 % 10_007})
    path = witness.write(table, tmp_path / "file.lance", "2.1")
    with LanceFile(path) as file:
        reader = file._rows
        assert reader.divisible_bytes(reader.roots) == 0, "small columns"
        reader.keep_indices(reader.roots)
        before = file._source.snapshot()
        reader.read(reader.roots, RowRanges.one(1000, 5000))
        assert (file._source.snapshot() - before).waves == 1


@pytest.mark.interop
def test_rows_are_divided_where_columns_are_large_and_requests_cheap(witness: Witness, tmp_path: Path) -> None:
    table = pa.table({"x": np.random.default_rng(1).integers(0, 2**62, 100_000)})
    path = witness.write(table, tmp_path / "file.lance", "2.1")
    with LanceFile(path, runtime=Runtime(Settings(num_threads=2))) as file:
        assert 700_000 < file._rows.divisible_bytes(file._rows.roots) <= path.stat().st_size
        file._rows.file.source._inner.coalescing = REMOTE_COALESCING
        assert file._rows.divisible_bytes(file._rows.roots) == 0
        assert file.read().equals(table)
