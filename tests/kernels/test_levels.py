"""Levels to slots: the worked example, nested values shredded and unravelled again, the numpy twin, refusals."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_kernels import levels as twin

from lance_arrow import kernels
from lance_arrow.errors import CorruptPageError, InternalError, LanceError

BOTH = pytest.mark.parametrize("module", [kernels, twin], ids=["native", "twin"])
ITEM, LIST, NULLABLE, NULLABLE_LIST, EMPTYABLE_LIST, FULL_LIST = range(1, 7)
LIST_KINDS = (LIST, NULLABLE_LIST, EMPTYABLE_LIST, FULL_LIST)


def u16(*values: int) -> np.ndarray:
    return np.array(values, np.uint16)


def u8(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


def bits_of(array: np.ndarray, start: int, stop: int) -> list[bool]:
    return np.unpackbits(array, bitorder="little")[start:stop].astype(bool).tolist()


def unravel(module, rep, def_, num_entries, layers, before=None, offset_type=np.int64, spare=0, dimensions=None):
    """Slots, nulls, validity bits and offsets per layer; or the type of the refusal."""
    before = [0] * len(layers) if before is None else before
    added = np.full(len(layers), -1, np.int64)
    try:
        module.measure_layers(rep, def_, num_entries, layers, dimensions, added)
        room = [first + int(more) + spare for first, more in zip(before, added, strict=True)]
        validity = [np.full((n + 7) // 8 + 1, 0xA5, np.uint8) for n in room]
        offsets = [
            np.full(n + 1, -7, offset_type) if kind in LIST_KINDS else None
            for n, kind in zip(room, layers, strict=True)
        ]
        slots, nulls = np.array(before, np.int64), np.full(len(layers), 3, np.int64)
        module.unravel(rep, def_, num_entries, layers, dimensions, validity, offsets, slots, nulls)
    except LanceError as error:
        return type(error)
    assert (slots - before).tolist() == added.tolist()
    return [
        (int(slots[n]), int(nulls[n]) - 3, validity[n].tolist(), None if offsets[n] is None else offsets[n].tolist())
        for n in range(len(layers))
    ]


REP = u16(2, 0, 1, 1, 2, 2, 2, 1, 0, 2)
DEF = u16(0, 0, 3, 4, 5, 6, 2, 1, 0, 0)
LAYERS = u8(NULLABLE, FULL_LIST, NULLABLE, FULL_LIST)


@BOTH
def test_worked_example(module):
    # [{v:[1,2]}, {v:[]}, null], null, [], [{v:null}, {v:[null,3]}], [{v:[4]}]
    got = unravel(module, REP, DEF, 10, LAYERS)
    assert [(slots, nulls) for slots, nulls, _, _ in got] == [(5, 1), (6, 2), (6, 1), (5, 1)]
    validity = [bits_of(u8(*bits), 0, slots) for slots, _, bits, _ in got]
    assert validity[0] == [True, True, False, True, True]
    assert validity[1] == [True, True, False, False, True, True]
    assert validity[2] == [True, True, False, True, True, True]
    assert validity[3] == [True, False, True, True, True]
    assert got[1][3] == [0, 2, 2, 2, 2, 4, 5]
    assert got[3][3] == [0, 3, 3, 3, 5, 6]
    assert module.count_rows_and_values(REP, DEF, 2, 1) == (5, 5)


@BOTH
def test_pages_append_after_each_other(module):
    whole = unravel(module, REP, DEF, 10, LAYERS)
    slots, nulls = np.zeros(4, np.int64), np.zeros(4, np.int64)
    validity = [np.zeros(1, np.uint8) for _ in range(4)]
    offsets = [None, np.zeros(7, np.int32), None, np.zeros(6, np.int32)]
    module.unravel(REP[:6], DEF[:6], 6, LAYERS, None, validity, offsets, slots, nulls)
    assert slots.tolist() == [2, 3, 3, 3]
    module.unravel(REP[6:], DEF[6:], 4, LAYERS, None, validity, offsets, slots, nulls)
    for layer, (total, null_count, bits, places) in enumerate(whole):
        assert (slots[layer], nulls[layer]) == (total, null_count)
        assert bits_of(validity[layer], 0, total) == bits_of(u8(*bits), 0, total)
        assert places is None or offsets[layer].tolist() == places


class Shredder:
    """Random nested values written down twice: as levels, and as the slots every layer should get."""

    def __init__(self, layers: list[int], chance: random.Random, dimensions: list[int] | None = None) -> None:
        self.layers, self.chance = layers, chance
        self.dimensions = dimensions or [0] * len(layers)
        self.rep: list[int] = []
        self.def_: list[int] = []
        self.validity: list[list[bool]] = [[] for _ in layers]
        self.list_starts: list[list[int]] = [[] for _ in layers]
        self.null_level, self.empty_level, level = [], [], 0
        for kind in layers:
            self.null_level.append(level + 1 if kind in (NULLABLE, NULLABLE_LIST, FULL_LIST) else 0)
            level += self.null_level[-1] > 0
            self.empty_level.append(level + 1 if kind in (EMPTYABLE_LIST, FULL_LIST) else 0)
            level += self.empty_level[-1] > 0

    def row(self) -> None:
        self.grow(len(self.layers) - 1, sum(kind in LIST_KINDS for kind in self.layers))

    def grow(self, layer: int, rep: int) -> None:
        """One slot of `layer`, and what is inside; `rep` is what its first entry gets."""
        if layer < 0:
            self.entry(rep, 0)
            return
        is_list = self.layers[layer] in LIST_KINDS
        if is_list:
            self.list_starts[layer].append(len(self.validity[layer - 1]))
        null = self.null_level[layer] > 0 and self.chance.random() < 0.2
        self.validity[layer].append(not null)
        if null:
            # Each slot that is left inside has an entry of its own.
            for _ in range(1 if is_list else self.placeholders(layer, 1)):
                self.entry(rep, self.null_level[layer])
        elif is_list:
            lowest = 0 if self.empty_level[layer] else 1
            length = self.chance.choice([lowest, 1, 2, 3, 9] if len(self.rep) < 150 else [lowest, 1])
            if length == 0:
                self.entry(rep, self.empty_level[layer])
            own = sum(kind in LIST_KINDS for kind in self.layers[: layer + 1])
            for item in range(length):
                self.grow(layer - 1, rep if item == 0 else own - 1)
        else:
            for _ in range(max(1, self.dimensions[layer])):
                self.grow(layer - 1, rep)

    def placeholders(self, layer: int, slots: int) -> int:
        """Slots inside of null items: everything down to the next list, which is empty; return how many of it."""
        slots *= max(1, self.dimensions[layer])
        layer -= 1
        if layer < 0:
            return slots
        self.validity[layer] += [self.null_level[layer] == 0] * slots
        if self.layers[layer] in LIST_KINDS:
            self.list_starts[layer] += [len(self.validity[layer - 1])] * slots
            return slots
        return self.placeholders(layer, slots)

    def entry(self, rep: int, def_: int) -> None:
        self.rep.append(rep)
        self.def_.append(def_)

    def streams(self):
        has_lists = any(kind in LIST_KINDS for kind in self.layers)
        has_def = any(self.null_level) or any(self.empty_level)
        return u16(*self.rep) if has_lists else None, u16(*self.def_) if has_def else None, len(self.rep)


@st.composite
def shredded(draw, max_rows=120, with_dimensions=False):
    inner = draw(st.sampled_from([ITEM, NULLABLE]))
    layers = [inner, *draw(st.lists(st.integers(1, 6), max_size=5))]
    dimensions = [0] * len(layers)
    if with_dimensions:
        # Inside a list no fixed-size list is written; around one there may be.
        last_list = max((n for n, kind in enumerate(layers) if kind in LIST_KINDS), default=0)
        for n in range(last_list + 1, len(layers)):
            dimensions[n] = draw(st.sampled_from([0, 1, 2, 3]))
    shredder = Shredder(layers, random.Random(draw(st.integers(0, 1 << 30))), dimensions)
    for _ in range(draw(st.integers(0, max_rows))):
        if len(shredder.rep) < 400:
            shredder.row()
    return shredder


@given(shredded() | shredded(max_rows=30, with_dimensions=True), st.sampled_from([np.int32, np.int64]), st.data())
def test_shredded_values_come_back(shredder, offset_type, data):
    layers = u8(*shredder.layers)
    dimensions = np.array(shredder.dimensions)
    rep, def_, num_entries = shredder.streams()
    before = [data.draw(st.integers(0, 130)) for _ in layers]
    got = unravel(kernels, rep, def_, num_entries, layers, before, offset_type, 2, dimensions)
    for n, (slots, nulls, bits, offsets) in enumerate(got):
        assert slots == before[n] + len(shredder.validity[n])
        assert nulls == shredder.validity[n].count(False)
        untouched = [True, False, True, False, False, True, False, True] * len(bits)
        assert bits_of(u8(*bits), 0, before[n]) == untouched[: before[n]]
        assert bits_of(u8(*bits), before[n], slots) == shredder.validity[n]
        assert bits_of(u8(*bits), slots, len(bits) * 8) == untouched[slots : len(bits) * 8]
        if offsets is not None:
            starts = [before[n - 1] + start for start in shredder.list_starts[n]]
            end = before[n - 1] + len(shredder.validity[n - 1])
            assert offsets == [-7] * before[n] + [*starts, end] + [-7] * 2
    lists = int(np.isin(layers, LIST_KINDS).sum())
    if lists:
        visible = sum(kind in (NULLABLE,) for kind in shredder.layers[: _first_list(shredder.layers)])
        rows = len(shredder.validity[-1]) * int(np.prod(np.maximum(dimensions, 1)))
        rows_and_values = (rows, len(shredder.validity[0]))
        assert kernels.count_rows_and_values(rep, def_, lists, visible) == rows_and_values


def _first_list(layers: list[int]) -> int:
    return next(n for n, kind in enumerate(layers) if kind in LIST_KINDS)


@given(shredded(max_rows=30) | shredded(max_rows=12, with_dimensions=True), st.data())
def test_damaged_levels_agree_with_the_twin(shredder, data):
    rep, def_, num_entries = shredder.streams()
    for levels in (rep, def_):
        if levels is not None and num_entries and data.draw(st.booleans()):
            levels[data.draw(st.integers(0, num_entries - 1))] = data.draw(st.integers(0, 7))
    arguments = (rep, def_, num_entries, u8(*shredder.layers))
    dimensions = np.array(shredder.dimensions)
    assert unravel(kernels, *arguments, dimensions=dimensions) == unravel(twin, *arguments, dimensions=dimensions)


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=5),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_arbitrary_short_levels_agree_with_the_twin(layers, entries, dimensions):
    rep = u16(*(rep for rep, _ in entries)) if any(kind in LIST_KINDS for kind in layers) else None
    arguments = (rep, u16(*(def_ for _, def_ in entries)), len(entries), u8(*layers))
    # Also fixed-size lists inside lists, which no page has.
    sizes = np.array([0 if n == 0 or kind in LIST_KINDS else dimensions[n] for n, kind in enumerate(layers)])
    assert unravel(kernels, *arguments, dimensions=sizes) == unravel(twin, *arguments, dimensions=sizes)


@BOTH
@pytest.mark.parametrize("lead", [0, 62, 63, 64], ids=lambda lead: f"after {lead}")
@pytest.mark.parametrize(
    ("layers", "rep", "def_"),
    [
        ((NULLABLE, FULL_LIST), (1, 2), (0, 0)),
        ((NULLABLE, FULL_LIST), (1, 1), (0, 4)),
        ((NULLABLE, FULL_LIST), (1, 0), (2, 0)),
        ((NULLABLE, FULL_LIST), (1, 0), (3, 0)),
        ((NULLABLE, FULL_LIST), (1, 0), (0, 2)),
        ((NULLABLE, FULL_LIST, NULLABLE), (1, 0), (4, 0)),
        ((ITEM, NULLABLE_LIST, NULLABLE, LIST), (2, 0), (1, 0)),
        ((ITEM, NULLABLE_LIST, NULLABLE, LIST), (2, 0), (0, 1)),
        ((ITEM, LIST, NULLABLE_LIST), (2, 1), (1, 0)),
        ((ITEM, LIST, NULLABLE_LIST), (2, 1), (0, 1)),
    ],
)
def test_impossible_entries_are_refused(module, lead, layers, rep, def_):
    num_lists = sum(kind in LIST_KINDS for kind in layers)
    rep, def_ = u16(*[num_lists] * lead, *rep), u16(*[0] * lead, *def_)
    assert unravel(module, rep, def_, len(rep), u8(*layers)) is CorruptPageError


TUPLES = u8(NULLABLE, NULLABLE, NULLABLE)


@BOTH
def test_fixed_size_lists_of_structs(module):
    # [{1}, {null}], null, [null, {2}]: the struct is layer 1, the list of two layer 2.
    got = unravel(module, None, u16(0, 1, 3, 3, 2, 0), 6, TUPLES, dimensions=np.array([0, 0, 2]))
    assert [(slots, nulls) for slots, nulls, _, _ in got] == [(6, 4), (6, 3), (3, 1)]
    assert bits_of(u8(*got[1][2]), 0, 6) == [True, True, False, False, False, True]
    assert bits_of(u8(*got[2][2]), 0, 3) == [True, False, True]


@BOTH
@pytest.mark.parametrize("lead", [0, 62, 64], ids=lambda lead: f"after {lead}")
@pytest.mark.parametrize(
    ("layers", "dimensions", "rep", "def_"),
    [
        (TUPLES, (0, 0, 2), None, (0, 3)),
        (TUPLES, (0, 0, 2), None, (3, 1)),
        (TUPLES, (0, 0, 2), None, (0,)),
        (TUPLES, (0, 0, 3), None, (0, 0)),
        (u8(ITEM, NULLABLE, FULL_LIST), (0, 2, 0), (1, 1), (0, 0)),
        (u8(ITEM, NULLABLE, FULL_LIST), (0, 2, 0), (1, 1), (0, 2)),
        (u8(ITEM, ITEM, LIST, NULLABLE_LIST), (0, 2, 0, 0), (2, 2), (0, 1)),
    ],
)
def test_impossible_fixed_size_lists_are_refused(module, lead, layers, dimensions, rep, def_):
    size = max(dimensions)
    lead -= lead % size
    num_lists = sum(kind in LIST_KINDS for kind in layers)
    def_ = u16(*[0] * lead, *def_)
    if rep is not None:
        rep = u16(*[num_lists if n % size == 0 else 0 for n in range(lead)], *rep)
    assert unravel(module, rep, def_, len(def_), layers, dimensions=np.array(dimensions)) is CorruptPageError


@BOTH
def test_first_entry_must_start_a_row(module):
    assert unravel(module, u16(0, 1), None, 2, u8(ITEM, LIST)) is CorruptPageError
    assert unravel(module, u16(1, 2), None, 2, u8(ITEM, LIST, LIST)) is CorruptPageError


@BOTH
def test_offsets_never_leave_32_bits(module):
    slots, nulls = np.array([2**31 - 2, 0], np.int64), np.zeros(2, np.int64)
    offsets = [None, np.zeros(3, np.int32)]
    arguments = (u8(ITEM, LIST), None, [None, None], offsets, slots, nulls)
    module.unravel(u16(1), None, 1, *arguments)
    assert offsets[1].tolist() == [2**31 - 2, 2**31 - 1, 0]
    with pytest.raises(InternalError):
        module.unravel(u16(1), None, 1, *arguments)


@BOTH
def test_callers_mistakes_are_internal(module):
    def run(rep=REP, def_=DEF, n=10, layers=LAYERS, dimensions=None, validity=2, offsets=7, slots=0):
        outs = [np.zeros(validity, np.uint8) for _ in layers], [np.zeros(offsets, np.int64) for _ in layers]
        module.unravel(
            rep,
            def_,
            n,
            layers,
            dimensions,
            *outs,
            np.full(len(layers), slots, np.int64),
            np.zeros(len(layers), np.int64),
        )

    run()
    run(dimensions=np.zeros(4, np.int64))
    wrong = [
        {"n": 9}, {"n": -1}, {"rep": None}, {"rep": REP[:9]}, {"def_": DEF[:9]},
        {"layers": u8()}, {"layers": u8(1, 7, 3, 6)}, {"layers": u8(2, 6, 3, 6)}, {"layers": u8(*[1] * 65)},
        {"layers": u8(1)}, {"dimensions": np.array([0, 2, 0, 0])}, {"dimensions": np.array([2, 0, 0, 0])},
        {"dimensions": np.array([0, 0, -1, 0])}, {"dimensions": np.zeros(3, np.int64)},
        {"validity": 0}, {"offsets": 6}, {"slots": -1}, {"slots": 12},
    ]  # fmt: skip
    for change in wrong:
        with pytest.raises(InternalError):
            run(**change)
    with pytest.raises(InternalError, match="nulls"):
        module.unravel(
            None, u16(1), 1, u8(NULLABLE), None, [None], [None], np.zeros(1, np.int64), np.zeros(1, np.int64)
        )
    with pytest.raises(InternalError):
        module.measure_layers(REP, DEF, 10, LAYERS, None, np.zeros(3, np.int64))


@given(st.lists(st.integers(0, 4), max_size=200), st.integers(1, 4), st.integers(0, 40))
def test_validity_agrees_with_the_twin(levels, null_level, bit_offset):
    results = []
    for module in (kernels, twin):
        bits = np.full((bit_offset + len(levels) + 7) // 8, 0x5A, np.uint8)
        results.append((module.validity_from_levels(u16(*levels), null_level, bits, bit_offset), bits.tolist()))
    assert results[0] == results[1]


@BOTH
def test_validity_checks_its_room(module):
    for null_level, offset in ((0, 0), (65536, 0), (1, -1), (1, 6), (1, 17)):
        with pytest.raises(InternalError):
            module.validity_from_levels(u16(*[0] * 11), null_level, np.zeros(2, np.uint8), offset)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=150), st.integers(0, 3), st.integers(0, 3))
def test_checks_and_counts_agree_with_the_twin(entries, max_rep, max_def):
    rep, def_ = u16(*(one for one, _ in entries)), u16(*(two for _, two in entries))
    for name in ("check_levels", "count_rows_and_values"):
        for levels in ((rep, def_), (rep, None), (None, def_), (None, None), (rep, def_[1:])):
            results = []
            for module in (kernels, twin):
                try:
                    results.append(getattr(module, name)(*levels, max_rep, max_def))
                except LanceError as error:
                    results.append((type(error), error.detail if isinstance(error, CorruptPageError) else None))
            assert results[0] == results[1]
