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
from lance_arrow.assembly import row_reader
from lance_arrow.structure.row_selection import take_order


def rows_of(ranges):
    return [row for start, stop in zip(ranges.starts, ranges.stops, strict=True) for row in range(start, stop)]


@given(st.sets(st.integers(0, 300), min_size=2))
def test_halves_share_out_the_rows(wanted):
    rows = take_order(np.array(sorted(wanted), np.int64), 301).rows
    first, second = row_reader._halves(rows)
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
    monkeypatch.setattr(row_reader, "_INT32_MAX", 2000)
    wanted = [2999, 0, 17, 17, 1500, *range(200, 900)]
    with LanceFile(path) as file:
        got = file.read()
        assert got["text"].num_chunks > 10
        assert got.equals(table)
        assert max(len(chunk.buffers()[2]) for chunk in got["text"].chunks) <= 2000
        assert file.take(wanted).to_pylist() == [table.slice(i, 1).to_pylist()[0] for i in wanted]
        assert pa.Table.from_batches(file.to_batches(batch_size=700)).equals(table)
        assert file.read(["large"])["large"].num_chunks == 1
