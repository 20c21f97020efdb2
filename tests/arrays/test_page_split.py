"""Pages of a leaf: whole rows in order, none above its limits but single rows."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pytest
from file_leaves import file_leaves
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.arrays.page_split import ARRAY_BYTES, LeafPages, leaf_bytes, rows_within
from lance_arrow.errors import InvalidArgumentError

ROWS = st.lists(st.none() | st.lists(st.none() | st.text("ab", max_size=6), max_size=5), max_size=20)
TEXT_LISTS = pa.list_(pa.string())


def pages_of(leaf, arrays, **limits):
    collect = LeafPages(leaf, **limits)
    pages = [page for array in arrays for page in collect.add(array)]
    last = collect.rest()
    assert collect.rest() == []
    return [*pages, last] if last else pages


@given(st.lists(ROWS, max_size=4), st.integers(1, 60), st.integers(1, 12))
def test_pages_hold_all_rows_within_their_limits(chunks, page_bytes, max_levels):
    arrays = [pa.array(rows, TEXT_LISTS) for rows in chunks]
    (leaf,) = file_leaves(TEXT_LISTS)
    pages = pages_of(leaf, arrays, page_bytes=page_bytes, max_levels=max_levels)
    rows = [row for page in pages for array in page for row in array.to_pylist()]
    assert rows == [row for chunk in chunks for row in chunk]
    for page, following in zip_longest(pages, pages[1:]):
        num_rows = sum(map(len, page))
        weight = sum(leaf_bytes(leaf, array) for array in page)
        levels = sum(len(array) + len(array.flatten()) for array in page)
        assert num_rows > 0
        assert num_rows == 1 or (weight <= page_bytes and levels <= max_levels)
        if following is not None:
            first = following[0].slice(0, 1)
            assert weight + leaf_bytes(leaf, first) > page_bytes or levels + 1 + len(first.flatten()) > max_levels, (
                "the page had room for another row"
            )


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, 2, None], pa.int32()), 12),
        (pa.array([True] * 9), 2),
        (pa.array(["abc", None, "d"]), 4 + 12),
        (pa.array(["abc"], pa.large_string()), 3 + 8),
        (pa.array(["x" * 30, "y"], pa.string_view()), 31 + 8),
        (pa.array([[1, 2], [3]], pa.list_(pa.int64())), 24),
        (pa.array([[1, 2]] * 3, pa.list_(pa.int16(), 2)), 12),
        (pa.array([{"k": 1}] * 2, pa.struct([("k", pa.int8())])), 2),
        (pa.array(["a", "b", "a"]).dictionary_encode(), 12),
        (pa.nulls(5), 0),
        (pa.array([[{"k": 1}, {"k": 2}]] * 3, pa.list_(pa.struct([("k", pa.int8())]), 2)), 6),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_leaf_bytes(array, expected):
    (leaf,) = file_leaves(array.type)
    assert leaf_bytes(leaf, array) == expected
    padded = pa.concat_arrays([array, array, array])
    assert leaf_bytes(leaf, padded.slice(len(array), len(array))) == expected


def test_each_leaf_is_weighed_by_itself():
    array = pa.array([{"a": 1, "b": "long text"}] * 10, pa.struct([("a", pa.int8()), ("b", pa.string())]))
    weights = [leaf_bytes(leaf, array) for leaf in file_leaves(array.type)]
    assert weights == [10, 130]
    assert [rows_within(leaf, array, 26) for leaf in file_leaves(array.type)] == [10, 2]


def test_a_large_row_is_a_page_of_its_own():
    rows = [["a"], ["x" * 500], ["b"]]
    (leaf,) = file_leaves(TEXT_LISTS)
    assert rows_within(leaf, pa.array(rows[1:], TEXT_LISTS), 100) == 1
    assert rows_within(leaf, pa.array([], TEXT_LISTS), 100) == 0
    pages = pages_of(leaf, [pa.array(rows, TEXT_LISTS)], page_bytes=100)
    assert [[array.to_pylist() for array in page] for page in pages] == [[[row]] for row in rows]


def test_small_chunks_share_a_page_and_nothing_is_copied():
    arrays = [pa.array(np.full(10, n)) for n in range(5)]
    (leaf,) = file_leaves(pa.int64())
    pages = pages_of(leaf, arrays, page_bytes=240)
    assert [[len(array) for array in page] for page in pages] == [[10, 10, 10], [10, 10]]
    assert pages[1][0].buffers()[1].address == arrays[3].buffers()[1].address


@pytest.mark.parametrize("type_", [pa.int32(), pa.bool_(), pa.string(), pa.decimal128(30, 2)])
def test_short_chunks_that_wait_are_joined(type_):
    chunks = [pa.array([1, None, 3], pa.int64()).cast(type_) for _ in range(200)]
    (leaf,) = file_leaves(type_)
    pages = LeafPages(leaf)
    for chunk in chunks:
        assert pages.add(chunk) == []
        pages.join()
    is_joined = not pa.types.is_decimal(type_)
    num_held = (pages.memory_bytes - pages.held_bytes) // ARRAY_BYTES
    assert num_held <= 10 if is_joined else num_held == 200
    assert pages.held_rows == 600
    page = pages.rest()
    assert len(page) == num_held
    assert pa.chunked_array(page) == pa.chunked_array(chunks)
    assert pages.memory_bytes == 0


def test_long_chunks_are_not_copied():
    arrays = [pa.array(np.arange(10_000)) for _ in range(3)]
    (leaf,) = file_leaves(pa.int64())
    pages = LeafPages(leaf)
    for array in arrays:
        pages.add(array)
        pages.join()
    held = [array.buffers()[1].address for array in pages.rest()]
    assert held == [array.buffers()[1].address for array in arrays]


def test_dictionaries_that_do_not_fit_the_index_together_are_parted():
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([f"{n}-{i}" for i in range(100)]))
        for n in (0, 0, 1)
    ]
    (leaf,) = file_leaves(arrays[0].type)
    assert [len(page) for page in pages_of(leaf, arrays)] == [2, 1]


@pytest.mark.parametrize("limits", [{"page_bytes": 0}, {"page_bytes": 1 << 31}, {"max_levels": 0}])
def test_limits_out_of_range_are_refused(limits):
    (leaf,) = file_leaves(pa.int8())
    with pytest.raises(InvalidArgumentError, match="expected 1 to"):
        LeafPages(leaf, **limits)


def test_arrays_of_another_nesting_are_refused():
    (leaf,) = file_leaves(TEXT_LISTS)
    with pytest.raises(InvalidArgumentError, match="'c"):
        leaf_bytes(leaf, pa.array([1]))
