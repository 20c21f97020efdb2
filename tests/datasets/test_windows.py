"""Windows cover all rows once and hold whole batches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.assembly.column_tree import ColumnNode
from lance_arrow.datasets.scan import parse_dot_path
from lance_arrow.datasets.windows import even_windows, windows


@given(st.integers(0, 5000), st.integers(1, 700), st.integers(1, 900))
def test_windows_cover_rows_once_in_whole_batches(num_rows, batch_rows, at_least):
    spans = list(windows(num_rows, batch_rows, at_least=at_least))
    assert [row for start, stop in spans for row in range(start, stop)] == list(range(num_rows))
    assert all(start % batch_rows == 0 for start, _ in spans)
    assert all(stop - start >= min(at_least - batch_rows, batch_rows) for start, stop in spans[:-1])


@given(st.integers(0, 3_000_000), st.integers(0, 1 << 28), st.integers(1, 9))
def test_even_windows_cover_rows_once_and_keep_threads_busy(num_rows, stored_bytes, num_threads):
    spans = even_windows(num_rows, stored_bytes, num_threads)
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans)][: len(spans)]
    assert (spans[-1][1] if spans else 0) == num_rows
    assert all(0 < stop - start <= 1 << 18 for start, stop in spans)
    if stored_bytes < 1 << 20 and num_rows <= 1 << 18:
        assert len(spans) <= 1
    elif stored_bytes >= 1 << 20 and num_rows >= 100 * num_threads:
        assert len(spans) >= num_threads


def test_dot_paths_keep_escaped_characters():
    assert parse_dot_path("a") == ("a",)
    assert parse_dot_path("st.a.b") == ("st", "a", "b")
    assert parse_dot_path(r"a\.b.c\\d") == ("a.b", r"c\d")
    assert parse_dot_path("size [mm].x[0]") == ("size [mm]", "x[0]")


@pytest.mark.parametrize(
    ("type_", "whole_batches_only"),
    [
        (pa.list_(pa.list_(pa.float32(), 2), 3), True),
        (pa.struct([pa.field("a", pa.list_(pa.list_(pa.int8()), 2))]), True),
        (pa.list_(pa.float32(), 3), False),
        (pa.list_(pa.list_(pa.int8())), False),
        (pa.string(), False),
    ],
)
def test_lists_in_fixed_size_lists_are_never_cut_out_of_a_window(type_, whole_batches_only):
    node = ColumnNode(pa.field("x", type_), "x")
    spans = list(windows(1000, 10, [node]))
    assert spans == ([(start, start + 10) for start in range(0, 1000, 10)] if whole_batches_only else [(0, 1000)])
