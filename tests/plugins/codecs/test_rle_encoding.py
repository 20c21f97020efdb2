"""Run-finding kernels against their numpy twins, and against the kernels that expand runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import run_encoding as twin

from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native


@st.composite
def parts(draw):
    """Width, values in runs of many lengths, and borders of parts anywhere among them."""
    width = draw(st.sampled_from([1, 2, 4, 8]))
    lengths = draw(st.lists(st.sampled_from([1, 1, 2, 7, 254, 255, 256, 511]), max_size=8))
    values = np.repeat(np.arange(len(lengths)) % 3, lengths).astype(f"<u{width}")
    borders = draw(st.lists(st.integers(0, len(values)), max_size=3))
    return width, values.view(np.uint8), np.array([0, *sorted(borders), len(values)], np.int64)


@given(st.data())
def test_counts_agree_with_twin(data):
    width, values, value_starts = data.draw(parts())
    values, value_starts = data.draw(damaged([values, value_starts]))
    counts = np.zeros(len(value_starts) - 1, np.int64)
    assert_twins_agree(native.count_run_entries, twin.count_run_entries, values, value_starts, width, counts)


@given(st.data())
def test_encoded_runs_agree_with_twin_and_expand(data):
    width, values, value_starts = data.draw(parts())
    counts = np.zeros(len(value_starts) - 1, np.int64)
    twin.count_run_entries(values, value_starts, width, counts)
    room = max(int(counts.sum()) - data.draw(st.sampled_from([0, 0, 1])), 0)
    run_values, lengths = np.zeros(room * width, np.uint8), np.zeros(room, np.uint8)
    arguments = values, value_starts, width, run_values, lengths, np.zeros_like(counts)
    found = assert_twins_agree(native.encode_runs, twin.encode_runs, *arguments)
    if found[0] == "raised":
        return
    assert native.encode_runs(*arguments) == len(lengths) == counts.sum()
    starts, out = np.cumsum([0, *counts])[:-1], np.zeros(len(values), np.uint8)
    places = starts * width, counts * width, starts + len(run_values), counts
    native.expand_runs(np.concatenate([run_values, lengths]), *places, value_starts, width, out)
    np.testing.assert_array_equal(out, values)


@given(st.data())
def test_run_blocks_agree_with_twin_and_expand(data):
    width, values, value_starts = data.draw(parts())
    counts = np.zeros(len(value_starts) - 1, np.int64)
    twin.count_run_entries(values, value_starts, width, counts)
    size = int((8 + counts * (width + 1)).sum()) - data.draw(st.sampled_from([0, 0, 1]))
    out, sizes = np.zeros(size, np.uint8), np.zeros_like(counts)
    arguments = values, value_starts, width, sizes, out
    if assert_twins_agree(native.encode_run_blocks, twin.encode_run_blocks, *arguments)[0] == "raised":
        return
    assert native.encode_run_blocks(*arguments) == size
    expanded = np.zeros(len(values), np.uint8)
    native.expand_run_blocks(out, np.cumsum([0, *sizes])[:-1], sizes, value_starts, width, expanded)
    np.testing.assert_array_equal(expanded, values)


def test_runs_end_with_their_part_and_at_255():
    values = np.array([7] * 300 + [9], np.uint8)
    run_values, lengths, counts = np.zeros(9, np.uint8), np.zeros(9, np.uint8), np.zeros(2, np.int64)
    assert native.encode_runs(values, np.array([0, 10, 301]), 1, run_values, lengths, counts) == 4
    assert counts.tolist() == [1, 3]
    assert run_values[:4].tolist() == [7, 7, 7, 9]
    assert lengths[:4].tolist() == [10, 255, 35, 1]


def test_mistakes_are_the_callers():
    values, counts = np.zeros(4, np.uint8), np.zeros(1, np.int64)
    with pytest.raises(InternalError, match="none of 1, 2, 4, 8"):
        native.count_run_entries(values, np.array([0, 1]), 3, counts)
    with pytest.raises(InternalError, match="contradicting lengths"):
        native.count_run_entries(values, np.array([0, 1, 2]), 1, counts)
    with pytest.raises(InternalError, match="leave the values"):
        native.encode_run_blocks(values, np.array([0, 5]), 1, counts, np.zeros(99, np.uint8))
    with pytest.raises(InternalError, match="none of 1, 2, 4, 8"):
        native.encode_runs(values, np.array([0, 1]), 0, values.copy(), values.copy(), counts)
