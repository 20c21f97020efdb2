"""FSST kernels against their numpy twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.kernels import symbols
from lance_arrow.kernels.reference import symbols as twin
from lance_arrow.testing.twins import assert_twins_agree, damaged


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
    measured = assert_twins_agree(symbols.measure_symbols, twin.measure_symbols, *arrays)
    size = measured[1] if measured[0] == "returned" else 30
    bits = data.draw(st.sampled_from([32, 64]))
    base = data.draw(st.sampled_from([0, 9, 2**31 - 1, 2**31 - 40]))
    out_offsets = np.array([base] + [0] * len(values), f"<i{bits // 8}").view(np.uint8)
    arguments = (*arrays, out_offsets, bits, np.zeros(size, np.uint8))
    assert_twins_agree(symbols.expand_symbols, twin.expand_symbols, *arguments)


def expand(table, values, size):
    out_offsets, out = np.zeros(4 * (len(values) + 1), np.uint8), np.zeros(size, np.uint8)
    symbols.expand_symbols(table, *spans(values), out_offsets, 32, out)
    offsets = out_offsets.view("<i4")
    return [out[start:stop].tobytes() for start, stop in pairwise(offsets)]


def test_codes_become_symbols():
    table = symbol_table([b"lance", b"_", b"arrowhd!"])
    values = [b"\x00\x01\x02", b"", b"\xff\xff\xff\x00", b"\x00" * 9]
    assert symbols.measure_symbols(table, *spans(values)) == 14 + 2 + 45
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
        symbols.measure_symbols(table, *spans([b"\x00"]))


@pytest.mark.parametrize("value", [b"\x01", b"\x00\x00\x00\x00\x00\xff", b"\xfe\x00\x00\x00\x00"])
def test_unknown_codes_and_lone_escapes_are_refused(value):
    table = symbol_table([b"x"])
    with pytest.raises(CorruptPageError, match="codes") as error:
        symbols.measure_symbols(table, *spans([b"\x00", value]))
    assert error.value.detail == 1
    with pytest.raises(CorruptPageError, match="codes"):
        expand(table, [b"\x00", value], 100)


def test_too_little_room_is_the_callers_fault():
    with pytest.raises(InternalError, match="too small"):
        expand(symbol_table([b"12345678"]), [b"\x00\x00"], 15)
