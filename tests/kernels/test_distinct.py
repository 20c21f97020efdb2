"""Distinct values: laws against the twin, and when the search for them is given up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import distinct as twin

from lance_arrow import kernels
from lance_arrow.testing.twins import assert_twins_agree, damaged


@st.composite
def fixed_blocks(draw):
    width = draw(st.sampled_from([1, 3, 8, 16]))
    kinds = draw(st.lists(st.binary(min_size=width, max_size=width), min_size=1, max_size=6))
    values = draw(st.lists(st.sampled_from(kinds), max_size=40))
    nulls = draw(st.lists(st.integers(0, 1), min_size=len(values), max_size=len(values)) | st.none())
    return (
        np.frombuffer(b"".join(values), np.uint8),
        width,
        None if nulls is None else np.array(nulls, np.uint16),
        np.zeros(len(values), np.uint32),
        np.zeros(draw(st.integers(0, 6)), np.int64),
    )


@given(fixed_blocks())
def test_fixed_values_are_numbered_as_the_twin_does(arguments):
    result = assert_twins_agree(kernels.index_fixed, twin.index_fixed, *_comparable(arguments))
    assert result[0] == "returned"


@st.composite
def variable_blocks(draw):
    kinds = draw(st.lists(st.binary(max_size=20), min_size=1, max_size=6))
    values = draw(st.lists(st.sampled_from(kinds), max_size=40))
    bits = draw(st.sampled_from([32, 64]))
    base = draw(st.sampled_from([0, 5]))
    offsets = np.cumsum([base, *map(len, values)]).astype(f"<i{bits // 8}").view(np.uint8)
    data = np.frombuffer(b"".join(values), np.uint8)
    if draw(st.booleans()):
        offsets, data = draw(damaged([offsets, data], max_damages=1))
    nulls = draw(st.lists(st.integers(0, 1), min_size=len(values), max_size=len(values)) | st.none())
    return (
        offsets,
        bits,
        data,
        None if nulls is None else np.array(nulls, np.uint16),
        np.zeros(len(values), np.uint32),
        np.zeros(draw(st.integers(0, 6)), np.int64),
    )


@given(variable_blocks())
def test_variable_values_are_numbered_as_the_twin_does(arguments):
    assert_twins_agree(kernels.index_variable, twin.index_variable, *_comparable(arguments))


def _comparable(arguments):
    """Room for every item: outputs are unspecified where there is none."""
    *rest, firsts = arguments
    return *rest, firsts if len(firsts) == 0 else np.zeros(50, np.int64)


def test_too_many_items_are_told():
    values = np.arange(10, dtype=np.uint64).view(np.uint8)
    indices = np.empty(10, np.uint32)
    assert kernels.index_fixed(values, 8, None, indices, np.empty(9, np.int64)) is None
    assert kernels.index_fixed(values, 8, None, indices, np.empty(10, np.int64)) == 10
    assert indices.tolist() == list(range(10))


def test_values_that_hardly_repeat_are_given_up_early():
    generator = np.random.default_rng(1)
    unique = generator.permutation(40_000).astype(np.uint64).view(np.uint8)
    often = generator.integers(0, 9_000, 40_000).astype(np.uint64).view(np.uint8)
    firsts, indices = np.full(20_000, -1, np.int64), np.empty(40_000, np.uint32)
    assert kernels.index_fixed(unique, 8, None, indices, firsts) is None
    assert firsts[10_000] == -1
    num_items = kernels.index_fixed(often, 8, None, indices, firsts)
    assert num_items == len(np.unique(often.view(np.uint64)))
    np.testing.assert_array_equal(often.view(np.uint64)[firsts[:num_items]][indices], often.view(np.uint64))
