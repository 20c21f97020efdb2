"""Kernels that cut variable-width values into chunks against their numpy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import variable_chunks as twin

from lance_arrow.errors import InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native


def plain(values, bits=32, base=0):
    """Offsets and bytes of values as Arrow has them."""
    ends = np.cumsum([base, *map(len, values)])
    return ends.astype(f"<u{bits // 8}").view(np.uint8), np.frombuffer(b"".join(values), np.uint8)


def plan(values, bits, **limits):
    offsets, data = plain(values, bits)
    limits = {"target_bytes": 64, "max_bytes": 256, "max_values": 16} | limits
    counts = np.zeros(len(values) // 2 + 1, np.int64)
    found = native.plan_variable_chunks(offsets, bits, len(data), bits, *limits.values(), counts)
    return None if found < 0 else counts[:found].tolist()


@given(st.data())
def test_agrees_with_twin(data):
    values = data.draw(st.lists(st.binary(max_size=30), max_size=40))
    bits, out_bits = (data.draw(st.sampled_from([32, 32, 64, 64, 16])) for _ in range(2))
    width = bits if bits != 16 else 32
    offsets, stored = plain(values, width, data.draw(st.sampled_from([0, 7])))
    offsets = data.draw(damaged([offsets.view(f"<i{width // 8}")], max_damages=1))[0].view(np.uint8)
    limits = data.draw(st.tuples(st.integers(0, 300), st.integers(-1, 400), st.sampled_from([1, 2, 4, 64, 4096])))
    room = data.draw(st.sampled_from([0, len(values) // 2 + 1, 50]))
    counts = np.zeros(room, np.int64)
    given_plan = (offsets, bits, len(stored), out_bits, *limits, counts)
    assert_twins_agree(native.plan_variable_chunks, twin.plan_variable_chunks, *given_plan)
    counts = np.array(data.draw(st.lists(st.integers(1, 16), max_size=6)), np.int64)
    rest = len(values) - int(counts.sum())
    counts = data.draw(damaged([np.append(counts, rest)], max_damages=1))[0]
    out = np.zeros(data.draw(st.integers(0, 2000)), np.uint8)
    arguments = (offsets, bits, stored, counts, out_bits, np.zeros(len(counts), np.int64), out)
    assert_twins_agree(native.write_variable_chunks, twin.write_variable_chunks, *arguments)


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=60), st.sampled_from([32, 64]), st.integers(0, 200))
def test_what_is_written_is_read(values, bits, target):
    counts = np.array(plan(values, bits, target_bytes=target, max_bytes=1000), np.int64)
    assert counts.sum() == len(values)
    assert all(count >= 2 and count & (count - 1) == 0 for count in counts[:-1].tolist())
    offsets, data = plain(values, bits)
    sizes, out = np.empty(len(counts), np.int64), np.empty(5000, np.uint8)
    total = native.write_variable_chunks(offsets, bits, data, counts, bits, sizes, out)
    assert total == sizes.sum()
    assert (sizes % (bits // 8) == 0).all()
    places = (out[:total], np.cumsum(sizes) - sizes, sizes, np.append(0, np.cumsum(counts)))
    read_offsets, read = np.zeros_like(offsets), np.empty_like(data)
    native.decode_variable_chunks(*places, bits, read_offsets, bits, read)
    assert (read_offsets == offsets).all()
    assert (read == data).all()


def test_chunks_double_within_the_target():
    # 9 offsets of 4 bytes and 8 values of 3 make 60, which is 64 with its padding; 16 values would be 116.
    assert plan([b"abc"] * 20, 32) == [8, 8, 4]
    # The rest is one chunk where it fits, a power of two or not.
    assert plan([b"abc"] * 15, 32) == [8, 7]
    assert plan([b""] * 40, 32, target_bytes=10**6) == [16, 16, 8]


def test_two_values_are_a_chunk_even_above_the_target():
    assert plan([b"x" * 100] * 5, 32) == [2, 2, 1]
    assert plan([b"x" * 200] * 5, 32) is None
    assert plan([b"x" * 200], 32) == [1]
    assert plan([b"x" * 300], 32) is None


def test_padding_is_the_formats():
    offsets, data = plain([b"a"])
    out, sizes = np.zeros(12, np.uint8), np.zeros(1, np.int64)
    native.write_variable_chunks(offsets, 32, data, np.array([1]), 32, sizes, out)
    assert out.tobytes() == b"\x08\0\0\0\x09\0\0\0a\x48\x48\x48"


def test_too_little_room_is_told_by_the_sum():
    offsets, data = plain([b"abc"] * 4)
    sizes = np.zeros(2, np.int64)
    out = np.full(30, 7, np.uint8)
    total = native.write_variable_chunks(offsets, 32, data, np.array([2, 2]), 32, sizes, out)
    assert (total, sizes.tolist()) == (40, [20, 20])
    assert (out[20:] == 7).all()


def test_contradicting_lengths_are_refused():
    offsets, data = plain([b"abc"] * 4)
    with pytest.raises(InternalError, match="lengths"):
        native.write_variable_chunks(offsets, 32, data, np.array([4]), 32, np.zeros(2, np.int64), data.copy())
    with pytest.raises(InternalError, match="last value"):
        native.write_variable_chunks(offsets, 32, data, np.array([2]), 32, np.zeros(1, np.int64), data.copy())
