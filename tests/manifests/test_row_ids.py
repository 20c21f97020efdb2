"""Row ids: every segment form answers as the plain list of its values does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import CorruptManifestError
from lance_arrow.manifests.row_ids import parse_row_ids, parse_row_versions
from lance_arrow.proto.rowids_pb2 import RowDatasetVersionSequence, RowIdSequence, U64Segment

WIDTHS = {"u16_array": ("<u2", 1 << 16), "u32_array": ("<u4", 1 << 32), "u64_array": ("<u8", 1 << 64)}
Form = tuple[dict[str, Any], list[int]]


def encoded(values: list[int], kind: str, base: int) -> dict[str, Any]:
    if kind == "u64_array":
        return {kind: {"values": np.array(values, "<u8").tobytes()}}
    return {kind: {"base": base, "offsets": np.array([v - base for v in values], WIDTHS[kind][0]).tobytes()}}


@st.composite
def forms(draw: st.DrawFn) -> Form:
    """A segment and its values."""
    start = draw(st.sampled_from([0, 5, 1 << 40, (1 << 64) - 200]))
    span = draw(st.integers(0, 70))
    kept = draw(st.lists(st.booleans(), min_size=span, max_size=span))
    values = [start + i for i, keep in enumerate(kept) if keep]
    kind = draw(st.sampled_from(sorted(WIDTHS)))
    form = draw(st.sampled_from(["range", "range_with_holes", "range_with_bitmap", "sorted_array", "array"]))
    bounds = {"start": start, "end": start + span}
    if form == "range":
        return {form: bounds}, list(range(start, start + span))
    if form == "range_with_holes":
        holes = [start + i for i, keep in enumerate(kept) if not keep]
        return {form: {**bounds, "holes": encoded(holes, kind, start)}}, values
    if form == "range_with_bitmap":
        bits = np.packbits(np.array(kept, bool), bitorder="little").tobytes()
        return {form: {**bounds, "bitmap": bits}}, values
    if form == "array":
        values = draw(st.permutations(values))
    return {form: encoded(values, kind, start)}, values


def message_of(segments: list[Form]) -> bytes:
    message = RowIdSequence()
    for segment, _ in segments:
        message.segments.add(**segment)
    return message.SerializeToString()


@given(st.lists(forms(), max_size=4), st.randoms(use_true_random=False))
def test_answers_as_a_list_does(segments: list[Form], random: Any) -> None:
    values = [value for _, held in segments for value in held]
    ids = parse_row_ids(message_of(segments), len(values))
    assert len(ids) == len(values)
    places = [random.randrange(len(values)) for _ in range(20)] if values else []
    assert ids.at(np.array(places, np.int64)).tolist() == [values[place] for place in places]
    assert ids.at(np.arange(len(values))).tolist() == values
    near = {value + step for value in values for step in (-1, 0, 1)} | {0, (1 << 64) - 1, 3}
    wanted = sorted(value for value in near if 0 <= value < 1 << 64)
    last = {value: place for place, value in enumerate(values)}
    found = ids.find(np.array(wanted, np.uint64))
    assert found.tolist() == [last.get(value, -1) for value in wanted]


@given(st.binary(max_size=60), st.integers(0, 10))
def test_garbage_is_refused_or_counted(data: bytes, num_rows: int) -> None:
    try:
        ids = parse_row_ids(data, num_rows)
    except CorruptManifestError:
        return
    assert len(ids) == num_rows


@pytest.mark.parametrize(
    "segment",
    [
        {"range": {"start": 3, "end": 2}},
        {"range": {"start": 0, "end": 1 << 60}},
        {"range_with_holes": {"start": 0, "end": 5, "holes": encoded([7], "u16_array", 0)}},
        {"range_with_holes": {"start": 0, "end": 5, "holes": encoded([3, 2], "u16_array", 0)}},
        {"range_with_holes": {"start": 0, "end": 5, "holes": encoded([2, 2], "u64_array", 0)}},
        {"range_with_holes": {"start": 0, "end": 1 << 63}},
        {"range_with_bitmap": {"start": 0, "end": 9, "bitmap": b"\xff"}},
        {"range_with_bitmap": {"start": 0, "end": 7, "bitmap": b"\xff"}},
        {"range_with_bitmap": {"start": 0, "end": 1 << 62, "bitmap": b"\xff"}},
        {"sorted_array": encoded([2, 1], "u32_array", 0)},
        {"array": {"u64_array": {"values": b"1234567"}}},
        {"array": {"u16_array": {"base": (1 << 64) - 1, "offsets": b"\x01\x00"}}},
        {},
    ],
)
def test_contradictions_are_refused(segment: dict[str, Any]) -> None:
    with pytest.raises(CorruptManifestError):
        parse_row_ids(message_of([(segment, [])]), 1)


def test_row_versions_are_runs() -> None:
    message = RowDatasetVersionSequence()
    message.runs.add(span={"range": {"start": 100, "end": 103}}, version=1)
    message.runs.add(span={"range_with_bitmap": {"start": 0, "end": 8, "bitmap": b"\x05"}}, version=7)
    versions = parse_row_versions(message.SerializeToString(), 5)
    assert versions.at(np.array([4, 0, 2, 3])).tolist() == [7, 1, 1, 7]
    with pytest.raises(CorruptManifestError, match="5 row versions for 6"):
        parse_row_versions(message.SerializeToString(), 6)


def test_ids_of_many_segments_take_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand segments of one id each: places are not compared with each segment."""
    message = RowIdSequence()
    for start in range(0, 200_000, 2):
        message.segments.add().range.CopyFrom(U64Segment.Range(start=start, end=start + 1))
    ids = parse_row_ids(message.SerializeToString(), 100_000)
    compared = []
    nonzero = np.nonzero
    monkeypatch.setattr(np, "nonzero", lambda *args: compared.append(args) or nonzero(*args))
    offsets = np.random.default_rng(18).permutation(100_000)
    assert (ids.at(offsets) == 2 * offsets.astype(np.uint64)).all()
    assert len(compared) <= 1
    assert ids.at(np.empty(0, np.int64)).shape == (0,)
