"""A codec's native side made by strangers: C tables built here with ctypes, called by the engine and by the checks."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from same import assert_same
from strange_capsules import LEFT, Chunk, Runs, Values, capsule
from witness import Witness

import lance_arrow
from lance_arrow import engine, spi
from lance_arrow.errors import CorruptPageError, PluginContractError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages.value_rows import value_bits
from lance_arrow_codecs import native
from lance_arrow_codecs.fixed_size_list import BoundFixedSizeList
from lance_arrow_codecs.flat import BoundFlat

LIMIT = 1 << 20


class ChunkCodec(ctypes.Structure):
    _fields_ = (
        ("bits", ctypes.c_int64),
        ("num_buffers", ctypes.c_int64),
        ("plain_bytes", ctypes.c_int64),
        ("self", ctypes.c_void_p),
        ("select", ctypes.c_void_p),
    )


class FrameCodec(ctypes.Structure):
    _fields_ = (("self", ctypes.c_void_p), ("plain_bytes", ctypes.c_void_p), ("decompress", ctypes.c_void_p))


SELECT = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Chunk), ctypes.POINTER(Runs), ctypes.POINTER(Values)
)
PLAIN_BYTES = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
DECOMPRESS = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
)
REFUSAL = ctypes.create_string_buffer(b"a stranger refuses")


class Stranger:
    """A chunk codec of flat values, whose C function is Python behind ctypes; counts its calls."""

    def __init__(self, bits: int, refusal: ctypes.Array[ctypes.c_char] | None = None) -> None:
        self.calls = 0
        self.refusal = refusal
        self.width = bits // 8
        self._function = SELECT(self.select)
        self._table = ChunkCodec(bits, 1, 0, None, ctypes.cast(self._function, ctypes.c_void_p))
        self.capsule = capsule(self._table, "lance_arrow.chunk_codec/1")

    def select(self, _self: int, chunk: object, runs: object, out: object) -> int | None:
        self.calls += 1
        if self.refusal is not None:
            return ctypes.addressof(self.refusal)
        to = out.contents.values
        for run in range(runs.contents.num_runs):
            start, stop = runs.contents.starts[run], runs.contents.stops[run]
            size = (stop - start) * self.width
            ctypes.memmove(to, chunk.contents.buffers[0] + start * self.width, size)
            to += size
        return None


class StrangeFrames:
    """A buffer scheme whose frames are their content, each byte taken from 255."""

    def __init__(self, declared: int | None = None) -> None:
        self.calls = 0
        self._functions = (
            PLAIN_BYTES(lambda _self, _frame, size: size if declared is None else declared),
            DECOMPRESS(self.decompress),
        )
        self._table = FrameCodec(None, *(ctypes.cast(one, ctypes.c_void_p) for one in self._functions))
        self.capsule = capsule(self._table, "lance_arrow.frame_codec/1")

    def decompress(self, _self: int, frame: int, size: int, out: int, out_bytes: int) -> int | None:
        self.calls += 1
        if size != out_bytes:
            return ctypes.addressof(REFUSAL)
        plain = bytes(255 - byte for byte in ctypes.string_at(frame, size))
        ctypes.memmove(out, plain, size)
        return None


def test_a_scheme_of_strangers_is_called_once_for_each_chunk_and_may_lie_below_another() -> None:
    values, frames = np.arange(50, dtype=np.int64), StrangeFrames()
    below = native_codecs.compressed(native.flat_codec(64), frames.capsule, LIMIT)
    runs = (np.array([3, 40]), np.array([5, 41]))
    found, _ = engine.select_values(below, [~values.view(np.uint8)], 50, *runs, LIMIT)
    assert np.frombuffer(found, np.int64).tolist() == [3, 4, 40]
    assert frames.calls == 1
    twice = native_codecs.compressed(below, native.lz4_frames(), LIMIT)
    block = pa.Codec("lz4_raw").compress((~values.view(np.uint8)).tobytes(), asbytes=True)
    frame = np.frombuffer((8 * 50).to_bytes(4, "little") + block, np.uint8)
    found, _ = engine.select_values(twice, [frame], 50, *runs, LIMIT)
    assert np.frombuffer(found, np.int64).tolist() == [3, 4, 40]


@pytest.mark.parametrize(("declared", "says"), [(-1, "leaves"), (-2, "declares"), (401, "refuses"), (1 << 40, "limit")])
def test_frames_that_declare_what_they_do_not_hold_are_refused(declared: int, says: str) -> None:
    frames = StrangeFrames(declared)
    codec = native_codecs.compressed(native.flat_codec(64), frames.capsule, LIMIT)
    with pytest.raises(CorruptPageError, match=says):
        engine.select_values(codec, [np.zeros(400, np.uint8)], 50, np.array([0]), np.array([1]), LIMIT)


def test_what_has_no_c_side_compresses_for_python() -> None:
    assert native_codecs.compressed(None, native.lz4_frames(), LIMIT) is None
    assert native_codecs.compressed(native.flat_codec(8), None, LIMIT) is None


def test_a_stranger_is_called_and_its_refusal_raised() -> None:
    values = np.arange(100, dtype=np.int64)
    runs = (np.array([3, 50]), np.array([5, 51]))
    stranger = Stranger(64)
    found, ends = engine.select_values(stranger.capsule, [values.view(np.uint8)], 100, *runs, LIMIT)
    assert np.frombuffer(found, np.int64).tolist() == [3, 4, 50]
    assert ends is None
    with pytest.raises(CorruptPageError, match="a stranger refuses"):
        engine.select_values(Stranger(64, REFUSAL).capsule, [values.view(np.uint8)], 100, *runs, LIMIT)


@pytest.mark.parametrize("refusal", [None, LEFT, REFUSAL], ids=["reads", "leaves", "refuses"])
def test_takes_call_a_stranger_and_raise_its_refusal(
    witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: ctypes.Array[ctypes.c_char] | None
) -> None:
    table = pa.table({"x": np.random.default_rng(1).integers(-(1 << 60), 1 << 60, 5000)})
    path = witness.write(table, tmp_path / "flat.lance", "2.1")
    stranger = Stranger(64, refusal)
    monkeypatch.setattr(BoundFlat, "native", lambda _: stranger.capsule)
    with lance_arrow.LanceFile(path, runtime=lance_arrow.Runtime()) as file:
        if refusal is REFUSAL:
            with pytest.raises(CorruptPageError, match="a stranger refuses") as caught:
                file.take([4, 4999])
            assert (caught.value.column, caught.value.page, caught.value.path) == ("x", 0, str(path))
        else:
            assert_same(table.take([4, 4999]), file.take([4, 4999]))
    assert stranger.calls > 0


def test_a_capsule_of_another_name_is_an_error() -> None:
    other = native_codecs.zipped(64)
    with pytest.raises(ValueError, match="PyCapsule"):
        engine.select_values(other, [np.zeros(8, np.uint8)], 1, np.array([0]), np.array([1]), LIMIT)


def test_the_header_is_where_authors_are_told() -> None:
    text = (spi.native.include_dir() / "lance_arrow_native.h").read_text()
    assert "lance_arrow.chunk_codec/1" in text
    assert "lance_arrow.frame_codec/1" in text


def test_a_c_side_of_other_values_than_its_codec_is_refused() -> None:
    """The engine makes room for what the shape says."""

    def decode(*_: object) -> None:
        raise AssertionError("not asked")

    for bits, own in ((32, native_codecs.zipped(0)), (0, native_codecs.zipped(32))):
        with pytest.raises(PluginContractError, match="bits"):
            native_codecs.called(bits, decode, own)
    for bits, num_buffers in ((64, 1), (32, 2)):
        with pytest.raises(PluginContractError, match="buffers"):
            native_codecs.called_chunks(bits, num_buffers, decode, native.flat_codec(32))


def test_codes_of_fixed_width_are_left_to_decode() -> None:
    table = np.zeros(8 + 256 * 8 + 256, np.uint8)
    table[3], table[4:8] = 0, np.frombuffer(b"TSSF", np.uint8)
    assert native.symbols_codec(native.variable_codec(32), table) is not None
    assert native.symbols_codec(native.flat_codec(64), table) is None


@pytest.mark.parametrize(("dimension", "bits"), [(3, 96), (0, None), (1 << 30, 1 << 35), (1 << 36, None)])
def test_values_of_no_or_too_many_bits_are_not_for_the_engine(dimension: int, bits: int | None) -> None:
    assert value_bits(spi.FixedSizeList(spi.FixedWidth(32), dimension)) == bits


def test_fixed_size_lists_have_a_native_side() -> None:
    shape = spi.FixedSizeList(spi.FixedWidth(32), 3)
    lists = BoundFixedSizeList(shape, BoundFlat(spi.FixedWidth(32)), 3, 0)
    values = np.arange(12, dtype=np.uint32)
    capsule = spi.native.native_side(lists)
    found, _ = engine.select_values(capsule, [values.view(np.uint8)], 4, np.array([1]), np.array([2]), LIMIT)
    assert np.frombuffer(found, np.uint32).tolist() == [3, 4, 5]
