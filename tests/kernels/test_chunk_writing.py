"""Chunks put together: the specification's worked example, laws against the numpy twin and the kernels that read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import chunk_writing as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged

REP = np.array([2, 0, 1, 1, 2, 2, 2, 1, 0, 2], np.uint16)
DEF = np.array([0, 0, 3, 4, 5, 6, 2, 1, 0, 0], np.uint16)


def sizes_of(*sizes: int) -> np.ndarray:
    return np.array(sizes, np.int64)


def test_worked_example():
    starts, index = np.empty(2, np.int64), np.empty(2, np.int64)
    kernels.cut_levels(REP, DEF, 2, 1, sizes_of(0, 5), starts, index)
    assert starts.tolist() == [0, 10]
    assert index.tolist() == [5, 0]
    streams = tuple(one.view(np.uint8) for one in (REP, DEF))
    values = np.array([1, 2, 0, 3, 4], "<i4").view(np.uint8)
    words, out = np.empty(2, np.uint8), np.empty(80, np.uint8)
    arguments = (sizes_of(10), streams, (sizes_of(20),) * 2, (values,), sizes_of(20)[np.newaxis], sizes_of(5), False)
    kernels.write_chunks(*arguments, words, out)
    assert words.tobytes() == bytes.fromhex("9000")
    assert out[:8].tobytes() == bytes.fromhex("0a00140014001400")
    assert out[8:32].tobytes() == REP.tobytes() + b"\xfe" * 4
    assert out[56:].tobytes() == values.tobytes() + b"\xfe" * 4


def test_entries_without_a_value_fall_into_the_next_chunk():
    rep = np.array([1, 1, 1, 0, 1, 1, 0, 1, 1], np.uint16)
    def_ = np.array([0, 1, 0, 0, 1, 0, 0, 1, 1], np.uint16)
    starts, index = np.empty(3, np.int64), np.empty(4, np.int64)
    kernels.cut_levels(rep, def_, 1, 0, sizes_of(0, 2, 5), starts, index)
    assert starts.tolist() == [0, 3, 9]
    assert index.tolist() == [2, 1, 5, 0]


@st.composite
def cuts(draw):
    max_rep = draw(st.integers(1, 3))
    rep = draw(st.lists(st.integers(0, max_rep), max_size=40))
    if rep:
        rep[0] = max_rep
    def_ = np.array(draw(st.lists(st.integers(0, 3), min_size=len(rep), max_size=len(rep))), np.uint16)
    max_visible = draw(st.integers(0, 3))
    num_values = int((def_ <= max_visible).sum())
    inner = sorted(draw(st.lists(st.integers(0, num_values), max_size=5)))
    value_starts = np.array([0, *inner, num_values], np.int64)
    rep_levels = np.array(rep, np.uint16)
    rep_levels, def_, value_starts = draw(damaged([rep_levels, def_, value_starts], max_damages=1))
    outs = np.zeros(len(value_starts), np.int64), np.zeros(2 * len(value_starts) - 2, np.int64)
    return rep_levels, draw(st.sampled_from([def_, def_, None])), max_rep, max_visible, value_starts, *outs


@given(cuts())
def test_cuts_agree_with_the_twin(arguments):
    result = assert_twins_agree(kernels.cut_levels, twin.cut_levels, *arguments)
    assert result[0] == "returned" or result[1] is InternalError


@st.composite
def pages(draw):
    num_chunks = draw(st.integers(1, 5))
    large = draw(st.booleans())
    counts = draw(st.lists(st.sampled_from([2, 4, 1024]), min_size=num_chunks, max_size=num_chunks))
    counts[-1] = draw(st.integers(1, 1024))

    def part():
        sizes = np.array(draw(st.lists(st.integers(0, 40), min_size=num_chunks, max_size=num_chunks)), np.int64)
        return np.arange(int(sizes.sum()), dtype=np.int64).astype(np.uint8), sizes

    levels = [part() for _ in range(draw(st.integers(0, 2)))]
    values = [part() for _ in range(draw(st.integers(0, 3)))]
    num_levels = np.array(draw(st.lists(st.integers(1, 2000), min_size=num_chunks, max_size=num_chunks)), np.int64)
    if not levels:
        num_levels[:] = 0
    value_sizes = np.array([sizes for _, sizes in values], np.int64).reshape(len(values), num_chunks)
    header = 2 + 2 * len(levels) + (4 if large else 2) * len(values)
    total = num_chunks * ((header + 7) // 8 * 8) + sum(int(((s + 7) // 8 * 8).sum()) for _, s in levels + values)
    outs = np.zeros(num_chunks * (4 if large else 2), np.uint8), np.zeros(total, np.uint8)
    return num_levels, levels, values, value_sizes, np.array(counts, np.int64), large, *outs


@given(pages())
def test_written_chunks_are_those_of_the_twin_and_are_read_again(page):
    num_levels, levels, values, value_sizes, counts, large, words, out = page
    arguments = (
        num_levels,
        tuple(data for data, _ in levels),
        tuple(sizes for _, sizes in levels),
        tuple(data for data, _ in values),
        value_sizes,
        counts,
        large,
    )
    twin_words, twin_out = words.copy(), out.copy()
    kernels.write_chunks(*arguments, words, out)
    twin.write_chunks(*arguments, twin_words, twin_out)
    np.testing.assert_array_equal(words, twin_words)
    np.testing.assert_array_equal(out, twin_out)
    starts, value_starts = np.empty(len(counts) + 1, np.int64), np.empty(len(counts) + 1, np.int64)
    kernels.parse_chunk_words(words, large, int(counts.sum()), len(out), starts, value_starts)
    assert np.diff(value_starts).tolist() == counts.tolist()


@given(pages(), st.data())
def test_contradictions_are_refused_as_the_twin_does(page, data):
    num_levels, levels, values, value_sizes, counts, large, words, out = page
    arrays = [num_levels, counts, value_sizes.reshape(-1), words, out]
    num_levels, counts, flat_sizes, words, out = data.draw(damaged(arrays, max_damages=1))
    out = out[: len(out) - data.draw(st.sampled_from([0, 0, 1, 8]))]
    given_levels = tuple(content for content, _ in levels), tuple(sizes for _, sizes in levels)
    given_values = tuple(content for content, _ in values), flat_sizes.reshape(value_sizes.shape)
    outcomes = []
    for module in (kernels, twin):
        written = words.copy(), out.copy()
        try:
            module.write_chunks(num_levels, *given_levels, *given_values, counts, large, *written)
        except InternalError as error:
            outcomes.append((error.message, error.detail))
        else:
            outcomes.append(tuple(one.tobytes() for one in written))
    assert outcomes[0] == outcomes[1]


def test_a_chunk_of_32_kib_is_the_largest_of_2_1():
    for size, fits in ((32760, True), (32761, False)):
        values, total = np.zeros(size, np.uint8), (size + 7) // 8 * 8 + 8
        arguments = (sizes_of(0), (), (), (values,), sizes_of(size)[np.newaxis], sizes_of(7), False)
        words, out = np.empty(2, np.uint8), np.empty(total, np.uint8)
        if fits:
            kernels.write_chunks(*arguments, words, out)
            assert words.tobytes() == bytes.fromhex("f0ff")
        else:
            with pytest.raises(InternalError):
                kernels.write_chunks(*arguments, words, out)
