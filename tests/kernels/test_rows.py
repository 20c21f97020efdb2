"""Kernels that put rows together against their numpy twins, and against those that take them apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import rows as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged


def guarded_lists(function, arrays, *split):
    """Call with the arrays spread over two lists, so that the comparison sees each of them."""
    num_fields, rest = split[0], split[1:]

    def call(*flat):
        fields, others = list(flat[:num_fields]), flat[num_fields:]
        return function(fields, *others)

    return call, (*arrays, *rest)


@given(st.data())
def test_join_rows_agrees_with_twin(data):
    num_rows = data.draw(st.integers(-1, 40))
    widths = data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 8, 16, 21]), max_size=4))
    memory = np.random.default_rng(num_rows + 1)
    fields = [memory.integers(0, 256, max(num_rows, 0) * width, np.uint8) for width in widths]
    (field_bytes,) = data.draw(damaged([np.array(widths, np.int64)], max_damages=1))
    room = max(num_rows, 0) * sum(widths) + data.draw(st.sampled_from([0, 0, 5, -1]))
    arguments = (field_bytes, num_rows, np.zeros(max(room, 0), np.uint8))
    native, given_arrays = guarded_lists(kernels.join_rows, fields, len(fields), *arguments)
    of_twin, _ = guarded_lists(twin.join_rows, fields, len(fields), *arguments)
    assert_twins_agree(native, of_twin, *given_arrays)


@pytest.mark.parametrize("num_rows", [0, 1, 3000])
def test_joined_rows_are_split_again(num_rows):
    widths = np.array([4, 1, 24, 8], np.int64)
    memory = np.random.default_rng(5)
    fields = [memory.integers(0, 256, num_rows * width, np.uint8) for width in widths]
    out = np.empty(num_rows * int(widths.sum()), np.uint8)
    kernels.join_rows(fields, widths, num_rows, out)
    read = [np.empty_like(field) for field in fields]
    kernels.split_rows(out, np.zeros(1, np.int64), np.array([len(out)]), np.array([0, num_rows]), widths, read)
    for field, expected in zip(read, fields, strict=True):
        np.testing.assert_array_equal(field, expected)


@given(st.data())
def test_join_fields_agrees_with_twin(data):
    num_rows = data.draw(st.integers(0, 12))
    widths = data.draw(st.lists(st.sampled_from([-8, -4, 1, 5]), max_size=4))
    fields, offsets = [], []
    for width in widths:
        sizes = data.draw(st.lists(st.integers(0, 9), min_size=num_rows, max_size=num_rows))
        ends = np.cumsum([0, *sizes]).astype(np.int64)
        fields.append(np.arange(int(ends[-1]) if width < 0 else num_rows * width, dtype=np.uint8))
        offsets.append(data.draw(damaged([ends], max_damages=1))[0] if width < 0 else None)
    (field_bytes,) = data.draw(damaged([np.array(widths, np.int64)], max_damages=1))
    room = sum(map(len, fields)) + num_rows * sum(-width for width in widths if width < 0)
    out = np.zeros(data.draw(st.sampled_from([room, room, room + 3, max(room - 1, 0)])), np.uint8)
    arguments = (field_bytes, offsets, np.zeros(num_rows + 1, np.int64), out)
    native, given_arrays = guarded_lists(kernels.join_fields, fields, len(fields), *arguments)
    of_twin, _ = guarded_lists(twin.join_fields, fields, len(fields), *arguments)
    assert_twins_agree(native, of_twin, *given_arrays)


def test_joined_fields_are_located_again():
    words, ends = np.frombuffer(b"onetwothree", np.uint8), np.array([0, 3, 6, 6, 11], np.int64)
    numbers = np.arange(8, dtype=np.uint8)
    widths = np.array([2, -4], np.int64)
    row_offsets, out = np.zeros(5, np.int64), np.zeros(8 + 11 + 16, np.uint8)
    kernels.join_fields([numbers, words], widths, [None, ends], row_offsets, out)
    assert row_offsets.tolist() == [0, 9, 18, 24, 35]
    starts, sizes = np.zeros((2, 2, 4), np.int64)
    assert kernels.locate_fields(out, row_offsets[:-1].copy(), np.diff(row_offsets), widths, starts, sizes) == 4
    found = [out[start:][:size].tobytes() for start, size in zip(starts[1], sizes[1], strict=True)]
    assert found == [b"one", b"two", b"", b"three"]


@given(st.data())
def test_spread_bits_agrees_with_twin(data):
    bits = np.frombuffer(data.draw(st.binary(max_size=40)), np.uint8)
    offset = data.draw(st.integers(-1, 20))
    num_bits = data.draw(st.integers(-1, 320))
    per_run = data.draw(st.sampled_from([0, 1, 3, 7, 8, 12, 16, 64, 100]))
    out = np.zeros(data.draw(st.sampled_from([0, 1, 40, 400])), np.uint8)
    assert_twins_agree(kernels.spread_bits, twin.spread_bits, bits, offset, num_bits, per_run, out)


def test_runs_begin_at_bytes():
    out = np.zeros(4, np.uint8)
    kernels.spread_bits(np.array([0b10110110, 0b01], np.uint8), 1, 8, 3, out)
    assert out.tolist() == [0b011, 0b011, 0b11, 0]


def test_fields_and_widths_must_match():
    with pytest.raises(InternalError, match="number"):
        kernels.join_rows([], np.array([1]), 0, np.zeros(1, np.uint8))
    with pytest.raises(InternalError, match="number"):
        kernels.join_fields([], np.array([1]), [], np.zeros(1, np.int64), np.zeros(1, np.uint8))
