"""Requests for pages of far files: each wanted byte once, in runs of rows, none that the rows do not need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from stores import CountingStore
from values import seeded

import lance_arrow
from lance_arrow.io.ahead_source import PlannedRequests
from lance_arrow.io.source import REMOTE_COALESCING
from lance_arrow.scan.page_requests import planned_requests
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.layouts import RowRanges

ROWS = 500_000
NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> RowReader:
    path: Path = tmp_path_factory.mktemp("requests") / "f.lance"
    rng = seeded("requests")
    lance_arrow.write_table(pa.table({name: rng.integers(0, 2**62, ROWS) for name in NAMES}), path)
    file = lance_arrow.LanceFile("/f.lance", filesystem=CountingStore({"/f.lance": path.read_bytes()}))
    return file._rows


def planned(reader: RowReader, rows: RowRanges, max_bytes: int = 64 << 20) -> PlannedRequests | None:
    return planned_requests(reader, reader.roots, rows, max_bytes)


def buffers(reader: RowReader) -> list[tuple[int, int]]:
    leaves = [leaf for root in reader.roots for leaf in root.leaves()]
    found = []
    for meta in reader.metas(leaves):
        found += zip(meta.pages.starts.tolist(), (meta.pages.starts + meta.pages.sizes).tolist(), strict=True)
    return sorted(one for one in found if one[0] < one[1])


def total(requests: PlannedRequests) -> int:
    return int((requests.stops - requests.starts).sum())


@pytest.mark.parametrize("max_bytes", [64 << 20, 8 << 20, 3 << 20])
def test_all_rows_need_all_bytes_once(reader: RowReader, max_bytes: int) -> None:
    found = planned(reader, RowRanges.one(0, ROWS), max_bytes)
    assert found is not None
    assert (found.starts < found.stops).all()
    assert (found.stops[:-1] <= found.starts[1:]).all()
    assert int((found.stops - found.starts).max()) <= REMOTE_COALESCING.max_span_bytes + (64 << 10)
    for start, stop in buffers(reader):
        inside = np.maximum(np.minimum(found.stops, stop) - np.maximum(found.starts, start), 0)
        assert int(inside.sum()) == stop - start
    assert total(found) <= 1.01 * sum(stop - start for start, stop in buffers(reader))
    assert int(found.begins.min()) == 0
    assert int(found.ends.max()) == ROWS


def test_some_rows_need_some_bytes(reader: RowReader) -> None:
    everything = planned(reader, RowRanges.one(0, ROWS))
    half = planned(reader, RowRanges.one(0, ROWS * 6 // 10))
    assert everything is not None
    assert half is not None
    # Parts of which little is wanted are left to the windows.
    assert 0.4 * total(everything) <= total(half) <= 0.6 * total(everything)


def test_scattered_rows_are_left_to_the_windows(reader: RowReader) -> None:
    starts = np.arange(0, ROWS, 1000)
    assert planned(reader, RowRanges(starts, starts + 10)) is None


def test_a_budget_for_no_large_parts_plans_nothing(reader: RowReader) -> None:
    assert planned(reader, RowRanges.one(0, ROWS), 1 << 20) is None
