"""Zipped values that their compression left as they are: read straight to their place, and told from all others."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from same import assert_same, taken
from values import seeded
from witness import Witness

from lance_arrow import LanceFile, Limits, Runtime, Settings
from lance_arrow.errors import LanceError, ResourceLimitError
from lance_arrow_codecs.zstd import BoundZstd

VERSIONS = ("2.1", "2.2")
ROWS = 60
RNG = seeded("stored values")


def noise(size: int) -> bytes:
    return RNG.bytes(size)


def write(witness: Witness, values: list[bytes | None], place: Path, version: str) -> tuple[pa.Table, Path]:
    table = pa.table({"v": pa.array(values, pa.large_binary())})
    return table, witness.write(table, place, version)


def costs(file: LanceFile, rows: list[int]) -> tuple[int, int, int]:
    """Requests, bytes wanted and bytes read of a second take of rows."""
    file.take([0])
    before = file._source.snapshot()
    file.take(rows)
    stats = file._source.snapshot() - before
    return stats.requests, stats.bytes_wanted, stats.bytes_fetched


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("nulls", [False, True])
def test_noise_is_read_once_and_nothing_else(witness: Witness, tmp_path: Path, version: str, nulls: bool) -> None:
    values: list[bytes | None] = [noise(40_000 + 7 * n) for n in range(ROWS)]
    if nulls:
        values[5] = values[6] = values[59] = None
    table, path = write(witness, values, tmp_path / "f.lance", version)
    rows = [1, 2, 5, 6, 30, 59]
    stored = [len(values[row] or b"") for row in rows if values[row] is not None]
    with LanceFile(path) as file:
        for picked in ([4], rows, list(range(ROWS)), [30, 2, 2]):
            found = file.take(picked)
            found.validate(full=True)
            assert_same(taken(table, picked), found)
        requests, wanted, fetched = costs(file, rows)
    # A head of 26 bytes and more is read with each value, nulls by themselves.
    assert requests == len(rows)
    assert sum(stored) <= wanted <= sum(stored) + 40 * len(rows)
    assert fetched == wanted


SIZES = [1024, 4095, 4096, 65_791, 65_792, 65_793, 131_071, 131_072, 131_073, 200_000, 0, 1, 300]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_every_size_of_head(witness: Witness, tmp_path: Path, version: str, compression: str | None) -> None:
    """Heads change with the size, larger values are several blocks; uncompressed values have no head."""
    values: list[bytes | None] = [noise(size) for size in SIZES] + [b"words " * 9000, bytes(70_000)]
    options = {"lance-encoding:structural-encoding": "fullzip"}
    if compression is not None:
        options["lance-encoding:compression"] = compression
    field = pa.field("v", pa.large_binary(), metadata=options)
    table = pa.table([pa.array(values, pa.large_binary())], schema=pa.schema([field]))
    path = witness.write(table, tmp_path / "f.lance", version)
    with LanceFile(path) as file:
        for row in range(len(values)):
            assert_same(taken(table, [row]), file.take([row]))
        assert_same(taken(table, range(len(values))), file.take(range(len(values))))


@pytest.mark.parametrize("version", VERSIONS)
def test_values_that_compress_are_soon_no_longer_hoped_for(witness: Witness, tmp_path: Path, version: str) -> None:
    values: list[bytes | None] = [noise(30_000) + bytes(20_000 + n) for n in range(ROWS)]
    table, path = write(witness, values, tmp_path / "f.lance", version)
    with LanceFile(path) as file:
        rows = list(range(0, ROWS, 2))
        assert_same(taken(table, rows), file.take(rows))
        _, wanted, fetched = costs(file, rows)
        assert_same(taken(table, rows), file.take(rows))
    assert fetched <= wanted + (4 << 10) * len(rows), "only holes are read along"


@pytest.mark.parametrize("version", VERSIONS)
def test_some_compress_and_some_do_not(witness: Witness, tmp_path: Path, version: str) -> None:
    values = [noise(9000 + n) if n % 3 else b"same " * (2000 + n) for n in range(ROWS)]
    table, path = write(witness, [*values[:-1], None], tmp_path / "f.lance", version)
    with LanceFile(path) as file:
        for rows in (list(range(ROWS)), list(range(0, ROWS, 7)), [ROWS - 1], [0]):
            assert_same(taken(table, rows), file.take(rows))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_limit_holds_for_values_that_are_not_compressed(witness: Witness, tmp_path: Path, version: str) -> None:
    _, path = write(witness, [noise(50_000) for _ in range(9)], tmp_path / "f.lance", version)
    runtime = Runtime(Settings(limits=Limits(max_value_bytes=40_000)))
    with LanceFile(path, runtime=runtime) as file, pytest.raises(ResourceLimitError, match="max_value_bytes"):
        file.take([3])


@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_heads_are_refused_or_read_as_by_a_scan(witness: Witness, tmp_path: Path, version: str) -> None:
    values = [noise(40_000) for _ in range(8)]
    _, path = write(witness, values, tmp_path / "f.lance", version)
    whole = path.read_bytes()
    start = whole.index(values[3])
    refused = 0
    for place in range(start - 30, start):
        damaged = bytearray(whole)
        damaged[place] ^= 0x11
        path.write_bytes(damaged)
        answers: list[Any] = []
        for read in (lambda file: file.take([3]), lambda file: file.read(rows=(3, 4))):
            try:
                with LanceFile(path) as file:
                    answers.append(read(file).column("v").to_pylist())
            except LanceError as error:
                answers.append((type(error), error.column, error.page))
        assert answers[0] == answers[1], place - start
        refused += isinstance(answers[0], tuple)
    assert refused > 20


class Table(ctypes.Structure):
    _fields_ = (("self", ctypes.c_void_p), ("head_bytes", ctypes.c_void_p), ("is_stored", ctypes.c_void_p))


HEAD_BYTES = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
IS_STORED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_int64)
NAME = ctypes.create_string_buffer(b"lance_arrow.stored_values/1")


class Stranger:
    """A table whose functions are Python behind ctypes: it knows frames by their head of 18 bytes."""

    def __init__(self, answer: bool, head: int = 18) -> None:
        self.asked: list[int] = []
        self._answer = answer
        self._functions = HEAD_BYTES(lambda _self, _size: head), IS_STORED(self.is_stored)
        self._table = Table(None, *(ctypes.cast(one, ctypes.c_void_p) for one in self._functions))
        ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
        ctypes.pythonapi.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self.capsule = ctypes.pythonapi.PyCapsule_New(ctypes.byref(self._table), NAME, None)

    def is_stored(self, _self: int, _head: Any, size: int) -> int:
        self.asked.append(size)
        return int(self._answer)


@pytest.mark.parametrize("answer", [False, True])
@pytest.mark.parametrize("head", [18, -1, 64, 10**6])
def test_strangers_join_by_the_same_door(
    witness: Witness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bool, head: int
) -> None:
    values: list[bytes | None] = [noise(40_000) for _ in range(30)]
    table, path = write(witness, values, tmp_path / "f.lance", "2.1")
    stranger = Stranger(answer, head)
    monkeypatch.setattr(BoundZstd, "native_stored", lambda _: stranger.capsule)
    with LanceFile(path) as file:
        for row in range(0, 30, 2):
            assert_same(taken(table, [row]), file.take([row]))
    # A scheme that never finds one is not asked for ever.
    asked = 0 if head != 18 else 15 if answer else 8
    assert stranger.asked == [40_018] * asked
