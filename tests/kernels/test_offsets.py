"""Offset kernels against their numpy twins, and UTF-8 checks against Python's decoder."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy_kernels import offsets as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native

OFFSET_BITS = st.sampled_from([32, 64])
BASES = st.sampled_from([0, 17, 2**31 - 1, 2**31 - 40])


def as_bytes(values, kind, bits):
    return np.array(values, f"<{kind}{bits // 8}").view(np.uint8)


def encode_chunk(values, bits):
    """Mini-block form of spec 5.2, padded to the offset width."""
    header = (len(values) + 1) * bits // 8
    ends = np.concatenate([[0], np.cumsum([len(value) for value in values])]).astype(np.int64)
    raw = as_bytes(header + ends, "u", bits).tobytes() + b"".join(values)
    return raw + b"\x48" * (-len(raw) % (bits // 8))


def encode_block(values, bits):
    """Block form of spec 5.2."""
    header = (len(values) + 3) * bits // 8
    ends = np.concatenate([[0], np.cumsum([len(value) for value in values])]).astype(np.int64)
    return as_bytes([bits, header, *ends], "u", bits).tobytes() + b"".join(values)


def chunk_arrays(buffers, counts, first_value=0):
    sizes = np.array([len(buffer) for buffer in buffers], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    value_starts = (first_value + np.concatenate([[0], np.cumsum(counts)])).astype(np.int64)
    return [np.frombuffer(b"".join(buffers), np.uint8).copy(), starts, sizes, value_starts]


FORMS = {
    "chunks": (encode_chunk, "measure_variable_chunks", "decode_variable_chunks"),
    "blocks": (encode_block, "measure_variable_blocks", "decode_variable_blocks"),
}


@pytest.mark.parametrize("form", FORMS)
@given(st.data())
def test_chunked_forms_agree_with_twins(form, data):
    encode, measure, decode = FORMS[form]
    bits, out_bits = data.draw(OFFSET_BITS), data.draw(OFFSET_BITS)
    chunks = data.draw(st.lists(st.lists(st.binary(max_size=20), max_size=5), max_size=3))
    first = data.draw(st.integers(0, 2))
    counts = [len(values) for values in chunks]
    arrays = chunk_arrays([encode(values, bits) for values in chunks], counts, first)
    arrays = data.draw(damaged(arrays))
    measured = assert_twins_agree(getattr(native, measure), getattr(twin, measure), *arrays, bits)
    size = measured[1] if measured[0] == "returned" else 60
    out_offsets = as_bytes([data.draw(BASES)] * (first + sum(counts) + 1), "i", out_bits)
    arguments = (*arrays, bits, out_offsets, out_bits, np.zeros(size, np.uint8))
    assert_twins_agree(getattr(native, decode), getattr(twin, decode), *arguments)
    places = np.zeros((2, first + sum(counts)), np.int64)
    locate = decode.replace("decode", "locate")
    assert_twins_agree(getattr(native, locate), getattr(twin, locate), *arrays, bits, *places)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bits", [32, 64])
def test_chunks_follow_each_other_in_the_output(form, bits):
    encode, measure, decode = FORMS[form]
    chunks = [[b"a", b"", b"longer than thirty-two bytes to defeat the move"], [b"xyz"]]
    arrays = chunk_arrays([encode(values, bits) for values in chunks], [3, 1])
    joined = b"".join(b"".join(values) for values in chunks)
    assert getattr(native, measure)(*arrays, bits) == len(joined)
    out_offsets, out_data = as_bytes([5, 0, 0, 0, 0], "i", 32), np.zeros(len(joined), np.uint8)
    getattr(native, decode)(*arrays, bits, out_offsets, 32, out_data)
    starts, sizes = np.zeros((2, 4), np.int64)
    getattr(native, decode.replace("decode", "locate"))(*arrays, bits, starts, sizes)
    found = [arrays[0][start : start + size].tobytes() for start, size in zip(starts, sizes, strict=True)]
    assert found == [value for values in chunks for value in values]
    assert out_offsets.view("<i4").tolist() == [5, 6, 6, 53, 56]
    assert out_data.tobytes() == joined


@given(st.data())
def test_values_agree_with_twin(data):
    source = np.frombuffer(data.draw(st.binary(max_size=60)), np.uint8)
    spans = [sorted(span) for span in data.draw(st.lists(st.tuples(*[st.integers(0, len(source))] * 2), max_size=9))]
    starts, stops = np.array(spans, np.int64).reshape(-1, 2).T.copy()
    starts, sizes = data.draw(damaged([starts, stops - starts]))
    bits = data.draw(OFFSET_BITS)
    measured = assert_twins_agree(kernels.measure_variable_values, twin.measure_variable_values, sizes)
    size = measured[1] if measured[0] == "returned" and measured[1] < 10_000 else 60
    out_offsets = as_bytes([data.draw(BASES)] + [0] * len(spans), "i", bits)
    arguments = (source, starts, sizes, out_offsets, bits, np.zeros(size, np.uint8))
    assert_twins_agree(kernels.decode_variable_values, twin.decode_variable_values, *arguments)


def check_like_python(values):
    ends = np.concatenate([[0], np.cumsum([len(value) for value in values])])
    data = np.frombuffer(b"".join(values), np.uint8)
    for bits in (32, 64):
        assert_twins_agree(kernels.check_utf8, twin.check_utf8, as_bytes(ends, "u", bits), bits, data)


@given(st.lists(st.text(max_size=12).map(str.encode) | st.binary(max_size=6), max_size=6))
@example(["é".encode()[:1], "é".encode()[1:]])
@example([b"x" * 40 + "\U0001f600".encode(), b"", b"y" * 40])
def test_utf8_agrees_with_python(values):
    check_like_python(values)


@given(
    st.lists(
        st.sampled_from(
            [
                0x00,
                0x41,
                0x7F,
                0x80,
                0x8F,
                0x90,
                0x9F,
                0xA0,
                0xBF,
                0xC0,
                0xC1,
                0xC2,
                0xDF,
                0xE0,
                0xE1,
                0xEC,
                0xED,
                0xEE,
                0xEF,
                0xF0,
                0xF1,
                0xF4,
                0xF5,
                0xFF,
            ]
        ),
        max_size=8,
    ),
    st.integers(0, 40),
)
def test_utf8_borders_of_every_rule_agree_with_python(tail, padding):
    check_like_python([b"a" * padding + bytes(tail)])


@given(st.text(min_size=1, max_size=8).map(str.encode), st.data())
def test_utf8_refuses_an_offset_inside_a_character(text, data):
    cut = data.draw(st.integers(0, len(text)))
    check_like_python([text[:cut], text[cut:]])


@given(st.lists(st.integers(0, 12), max_size=6), st.binary(max_size=10), OFFSET_BITS)
def test_utf8_with_wrong_offsets_agrees_with_twin(ends, data, bits):
    arguments = (as_bytes(ends, "u", bits), bits, np.frombuffer(data, np.uint8))
    assert_twins_agree(kernels.check_utf8, twin.check_utf8, *arguments)


def test_every_two_and_three_byte_sequence_agrees_with_python():
    # One value per sequence would be slow to check singly: valid ones must pass together, invalid ones fail alone.
    pairs = [bytes([first, second]) for first in range(256) for second in range(256)]
    valid = [pair for pair in pairs if is_utf8(pair)]
    ends = np.arange(len(valid) + 1) * 2
    kernels.check_utf8(as_bytes(ends, "u", 32), 32, np.frombuffer(b"".join(valid), np.uint8))
    for pair in pairs:
        if not is_utf8(pair):
            with pytest.raises(CorruptPageError):
                kernels.check_utf8(as_bytes([0, 2], "u", 32), 32, np.frombuffer(pair, np.uint8))


def is_utf8(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_blame():
    arrays = chunk_arrays([encode_chunk([b"abc"], 32)], [1])
    with pytest.raises(InternalError, match="too small"):
        native.decode_variable_chunks(*arrays, 32, as_bytes([0, 0], "i", 32), 32, np.zeros(2, np.uint8))
    with pytest.raises(InternalError, match="base"):
        native.decode_variable_chunks(*arrays, 32, as_bytes([-1, 0], "i", 32), 32, np.zeros(3, np.uint8))
    with pytest.raises(InternalError, match="offset_bits"):
        native.measure_variable_chunks(*arrays, 16)
