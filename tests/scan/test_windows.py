"""Windows cover the selected rows once, hold whole batches, and stay within bytes where that is possible."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.arrays.column_paths import parse_dot_path
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.scan.row_arguments import as_rows
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.scan.windows import Windows, even_windows, may_be_sliced
from lance_arrow.spi.layouts import RowRanges


def rows_of(ranges: RowRanges) -> list[int]:
    return [row for start, stop in zip(ranges.starts, ranges.stops, strict=True) for row in range(start, stop)]


def selections(num_rows: int) -> st.SearchStrategy[RowRanges]:
    borders = st.lists(st.integers(0, num_rows), max_size=8).map(sorted)
    return borders.map(lambda b: as_rows(list(zip(b[::2], b[1::2], strict=False)), num_rows))


def weights_of(page_rows: list[int], row_bytes: list[float]) -> RowWeights:
    borders = np.concatenate(([0], np.cumsum(page_rows)))
    totals = np.concatenate(([0.0], np.cumsum(np.multiply(page_rows, row_bytes))))
    return RowWeights(borders, totals)


@given(st.data(), st.integers(0, 3000), st.integers(1, 700), st.integers(1, 900))
def test_windows_cover_rows_once_in_whole_batches(data, num_rows, batch_rows, max_rows):
    rows = data.draw(selections(num_rows) | st.just(RowRanges.one(0, num_rows)))
    found = [window.rows for window in Windows(rows, batch_rows, max_rows=max_rows)]
    assert [row for part in found for row in rows_of(part)] == rows_of(rows)
    assert all(part.num_rows % batch_rows == 0 for part in found[:-1])
    assert all(0 < part.num_rows <= max(max_rows, batch_rows) for part in found)
    assert all(part.num_rows > max_rows - batch_rows for part in found[:-1]), "windows are as large as they may be"


@given(st.data(), st.lists(st.tuples(st.integers(1, 300), st.integers(0, 50)), min_size=1, max_size=6))
def test_windows_stay_within_bytes(data, pages):
    page_rows, row_bytes = [rows for rows, _ in pages], [num_bytes for _, num_bytes in pages]
    each = np.repeat(row_bytes, page_rows)
    weights = weights_of(page_rows, row_bytes)
    rows = data.draw(selections(len(each)))
    max_bytes = data.draw(st.integers(1, 4000))
    found = list(Windows(rows, None, weights=weights, max_bytes=max_bytes))
    assert [row for window in found for row in rows_of(window.rows)] == rows_of(rows)
    for window in found:
        taken = each[rows_of(window.rows)].sum()
        assert window.estimated_bytes == pytest.approx(taken)
        assert taken <= max_bytes * (1 + 1e-9) or window.rows.num_rows == 1


def test_a_batch_larger_than_the_bytes_is_one_window_or_is_cut():
    weights = weights_of([1000], [100])
    rows = RowRanges.one(0, 1000)
    whole = [w.rows.num_rows for w in Windows(rows, 400, weights=weights, max_bytes=1000)]
    assert whole == [400, 400, 200]
    cut = [w.rows.num_rows for w in Windows(rows, 400, weights=weights, max_bytes=1000, whole_batches=False)]
    assert cut == [10] * 100


@given(st.data(), st.lists(st.tuples(st.integers(1, 300), st.integers(0, 50)), max_size=6), st.integers(1, 90))
def test_listed_windows_are_those_of_the_iterator(data, pages, batch_rows):
    page_rows, row_bytes = [rows for rows, _ in pages], [num_bytes for _, num_bytes in pages]
    rows = data.draw(selections(sum(page_rows)) | st.just(RowRanges.one(0, sum(page_rows))))
    windows = Windows(
        rows,
        batch_rows,
        weights=data.draw(st.just(weights_of(page_rows, row_bytes)) | st.none()),
        max_bytes=data.draw(st.integers(1, 4000)),
        max_rows=data.draw(st.integers(1, 400)),
        whole_batches=data.draw(st.booleans()),
    )
    listed = windows.listed()
    expected = [rows_of(window.rows) for window in windows]
    assert [row for part in listed for row in rows_of(part)] == rows_of(rows)
    # Rounding may move a border by a row, and where a page ends, lighter rows may join the last window of the iterator.
    assert abs(len(listed) - len(expected)) <= len(expected) // 50 + 1 + len(pages)
    assert [rows_of(part) for part in listed[-2:]] == [rows_of(listed[n]) for n in range(len(listed))][-2:]
    with pytest.raises(IndexError):
        listed[len(listed)]


def test_listed_windows_take_no_memory_for_rows_that_are_claimed():
    num_rows = 2**62
    weights = weights_of([num_rows // 2, num_rows // 2], [8, 4])
    listed = Windows(RowRanges.one(0, num_rows), 1000, weights=weights, max_bytes=1 << 20).listed()
    assert len(listed) > 2**44
    assert rows_of(listed[0]) == list(range(131_000))
    last = listed[len(listed) - 1]
    assert last.stops[-1] == num_rows
    assert listed[len(listed) - 2].stops[-1] == last.starts[0]
    assert 0 < last.num_rows <= 262_000


def test_windows_learn_from_what_windows_took():
    weights = weights_of([10_000], [1])
    windows = Windows(RowRanges.one(0, 10_000), None, weights=weights, max_bytes=900)
    lengths = []
    for window in windows:
        lengths.append(window.rows.num_rows)
        # Every row turns out to take ten times what it is encoded in; from the middle on it is no more than that.
        windows.learn(window, window.rows.num_rows * (10 if sum(lengths) < 5000 else 1))
    assert lengths[:3] == [900, 90, 90]
    assert lengths[-2] == 900


@given(st.data(), st.integers(1, 300))
def test_rows_as_lists_are_cut(data, num_rows):
    """A slice means what it means for a list; ranges mean their rows."""
    bound = st.none() | st.integers(-400, 400)
    wanted = data.draw(st.builds(slice, bound, bound))
    assert rows_of(as_rows(wanted, num_rows)) == list(range(num_rows))[wanted]
    rows = data.draw(selections(num_rows))
    assert (rows.starts[1:] > rows.stops[:-1]).all(), "neighbours are joined"
    assert (rows.stops > rows.starts).all()


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
    ("type_", "sliced"),
    [
        (pa.list_(pa.list_(pa.float32(), 2), 3), False),
        (pa.struct([pa.field("a", pa.list_(pa.list_(pa.int8()), 2))]), False),
        (pa.list_(pa.float32(), 3), True),
        (pa.list_(pa.list_(pa.int8())), True),
        (pa.string(), True),
    ],
)
def test_lists_in_fixed_size_lists_are_never_cut_out_of_a_window(type_, sliced):
    assert may_be_sliced([ColumnNode(pa.field("x", type_), "x")]) == sliced


def test_rows_that_just_fit_are_not_cut_apart():
    for num_rows, row_bytes in ((49, 28), (1000, 3), (999, 7), (12_345, 56)):
        for fitting in (1, 2, 3, 7):
            weights = weights_of([num_rows], [row_bytes])
            windows = Windows(RowRanges.one(0, num_rows), 1, weights=weights, max_bytes=fitting * row_bytes)
            assert len(windows.listed()) == len(list(windows)) == -(-num_rows // fitting)
