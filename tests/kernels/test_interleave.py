"""Zipped rows: spec example, laws against the numpy twin, one refusal per rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import interleave as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError, LanceError

BOTH = pytest.mark.parametrize("module", [kernels, twin], ids=["native", "twin"])


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text.replace("|", " ")), np.uint8)


def regions(*pairs: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def unzip(module, data, starts, stops, form, room=64):
    """Results of count and unzip, or the type of the refusal."""
    bits_rep, bits_def, width, offset_bits, max_visible = form
    rep, def_ = (np.full(room, 99, np.uint16) if bits else None for bits in (bits_rep, bits_def))
    places, sizes = np.full(room, -1, np.int64), np.full(room, -1, np.int64)
    try:
        region_entries = np.full(len(starts), -1, np.int64)
        counts = module.count_entries(data, starts, stops, *form, region_entries)
        if offset_bits:
            got = module.unzip_variable(
                data, starts, stops, bits_rep, bits_def, offset_bits, max_visible, rep, def_, places, sizes
            )
        else:
            got = module.unzip_fixed(data, starts, stops, bits_rep, bits_def, width, max_visible, rep, def_, places)
    except LanceError as error:
        return type(error), error.detail if isinstance(error, CorruptPageError) else None
    assert got == counts
    assert region_entries.sum() == counts[0]
    return counts, *(None if array is None else array.tolist() for array in (rep, def_, places, sizes))


EXAMPLE = as_bytes("10 01000000|00 02000000|0b|0c|15|16|12|09 00000000|00 03000000|10 04000000")
EXAMPLE_FORM = (2, 3, 4, 0, 1)


@BOTH
def test_worked_example(module):
    counts, rep, def_, places, _ = unzip(module, EXAMPLE, *regions((0, EXAMPLE.size)), EXAMPLE_FORM, 10)
    assert counts == (10, 5)
    assert rep == [2, 0, 1, 1, 2, 2, 2, 1, 0, 2]
    assert def_ == [0, 0, 3, 4, 5, 6, 2, 1, 0, 0]
    values = [int.from_bytes(EXAMPLE[at : at + 4].tobytes(), "little") for at in places[:5]]
    assert values == [1, 2, 0, 3, 4]


@BOTH
def test_worked_example_row_index_selects_rows(module):
    index = np.empty(6, np.int64)
    module.read_row_index(as_bytes("00 0c 0d 0e 19 1e"), 5, EXAMPLE.size, index)
    assert index.tolist() == [0, 12, 13, 14, 25, 30]
    rows = regions((index[1], index[2]), (index[3], index[5]))
    counts, rep, def_, _, _ = unzip(module, EXAMPLE, *rows, EXAMPLE_FORM, 5)
    assert counts == (5, 3)
    assert rep == [2, 2, 1, 0, 2]
    entries = np.empty(2, np.int64)
    module.count_entries(EXAMPLE, *rows, *EXAMPLE_FORM, entries)
    assert entries.tolist() == [1, 4]
    assert def_ == [5, 2, 1, 0, 0]


@BOTH
def test_lengths_stand_before_valid_values_only(module):
    data = as_bytes("00 03000000 616263|01|00 00000000")
    counts, _, def_, places, sizes = unzip(module, data, *regions((0, data.size)), (0, 1, -1, 32, -1), 3)
    assert (counts, def_, places, sizes) == ((3, 3), [0, 1, 0], [5, 9, 14], [3, 0, 0])


@BOTH
def test_without_levels_there_is_no_control_word(module):
    data = as_bytes("0200000000000000 6162|0000000000000000")
    assert unzip(module, data, *regions((0, 18)), (0, 0, -1, 64, -1), 2) == ((2, 2), None, None, [8, 18], [2, 0])


@BOTH
def test_control_words_of_two_and_four_bytes(module):
    two = np.array([0x1FF, 0x080], "<u2").view(np.uint8)
    assert unzip(module, two, *regions((0, 4)), (2, 7, 0, 0, 200), 2)[1:3] == ([3, 1], [127, 0])
    four = np.array([0x1FFFF, 0x00001], "<u4").view(np.uint8)
    assert unzip(module, four, *regions((0, 8)), (1, 16, 0, 0, 0), 2)[1:4] == ([1, 0], [65535, 1], [-1, -1])


@BOTH
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("0000", (0, 1, 2, 0, -1)),
        ("04 0000", (1, 1, 2, 0, -1)),
        ("00 030000", (0, 1, -1, 32, -1)),
        ("00 03000000 6161", (0, 1, -1, 32, -1)),
        ("ffffffffffffffff", (0, 0, -1, 64, -1)),
        ("00", (2, 8, 1, 0, -1)),
        ("0000000000", (2, 8, 2, 0, -1)),
    ],
    ids=["value cut", "stray bits", "length cut", "value outside", "huge length", "word cut", "second word cut"],
)
def test_contradicting_streams_are_refused(module, text, form):
    data = as_bytes(text)
    assert unzip(module, data, *regions((0, data.size)), form) == (CorruptPageError, 0)


@BOTH
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("00 0c", 2), ("00 0c 0b 1e", 3), ("01 1e", 1), ("00 1d", 1), ("00 1f 1e", 2), ("", 0), ("00000000001e", 1),
        ("0000000000000000 ffffffffffffffff 1e00000000000000", 2),
    ],
)  # fmt: skip
def test_contradicting_row_index_is_refused(module, text, rows):
    with pytest.raises(CorruptPageError):
        module.read_row_index(as_bytes(text), rows, 30, np.empty(rows + 1, np.int64))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@given(offsets=st.lists(st.integers(0, 255), max_size=8))
def test_row_index_agrees_with_the_twin(width, offsets):
    for table in (offsets, [0, *sorted(offsets)]):
        index = np.array(table, f"<u{width}").view(np.uint8)
        results = []
        for module in (kernels, twin):
            out = np.full(len(table), -1, np.int64)
            try:
                module.read_row_index(index, len(table) - 1, max(table, default=0), out)
                results.append(out.tolist())
            except LanceError as error:
                results.append(type(error))
        assert results[0] == results[1]


@st.composite
def zipped(draw):
    form = (
        draw(st.integers(0, 2)),
        draw(st.integers(0, 3)),
        *draw(st.sampled_from([(0, 0), (1, 0), (3, 0), (-1, 32), (-1, 64)])),
        draw(st.integers(-1, 3)),
    )
    bits_rep, bits_def, width, offset_bits, max_visible = form
    stream, borders = bytearray(draw(st.binary(max_size=3))), []
    borders.append(len(stream))
    for _ in range(draw(st.integers(0, 12))):
        rep, def_ = draw(st.integers(0, (1 << bits_rep) - 1)), draw(st.integers(0, (1 << bits_def) - 1))
        if bits_rep + bits_def:
            stream.append(rep << bits_def | def_)
        if max_visible < 0 or def_ <= max_visible:
            if not offset_bits:
                stream += bytes(width)
            elif def_ == 0:
                value = draw(st.binary(max_size=4))
                stream += len(value).to_bytes(offset_bits // 8, "little") + value
        borders.append(len(stream))
    return form, stream, borders


@given(zipped(), st.data())
def test_streams_agree_with_the_twin(page, data):
    form, stream, borders = page
    if stream and data.draw(st.booleans()):
        stream[data.draw(st.integers(0, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    picked = [
        sorted(data.draw(st.tuples(*[st.sampled_from(borders)] * 2))) for _ in range(data.draw(st.integers(0, 3)))
    ]
    bytes_ = np.frombuffer(bytes(stream), np.uint8)
    room = data.draw(st.sampled_from([64, 64, 2]))
    starts, stops = regions(*map(tuple, picked))
    assert unzip(kernels, bytes_, starts, stops, form, room) == unzip(twin, bytes_, starts, stops, form, room)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=5)), max_size=12),
    st.integers(0, 2),
    st.sampled_from([32, 64]),
    st.data(),
)
def test_rows_at_known_borders_agree_with_the_walk(rows, bits_def, bits, data):
    stream, borders = bytearray(), [0]
    for def_, value in rows:
        level = def_ & ((1 << bits_def) - 1)
        stream += bytes([level] * bool(bits_def))
        if level == 0:
            stream += len(value).to_bytes(bits // 8, "little") + value
        borders.append(len(stream))
    damaged = bool(stream) and data.draw(st.booleans())
    if damaged:
        stream[data.draw(st.integers(0, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    if data.draw(st.booleans()):
        moved = data.draw(st.integers(0, len(borders) - 1))
        borders[moved] += data.draw(st.sampled_from([-100, -1, 1, 100]))
        damaged = True
    bytes_, places = np.frombuffer(bytes(stream), np.uint8), np.array(borders, np.int64)
    results = []
    for module in (kernels, twin):
        outputs = [np.full(len(rows), -1, np.int64) for _ in range(2)]
        def_out = np.full(len(rows), 99, np.uint16) if bits_def else None
        agrees = module.unzip_rows(bytes_, places, bits_def, bits, def_out, *outputs)
        levels = None if def_out is None else def_out.tolist()
        results.append((agrees, levels, *(one.tolist() for one in outputs)) if agrees else agrees)
    assert results[0] == results[1]
    if not damaged:
        walked = unzip(kernels, bytes_, places[:1], places[-1:], (0, bits_def, -1, bits, -1), len(rows))
        assert results[0] == (True, *walked[2:])


@BOTH
def test_callers_mistakes_are_internal(module):
    whole = regions((0, EXAMPLE.size))
    room = np.empty(10, np.uint16)
    values = np.empty(5, np.int64)
    wrong = [
        (EXAMPLE, *regions((0, 99)), 2, 3, 4, 1, room, room, values),
        (EXAMPLE, *regions((3, 2)), 2, 3, 4, 1, room, room, values),
        (EXAMPLE, whole[0], whole[1][:0], 2, 3, 4, 1, room, room, values),
        (EXAMPLE, *whole, 17, 3, 4, 1, room, room, values),
        (EXAMPLE, *whole, 0, 0, 0, -1, None, None, values),
        (EXAMPLE, *whole, 2, 3, -1, 1, room, room, values),
        (EXAMPLE, *whole, 2, 3, 4, 1, room[:9], room, values),
        (EXAMPLE, *whole, 2, 3, 4, 1, room[:9].copy(), room[:9].copy(), values),
        (EXAMPLE, *whole, 2, 3, 4, 1, room, room, values[:4]),
    ]
    for arguments in wrong:
        with pytest.raises(InternalError):
            module.unzip_fixed(*arguments)
    with pytest.raises(InternalError):
        module.unzip_variable(EXAMPLE, *whole, 2, 3, 0, 1, room, room, values, values)
    with pytest.raises(InternalError):
        module.count_entries(EXAMPLE, *whole, *EXAMPLE_FORM, values)
    with pytest.raises(InternalError):
        module.read_row_index(EXAMPLE, 5, 30, values)
    for borders, bits_def, bits, def_out, starts in (
        (values, 3, 32, None, values[:4]),
        (values, 0, 16, None, values[:4]),
        (values, 3, 32, room[:3], values[:4]),
        (values, 0, 32, None, values),
        (values[:0], 0, 32, None, values[:0]),
    ):
        with pytest.raises(InternalError):
            module.unzip_rows(EXAMPLE, borders, bits_def, bits, def_out, starts, starts.copy())
