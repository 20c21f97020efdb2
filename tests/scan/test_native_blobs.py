"""Blobs by native code: it is really taken, what it refuses is read and named by others, bytes go where they belong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from blobs import FIRST, first_kind, payloads, second_table, write_second
from same import assert_same, taken
from witness import Witness

import lance_arrow
from lance_arrow import LanceFile, Limits, Runtime, Settings, engine
from lance_arrow.errors import CorruptFileError, InternalError, ResourceLimitError
from lance_arrow.scan.blobs import native_blobs
from lance_arrow.scan.row_reader import RowReader

VALUES = payloads(400)
VERSIONS = ("2.1", "2.2")


@pytest.fixture(scope="module", params=VERSIONS)
def path(request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several pages, nulls and empty values among the blobs."""
    place = tmp_path_factory.mktemp("blobs") / "file.lance"
    return witness.write(first_kind(VALUES), place, request.param, slices=[(0, 150), (150, 400)], data_cache_bytes=1)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the engine read the blobs, take by take."""
    noted: list[bool] = []
    take = RowReader.take_with_blobs

    def watched(*arguments):
        answer = take(*arguments)
        noted.append(answer is not None)
        return answer

    monkeypatch.setattr(RowReader, "take_with_blobs", watched)
    return noted


PICKS = ([0], [3], [5, 6, 7, 399], list(range(140, 160)), list(range(400)))


def test_rows_in_order_are_read_by_the_engine(path: Path, answers: list[bool]) -> None:
    expected = first_kind(VALUES)
    with LanceFile(path) as file:
        for rows in PICKS:
            found = file.take(rows)
            found.validate(full=True)
            assert_same(taken(expected, rows), found)
        assert_same(taken(expected, [8]).select(["b"]), file.take([8], ["b"]))
        assert_same(taken(expected, [8]).select(["n", "b"]), file.take([8], ["n", "b"]))
    assert answers == [True] * (len(PICKS) + 2)


def test_memory_is_read_as_files_are(path: Path, answers: list[bool]) -> None:
    with LanceFile(pa.py_buffer(path.read_bytes())) as file:
        assert_same(taken(first_kind(VALUES), [2, 9]), file.take([2, 9]))
    assert answers == [True]


def test_rows_out_of_order_and_doubled(path: Path) -> None:
    with LanceFile(path) as file:
        for rows in ([9, 2, 2, 399], [1, 1], list(range(399, -1, -1))):
            assert_same(taken(first_kind(VALUES), rows), file.take(rows))


def test_large_blobs_are_shared_by_threads(path: Path, answers: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_blobs, "_BYTES_PER_PART", 20_000)
    parts: list[int] = []
    cut = native_blobs._parts
    monkeypatch.setattr(native_blobs, "_parts", lambda *given: parts.append(len(cut(*given))) or cut(*given))
    rows = list(range(1, 400, 3))
    runtime = Runtime(Settings(num_threads=3))
    with LanceFile(path, runtime=runtime) as file:
        before = file._source.snapshot()
        assert_same(taken(first_kind(VALUES), rows), file.take(rows))
        assert_same(taken(first_kind(VALUES), [7, *rows, 0]), file.take([7, *rows, 0]))
        counts = file._source.snapshot() - before
    assert (answers, parts) == ([True], [3, 3])
    stored = sum(len(VALUES[row] or b"") for row in [*rows, 7, *rows, 0])
    assert stored <= counts.bytes_wanted < stored + 40_000


def test_more_than_a_piece_is_left_to_others(path: Path, answers: list[bool]) -> None:
    runtime = Runtime(Settings(blob_batch_bytes=50_000))
    with LanceFile(path, runtime=runtime) as file:
        assert_same(first_kind(VALUES), file.take(range(400)))
        assert_same(taken(first_kind(VALUES), [1, 4]), file.take([1, 4]))
    assert answers == [False, True]
    with LanceFile(path, runtime=Runtime(Settings(limits=Limits(max_batch_bytes=4000)))) as file:
        largest = max(range(400), key=lambda row: len(VALUES[row] or b""))
        with pytest.raises(ResourceLimitError, match="max_batch_bytes"):
            file.take([largest])


def test_blobs_below_structs_and_of_the_second_kind_are_left_to_others(
    witness: Witness, tmp_path: Path, answers: list[bool]
) -> None:
    field = pa.field("x", pa.large_binary(), metadata=FIRST)
    values = pa.array(VALUES[:30], pa.large_binary())
    below = pa.table(
        {"s": pa.StructArray.from_arrays([values], fields=[field], mask=pa.array([False, True, False] * 10))}
    )
    with LanceFile(witness.write(below, tmp_path / "below.lance", "2.1")) as file:
        assert_same(taken(below, [1, 4, 8]), file.take([1, 4, 8]))
    assert answers == []
    kinds: list[bytes | None] = [b"in the file", None, b"", b"z" * 70_000]
    _, alone = write_second(witness, second_table(kinds), tmp_path, "2.2")
    with LanceFile(alone) as file:
        assert file.take([0, 1, 2]).column("b").to_pylist() == kinds[:3]
        assert file.take([0, 3]).column("b").to_pylist() == [kinds[0], kinds[3]]


@pytest.mark.parametrize("version", VERSIONS)
def test_checksums_are_compared_by_the_first_read(tmp_path: Path, version: str, answers: list[bool]) -> None:
    path = tmp_path / "ours.lance"
    lance_arrow.write_table(first_kind(VALUES), path, file_version=version)
    whole = path.read_bytes()
    row = next(row for row, value in enumerate(VALUES) if value is not None and len(value) > 100)
    place = whole.index(VALUES[row])
    with LanceFile(path) as file:
        assert_same(taken(first_kind(VALUES), [row, row + 30]), file.take([row, row + 30]))
    damaged = bytearray(whole)
    damaged[place + 50] ^= 1
    path.write_bytes(damaged)
    with LanceFile(path) as file, pytest.raises(CorruptFileError, match="checksum") as caught:
        file.take([row])
    assert caught.value.path == str(path)
    with LanceFile(path, verify="off") as file:
        assert file.take([row]).column("b")[0].as_py() != VALUES[row]
    assert answers == [True, False, True]


def lay_out(positions, sizes, stop=100, limit=1000, bits=64, **given):
    offsets = np.zeros((len(positions) + 1) * bits // 8, np.uint8)
    places = (np.array(positions, np.uint64), np.array(sizes, np.uint64))
    kinds, validity = given.get("kinds"), given.get("validity")
    total = engine.lay_out_blobs(*places, kinds, validity, stop, limit, offsets, bits)
    return total, offsets.view(f"i{bits // 8}").tolist()


@pytest.mark.parametrize("bits", [32, 64])
def test_blobs_are_laid_out_end_to_end(bits: int) -> None:
    assert lay_out([10, 0, 90], [5, 0, 10], bits=bits) == (15, [0, 5, 5, 15])
    valid = np.array([0b101], np.uint8)
    assert lay_out([10, 1 << 63, 90], [5, 7, 10], bits=bits, validity=valid) == (15, [0, 5, 5, 15])
    assert lay_out([], [], bits=bits) == (0, [0])


@pytest.mark.parametrize(
    ("positions", "sizes"),
    [([91], [10]), ([101], [1]), ([1 << 63], [1]), ([0], [(1 << 64) - 1]), ([(1 << 64) - 1], [(1 << 64) - 1])],
)
def test_places_beyond_the_values_are_refused(positions: list[int], sizes: list[int]) -> None:
    assert lay_out(positions, sizes)[0] == -1


def test_limits_and_other_kinds_are_refused() -> None:
    assert lay_out([0, 0, 0], [100, 100, 100], limit=299)[0] == -1
    assert lay_out([0, 0, 0], [100, 100, 100], limit=300)[0] == 300
    assert lay_out([0], [1], limit=1 << 31, bits=32)[0] == -1
    assert lay_out([0, 0], [1, 1], kinds=np.array([0, 1], np.uint8))[0] == -1
    assert lay_out([0], [1], kinds=np.array([0], np.uint8))[0] == 1


def test_what_callers_get_wrong_is_an_error() -> None:
    numbers, offsets = np.zeros(2, np.uint64), np.zeros(24, np.uint8)
    for arguments in (
        (numbers, numbers[:1], None, None, 9, 9, offsets, 64),
        (numbers, numbers, np.zeros(1, np.uint8), None, 9, 9, offsets, 64),
        (numbers, numbers, None, np.zeros(0, np.uint8), 9, 9, offsets, 64),
        (numbers, numbers, None, None, 9, 9, offsets[:16], 64),
        (numbers, numbers, None, None, 9, 9, offsets, 16),
    ):
        with pytest.raises(InternalError):
            engine.lay_out_blobs(*arguments)
    memory = np.arange(9, dtype=np.uint8)
    laid_out = (numbers, np.array([0, 1, 2], np.int64).view(np.uint8), 64)
    for first, last, room in ((0, 3, 9), (-1, 1, 9), (2, 1, 9), (0, 2, 1)):
        with pytest.raises(InternalError):
            engine.read_blobs(*laid_out, first, last, np.zeros(room, np.uint8), -1, memory, 9)
    refused, *_ = engine.read_blobs(*laid_out, 0, 2, np.zeros(2, np.uint8), -1, memory, 0)
    assert refused == "a range lies outside the file"


def test_neighbours_are_one_request() -> None:
    memory = np.arange(100, dtype=np.uint8)
    positions = np.array([10, 0, 15, 40], np.uint64)
    offsets = np.array([0, 5, 5, 8, 10], np.int64).view(np.uint8)
    values = np.zeros(10, np.uint8)
    found = engine.read_blobs(positions, offsets, 64, 0, 4, values, -1, memory, 100)
    assert found == (None, 2, 3, 10, 10)
    assert values.tolist() == [*range(10, 18), 40, 41]
