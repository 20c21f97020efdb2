"""Positions to validity and offsets: the numpy twin, the same rows told by levels, refusals."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import slots as twin

from lance_arrow import kernels
from lance_arrow.errors import InternalError, LanceError
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.spi.slots import SlotLayer, SlotStructure
from lance_arrow.testing.slot_levels import levels_of

BOTH = pytest.mark.parametrize("module", [kernels, twin], ids=["native", "twin"])


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@st.composite
def positions(draw: st.DrawFn, domain: int) -> np.ndarray:
    """Ascending slots of a domain: few, most or all of them."""
    kind = draw(st.sampled_from(["none", "all", "some"]))
    if kind != "some":
        return np.arange(domain if kind == "all" else 0, dtype=np.int64)
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    return np.flatnonzero(chance.random(domain) < chance.choice([0.02, 0.5, 0.97])).astype(np.int64)


@st.composite
def structures(draw: st.DrawFn) -> tuple[SlotStructure, list[bool]]:
    """A selection of rows of nested layers whose nulls hold nothing, and which layers are lists; inner-most first.

    What lies inside something null is null itself, as writers have it.
    """
    domain = draw(st.integers(0, 200))
    num_rows = domain
    nulls = np.zeros(domain, bool)
    layers: list[SlotLayer] = []
    kinds = draw(st.lists(st.sampled_from(["item", "list", "tuple"]), max_size=4))
    for kind in [*kinds, "item"]:
        own = np.zeros(domain, bool)
        own[draw(positions(domain))] = True
        nulls = nulls | own if draw(st.booleans()) else nulls
        lists_nulls = draw(st.booleans())
        listed = np.flatnonzero(nulls if lists_nulls else ~nulls).astype(np.int64)
        if kind == "list":
            holds = np.zeros(domain, bool)
            holds[draw(positions(domain))] = True
            holders = np.flatnonzero(holds & ~nulls).astype(np.int64)
            counts = np.array([1 + (7 * slot) % 3 for slot in holders.tolist()], np.int64)
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            layers.append(SlotLayer(domain, lists_nulls, listed, holders, starts))
            domain = int(starts[-1])
            nulls = np.zeros(domain, bool)
        elif kind == "tuple":
            dimension = draw(st.integers(1, 3))
            layers.append(SlotLayer(domain, lists_nulls, listed, dimension=dimension))
            domain *= dimension
            nulls = np.repeat(nulls, dimension)
        else:
            layers.append(SlotLayer(domain, lists_nulls, listed))
    edges = sorted(draw(st.sets(st.integers(0, num_rows), max_size=8)))
    edges = edges[: len(edges) // 2 * 2]
    rows = draw(st.sampled_from([RowRanges.one(0, num_rows), RowRanges(i64(*edges[::2]), i64(*edges[1::2]))]))
    layers.reverse()
    return SlotStructure.select(tuple(layers), rows), [kind == "list" for kind in ["item", *reversed(kinds)]]


def unravel(unravelled, counts, is_list, before=0, offset_type=np.int64, without_bitmap=()):
    """Slots, nulls, validity bits and offsets per layer; or the type of the refusal."""
    slots_ = np.full(len(counts), before, np.int64)
    nulls = np.full(len(counts), 3, np.int64)
    validity = [
        None if n in without_bitmap else np.full((before + count + 7) // 8 + 1, 0xA5, np.uint8)
        for n, count in enumerate(counts)
    ]
    offsets = [
        np.full(before + count + 1, -7, offset_type) if lists else None
        for count, lists in zip(counts, is_list, strict=True)
    ]
    try:
        unravelled(validity, offsets, slots_, nulls)
    except LanceError as error:
        return type(error)
    return [
        (int(slots_[n]), int(nulls[n]), _bits(validity[n]), None if offsets[n] is None else offsets[n].tolist())
        for n in range(len(counts))
    ]


def _bits(bitmap):
    return None if bitmap is None else bitmap.tolist()


@given(structures(), st.integers(0, 70), st.sampled_from([np.int32, np.int64]), st.sets(st.integers(0, 4)))
def test_twins_agree(structure, before, offset_type, without_bitmap) -> None:
    selected, is_list = structure
    native, of_twin = (
        unravel(
            lambda *out, module=module: module.unravel_slots(selected.parts(), *out),
            selected.counts,
            is_list,
            before,
            offset_type,
            without_bitmap,
        )
        for module in (kernels, twin)
    )
    assert native == of_twin
    for part in selected.parts():
        count = int((part[1] - part[0]).sum())
        flags = [np.full(count, 9, np.uint16) for _ in range(2)]
        kernels.null_flags(part, flags[0])
        twin.null_flags(part, flags[1])
        assert flags[0].tolist() == flags[1].tolist()


@given(structures())
def test_positions_and_levels_tell_the_same(structure) -> None:
    selected, is_list = structure
    told = levels_of(selected)
    dimensions = i64(*(layer.dimension for layer in selected.layers))
    kinds = np.array(told.layers, np.uint8)
    arguments = (told.rep, told.def_, told.num_entries, kinds, dimensions)
    added = np.full(len(kinds), -1, np.int64)
    kernels.measure_layers(*arguments, added)
    assert added.tolist() == list(selected.counts)
    by_levels = unravel(lambda *out: kernels.unravel(*arguments, *out), selected.counts, is_list)
    by_slots = unravel(lambda *out: kernels.unravel_slots(selected.parts(), *out), selected.counts, is_list)
    for n, (of_levels, of_slots) in enumerate(zip(by_levels, by_slots, strict=True)):
        count = selected.counts[n]
        bits = [np.unpackbits(np.array(one[2], np.uint8), bitorder="little")[:count] for one in (of_levels, of_slots)]
        assert (of_levels[:2], of_levels[3]) == (of_slots[:2], of_slots[3])
        assert bits[0].tolist() == bits[1].tolist()


def layer(starts, stops, listed, lists_nulls=True, list_slots=None, item_starts=None):
    return (i64(*starts), i64(*stops), i64(*listed), lists_nulls, list_slots, item_starts)


LISTS = layer([0], [4], [1], True, i64(0, 3), i64(0, 2, 3))
ITEMS = layer([0], [3], [])


@BOTH
def test_worked_example(module) -> None:
    # [1, 2], null, [], [3]
    got = unravel(lambda *out: module.unravel_slots([ITEMS, LISTS], *out), (3, 4), (False, True))
    assert [(count, nulls) for count, nulls, _, _ in got] == [(3, 3), (4, 4)]
    assert got[1][2][0] & 0b1111 == 0b1101
    assert got[1][3] == [0, 2, 2, 2, 3]


@BOTH
@pytest.mark.parametrize(
    ("layers", "counts"),
    [
        ([layer([2], [1], [])], (0,)),
        ([layer([0, 1], [2, 3], [])], (4,)),
        ([layer([-1], [2], [])], (3,)),
        ([layer([0, 5], [1], [])], (1,)),
        ([layer([0], [9], [])], (0,)),
        ([ITEMS, layer([0], [4], [], True, i64(0), i64(0))], (3, 4)),
        ([ITEMS, layer([0], [40], [], True, i64(), i64(0))], (3, 3)),
        ([ITEMS, layer([0], [2], [], True, i64(0, 1), i64(0, 2**31, 2**31 + 1))], (3, 2)),
        ([ITEMS, ITEMS], (3, 3)),
        ([], ()),
    ],
)
def test_contradicting_arguments_are_refused(module, layers, counts) -> None:
    def call(*out):
        module.unravel_slots(layers, *out)

    assert unravel(call, counts, [n == 1 for n in range(len(counts))], offset_type=np.int32) is InternalError


@BOTH
def test_nulls_without_a_bitmap_are_refused(module) -> None:
    def call(*out):
        module.unravel_slots([layer([0], [4], [2])], *out)

    assert unravel(call, (4,), (False,), without_bitmap=(0,)) is InternalError


@BOTH
def test_flags_without_room_are_refused(module) -> None:
    with pytest.raises(InternalError):
        module.null_flags(layer([0], [4], [2]), np.zeros(3, np.uint16))


def test_positions_out_of_order_stay_inside_the_memory_given() -> None:
    """Whoever hands in what no loader let through is refused or gets other values, never other memory."""
    chance = np.random.default_rng(5)
    for _ in range(300):
        runs = np.sort(chance.integers(0, 60, 4))
        wild = [chance.integers(-5, 80, chance.integers(0, 12)).astype(np.int64) for _ in range(2)]
        starts = np.sort(chance.integers(0, 9, len(wild[1]) + 1)).astype(np.int64)
        run_starts, run_stops = runs[::2].copy(), runs[1::2].copy()
        one = (run_starts, run_stops, wild[0], bool(chance.integers(2)), wild[1], starts)
        count = int((runs[1::2] - runs[::2]).sum())
        guarded = np.full(count + 1 + 32, -7, np.int64)
        bits = np.full((count + 7) // 8 + 32, 0xA5, np.uint8)
        counts = np.zeros(2, np.int64)
        with contextlib.suppress(InternalError):
            kernels.unravel_slots(
                [ITEMS, one], [None, bits[16:-16]], [None, guarded[16:-16]], counts, np.zeros(2, np.int64)
            )
        assert (guarded[:16] == -7).all()
        assert (guarded[-16:] == -7).all()
        assert (bits[:16] == 0xA5).all()
        assert (bits[-16:] == 0xA5).all()
