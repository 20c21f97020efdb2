"""FSST kernels against their numpy twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import symbols as twin

from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native


def symbol_table(words, switch=1):
    """2312 bytes as spec 5.6 lays them out."""
    table = bytearray(2312)
    table[0], table[3], table[4:8] = len(words), switch, b"TSSF"
    for code, word in enumerate(words):
        table[8 + 8 * code : 8 + 8 * code + len(word)] = word
        table[8 + 8 * len(words) + code] = len(word)
    return np.frombuffer(bytes(table), np.uint8)


def spans(values):
    sizes = np.array([len(value) for value in values], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    return np.frombuffer(b"".join(values), np.uint8), starts, sizes


@st.composite
def code_strings(draw, num_symbols):
    literal = st.binary(min_size=1, max_size=1).map(lambda byte: b"\xff" + byte)
    known = st.integers(0, num_symbols - 1).map(lambda code: bytes([code])) if num_symbols else literal
    return b"".join(draw(st.lists(known | known | known | literal, max_size=40)))


@given(st.data())
def test_agrees_with_twin(data):
    words = data.draw(st.lists(st.binary(min_size=1, max_size=8), max_size=20))
    values = data.draw(st.lists(code_strings(len(words)) | st.binary(max_size=4), max_size=5))
    table = symbol_table(words, data.draw(st.sampled_from([1, 1, 1, 0, 2])))
    arrays = data.draw(damaged([table, *spans(values)], max_damages=1))
    measured = assert_twins_agree(native.measure_symbols, twin.measure_symbols, *arrays)
    size = measured[1] if measured[0] == "returned" else 30
    bits = data.draw(st.sampled_from([32, 64]))
    base = data.draw(st.sampled_from([0, 9, 2**31 - 1, 2**31 - 40]))
    out_offsets = np.array([base] + [0] * len(values), f"<i{bits // 8}").view(np.uint8)
    arguments = (*arrays, out_offsets, bits, np.zeros(size, np.uint8))
    assert_twins_agree(native.expand_symbols, twin.expand_symbols, *arguments)


def expand(table, values, size):
    out_offsets, out = np.zeros(4 * (len(values) + 1), np.uint8), np.zeros(size, np.uint8)
    native.expand_symbols(table, *spans(values), out_offsets, 32, out)
    offsets = out_offsets.view("<i4")
    return [out[start:stop].tobytes() for start, stop in pairwise(offsets)]


def test_codes_become_symbols():
    table = symbol_table([b"lance", b"_", b"arrowhd!"])
    values = [b"\x00\x01\x02", b"", b"\xff\xff\xff\x00", b"\x00" * 9]
    assert native.measure_symbols(table, *spans(values)) == 14 + 2 + 45
    assert expand(table, values, 61) == [b"lance_arrowhd!", b"", b"\xff\x00", b"lance" * 9]


def test_full_table_has_255_symbols():
    table = symbol_table([bytes([code]) * 8 for code in range(255)])
    assert expand(table, [bytes(range(255))], 2040) == [b"".join(bytes([code]) * 8 for code in range(255))]


def test_switch_off_copies():
    assert expand(symbol_table([], switch=0), [b"\xff", b"\x07abc"], 5) == [b"\xff", b"\x07abc"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [((4, 0), "signature"), ((3, 2), "switch"), ((8 + 8, 0), "length"), ((8 + 8, 9), "length")],
)
def test_bad_tables_are_refused(damage, message):
    table = symbol_table([b"x"]).copy()
    table[damage[0]] = damage[1]
    with pytest.raises(CorruptPageError, match=message):
        native.measure_symbols(table, *spans([b"\x00"]))


@pytest.mark.parametrize("value", [b"\x01", b"\x00\x00\x00\x00\x00\xff", b"\xfe\x00\x00\x00\x00"])
def test_unknown_codes_and_lone_escapes_are_refused(value):
    table = symbol_table([b"x"])
    with pytest.raises(CorruptPageError, match="codes") as error:
        native.measure_symbols(table, *spans([b"\x00", value]))
    assert error.value.detail == 1
    with pytest.raises(CorruptPageError, match="codes"):
        expand(table, [b"\x00", value], 100)


def test_too_little_room_is_the_callers_fault():
    with pytest.raises(InternalError, match="too small"):
        expand(symbol_table([b"12345678"]), [b"\x00\x00"], 15)


def plain(values, bits=32, base=0):
    ends = np.cumsum([base, *map(len, values)])
    return ends.astype(f"<u{bits // 8}").view(np.uint8), np.frombuffer(b"".join(values), np.uint8)


def train(values, bits=32):
    offsets, data = plain(values, bits)
    table = np.empty(2312, np.uint8)
    native.train_symbols(offsets, bits, data, table)
    return table


def compress(table, values):
    offsets, data = plain(values)
    out_offsets, out = np.zeros_like(offsets), np.empty(2 * len(data), np.uint8)
    total = native.compress_symbols(table, offsets, 32, data, out_offsets, 32, out)
    ends = out_offsets.view("<i4").tolist()
    assert ends[-1] == total
    return [out[start:stop].tobytes() for start, stop in pairwise(ends)]


words = st.sampled_from([b"lance", b"arrow", b"la", b"\x00", b"\x00\x00\x00", b"\xff", b"x"])
texts = st.lists(st.lists(words, max_size=12).map(b"".join) | st.binary(max_size=20), max_size=25)


@given(texts, st.sampled_from([32, 64]), st.sampled_from([0, 5]))
def test_training_agrees_with_twin(values, bits, base):
    offsets, data = plain(values, bits, base)
    table = np.zeros(2312, np.uint8)
    assert_twins_agree(native.train_symbols, twin.train_symbols, offsets, bits, data, table)


@given(st.data())
def test_encoding_agrees_with_twin(data):
    known = data.draw(st.lists(st.binary(min_size=1, max_size=8) | words, max_size=20, unique=True))
    table = symbol_table(known, data.draw(st.sampled_from([1, 1, 1, 0])))
    bits, out_bits = (data.draw(st.sampled_from([32, 64])) for _ in range(2))
    offsets, stored = plain(data.draw(texts), bits)
    offsets = data.draw(damaged([offsets.view(f"<i{bits // 8}")], max_damages=1))[0].view(np.uint8)
    out_offsets = np.zeros(len(offsets) // (bits // 8), f"<i{out_bits // 8}")
    out_offsets[0] = data.draw(st.sampled_from([0, 9, 2**31 - 50]))
    room = 2 * len(stored) - data.draw(st.sampled_from([0, 0, 0, 1]))

    # What lies behind the last code is unspecified, so it is cut off before the comparison.
    def cut(function):
        def call(given_table, given_offsets, given_data, given_out):
            out = np.zeros(max(room, 0), np.uint8)
            total = function(given_table, given_offsets, bits, given_data, given_out.view(np.uint8), out_bits, out)
            return out[:total].tobytes()

        return call

    own, of_twin = cut(native.compress_symbols), cut(twin.compress_symbols)
    assert_twins_agree(own, of_twin, table, offsets, stored, out_offsets)


@given(texts)
def test_what_is_encoded_is_expanded(values):
    table = train(values)
    assert expand(table, compress(table, values), sum(map(len, values)) + 8) == values


def test_sampled_texts_agree_with_twin():
    generator = np.random.default_rng(3)
    some = [b"river", b"mountain", b"https://", b"-", b"2026", b"\xc3\xa9t\xc3\xa9"]
    values = [b"".join(some[one] for one in generator.integers(0, 6, size)) for size in generator.integers(0, 30, 900)]
    values += [b"mountain river " * 200, bytes(generator.integers(0, 256, 3000, np.uint8))]
    assert sum(map(len, values)) > 64 << 10
    offsets, data = plain(values)
    assert_twins_agree(native.train_symbols, twin.train_symbols, offsets, 32, data, np.zeros(2312, np.uint8))
    table = train(values)
    coded = compress(table, values)
    assert expand(table, coded, len(data)) == values
    # Words of 4 to 8 bytes become one code each.
    assert sum(map(len, coded[:900])) < sum(map(len, values[:900])) / 3


def test_symbols_never_span_values():
    # Between values that end in half a word, the word must not be found.
    assert compress(symbol_table([b"lance"]), [b"la", b"nce", b"lance"]) == [b"\xffl\xffa", b"\xffn\xffc\xffe", b"\x00"]
