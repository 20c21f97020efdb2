"""Facts about blocks, against plain numpy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.spi import Bitmap, BlockSlice, BlockSummary, FixedSizeList, FixedWidth, VariableWidth
from lance_arrow.testing.samples import Sample, filled, make_sample


def block_of(values):
    return BlockSlice(FixedWidth(8 * values.itemsize), len(values), values.view(np.uint8))


@given(st.sampled_from(["u1", "u2", "u4", "u8"]), st.integers(0, 5000), st.integers(0, 20), st.integers(1, 50))
def test_integers_are_measured(dtype, count, bits, repeated):
    values = np.repeat(np.random.default_rng(count).integers(0, 1 << bits, count), repeated)[:count].astype(f"<{dtype}")
    summary = BlockSummary(block_of(values))
    groups = [values[start : start + 1024] for start in range(0, max(count, 1), 1024)]
    assert summary.group_bits.tolist() == [int(group.max(initial=0)).bit_length() for group in groups]
    assert summary.num_runs == sum(values[1:] != values[:-1]) + (count > 0)
    assert summary.is_constant == (len(np.unique(values)) <= 1)
    assert summary.raw_bytes == values.nbytes


def test_groups_of_other_sizes_are_measured_once():
    values = np.array([1, 2, 300, 0, 0], "<u2")
    summary = BlockSummary(block_of(values))
    value_starts = np.array([0, 2, 5])
    groups = summary.groups(value_starts)
    assert (groups.bits.tolist(), groups.total_bits, groups.max_bits, groups.num_changes) == ([2, 9], 11, 9, 3)
    assert summary.groups(value_starts) is groups
    assert summary.group_bits.tolist() == [9]
    assert summary.groups(value_starts) is groups


@pytest.mark.parametrize(
    ("shape", "items"),
    [
        (VariableWidth(32), [b"ab", b"ab", b"ab"]),
        (VariableWidth(64), [b"", b""]),
        (FixedWidth(1), np.ones(13, np.bool_)),
        (FixedWidth(1), np.zeros(13, np.bool_)),
        (FixedWidth(64), np.full(9, 5, "<u8")),
        (FixedWidth(24), np.full((9, 3), 5, np.uint8)),
    ],
)
def test_constant_values_of_every_shape(shape, items):
    assert BlockSummary(filled(Sample(shape, len(items), items))).is_constant
    if isinstance(items, list):
        assert not BlockSummary(filled(Sample(shape, len(items) + 1, [*items, b"x"]))).is_constant
        assert not BlockSummary(filled(Sample(shape, 2, [b"ab", b"ba"]))).is_constant
    else:
        changed = items.copy()
        changed[-1] = ~changed[-1]
        assert not BlockSummary(filled(Sample(shape, len(items), changed))).is_constant


def test_values_that_are_no_integers_have_no_groups():
    for shape in (FixedWidth(1), FixedWidth(128), VariableWidth(32), FixedSizeList(FixedWidth(32), 2)):
        summary = BlockSummary(filled(make_sample(shape, "last short chunk", 10)))
        assert summary.integers is None
        assert summary.group_bits is None
        assert summary.num_runs is None


@given(st.sampled_from(["u1", "u2", "u4", "u8"]), st.integers(0, 300), st.floats(0, 1), st.integers(0, 9))
def test_nulls_take_the_value_before_them(dtype, count, share, bit_offset):
    rng = np.random.default_rng(count)
    values = rng.integers(1, 200, count).astype(f"<{dtype}")
    is_null = rng.random(count) < share
    bits = np.packbits(np.concatenate([rng.random(bit_offset) < 0.5, ~is_null]), bitorder="little")
    block = replace(block_of(np.where(is_null, 0, values)), present=Bitmap(bits, bit_offset, count))
    summary = BlockSummary(block)
    assert summary.is_null.tolist() == is_null.tolist()
    assert summary.num_nulls == is_null.sum()
    known = values[~is_null].tolist()
    if not 0 < len(known) < count:
        assert summary.forward_filled is block
        return
    expected, last = [], known[0]
    for value, null in zip(values.tolist(), is_null.tolist(), strict=True):
        last = last if null else value
        expected.append(last)
    assert summary.forward_filled.values.view(f"<{dtype}").tolist() == expected
    assert summary.forward_filled.present is None


def test_without_nulls_nothing_is_copied():
    block = block_of(np.arange(9, dtype="<u4"))
    summary = BlockSummary(block)
    assert (summary.is_null, summary.num_nulls) == (None, 0)
    assert summary.forward_filled is block
    text = BlockSummary(replace(filled(Sample(VariableWidth(32), 2, [b"a", b""])), present=Bitmap(np.uint8([1]), 0, 2)))
    assert text.num_nulls == 1
    assert text.forward_filled is text.block


def test_parts_keep_their_nulls():
    present = Bitmap(np.packbits([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], bitorder="little"), 1, 9)
    part = replace(block_of(np.arange(9, dtype="<u2")), present=present).part(2, 7)
    assert part.present.unpacked().tolist() == [True, False, False, True, False]
