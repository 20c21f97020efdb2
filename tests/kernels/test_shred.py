"""Shredding kernels against their numpy twins, and the specification's worked example."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_kernels import shred as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.testing.twins import assert_twins_agree, damaged


def random_bits(data, num_slots):
    """A bitmap, all sorts of density, and the bit it begins at."""
    offset = data.draw(st.integers(0, 9))
    share = data.draw(st.sampled_from([0.0, 0.1, 0.9]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    return np.packbits(rng.random(offset + num_slots) >= share, bitorder="little"), offset


def random_nodes(data, longest):
    """Nodes that fit each other, outer-most first, with the largest numbering."""
    kinds = data.draw(st.lists(st.sampled_from(["item", "list", "large", "tuple"]), max_size=4)) + ["item"]
    num_slots, nodes = data.draw(st.integers(0, longest)), []
    for kind in kinds:
        bits, bit_offset = random_bits(data, num_slots) if data.draw(st.booleans()) else (None, 0)
        offsets, dimension, first, num_items = None, 0, 0, num_slots
        if kind == "tuple":
            dimension, first = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 4))
            num_items = first + num_slots * dimension + data.draw(st.integers(0, 2))
        elif kind != "item":
            rng = np.random.default_rng(data.draw(st.integers(0, 99)))
            lengths = rng.integers(0, data.draw(st.sampled_from([1, 3, 6])), num_slots)
            offsets = np.append(0, np.cumsum(lengths)) + data.draw(st.integers(0, 2))
            offsets = offsets.astype(np.int64 if kind == "large" else np.int32)
            num_items = int(offsets[-1]) + data.draw(st.integers(0, 2))
        nodes.append((num_slots, bits, bit_offset, offsets, dimension, first))
        num_slots = num_items
    numbers = np.zeros((len(nodes), 2), np.uint16)
    level = 0
    for number in range(len(nodes) - 1, -1, -1):
        if nodes[number][1] is not None:
            numbers[number, 0] = level = level + 1
        if nodes[number][3] is not None:
            numbers[number, 1] = level = level + 1
    return nodes, numbers


def flattened(function):
    """The function with the arrays of its nodes as arguments of their own, so that copies are made of them."""

    def call(shapes, num_rows, numbers, out_rep, *rest):
        *out, seen = rest[:4]
        arrays = list(rest[4:])
        nodes = [
            (slots, arrays.pop(0) if has_bits else None, bit, arrays.pop(0) if has_offsets else None, dimension, first)
            for slots, has_bits, bit, has_offsets, dimension, first in shapes
        ]
        num_entries, num_runs = function(nodes, num_rows, numbers.reshape(-1, 2), out_rep, *out, seen.reshape(-1, 2))
        # What lies after the last entry or run is unspecified.
        for one, stop in zip((out_rep, *out), (num_entries, num_entries, num_runs, num_runs), strict=True):
            if one is not None:
                one[stop if stop <= len(one) else 0 :] = 0
        return num_entries, num_runs

    return call


def agree(nodes, numbers, num_rows, capacity, room):
    shapes = tuple((n[0], n[1] is not None, n[2], n[3] is not None, n[4], n[5]) for n in nodes)
    arrays = [array for node in nodes for array in (node[1], node[3]) if array is not None]
    rep = np.zeros(capacity, np.uint16) if any(node[3] is not None for node in nodes) else None
    out = (np.zeros(capacity, np.uint16), np.zeros(room, np.int64), np.zeros(room, np.int64))
    seen = np.zeros((len(nodes), 2), np.uint8)
    return assert_twins_agree(
        flattened(kernels.shred_levels),
        flattened(twin.shred_levels),
        shapes,
        num_rows,
        numbers.ravel(),
        rep,
        *out,
        seen.ravel(),
        *arrays,
    )


def most_entries(nodes, num_rows):
    total = num_rows
    for node, below in pairwise(nodes):
        total = total + below[0] if node[3] is not None else total * max(1, node[4])
    return total


@settings(max_examples=50)
@given(st.data())
def test_levels_agree_with_twin(data):
    nodes, numbers = random_nodes(data, 40)
    num_rows = data.draw(st.integers(0, nodes[0][0]))
    agree(nodes, numbers, num_rows, most_entries(nodes, num_rows), data.draw(st.sampled_from([0, 1, 500])))


@settings(max_examples=50)
@given(st.data())
def test_damaged_offsets_are_refused_as_by_twin(data):
    """Offsets that descend or leave their items; a single node of lists, so that both see the same one first."""
    lengths = np.array(data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=30)))
    offsets = np.append(0, np.cumsum(lengths)).astype(data.draw(st.sampled_from([np.int32, np.int64])))
    num_items = int(offsets[-1])
    (offsets,) = data.draw(damaged([offsets]))
    bits, bit_offset = random_bits(data, num_items)
    nodes = [(len(lengths), None, 0, offsets, 0, 0), (num_items, bits, bit_offset, None, 0, 0)]
    numbers = np.array([[0, 2], [1, 0]], np.uint16)
    result = agree(nodes, numbers, len(lengths), 2 * num_items * len(lengths) + 100, 500)
    if (np.diff(offsets.astype(object)) < 0).any() or offsets[0] < 0 or offsets[-1] > num_items:
        assert result[:2] == ("raised", InvalidArgumentError)


def bitmap(*valid):
    return np.packbits(np.array(valid, bool), bitorder="little")


def worked_example():
    return [
        (5, bitmap(1, 0, 1, 1, 1), 0, np.array([0, 3, 3, 3, 5, 6], np.int32), 0, 0),
        (6, bitmap(1, 1, 0, 1, 1, 1), 0, None, 0, 0),
        (6, bitmap(1, 1, 1, 0, 1, 1), 0, np.array([0, 2, 2, 2, 2, 4, 5], np.int32), 0, 0),
        (5, bitmap(1, 1, 0, 1, 1), 0, None, 0, 0),
    ]


def test_worked_example():
    numbers = np.array([[5, 6], [4, 0], [2, 3], [1, 0]], np.uint16)
    rep, def_ = np.zeros(20, np.uint16), np.zeros(20, np.uint16)
    runs, seen = np.zeros((2, 4), np.int64), np.zeros((4, 2), np.uint8)
    assert kernels.shred_levels(worked_example(), 5, numbers, rep, def_, runs[0], runs[1], seen) == (10, 1)
    assert rep[:10].tolist() == [2, 0, 1, 1, 2, 2, 2, 1, 0, 2]
    assert def_[:10].tolist() == [0, 0, 3, 4, 5, 6, 2, 1, 0, 0]
    assert runs[:, 0].tolist() == [0, 5]
    assert seen.tolist() == [[1, 1], [1, 0], [1, 1], [1, 0]]


def test_null_struct_around_a_list_drops_its_items():
    nodes = [
        (3, bitmap(1, 0, 1), 0, None, 0, 0),
        (3, None, 0, np.array([0, 2, 5, 6], np.int32), 0, 0),
        (6, None, 0, None, 0, 0),
    ]
    numbers = np.array([[2, 0], [0, 1], [0, 0]], np.uint16)
    rep, def_ = np.zeros(9, np.uint16), np.zeros(9, np.uint16)
    runs, seen = np.zeros((2, 4), np.int64), np.zeros((3, 2), np.uint8)
    assert kernels.shred_levels(nodes, 3, numbers, rep, def_, runs[0], runs[1], seen) == (4, 2)
    assert (rep[:4].tolist(), def_[:4].tolist()) == ([1, 0, 1, 1], [0, 0, 2, 0])
    assert runs[:, :2].tolist() == [[0, 5], [2, 6]]


def test_null_fixed_size_list_of_structs_owns_its_slots():
    nodes = [
        (2, bitmap(1, 0), 0, None, 3, 1),
        (7, None, 0, None, 0, 0),
        (7, bitmap(0, 1, 0, 1, 0, 1, 1), 0, None, 0, 0),
    ]
    numbers = np.array([[2, 0], [0, 0], [1, 0]], np.uint16)
    def_, runs, seen = np.zeros(6, np.uint16), np.zeros((2, 1), np.int64), np.zeros((3, 2), np.uint8)
    assert kernels.shred_levels(nodes, 2, numbers, None, def_, runs[0], runs[1], seen) == (6, 1)
    assert def_.tolist() == [0, 1, 0, 2, 2, 2]
    assert runs[:, 0].tolist() == [1, 7]


def test_empty_list_around_fixed_size_lists_of_structs_has_one_entry():
    offsets = np.array([0, 0, 1, 1], np.int32)
    nodes = [(3, None, 0, offsets, 0, 0), (1, None, 0, None, 2, 0), (2, None, 0, None, 0, 0)]
    numbers = np.array([[0, 1], [0, 0], [0, 0]], np.uint16)
    rep, def_ = np.zeros((2, 8), np.uint16)
    runs, seen = np.zeros((2, 1), np.int64), np.zeros((3, 2), np.uint8)
    assert kernels.shred_levels(nodes, 3, numbers, rep, def_, runs[0], runs[1], seen) == (4, 1)
    assert (rep[:4].tolist(), def_[:4].tolist()) == ([1, 1, 1, 1], [1, 0, 0, 1])
    assert runs[:, 0].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("nodes", "error", "message"),
    [
        ([(9, bitmap(*[1] * 8), 0, None, 0, 0)], InvalidArgumentError, "bitmap is shorter"),
        ([(3, None, 0, None, 0, 0), (2, None, 0, None, 0, 0)], InvalidArgumentError, "fewer items"),
        ([(1, None, 0, None, 3, 0), (2, None, 0, None, 0, 0)], InvalidArgumentError, "fewer items"),
        (
            [(2, None, 0, np.zeros(2, np.int32), 0, 0), (2, None, 0, None, 0, 0)],
            InvalidArgumentError,
            "one offset more",
        ),
        ([(1, None, 0, np.zeros(2, np.int32), 0, 0)], InternalError, "inner-most"),
        ([], InternalError, "1 to 64"),
        ([(0, None, 0, None, 0, 0)], InternalError, "more rows"),
    ],
)
def test_contradictions_are_refused(nodes, error, message):
    numbers = np.array([[2 * len(nodes), 2 * len(nodes) + 1]] * len(nodes), np.uint16).reshape(-1, 2)
    result = agree(nodes, numbers, 1, 10, 4)
    assert result[:2] == ("raised", error)
    assert message in result[2]


LEVELS = st.lists(st.integers(0, 3), max_size=150)


@settings(max_examples=50)
@given(LEVELS, st.integers(0, 3), st.sampled_from([0, 1, 2, 3, 4, 8, 12]), st.integers(0, 1))
def test_clear_null_values_agrees_with_twin(levels, max_visible, width, missing):
    def_ = np.array(levels, np.uint16)
    values = np.full(max(0, int((def_ <= max_visible).sum()) * width - missing), 7, np.uint8)
    assert_twins_agree(kernels.clear_null_values, twin.clear_null_values, def_, max_visible, width, values)


@settings(max_examples=50)
@given(LEVELS, st.integers(0, 3), st.integers(1, 20), st.booleans(), st.integers(0, 1))
def test_fill_null_bits_agrees_with_twin(levels, max_visible, width, value, missing):
    def_ = np.array(levels, np.uint16)
    bits = np.full(max(0, (int((def_ <= max_visible).sum()) * width + 7) // 8 - missing), 0xA5, np.uint8)
    assert_twins_agree(kernels.fill_null_bits, twin.fill_null_bits, def_, max_visible, width, bits, value)


TRAITS = st.lists(st.tuples(*[st.booleans()] * 5), min_size=1, max_size=6)


@settings(max_examples=2 * settings.default.max_examples)
@given(TRAITS, st.integers(0, 99))
def test_levels_are_numbered_and_ended_as_by_twin(traits, seed):
    traits[-1] = (False, *traits[-1][1:])
    nodes = np.array([one[:3] for one in traits], np.uint8)
    _, numbers = assert_twins_agree(
        lambda nodes, out: (kernels.number_levels(nodes.reshape(-1, 3), out.reshape(-1, 2)), out.tolist()),
        lambda nodes, out: (twin.number_levels(nodes.reshape(-1, 3), out.reshape(-1, 2)), out.tolist()),
        nodes.ravel(),
        np.zeros(2 * len(nodes), np.uint16),
    )[1]
    levels = np.array(numbers, np.uint16).reshape(-1, 2)
    seen = (np.array([one[3:] for one in traits], np.uint8) & (levels > 0)).astype(np.uint8)
    occurring = np.append(0, levels[seen > 0]).astype(np.uint16)
    def_ = np.random.default_rng(seed).choice(occurring, 40)

    def call(function):
        def ended(nodes, levels, seen, def_, layers):
            return function(nodes.reshape(-1, 3), levels.reshape(-1, 2), seen.reshape(-1, 2), def_, layers)

        return ended

    layers = np.zeros(len(nodes), np.uint8)
    assert_twins_agree(
        call(kernels.end_levels), call(twin.end_levels), nodes.ravel(), levels.ravel(), seen.ravel(), def_, layers
    )


def test_levels_of_no_node_or_of_other_nodes_are_refused():
    nodes, levels, seen = np.zeros((2, 3), np.uint8), np.zeros((2, 2), np.uint16), np.zeros((2, 2), np.uint8)
    with pytest.raises(InternalError, match="three traits"):
        kernels.number_levels(nodes[:0], levels[:0])
    with pytest.raises(InternalError, match="different lengths"):
        kernels.number_levels(nodes, levels[:1])
    with pytest.raises(InternalError, match="different lengths"):
        kernels.end_levels(nodes, levels, seen[:1], np.zeros(1, np.uint16), np.zeros(2, np.uint8))
    with pytest.raises(InternalError, match="different lengths"):
        kernels.end_levels(nodes, levels, seen, np.zeros(1, np.uint16), np.zeros(1, np.uint8))
    levels[0, 0] = 9
    with pytest.raises(InternalError, match="not those of the nodes"):
        kernels.end_levels(nodes, levels, seen, np.zeros(1, np.uint16), np.zeros(2, np.uint8))


def without_place(function):
    """Which value is named when several are wrong differs: the kernel looks at ranges of them."""

    def call(*arguments):
        try:
            return function(*arguments)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(error.message) from error

    return call


@settings(max_examples=50)
@given(st.data())
def test_strings_agree_with_twin(data):
    lengths = np.array(data.draw(st.lists(st.integers(0, 5), max_size=90)), np.int64)
    offsets = (np.append(0, np.cumsum(lengths)) + 3).astype(data.draw(st.sampled_from([np.int32, np.int64])))
    source = np.random.default_rng(0).integers(0, 256, int(offsets[-1]) + 2, dtype=np.uint8)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lengths)), max_size=6)))
    cuts = np.array(cuts[: len(cuts) // 2 * 2], np.int64).reshape(-1, 2)
    runs = cuts[:, 0].copy(), cuts[:, 1].copy()
    num_values = int((runs[1] - runs[0]).sum())
    nulls = data.draw(st.lists(st.integers(0, 1), min_size=num_values, max_size=num_values))
    places = data.draw(st.lists(st.integers(0, num_values), max_size=5))
    levels = np.insert(np.array(nulls, np.uint16), places, 2).astype(np.uint16)
    def_ = levels if data.draw(st.booleans()) else None
    (offsets,) = data.draw(damaged([offsets], 1))
    out = np.zeros(num_values + 1, offsets.dtype)
    base = data.draw(st.integers(0, 3))
    result = assert_twins_agree(
        without_place(kernels.shred_offsets), without_place(twin.shred_offsets),
        offsets, len(source), *runs, def_, 1, out, base,
    )  # fmt: skip
    if result[0] == "returned":
        room = np.zeros(result[1][0], np.uint8)
        assert_twins_agree(kernels.shred_bytes, twin.shred_bytes, offsets, source, *runs, def_, 1, room)


def test_more_bytes_than_offsets_count():
    offsets = np.array([0, 2**31 - 1], np.int32)
    runs, out = (np.zeros(1, np.int64), np.ones(1, np.int64)), np.zeros(2, np.int32)
    with pytest.raises(InvalidArgumentError, match="more bytes than their offsets"):
        kernels.shred_offsets(offsets, 2**31 - 1, *runs, None, 0, out, 1)
    assert kernels.shred_offsets(offsets, 2**31 - 1, *runs, None, 0, out, 0) == (2**31 - 1, 0)
