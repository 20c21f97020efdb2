"""The index of all row ids finds every row that has an id, whatever the segments are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.manifests.row_id_index import AddressIndex, RowIdIndex, _without_overlaps
from lance_arrow.manifests.row_ids import parse_row_ids
from lance_arrow.proto.rowids_pb2 import RowIdSequence


@st.composite
def sequences(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    """Row ids of a fragment, as they are stored and as a list."""
    segments, values = [], []
    for _ in range(draw(st.integers(0, 3))):
        start, span = draw(st.integers(0, 60)), draw(st.integers(0, 20))
        kept = draw(st.lists(st.booleans(), min_size=span, max_size=span))
        some = [start + i for i, keep in enumerate(kept) if keep]
        bounds = {"start": start, "end": start + span}
        form = draw(st.sampled_from(["range", "range_with_holes", "range_with_bitmap", "array"]))
        if form == "range":
            some, content = list(range(start, start + span)), bounds
        elif form == "range_with_holes":
            holes = np.array([one for one in range(start, start + span) if one not in some], "<u8").tobytes()
            content = {**bounds, "holes": {"u64_array": {"values": holes}}}
        elif form == "range_with_bitmap":
            content = {**bounds, "bitmap": np.packbits(np.array(kept, bool), bitorder="little").tobytes()}
        else:
            some = draw(st.permutations(some))
            content = {"u64_array": {"values": np.array(some, "<u8").tobytes()}}
        segments.append({form: content})
        values += some
    return RowIdSequence(segments=segments).SerializeToString(), values


@given(st.lists(sequences(), max_size=6), st.lists(st.integers(0, 100), max_size=30))
def test_every_row_with_an_id_is_told(found: list[tuple[bytes, list[int]]], wanted: list[int]) -> None:
    asked: list[int] = []

    def row_ids(number: int):
        asked.append(number)
        return parse_row_ids(found[number][0], len(found[number][1]))

    fragments = [SimpleNamespace(row_ids=data, physical_rows=len(values)) for data, values in found]
    index = RowIdIndex(fragments, row_ids)
    ids = np.unique(np.array(wanted, np.uint64))
    told: set[tuple[int, int, int]] = set()
    for numbers, offsets in index.candidates(ids):
        is_here = numbers >= 0
        columns = (ids[is_here].tolist(), numbers[is_here].tolist(), offsets[is_here].tolist())
        told.update(zip(*columns, strict=True))
    expected = {
        (value, number, offset)
        for number, (_, values) in enumerate(found)
        for offset, value in enumerate(values)
        if value in wanted
    }
    assert told >= {(i, n, max(o for i2, n2, o in expected if (i2, n2) == (i, n))) for i, n, _ in expected}
    assert told <= expected


def test_single_ranges_are_not_parsed_twice() -> None:
    data = [RowIdSequence(segments=[{"range": {"start": s, "end": s + 10}}]).SerializeToString() for s in (20, 0, 10)]
    fragments = [SimpleNamespace(row_ids=one, physical_rows=10) for one in data]

    def row_ids(number: int):
        raise AssertionError(f"fragment {number} is a range")

    ids = np.array([0, 9, 15, 29, 30], np.uint64)
    ((numbers, offsets),) = RowIdIndex(fragments, row_ids).candidates(ids)
    assert numbers.tolist() == [1, 1, 2, 0, -1]
    assert offsets.tolist() == [0, 9, 5, 9, -1]


def test_a_range_of_the_wrong_length_is_left_to_the_parser() -> None:
    data = RowIdSequence(segments=[{"range": {"start": 0, "end": 10}}]).SerializeToString()
    asked = []

    def row_ids(number: int):
        asked.append(number)
        return parse_row_ids(data, 10)

    RowIdIndex([SimpleNamespace(row_ids=data, physical_rows=9)], row_ids)
    RowIdIndex([SimpleNamespace(row_ids=b"\xff", physical_rows=9)], row_ids)
    assert asked == [0, 0]


def test_addresses_name_fragments_by_their_ids() -> None:
    index = AddressIndex(np.array([7, 3, 7]))
    ids = np.array([(3 << 32) + 5, (7 << 32) + 1, 9 << 32], np.uint64)
    first, second = index.candidates(ids)
    assert first[0].tolist() == [1, 0, -1]
    assert second[0].tolist() == [-1, 2, -1]
    assert first[1].tolist() == [5, 1, -1]
    assert list(AddressIndex(np.empty(0, np.int64)).candidates(ids)) == []


def test_ranges_that_all_overlap_are_layered_once_each() -> None:
    """Many fragments that claim the same ids: work grows with them, not with their square."""
    asked = 0

    class Counted(int):
        def __le__(self, other: int) -> bool:
            nonlocal asked
            asked += 1
            return int(self) <= int(other)

    ranges = [(0, Counted(10), number, 0) for number in range(4000)]
    assert len(_without_overlaps(ranges)) == 4000
    assert asked <= 4000 * 2
    apart = [(10 * number, Counted(10 * number + 10), number, 0) for number in range(4000)]
    assert len(_without_overlaps(apart)) == 1
