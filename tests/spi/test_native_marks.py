"""What codecs say of numbers without decoding them: used by filters, equal to decoding, and found where it lies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from strange_capsules import LEFT, Runs, capsule

import lance_arrow
from lance_arrow import engine, spi
from lance_arrow.errors import CorruptPageError, PluginContractError
from lance_arrow.kernels import native_codecs
from lance_arrow.testing.marks_suite import mark_differences
from lance_arrow_codecs.flat import BoundFlat
from lance_arrow_codecs.inline_bitpacking import BoundInlineBitpacking
from lance_arrow_codecs.rle import BoundRleChunks
from lance_arrow_codecs.variable import BoundVariableChunks

_Select = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8)
)
_Summarise = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_uint64),
    ctypes.POINTER(ctypes.c_uint64),
)


class ChunkMarks(ctypes.Structure):
    _fields_ = (
        ("struct_bytes", ctypes.c_int64),
        ("self", ctypes.c_void_p),
        ("select_where", ctypes.c_void_p),
        ("summarise", ctypes.c_void_p),
    )


class Stranger:
    """A capsule whose functions are written here; it keeps them alive."""

    def __init__(self, select: Any = None, summarise: Any = None, struct_bytes: int = 32) -> None:
        self._made = _Select(select) if select else None, _Summarise(summarise) if summarise else None
        addresses = [ctypes.cast(made, ctypes.c_void_p).value if made else None for made in self._made]
        self._struct = ChunkMarks(struct_bytes, None, *addresses)
        self.capsule = capsule(self._struct, "lance_arrow.chunk_marks/1")


def _all_marked(_self: Any, _chunk: Any, runs: int, _ranges: Any, marks: Any) -> None:
    found = Runs.from_address(runs)
    for value in range(sum(found.stops[run] - found.starts[run] for run in range(found.num_runs))):
        marks[value] = 1


def _left(*_: Any) -> int:
    return ctypes.addressof(LEFT)


def _bounded(_self: Any, _chunk: Any, _kind: int, least: Any, greatest: Any) -> None:
    least[0], greatest[0] = 5, 9


CHUNK = (np.arange(1, 101, dtype=np.int32).repeat(2)[::2].tobytes(), np.full(100, 3, np.uint8).tobytes())


def _runs() -> BoundRleChunks:
    return BoundRleChunks(spi.FixedWidth(32))


def test_marks_of_runs_are_those_of_their_numbers() -> None:
    assert not list(mark_differences(_runs(), [CHUNK], [300]))


@pytest.mark.parametrize(
    ("stranger", "lie"),
    [
        (Stranger(_all_marked), "other marks"),
        (Stranger(_left, _bounded), "outside the bounds"),
    ],
    ids=["select_where", "summarise"],
)
def test_a_codec_that_lies_is_found(monkeypatch: pytest.MonkeyPatch, stranger: Stranger, lie: str) -> None:
    monkeypatch.setattr(BoundRleChunks, "native_marks", lambda _self: stranger.capsule)
    found = list(mark_differences(_runs(), [CHUNK], [300]))
    assert found
    assert any(lie in one for one in found)


def test_what_is_left_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Stranger(_left)
    monkeypatch.setattr(BoundRleChunks, "native_marks", lambda _self: stranger.capsule)
    assert not list(mark_differences(_runs(), [CHUNK], [300]))


def test_marks_that_accept_what_decoding_rejects_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = (CHUNK[0], bytes(100))
    assert not list(mark_differences(_runs(), [damaged], [300], may_refuse=True))
    stranger = Stranger(_all_marked)
    monkeypatch.setattr(BoundRleChunks, "native_marks", lambda _self: stranger.capsule)
    assert "accepted bytes that decode rejects" in "".join(mark_differences(_runs(), [damaged], [300], may_refuse=True))


def test_a_struct_of_another_header_is_refused() -> None:
    make = native_codecs.called_chunks
    short, own, longer = (Stranger(_left, struct_bytes=size) for size in (16, 32, 64))
    with pytest.raises(PluginContractError, match="16 bytes, expected 32 or more"):
        make(32, 2, lambda *_: None, None, short.capsule)
    with pytest.raises(PluginContractError, match="values of 128 bits marks them"):
        make(128, 2, lambda *_: None, None, own.capsule)
    assert make(32, 2, lambda *_: None, None, longer.capsule) is not None


def test_a_struct_that_ends_before_a_function_does_not_have_it() -> None:
    chunk = np.frombuffer(b"\x0c\0\0\0\x0d\0\0\0\x0e\0\0\0ab", np.uint8)
    asked = [chunk], 2, np.array([0]), np.array([2]), [(b"b", None)]
    assert engine.mark_texts(BoundVariableChunks(spi.VariableWidth(32)).native_marks(), *asked) == b"\0\1"
    assert engine.mark_texts(Stranger(_left, struct_bytes=32).capsule, *asked) is None


def test_bounds_of_packed_chunks() -> None:
    capsule = BoundInlineBitpacking(spi.FixedWidth(32)).native_marks()
    chunk = np.concatenate([np.array([10], np.uint32).view(np.uint8), np.full(1280, 0xFF, np.uint8)])
    nothing = np.zeros(0, np.uint64)
    places = [np.array([0]), np.array([1024])]
    for kind in (0, 1):
        found = engine.mark_numbers(capsule, [chunk], 1024, *places, kind, 32, nothing, nothing, False)
        assert found == (None, (0, 1023))
    # In the full width, the first bit is the sign.
    full = np.concatenate([np.array([32], np.uint32).view(np.uint8), np.full(4096, 0xFF, np.uint8)])
    assert engine.mark_numbers(capsule, [full], 1024, *places, 0, 32, nothing, nothing, False) == (None, None)
    unsigned = engine.mark_numbers(capsule, [full], 1024, *places, 1, 32, nothing, nothing, False)
    assert unsigned == (None, (0, 2**32 - 1))


def test_runs_that_contradict_themselves_are_refused() -> None:
    capsule = _runs().native_marks()
    nothing = np.zeros(0, np.uint64)
    for values, lengths, count in [(b"1234567", b"\x03", 3), (b"1234", b"\x03", 5), (b"1234", b"\0", 0)]:
        arrays = [np.frombuffer(values, np.uint8), np.frombuffer(lengths, np.uint8)]
        with pytest.raises(CorruptPageError):
            engine.mark_numbers(
                capsule, arrays, count, np.array([0]), np.array([count]), 0, 32, nothing, nothing, False
            )


NUM_ROWS = 50_000
_random = np.random.default_rng(5)
_COLUMNS: dict[str, tuple[Any, str]] = {
    "runs": (np.repeat(_random.integers(-50, 50, NUM_ROWS // 20), 20).astype(np.int32), "rle"),
    "float_runs": (np.repeat(_random.normal(size=NUM_ROWS // 20), 20), "rle"),
    "packed": (_random.integers(0, 1000, NUM_ROWS).astype(np.int64), "inline_bitpacking"),
    "small": (_random.integers(0, 100, NUM_ROWS).astype(np.uint8), "inline_bitpacking"),
    "plain": (_random.integers(-(2**31), 2**31, NUM_ROWS).astype(np.int32), "flat"),
    "floats": (np.where(_random.random(NUM_ROWS) < 0.1, np.nan, _random.normal(size=NUM_ROWS)), "flat"),
}
_CONDITIONS: dict[str, Callable[[pc.Expression, Any], pc.Expression]] = {
    "below": lambda column, value: column < value,
    "equal": lambda column, value: column == value,
    "none": lambda column, _value: column > 2**40,
    "all": lambda column, _value: column > -(2**40),
    "several": lambda column, value: (column < value) | (column == value + 3),
}


@pytest.fixture(scope="module", params=[False, True], ids=["valid", "nulls"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    mask = _random.random(NUM_ROWS) < 0.2 if request.param else None
    rows = pa.table({name: pa.array(values, mask=mask) for name, (values, _) in _COLUMNS.items()})
    path = tmp_path_factory.mktemp("marked") / "numbers.lance"
    options = {name: {"codec": codec} for name, (_, codec) in _COLUMNS.items()}
    with lance_arrow.LanceWriter(path, rows.schema, rows_per_zone=None, column_options=options) as writer:
        writer.write(rows)
    return path, rows


@pytest.mark.cover(1)
@pytest.mark.parametrize("has_marks", [True, False], ids=["marked", "decoded"])
@pytest.mark.parametrize("condition", _CONDITIONS)
@pytest.mark.parametrize("name", _COLUMNS)
def test_filters_count_the_same_with_and_without_marks(
    monkeypatch: pytest.MonkeyPatch, written: tuple[Path, pa.Table], name: str, condition: str, *, has_marks: bool
) -> None:
    path, rows = written
    if not has_marks:
        for codec in (BoundRleChunks, BoundInlineBitpacking):
            monkeypatch.delattr(codec, "native_marks")
    valid = rows[name].drop_null()
    value = np.sort(valid.to_numpy()[:999])[400].item()
    wanted = _CONDITIONS[condition](pc.field(name), value)
    with lance_arrow.LanceFile(path, runtime=lance_arrow.Runtime()) as file:
        expected = rows.filter(wanted)
        assert file.count_rows(filter=wanted) == expected.num_rows
        other = "packed" if name != "packed" else "plain"
        assert file.read(columns=[other], filter=wanted).equals(expected.select([other]))


def test_filters_ask_a_strangers_marks(monkeypatch: pytest.MonkeyPatch, written: tuple[Path, pa.Table]) -> None:
    path, rows = written
    asked: list[int] = []

    def noted(*parts: Any) -> None:
        asked.append(1)
        _all_marked(*parts)

    stranger = Stranger(noted)
    monkeypatch.setattr(BoundRleChunks, "native_marks", lambda _self: stranger.capsule)
    with lance_arrow.LanceFile(path, runtime=lance_arrow.Runtime()) as file:
        # It lies, so that its answer can be told from that of the numbers.
        assert file.count_rows(filter=pc.field("runs") == 7) == NUM_ROWS - rows["runs"].null_count
    assert asked


def test_plain_chunks_need_no_marks() -> None:
    assert not hasattr(BoundFlat, "native_marks")
