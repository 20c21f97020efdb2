"""Windows cover all rows once and hold whole batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.datasets.scan import parse_dot_path
from lance_arrow.datasets.windows import windows


@given(st.integers(0, 5000), st.integers(1, 700), st.integers(1, 900))
def test_windows_cover_rows_once_in_whole_batches(num_rows, batch_rows, at_least):
    spans = list(windows(num_rows, batch_rows, at_least=at_least))
    assert [row for start, stop in spans for row in range(start, stop)] == list(range(num_rows))
    assert all(start % batch_rows == 0 for start, _ in spans)
    assert all(stop - start >= min(at_least - batch_rows, batch_rows) for start, stop in spans[:-1])


def test_dot_paths_keep_escaped_characters():
    assert parse_dot_path("a") == ("a",)
    assert parse_dot_path("st.a.b") == ("st", "a", "b")
    assert parse_dot_path(r"a\.b.c\\d") == ("a.b", r"c\d")
    assert parse_dot_path("items[3]") == ("items",)
