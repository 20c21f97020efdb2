"""Kernels for byte streams and packed rows against their numpy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import streams as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.testing.twins import assert_twins_agree, damaged
from lance_arrow_codecs import native

BOTH = pytest.mark.parametrize("module", [kernels, twin], ids=["native", "twin"])
WIDTHS = st.sampled_from([1, 2, 3, 4, 8, 12, 16])


def positions(*values):
    return np.array(values, np.int64)


def random_bytes(seed, count):
    return np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8)


@given(st.data(), WIDTHS, st.lists(st.integers(0, 40), max_size=4))
def test_gather_streams_agrees_with_twin(data, width, counts):
    sizes = positions(*(count * width for count in counts))
    borders = np.cumsum([0, *sizes])
    arrays = [random_bytes(width, borders[-1]), borders[:-1].copy(), sizes, np.cumsum([0, *counts])]
    arrays = data.draw(damaged(arrays))
    assert_twins_agree(native.gather_streams, twin.gather_streams, *arrays, width, np.zeros(borders[-1], np.uint8))


@given(WIDTHS, st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_gathering_undoes_splitting(width, counts):
    values = random_bytes(7, sum(counts) * width)
    cuts = np.split(values, np.cumsum(counts)[:-1] * width)
    stored = np.concatenate([cut.reshape(-1, width).T.reshape(-1) for cut in cuts])
    borders = np.cumsum([0, *counts])
    out = np.zeros_like(values)
    native.gather_streams(stored, borders[:-1] * width, np.diff(borders) * width, borders, width, out)
    np.testing.assert_array_equal(out, values)


def through_one(function):
    """Call `function` with the fields' destinations cut out of one array, so that it is compared as a whole."""

    def call(data, starts, sizes, value_starts, widths, num_values, out):
        ends = np.cumsum(np.maximum(widths, 0)) * num_values
        function(data, starts, sizes, value_starts, widths, np.split(out, ends[:-1]) if len(widths) else [])

    return call


@given(st.data(), st.lists(WIDTHS, max_size=4), st.lists(st.integers(0, 20), max_size=3), st.integers(0, 3))
def test_split_rows_agrees_with_twin(data, widths, counts, spare):
    sizes = positions(*(count * sum(widths) + spare for count in counts))
    borders = np.cumsum([0, *sizes])
    arrays = [random_bytes(3, borders[-1]), borders[:-1].copy(), sizes, np.cumsum([0, *counts])]
    arrays = data.draw(damaged(arrays))
    out = np.zeros(sum(counts) * sum(widths), np.uint8)
    native, other = through_one(kernels.split_rows), through_one(twin.split_rows)
    assert_twins_agree(native, other, *arrays, positions(*widths), sum(counts), out)


@BOTH
def test_rows_are_split_into_their_fields(module):
    a, b = np.zeros(3, np.uint8), np.zeros(6, np.uint8)
    rows = np.array([1, 10, 11, 2, 20, 21, 3, 30, 31], np.uint8)
    module.split_rows(rows, positions(0, 6), positions(6, 3), positions(0, 2, 3), positions(1, 2), [a, b])
    assert (a.tolist(), b.tolist()) == ([1, 2, 3], [10, 11, 20, 21, 30, 31])
    with pytest.raises(CorruptPageError):
        module.split_rows(rows, positions(0), positions(8), positions(0, 3), positions(1, 2), [a, b])
    for widths, out in (((0, 3), [a, b]), ((1, 2), [a]), ((), []), ((1, 3), [a, b]), ((1, -2), [a, b])):
        with pytest.raises(InternalError):
            module.split_rows(rows, positions(0), positions(9), positions(0, 3), positions(*widths), out)


def packed_row(fields, generator):
    """Bytes of one row and of its fields."""
    parts, contents = [], []
    for width in fields:
        content = random_bytes(generator.integers(99), width if width > 0 else generator.integers(0, 9)).tobytes()
        parts.append(content if width > 0 else len(content).to_bytes(-width, "little") + content)
        contents.append(content)
    return b"".join(parts), contents


FIELDS = st.lists(WIDTHS | st.sampled_from([-4, -8]), min_size=1, max_size=4)


