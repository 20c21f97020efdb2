"""Packing kernels against their numpy twins, and against the kernels that unpack."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import packing as twin

from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native

WORDS = st.sampled_from([8, 16, 32, 64])


def integers(seed, count, word_bits, packed_bits):
    values = np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)
    return (values & np.uint64(2**packed_bits - 1)).astype(f"<u{word_bits // 8}")


def starts_of(counts):
    return np.cumsum([0, *counts])


@pytest.mark.parametrize("word_bits", [8, 16, 32, 64])
@pytest.mark.parametrize("count", [1024, 1000, 1])
def test_every_width_comes_back(word_bits, count):
    width = word_bits // 8
    for packed_bits in range(word_bits + 1):
        values = integers(packed_bits, count, word_bits, packed_bits)
        value_starts, one = np.array([0, count]), np.zeros(1, np.int64)
        packed = np.empty(width + 128 * packed_bits, np.uint8)
        native.pack_inline(values.view(np.uint8), value_starts, word_bits, np.array([packed_bits]), packed)
        out = np.empty(count * width, np.uint8)
        native.unpack_inline(packed, one, np.array([len(packed)]), value_starts, word_bits, out)
        np.testing.assert_array_equal(out, values.view(np.uint8))


@given(st.data())
def test_inline_agrees_with_twin(data):
    word_bits = data.draw(WORDS)
    chunks = data.draw(st.lists(st.tuples(st.integers(0, word_bits), st.integers(0, 1024)), max_size=3))
    values = np.concatenate(
        [np.empty(0, f"<u{word_bits // 8}"), *(integers(n, n, word_bits, width) for width, n in chunks)]
    )
    packed_bits = np.array([width for width, _ in chunks], np.int64)
    size = sum(word_bits // 8 + 128 * width for width, _ in chunks) + data.draw(st.sampled_from([0, 0, 0, -1, 1]))
    arrays = data.draw(damaged([values.view(np.uint8), starts_of([n for _, n in chunks]), packed_bits]))
    out = np.zeros(max(size, 0), np.uint8)
    assert_twins_agree(native.pack_inline, twin.pack_inline, *arrays[:2], word_bits, arrays[2], out)


@given(st.data())
def test_out_of_line_agrees_with_twin(data):
    word_bits = data.draw(WORDS)
    width = data.draw(st.integers(0, word_bits))
    counts = data.draw(st.lists(st.integers(0, 2100), max_size=3))
    values = integers(len(counts), sum(counts), word_bits, width)
    tails = [min(count % 1024 * word_bits // 8, 128 * width) for count in counts]
    size = sum(count // 1024 * 128 * width for count in counts) + sum(tails) + data.draw(st.sampled_from([0, 0, -1, 1]))
    arrays = data.draw(damaged([values.view(np.uint8), starts_of(counts)], max_damages=1))
    out = np.zeros(max(size, 0), np.uint8)
    found = assert_twins_agree(native.pack_out_of_line, twin.pack_out_of_line, *arrays, word_bits, width, out)
    if found[0] == "returned" and len(arrays[1]) > 1:
        native.pack_out_of_line(*arrays, word_bits, width, out)
        counts = np.diff(arrays[1])
        sizes = counts // 1024 * 128 * width + np.minimum(counts % 1024 * word_bits // 8, 128 * width)
        unpacked = np.empty(int(counts.sum()) * word_bits // 8, np.uint8)
        value_starts = arrays[1] - arrays[1][0]
        native.unpack_out_of_line(out, starts_of(sizes)[:-1], sizes, value_starts, word_bits, width, unpacked)
        first = int(arrays[1][0]) * word_bits // 8
        np.testing.assert_array_equal(unpacked, arrays[0][first : first + len(unpacked)])


def test_values_that_do_not_fit_are_refused():
    values = np.array([3, 4], np.uint8)
    with pytest.raises(InternalError, match="wider than its chunk") as error:
        native.pack_inline(values, np.array([0, 1, 2]), 8, np.array([2, 2]), np.empty(2 * 257, np.uint8))
    assert error.value.detail == 1
    wide = np.full(1024, 4, np.uint8)
    with pytest.raises(InternalError, match="wider than its block"):
        native.pack_out_of_line(wide, np.array([0, 1024]), 8, 2, np.empty(256, np.uint8))
    with pytest.raises(InternalError, match="contradicting lengths"):
        native.pack_inline(values, np.array([0, 2]), 8, np.empty(0, np.int64), np.empty(9, np.uint8))
