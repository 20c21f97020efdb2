"""Gather kernels against their numpy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import gather as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged

WIDTHS = st.sampled_from([1, 2, 3, 4, 8, 12, 16, 33])
INDEX_BITS = st.sampled_from([8, 16, 32, 64])
OFFSET_BITS = st.sampled_from([32, 64])


def random_bytes(seed, count):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


def as_bytes(values, kind, bits):
    return np.array(values, f"<{kind}{bits // 8}").view(np.uint8)


def empty_offsets(count, bits, base):
    return as_bytes([base] + [0] * count, "i", bits)


@st.composite
def strings(draw, offset_bits):
    """Offsets (as bytes) and data of a few values, some of them longer than a move of 32 bytes."""
    sizes = draw(st.lists(st.integers(0, 40), max_size=12))
    start = draw(st.integers(0, 5))
    offsets = np.concatenate([[start], start + np.cumsum(sizes)]).astype(np.int64)
    return offsets.astype(f"<u{offset_bits // 8}").view(np.uint8), random_bytes(1, int(offsets[-1])), len(sizes)


@st.composite
def run_arrays(draw, num_items):
    runs = [sorted(run) for run in draw(st.lists(st.tuples(*[st.integers(0, num_items)] * 2), max_size=5))]
    starts, stops = np.array(runs, np.int64).reshape(-1, 2).T.copy()
    return starts, stops


@given(st.data())
def test_take_marked_fixed_agrees_with_twin(data):
    width = data.draw(WIDTHS)
    count = data.draw(st.integers(0, 300))
    offset = data.draw(st.integers(0, 70))
    source = random_bytes(1, count * width + data.draw(st.integers(0, width - 1)))
    usual = random_bytes(2, (offset + count + 7) // 8 + 9)
    bits = data.draw(st.sampled_from([usual, usual | 0xFE, usual & 0x10, np.full(len(usual), 255, np.uint8)]))
    bits = bits[: data.draw(st.sampled_from([len(bits), len(bits) - 9, (offset + count) // 8]))]
    out = random_bytes(3, data.draw(st.sampled_from([count * width, count * width // 2])))
    assert_twins_agree(kernels.take_marked_fixed, twin.take_marked_fixed, source, width, bits, offset, out)


@given(st.data())
def test_copy_fixed_agrees_with_twin(data):
    width = data.draw(WIDTHS)
    counts = data.draw(st.lists(st.integers(0, 30), max_size=5))
    sizes = np.array([count * width + data.draw(st.integers(0, 2)) for count in counts], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    value_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    arrays = data.draw(damaged([random_bytes(1, int(sizes.sum())), starts, sizes, value_starts]))
    out = np.zeros(sum(counts) * width, np.uint8)
    assert_twins_agree(kernels.copy_fixed, twin.copy_fixed, *arrays, width, out)


@given(st.data())
def test_take_runs_fixed_agrees_with_twin(data):
    width = data.draw(WIDTHS)
    num_items = data.draw(st.integers(0, 30))
    starts, stops = data.draw(run_arrays(num_items))
    out = np.zeros(int((stops - starts).sum()) * width, np.uint8)
    starts, stops = data.draw(damaged([starts, stops], max_damages=1))
    source = random_bytes(1, num_items * width + width // 2)
    assert_twins_agree(kernels.take_runs_fixed, twin.take_runs_fixed, source, width, starts, stops, out)


@given(st.data())
def test_take_fixed_agrees_with_twin(data):
    width, bits = data.draw(WIDTHS), data.draw(INDEX_BITS)
    num_items = data.draw(st.integers(0, 200))
    chosen = data.draw(st.lists(st.integers(0, num_items - 1), max_size=40)) if num_items else []
    (indices,) = data.draw(damaged([as_bytes(chosen, "u", bits)], max_damages=1))
    out = np.zeros(len(chosen) * width, np.uint8)
    source = random_bytes(2, num_items * width)
    assert_twins_agree(kernels.take_fixed, twin.take_fixed, source, width, indices, bits, out)


def test_take_fixed_finds_a_bad_index_beyond_the_first_strip():
    indices = np.zeros(5000, np.uint16)
    indices[4321] = 3
    with pytest.raises(CorruptPageError) as error:
        kernels.take_fixed(np.zeros(12, np.uint8), 4, indices.view(np.uint8), 16, np.zeros(20000, np.uint8))
    assert error.value.detail == 4321


@given(st.data())
def test_copy_values_agrees_with_twin(data):
    width = data.draw(WIDTHS)
    source = random_bytes(3, data.draw(st.integers(width, 100)))
    places = data.draw(st.lists(st.integers(0, len(source) - width), max_size=20))
    (starts,) = data.draw(damaged([np.array(places, np.int64)], max_damages=1))
    out = np.zeros(len(places) * width, np.uint8)
    assert_twins_agree(kernels.copy_values, twin.copy_values, source, starts, width, out)


@given(st.data())
def test_clear_null_indices_agrees_with_twin(data):
    bits = data.draw(INDEX_BITS)
    num_items = data.draw(st.integers(0, 9))
    chosen = data.draw(st.lists(st.integers(0, 12), max_size=20))
    levels = data.draw(
        st.none()
        | st.lists(st.integers(0, 2), min_size=len(chosen), max_size=len(chosen) + data.draw(st.integers(0, 1)))
    )
    def_levels = None if levels is None else np.array(levels, np.uint16)
    indices = as_bytes(chosen, "u", bits)
    null_index = data.draw(st.integers(-1, 300))
    assert_twins_agree(
        kernels.clear_null_indices, twin.clear_null_indices, indices, bits, num_items, null_index, def_levels
    )


@given(st.data())
def test_take_variable_agrees_with_twin(data):
    bits, out_bits, index_bits = data.draw(OFFSET_BITS), data.draw(OFFSET_BITS), data.draw(INDEX_BITS)
    offsets, source, num_items = data.draw(strings(bits))
    chosen = data.draw(st.lists(st.integers(0, num_items - 1), max_size=20)) if num_items else []
    indices, offsets = data.draw(damaged([as_bytes(chosen, "u", index_bits), offsets]))
    measured = assert_twins_agree(
        kernels.measure_take_variable, twin.measure_take_variable, offsets, bits, indices, index_bits
    )
    size = measured[1] if measured[0] == "returned" and measured[1] < 10_000 else 50
    base = data.draw(st.sampled_from([0, 17, 2**31 - 1, 2**31 - 40]))
    out_offsets = empty_offsets(len(chosen), out_bits, base)
    arguments = (offsets, bits, source, indices, index_bits, out_offsets, out_bits, np.zeros(size, np.uint8))
    assert_twins_agree(kernels.take_variable, twin.take_variable, *arguments)


@given(st.data())
def test_take_runs_variable_agrees_with_twin(data):
    bits, out_bits = data.draw(OFFSET_BITS), data.draw(OFFSET_BITS)
    offsets, source, num_items = data.draw(strings(bits))
    starts, stops = data.draw(run_arrays(num_items))
    count = int((stops - starts).sum())
    starts, stops, offsets = data.draw(damaged([starts, stops, offsets]))
    measured = assert_twins_agree(
        kernels.measure_take_runs_variable, twin.measure_take_runs_variable, offsets, bits, starts, stops
    )
    size = measured[1] if measured[0] == "returned" and measured[1] < 10_000 else 50
    base = data.draw(st.sampled_from([0, 17, 2**31 - 1, 2**31 - 40]))
    arguments = (offsets, bits, source, starts, stops, empty_offsets(count, out_bits, base), out_bits)
    assert_twins_agree(kernels.take_runs_variable, twin.take_runs_variable, *arguments, np.zeros(size, np.uint8))


def test_values_land_relative_to_the_base():
    offsets = as_bytes([0, 1, 3, 6], "i", 32)
    out_offsets, out_data = empty_offsets(3, 64, 1000), np.zeros(7, np.uint8)
    source = np.frombuffer(b"abbccc", np.uint8)
    kernels.take_variable(offsets, 32, source, as_bytes([2, 0, 2], "u", 8), 8, out_offsets, 64, out_data)
    assert out_offsets.view("<i8").tolist() == [1000, 1003, 1004, 1007]
    assert out_data.tobytes() == b"cccaccc"


def test_blame():
    offsets = as_bytes([0, 4], "i", 32)
    indices = as_bytes([0, 0], "u", 8)
    source = np.zeros(4, np.uint8)
    with pytest.raises(InternalError, match="too small"):
        kernels.take_variable(offsets, 32, source, indices, 8, empty_offsets(2, 32, 0), 32, np.zeros(7, np.uint8))
    with pytest.raises(InternalError, match="too narrow"):
        kernels.take_variable(
            offsets, 32, source, indices, 8, empty_offsets(2, 32, 2**31 - 8), 32, np.zeros(8, np.uint8)
        )
    with pytest.raises(InternalError, match="bytes_per_value"):
        kernels.take_fixed(source, 0, indices, 8, np.zeros(8, np.uint8))
