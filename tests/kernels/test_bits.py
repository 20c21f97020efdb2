"""Bit kernels against their numpy twins, and against hand-packed bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import bits as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native

ORDER = [0, 4, 2, 6, 1, 5, 3, 7]


def pack_block(values, word_bits, packed_bits):
    """Pack at most 1024 integers by the text of spec 5.3, one bit at a time through Python integers."""
    lanes = 1024 // word_bits
    padded = list(values) + [0] * (1024 - len(values))
    words = [0] * (1024 * packed_bits // word_bits)
    for lane in range(lanes):
        stream = 0
        for row in range(word_bits):
            stream |= padded[ORDER[row // 8] * 16 + row % 8 * 128 + lane] << (row * packed_bits)
        for word in range(packed_bits):
            words[word * lanes + lane] = stream >> (word * word_bits) & (2**word_bits - 1)
    return np.array(words, f"<u{word_bits // 8}").view(np.uint8)


def chunk_arrays(buffers, counts):
    """Lay buffers behind each other with a gap of one byte, so that nothing is aligned."""
    starts, parts, position = [], [], 0
    for buffer in buffers:
        parts += [np.zeros(1, np.uint8), buffer]
        starts.append(position + 1)
        position += 1 + len(buffer)
    data = np.concatenate([np.zeros(0, np.uint8), *parts])
    sizes = np.array([len(buffer) for buffer in buffers], np.int64)
    value_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return [data, np.array(starts, np.int64), sizes, value_starts]


def random_bytes(seed, count):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


@pytest.mark.parametrize("word_bits", [8, 16, 32, 64])
def test_every_width_decodes_what_the_text_of_the_spec_packs(word_bits):
    generator = np.random.default_rng(word_bits)
    for packed_bits in range(word_bits + 1):
        values = [int(value) & (2**packed_bits - 1) for value in generator.integers(0, 2**64, 1024, dtype=np.uint64)]
        packed = pack_block(values, word_bits, packed_bits)
        out = np.zeros(1024 * word_bits // 8, np.uint8)
        arrays = chunk_arrays([packed], [1024])
        native.unpack_out_of_line(*arrays, word_bits, packed_bits, out)
        assert out.view(f"<u{word_bits // 8}").tolist() == values
        header = np.array([packed_bits], f"<u{word_bits // 8}").view(np.uint8)
        short = np.full(1000 * word_bits // 8, 0xEE, np.uint8)
        native.unpack_inline(*chunk_arrays([np.concatenate([header, packed])], [1000]), word_bits, short)
        assert short.view(f"<u{word_bits // 8}").tolist() == values[:1000]


@given(st.data())
def test_inline_agrees_with_twin(data):
    word_bits = data.draw(st.sampled_from([8, 16, 32, 64, 128]))
    chunks = data.draw(st.lists(st.tuples(st.integers(0, word_bits), st.integers(0, 1024)), max_size=3))
    buffers = [
        np.concatenate(
            [np.frombuffer(width.to_bytes(word_bits // 8, "little"), np.uint8), random_bytes(seed, 128 * width)]
        )
        for seed, (width, _) in enumerate(chunks)
    ]
    arrays = data.draw(damaged(chunk_arrays(buffers, [count for _, count in chunks])))
    out = np.full(sum(count for _, count in chunks) * word_bits // 8, 7, np.uint8)
    assert_twins_agree(native.unpack_inline, twin.unpack_inline, *arrays, word_bits, out)


@given(st.data())
def test_out_of_line_agrees_with_twin(data):
    word_bits = data.draw(st.sampled_from([8, 16, 32, 64]))
    width = data.draw(st.integers(0, word_bits))
    counts = data.draw(st.lists(st.integers(0, 2100), max_size=3))
    buffers = []
    for seed, count in enumerate(counts):
        raw_tail = data.draw(st.booleans()) or count % 1024 == 0
        tail = count % 1024 * word_bits // 8 if raw_tail else 128 * width
        buffers.append(random_bytes(seed, count // 1024 * 128 * width + tail))
    arrays = data.draw(damaged(chunk_arrays(buffers, counts)))
    out = np.full(sum(counts) * word_bits // 8, 7, np.uint8)
    assert_twins_agree(native.unpack_out_of_line, twin.unpack_out_of_line, *arrays, word_bits, width, out)


def test_tail_of_equal_lengths_is_read_as_raw():
    # 4-bit values in 8-bit words: a packed block and 512 raw values both take 512 bytes.
    raw = random_bytes(1, 512)
    out = np.zeros(512, np.uint8)
    native.unpack_out_of_line(*chunk_arrays([raw], [512]), 8, 4, out)
    np.testing.assert_array_equal(out, raw)


@given(st.data())
def test_copy_bits_agrees_with_twin(data):
    counts = data.draw(st.lists(st.integers(0, 200), max_size=5))
    spare = data.draw(st.integers(0, 2))
    buffers = [random_bytes(seed, (count + 7) // 8 + spare) for seed, count in enumerate(counts)]
    arrays = data.draw(damaged(chunk_arrays(buffers, counts)))
    offset = data.draw(st.integers(0, 70))
    out = random_bytes(9, (sum(counts) + offset + 7) // 8 + data.draw(st.integers(0, 3)))
    assert_twins_agree(kernels.copy_bits, twin.copy_bits, *arrays, out, offset)


@given(st.data())
def test_take_bit_runs_agrees_with_twin(data):
    source = random_bytes(3, data.draw(st.integers(0, 60)))
    offset = data.draw(st.integers(0, 8 * len(source)))
    limit = 8 * len(source) - offset
    runs = [sorted(run) for run in data.draw(st.lists(st.tuples(*[st.integers(0, limit)] * 2), max_size=5))]
    starts, stops = np.array(runs, np.int64).reshape(-1, 2).T.copy()
    total = int((stops - starts).sum())
    starts, stops = data.draw(damaged([starts, stops], max_damages=1))
    out_offset = data.draw(st.integers(0, 70))
    out = random_bytes(4, (total + out_offset + 7) // 8)
    assert_twins_agree(kernels.take_bit_runs, twin.take_bit_runs, source, offset, starts, stops, out, out_offset)


@given(st.integers(0, 40), st.integers(-2, 330), st.integers(-2, 330), st.booleans())
def test_fill_and_count_agree_with_twins(num_bytes, bit_offset, num_bits, value):
    memory = random_bytes(5, num_bytes)
    assert_twins_agree(kernels.fill_bits, twin.fill_bits, memory, bit_offset, num_bits, value)
    assert_twins_agree(kernels.count_bits, twin.count_bits, memory, bit_offset, num_bits)


@given(st.data())
def test_mark_runs_agrees_with_twin(data):
    borders = sorted(data.draw(st.lists(st.integers(0, 400), max_size=8)))
    starts, stops = np.array(borders[: len(borders) // 2 * 2], np.int64).reshape(-1, 2).T.copy()
    offset = data.draw(st.integers(0, 70))
    bits_wanted = offset + int((stops - starts).sum())
    source = data.draw(st.sampled_from([random_bytes(6, 64), np.full(64, 255, np.uint8), random_bytes(7, 64) & 0x7E]))
    source = source[: data.draw(st.sampled_from([64, (bits_wanted + 7) // 8, max(0, bits_wanted // 8)]))].copy()
    assert_twins_agree(kernels.count_marked_runs, twin.count_marked_runs, source, offset, starts, stops)
    for room in (300, data.draw(st.integers(0, 20))):
        out = np.zeros(room, np.int64), np.zeros(room, np.int64)
        assert_twins_agree(kernels.mark_runs, twin.mark_runs, source, offset, starts, stops, *out)


@given(st.data())
def test_fill_bit_runs_agrees_with_twin(data):
    borders = sorted(data.draw(st.lists(st.integers(0, 200), max_size=12)))
    starts, stops = np.array(borders[: len(borders) // 2 * 2], np.int64).reshape(-1, 2).T.copy()
    starts, stops = data.draw(damaged([starts, stops], max_damages=1)) if len(starts) else (starts, stops)
    first = data.draw(st.sampled_from([0, 0, int(starts[0]) if len(starts) else 0, 7, -1]))
    room = random_bytes(8, data.draw(st.integers(20, 33))) & 0x11
    assert_twins_agree(kernels.fill_bit_runs, twin.fill_bit_runs, starts, stops, room, first)


def test_blame():
    arrays = chunk_arrays([np.zeros(4, np.uint8)], [1024])
    with pytest.raises(CorruptPageError, match="contradicts its bit width") as error:
        native.unpack_inline(*chunk_arrays([np.zeros(5, np.uint8)], [10]), 32, np.zeros(40, np.uint8))
    assert error.value.detail == 0
    with pytest.raises(InternalError, match="word_bits"):
        native.unpack_inline(*arrays, 24, np.zeros(4096, np.uint8))
    with pytest.raises(InternalError, match="leave the output"):
        native.unpack_inline(*arrays, 32, np.zeros(4095, np.uint8))
    with pytest.raises(InternalError, match="contradicting lengths"):
        native.unpack_inline(arrays[0], arrays[1], arrays[2], arrays[3][:1], 32, np.zeros(4096, np.uint8))