@given(st.data(), FIELDS, st.lists(st.booleans(), max_size=8))
def test_locate_fields_agrees_with_twin_and_finds_them(data, fields, is_null):
    generator = np.random.default_rng(len(is_null))
    rows = [(b"", None) if null else packed_row(fields, generator) for null in is_null]
    sizes = positions(*(len(row) for row, _ in rows))
    starts = np.cumsum([0, *sizes])[:-1].copy()
    whole = np.frombuffer(b"".join(row for row, _ in rows), np.uint8)
    outs = [np.full((len(fields), len(rows)), -1, np.int64) for _ in range(2)]
    assert kernels.locate_fields(whole, starts, sizes, positions(*fields), *outs) == is_null.count(False)
    for n, (_, contents) in enumerate(rows):
        for field, width in enumerate(fields):
            start, size = int(outs[0][field, n]), int(outs[1][field, n])
            if contents is None:
                assert size == max(width, 0)
                assert start + size <= len(whole) or all(is_null)
            else:
                assert whole[start : start + size].tobytes() == contents[field]
    arrays = data.draw(damaged([whole, starts, sizes]))
    assert_twins_agree(flat_locate(kernels), flat_locate(twin), *arrays, positions(*fields), outs[0].reshape(-1).copy())


def flat_locate(module):
    """Call `locate_fields` with one array for both results, which are compared after it."""

    def call(data, starts, sizes, fields, out):
        out_starts = out.reshape(len(fields), len(starts))
        out_sizes = np.zeros_like(out_starts)
        count = module.locate_fields(data, starts, sizes, fields, out_starts, out_sizes)
        return count, out_sizes.tolist()

    return call


@BOTH
def test_rows_that_contradict_their_fields_are_refused(module):
    row = np.array([9, 3, 0, 0, 0, 65, 66, 67], np.uint8)

    def locate(stop, *fields):
        outs = [np.zeros((len(fields), 1), np.int64) for _ in range(2)]
        return module.locate_fields(row, positions(0), positions(stop), positions(*fields), *outs)

    assert locate(8, 1, -4) == 1
    for stop, fields in (
        (7, (1, -4)),
        (4, (1, -4)),
        (8, (1, -4, 1)),
        (8, (1, 4)),
        (8, (-8,)),
        (8, (-4,)),
        (9, (1, -4)),
    ):
        with pytest.raises(CorruptPageError):
            locate(stop, *fields)
    for fields in ((0,), (-3,), (1, -5)):
        with pytest.raises(InternalError):
            locate(8, *fields)


def smooth(rng, count, dtype):
    return np.cumsum(rng.integers(0, 5, count)).astype(dtype)


def runs(rng, count, dtype):
    return np.repeat(rng.integers(0, 1 << 30, count // 50 + 1), 50)[:count].astype(dtype)


SAMPLES = (
    lambda rng, count, dtype: rng.integers(0, 1 << 62, count).astype(dtype),
    lambda rng, count, dtype: rng.integers(0, 20, count).astype(dtype),
    lambda rng, count, dtype: np.arange(count).astype(dtype),
    lambda rng, count, dtype: np.round(rng.random(count), 2).astype(f"f{dtype.itemsize}"),
    smooth,
    runs,
)


@given(st.sampled_from(SAMPLES), st.sampled_from([4, 8]), st.integers(0, 3000), st.integers(0, 1 << 30))
def test_bytes_of_lz4_streams_are_those_of_its_library(make, width, count, seed):
    values = make(np.random.default_rng(seed), count, np.dtype(f"u{width}")).view(np.uint8)
    assert native.lz4_stream_bytes(values, width) == twin.lz4_stream_bytes(values, width)


@given(st.binary(max_size=9000), st.sampled_from([1, 4, 8, 16]))
def test_bytes_of_lz4_streams_agree_with_twin_for_any_bytes(data, width):
    assert_twins_agree(native.lz4_stream_bytes, twin.lz4_stream_bytes, np.frombuffer(data, np.uint8), width)


@given(st.data())
def test_scatter_streams_agrees_with_twin_and_comes_back(data):
    width = data.draw(st.sampled_from([1, 2, 3, 4, 8]))
    counts = data.draw(st.lists(st.integers(0, 40), max_size=3))
    values = np.random.default_rng(width).integers(0, 256, sum(counts) * width, np.uint8)
    value_starts = np.cumsum([0, *counts])
    given_values, given_starts = data.draw(damaged([values, value_starts], max_damages=1))
    out = np.zeros(max(len(values) - data.draw(st.integers(0, 1)), 0), np.uint8)
    arguments = given_values, given_starts, width, out
    assert_twins_agree(native.scatter_streams, twin.scatter_streams, *arguments)
    split, back = np.zeros(len(values), np.uint8), np.zeros(len(values), np.uint8)
    native.scatter_streams(values, value_starts, width, split)
    sizes = np.diff(value_starts) * width
    native.gather_streams(split, value_starts[:-1] * width, sizes, value_starts, width, back)
    np.testing.assert_array_equal(back, values)
