"""Zipped entries put together: the specification's worked example, laws against the numpy twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import zipping as twin

from lance_arrow import kernels
from lance_arrow.testing.twins import assert_twins_agree, damaged


def test_worked_example():
    rep = np.array([2, 0, 1, 1, 2, 2, 2, 1, 0, 2], np.uint16)
    def_ = np.array([0, 0, 3, 4, 5, 6, 2, 1, 0, 0], np.uint16)
    values = np.array([1, 2, 0, 3, 4], "<i4").view(np.uint8)
    out, row_starts = np.zeros(64, np.uint8), np.empty(6, np.int64)
    written = kernels.zip_entries(rep, def_, 10, 2, 3, 2, 1, values, None, 5, 4, 0, out, row_starts)
    expected = "10 01000000 00 02000000 0b 0c 15 16 12 09 00000000 00 03000000 10 04000000"
    assert out[:written].tobytes() == bytes.fromhex(expected)
    assert row_starts.tolist() == [0x00, 0x0C, 0x0D, 0x0E, 0x19, 0x1E]


@st.composite
def entries(draw):
    max_rep = draw(st.integers(0, 3))
    num_entries = draw(st.integers(0, 30))
    rep = def_ = None
    bits_def = draw(st.sampled_from([0, 2, 7, 14]))
    if max_rep:
        rep = np.array(draw(st.lists(st.integers(0, max_rep), min_size=num_entries, max_size=num_entries)), np.uint16)
    if bits_def:
        def_ = np.array(draw(st.lists(st.integers(0, 3), min_size=num_entries, max_size=num_entries)), np.uint16)
    max_visible = draw(st.integers(0, 3)) if max_rep else -1
    num_values = num_entries
    if def_ is not None and max_visible >= 0:
        num_values = int((def_ <= max_visible).sum())
    length_bits = draw(st.sampled_from([0, 32, 64]))
    if length_bits:
        offsets = np.cumsum([0, *draw(st.lists(st.integers(0, 9), min_size=num_values, max_size=num_values))])
        value_bytes, num_bytes = 0, int(offsets[-1])
    else:
        offsets, value_bytes = None, draw(st.integers(0, 5))
        num_bytes = num_values * value_bytes
    data = np.arange(num_bytes, dtype=np.int64).astype(np.uint8)
    num_rows = num_entries if rep is None else int((rep == max_rep).sum())
    row_starts = draw(st.sampled_from([None, np.zeros(num_rows + 1, np.int64)]))
    out = np.zeros(num_entries * (4 + length_bits // 8) + num_bytes, np.uint8)
    bits_rep = draw(st.sampled_from([2, 3, 16])) if max_rep else 0
    return (
        *(rep, def_, num_entries, bits_rep, bits_def, max_rep, max_visible),
        *(data, offsets, num_values, value_bytes, length_bits, out, row_starts),
    )


@given(entries())
def test_entries_are_those_of_the_twin(arguments):
    result = assert_twins_agree(kernels.zip_entries, twin.zip_entries, *arguments)
    assert result[0] == "returned"


@given(entries(), st.data())
def test_contradictions_are_refused_as_the_twin_does(arguments, data):
    given_arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    changed = iter(data.draw(damaged(given_arrays, max_damages=2)))
    damaged_arguments = [next(changed) if isinstance(one, np.ndarray) else one for one in arguments]
    cut = data.draw(st.integers(0, 3))
    if cut:
        damaged_arguments[-2] = damaged_arguments[-2][: max(0, len(damaged_arguments[-2]) - 20 * cut)]
    assert_twins_agree(kernels.zip_entries, twin.zip_entries, *damaged_arguments)


@given(entries())
def test_what_was_zipped_is_unzipped(arguments):
    rep, def_, num_entries, bits_rep, bits_def, _, max_visible, data, offsets, num_values, value_bytes = arguments[:11]
    length_bits, out, row_starts = arguments[11:]
    if bits_rep + bits_def + length_bits + value_bytes == 0:
        return
    written = kernels.zip_entries(*arguments[:12], out, row_starts)
    region = np.zeros(1, np.int64), np.array([written], np.int64)
    rep_out = None if rep is None else np.empty(num_entries, np.uint16)
    def_out = None if def_ is None else np.empty(num_entries, np.uint16)
    starts, sizes = np.empty(num_values, np.int64), np.full(num_values, value_bytes, np.int64)
    if length_bits:
        form = (bits_rep, bits_def, length_bits, max_visible)
        kernels.unzip_variable(out, *region, *form, rep_out, def_out, starts, sizes)
    else:
        form = (bits_rep, bits_def, value_bytes, max_visible)
        kernels.unzip_fixed(out, *region, *form, rep_out, def_out, starts)
    for got, wanted in ((rep_out, rep), (def_out, def_)):
        assert (got is None) == (wanted is None)
        if got is not None:
            np.testing.assert_array_equal(got, wanted)
    levels = np.zeros(num_entries, np.uint16) if def_ is None else def_
    visible = levels if max_visible < 0 else levels[levels <= max_visible]
    for value, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        first = value * value_bytes if offsets is None else int(offsets[value])
        stop = first + value_bytes if offsets is None else int(offsets[value + 1])
        if offsets is not None and visible[value]:
            assert size == 0
        else:
            assert out[start : start + size].tobytes() == data[first:stop].tobytes()
