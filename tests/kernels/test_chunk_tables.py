"""Chunk words and headers: spec example, laws against the numpy twin, one refusal per rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import chunk_tables as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError, LanceError


def words(*values: int, large: bool = False) -> np.ndarray:
    return np.array(values, "<u4" if large else "<u2").view(np.uint8)


def parse_words(module, table, large, num_values, data_bytes):
    n = table.size // (4 if large else 2)
    starts, value_starts = np.full(n + 1, -1, np.int64), np.full(n + 1, -1, np.int64)
    try:
        module.parse_chunk_words(table, large, num_values, data_bytes, starts, value_starts)
    except LanceError as error:
        return type(error)
    return starts.tolist(), value_starts.tolist()


def parse_headers(module, data, starts, stops, has_rep, has_def, num_buffers, large):
    n = len(starts)
    outs = [np.full(n, -1, np.int64) for _ in range(5)] + [np.full((num_buffers, n), -1, np.int64) for _ in range(2)]
    try:
        module.parse_chunk_headers(data, starts, stops, has_rep, has_def, num_buffers, large, *outs)
    except LanceError as error:
        return type(error), error.detail
    return [out.tolist() for out in outs]


def test_words_of_the_worked_example():
    assert parse_words(kernels, words(0x0090), False, 5, 80) == ([0, 80], [0, 5])


def test_words_of_several_chunks_in_both_widths():
    expected = ([0, 16, 2064, 2072], [0, 1024, 1026, 1030])
    assert parse_words(kernels, words(0x001A, 0x0FF1, 0x0000), False, 1030, 2072) == expected
    assert parse_words(kernels, words(0x001A, 0x0FF1, 0x0000, large=True), True, 1030, 2072) == expected
    assert parse_words(kernels, words(0xFFFFFFF0, large=True), True, 7, 1 << 31) == ([0, 1 << 31], [0, 7])


def test_last_chunk_may_name_its_exact_number_of_values():
    assert parse_words(kernels, words(0x0003), False, 8, 8) == ([0, 8], [0, 8])


@pytest.mark.parametrize("module", [kernels, twin])
@pytest.mark.parametrize(
    ("table", "large", "num_values", "data_bytes"),
    [
        (words(), False, 0, 0),
        (words(0x0000)[:1], False, 1, 8),
        (words(0x0000), True, 1, 8),
        (words(0x0000), False, 1, 16),
        (words(0x0010), False, 1, 8),
        (words(0x0000, 0x0000), False, 2, 16),
        (words(0x0003, 0x0000), False, 7, 16),
        (words(0x0003), False, 7, 8),
        (words(0x0003), False, 9, 8),
        (words(0x0000), False, 32769, 8),
    ],
    ids=[
        "empty",
        "odd bytes",
        "odd words",
        "too small",
        "too large",
        "no log",
        "too many",
        "inexact",
        "inexact+",
        "huge",
    ],
)
def test_contradicting_words_are_refused(module, table, large, num_values, data_bytes):
    assert parse_words(module, table, large, num_values, data_bytes) is CorruptPageError


@given(
    st.lists(st.integers(0, 0xFFFF), max_size=6),
    st.booleans(),
    st.integers(-1, 70_000),
    st.integers(-1, 200_000),
    st.booleans(),
)
def test_words_agree_with_the_twin(values, large, num_values, data_bytes, mend):
    table = words(*values, large=large)
    if mend and values:
        data_bytes = sum((value >> 4) + 1 for value in values) * 8
        num_values = sum(1 << (value & 15) for value in values[:-1]) + num_values % 40_000
        table = words(*values[:-1], values[-1] & ~15, large=large)
    assert parse_words(kernels, table, large, num_values, data_bytes) == parse_words(
        twin, table, large, num_values, data_bytes
    )


def chunk(num_levels: int, streams: list[int], buffers: list[int], large: bool = False) -> bytes:
    header = np.array([num_levels, *streams], "<u2").tobytes() + np.array(buffers, "<u4" if large else "<u2").tobytes()
    return b"".join(
        part.ljust((len(part) + 7) // 8 * 8, b"\xfe") for part in [header, *(bytes(n) for n in streams + buffers)]
    )


def joined(*chunks: bytes, lead: bytes = b"") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stops = len(lead) + np.cumsum([len(one) for one in chunks], dtype=np.int64)
    starts = stops - [len(one) for one in chunks]
    return np.frombuffer(lead + b"".join(chunks), np.uint8), starts.astype(np.int64), stops


def test_header_of_the_worked_example():
    header = bytes.fromhex("0a00140014001400")
    data, starts, stops = joined(header + bytes(72), lead=b"xyz")
    assert parse_headers(kernels, data, starts, stops, True, True, 1, False) == [
        [10], [11], [20], [35], [20], [[59]], [[20]],
    ]  # fmt: skip


def test_headers_with_wide_sizes_and_no_streams():
    data, starts, stops = joined(chunk(0, [], [5, 70_000], True), chunk(0, [], [0, 3], True))
    got = parse_headers(kernels, data, starts, stops, False, False, 2, True)
    assert got[0] == [0, 0]
    second = 16 + 8 + 70_000
    assert got[5:] == [[[16, second + 16], [24, second + 16]], [[5, 0], [70_000, 3]]]


@pytest.mark.parametrize("module", [kernels, twin])
@pytest.mark.parametrize(
    ("bad", "has_rep", "has_def", "num_buffers"),
    [
        (b"\0\0\x08\0\0\0\0\0", False, False, 1),
        (chunk(0, [], [8]) + bytes(8), False, False, 1),
        (chunk(0, [8], [8]), True, False, 1),
        (chunk(4, [], [8]), False, False, 1),
        (chunk(0, [], [8]), False, False, 8),
        (chunk(4, [9], [8])[:-8], True, False, 1),
        (b"\x01\0\xff\xff\0\0\0\0", True, False, 1),
        (b"\x01\0\0\0\xff\xff\0\0", True, True, 1),
        (b"", False, False, 0),
        (b"\0\0\0\0\0", False, False, 1),
        (b"\0\0\x03\0\0\0\0\0\x01\x02\x03", False, False, 1),
    ],
    ids=[
        "buffer outside", "left over", "no levels", "no stream", "header outside", "cut", "rep outside", "def outside",
        "nothing", "header padding outside", "buffer padding outside",
    ],
)  # fmt: skip
def test_contradicting_headers_are_refused(module, bad, has_rep, has_def, num_buffers):
    good = chunk(6 if has_rep or has_def else 0, [4] * (has_rep + has_def), [8] * num_buffers)
    data, starts, stops = joined(good, bad, good)
    got = parse_headers(module, data, starts, stops, has_rep, has_def, num_buffers, False)
    assert got == (CorruptPageError, 1)


@given(st.data())
def test_headers_agree_with_the_twin(data):
    has_rep, has_def, large = (data.draw(st.booleans()) for _ in range(3))
    num_buffers = data.draw(st.integers(0, 3))
    chunks = []
    for _ in range(data.draw(st.integers(0, 3))):
        streams = data.draw(st.lists(st.integers(0, 30), min_size=has_rep + has_def, max_size=has_rep + has_def))
        buffers = data.draw(st.lists(st.integers(0, 30), min_size=num_buffers, max_size=num_buffers))
        chunks.append(chunk(data.draw(st.integers(1, 40)) if streams else 0, streams, buffers, large))
    bytes_, starts, stops = joined(*chunks, lead=data.draw(st.binary(max_size=9)))
    bytes_ = bytes_.copy()
    if bytes_.size and data.draw(st.booleans()):
        bytes_[data.draw(st.integers(0, bytes_.size - 1))] ^= data.draw(st.integers(1, 255))
    order = np.array(data.draw(st.permutations(range(len(starts)))), np.int64)
    arguments = (bytes_, starts[order], stops[order], has_rep, has_def, num_buffers, large)
    assert parse_headers(kernels, *arguments) == parse_headers(twin, *arguments)


@pytest.mark.parametrize("module", [kernels, twin])
def test_callers_mistakes_are_internal(module):
    data, starts, stops = joined(chunk(0, [], [8]))
    one, grid = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    with pytest.raises(InternalError):
        module.parse_chunk_words(words(0x0000), False, 1, 8, np.zeros(1, np.int64), np.zeros(2, np.int64))
    with pytest.raises(InternalError):
        module.parse_chunk_words(words(0x0000), False, -1, 8, np.zeros(2, np.int64), np.zeros(2, np.int64))
    with pytest.raises(InternalError):
        module.parse_chunk_headers(
            data, starts, stops + 1, False, False, 1, False, one, None, None, None, None, grid, grid
        )
    with pytest.raises(InternalError):
        module.parse_chunk_headers(data, starts, stops, True, False, 1, False, one, None, None, None, None, grid, grid)
    with pytest.raises(InternalError):
        module.parse_chunk_headers(data, starts, stops, False, False, 2, False, one, None, None, None, None, grid, grid)
