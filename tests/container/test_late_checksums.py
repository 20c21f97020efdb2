"""Files whose checksums of blocks are read when blocks are: as large files have them, written small here."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from watched import WatchedSource

import lance_arrow
from lance_arrow.container import checksums
from lance_arrow.container.checksum_writer import ChecksumWriter
from lance_arrow.container.checksums import MAGIC, ChecksumTable
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import CorruptFileError, ResourceLimitError
from lance_arrow.io import BufferSource, VerifiedSource, open_source
from lance_arrow.settings import Limits

ROWS = 30_000
LEAST_BLOCK_BYTES = 64


@contextmanager
def late(monkeypatch: pytest.MonkeyPatch, block_bytes: int = LEAST_BLOCK_BYTES) -> Iterator[None]:
    """Write as if every file were large, with many small blocks."""
    with monkeypatch.context() as patched:
        patched.setattr(checksums, "LATE_BYTES", 0)
        patched.setattr(ChecksumWriter.__init__, "__defaults__", (block_bytes,))
        yield


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "x": rng.random(ROWS),
            "s": [f"text {number % 97} of {number}" for number in range(ROWS)],
            "l": pa.array([[number] * (number % 3) for number in range(ROWS)]),
            "v": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(ROWS * 16, np.float32)), 16),
        }
    )


@pytest.fixture
def path(rows: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "late.lance"
    with late(monkeypatch):
        lance_arrow.write_table(rows, path)
    content = path.read_bytes()
    # What these tests are about: version 2, and far more checksums than a group of 1,024.
    start = content.rindex(MAGIC)
    assert content[start + 12] == 2
    assert len(content) - start > 40_000
    return path


@pytest.mark.parametrize("options", [{}, {"memory_map": True}, {"verify": "full"}, {"verify": "off"}], ids=str)
def test_rows_are_read(path: Path, rows: pa.Table, options: dict[str, object]) -> None:
    taken = [5, 17_000, 17_001, ROWS - 1]
    with lance_arrow.LanceFile(path, **options) as file:
        assert file.take(taken) == rows.take(taken)
        assert file.count_rows("id < 777 AND x >= 0") == 777
        assert file.read() == rows
    with lance_arrow.LanceFile(path, **options) as file:
        assert file.read(filter="id >= 20000 AND id < 20010") == rows.slice(20_000, 10)


def test_every_source_reads_them(path: Path, rows: pa.Table) -> None:
    content = path.read_bytes()
    taken = [1, 2, 29_000]
    with lance_arrow.LanceFile(content) as file:
        assert file.take(taken) == rows.take(taken)
        assert file.read() == rows
    memory = fsspec.filesystem("memory")
    memory.pipe("/late.lance", content)
    with lance_arrow.LanceFile("/late.lance", filesystem=memory) as file:
        assert file.take(taken) == rows.take(taken)
        assert file.read() == rows
    assert lance_arrow.dataset(path).to_table() == rows
    assert lance_arrow.dataset(path).to_table(filter="id = 4") == rows.slice(4, 1)
    assert lance_arrow.verify(path).ok


def test_a_read_asks_for_a_small_part_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with late(monkeypatch):
        lance_arrow.write_table(pa.table({"x": np.random.default_rng(1).random(900_000)}), tmp_path / "large.lance")
    content = (tmp_path / "large.lance").read_bytes()
    start, stop = content.rindex(MAGIC), _end(content)
    source = WatchedSource(BufferSource(content))
    file = LanceFileReader(source)
    # The table begins with what opening needs; the last 64 KiB of it are in the end of the file.
    beginning = [first for first, _ in source.ranges if start < first < stop - 65_536]
    assert stop - start > 400_000
    assert not beginning
    for first in (1000, 1001):
        file.source.read(np.array([first]), np.array([first + 1]))
    # One group of 1,024 checksums, for the first byte; both lie in one block.
    sums = [(first, stop_) for first, stop_ in source.ranges if start < first < stop - 65_536]
    assert [one - first for first, one in sums] == [4096]


def test_more_checksums_than_the_limit_are_refused(path: Path, rows: pa.Table) -> None:
    """Each block takes memory, though its checksum was not read: a large file of holes may declare any number."""
    content = path.read_bytes()
    num_bytes = _end(content) - content.rindex(MAGIC)
    with pytest.raises(ResourceLimitError, match="max_metadata_bytes"):
        LanceFileReader(BufferSource(content), Limits(max_metadata_bytes=num_bytes // 2))
    assert LanceFileReader(BufferSource(content), Limits(max_metadata_bytes=num_bytes)).num_rows == ROWS


def test_zone_maps_in_the_end_of_a_small_file_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read when the file is opened, before any checksum of theirs."""
    table = pa.table({"n": range(48)})
    with late(monkeypatch):
        lance_arrow.write_table(table, tmp_path / "small.lance", rows_per_zone=16)
    assert lance_arrow.dataset(tmp_path / "small.lance").to_table(filter="n >= 40") == table.slice(40)
    with lance_arrow.LanceFile(tmp_path / "small.lance") as file:
        assert file.count_rows("n < 5") == 5


def test_threads_share_what_was_read(path: Path, rows: pa.Table) -> None:
    with lance_arrow.LanceFile(path) as file, ThreadPoolExecutor(8) as pool:
        taken = [np.random.default_rng(seed).integers(0, ROWS, 20).tolist() for seed in range(40)]
        for numbers, found in zip(taken, pool.map(file.take, taken), strict=True):
            assert found == rows.take(numbers)


@pytest.mark.parametrize("part", ["blocks", "before", "data"])
def test_flipped_bits_are_noticed(path: Path, rows: pa.Table, tmp_path: Path, part: str) -> None:
    content = path.read_bytes()
    start = content.rindex(MAGIC)
    stop = start + ChecksumTable.parse(np.frombuffer(content, np.uint8)[start : _end(content)], start, start).num_bytes
    before = stop - 4 * ChecksumTable.parse(np.frombuffer(content, np.uint8)[start:stop], start, start).num_blocks
    places = {"blocks": (before, stop), "before": (start + 8, before), "data": (0, start // 2)}[part]
    damaged = tmp_path / "damaged.lance"
    noticed = 0
    for place in np.random.default_rng(8).integers(*places, 12).tolist():
        flipped = bytearray(content)
        flipped[place] ^= 4
        damaged.write_bytes(flipped)
        try:
            with lance_arrow.LanceFile(damaged) as file:
                assert file.read() == rows
        except CorruptFileError as error:
            noticed += (error.path, error.byte_range is None) == (str(damaged), False)
    # Checksums of zone maps, and padding, are not compared by a read of all rows.
    assert noticed >= (12 if part == "before" else 6)


def _end(content: bytes) -> int:
    """Where the table of checksums ends: its place is the last entry before the footer."""
    start, size = np.frombuffer(content[-56:-40], np.uint64).tolist()
    return start + size


def test_pages_are_copied(rows: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(600_000, dtype=np.float32)), 60)})
    with late(monkeypatch, 512):
        table = lance_arrow.LanceTable.create(tmp_path / "t", wide, max_rows_per_file=5000)
        report = table.compact()
    assert len(report.fragments_made) == 1
    assert table.to_table() == wide
    assert lance_arrow.verify(tmp_path / "t").ok


def test_a_file_that_lost_its_footer_is_salvaged(path: Path, rows: pa.Table, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-40:-8] = bytes(32)
    damaged, saved = tmp_path / "damaged.lance", tmp_path / "saved.lance"
    damaged.write_bytes(content)
    lance_arrow.salvage(damaged, saved)
    assert lance_arrow.read_table(saved) == rows


@pytest.mark.parametrize("bit", [None, 7])
def test_whole_blocks_are_read_into_memory_of_the_caller(path: Path, bit: int | None) -> None:
    """No edge of a block is read before, whose checksums would come with it."""
    content = bytearray(path.read_bytes())
    (column,) = LanceFileReader(BufferSource(bytes(content))).columns([1])
    start = int(column.pages.starts[0])
    stop = start + 10 * LEAST_BLOCK_BYTES
    expected = bytes(content[start:stop])
    if bit is not None:
        content[start + 5 * LEAST_BLOCK_BYTES] ^= 1 << bit
        path.write_bytes(content)
    source = LanceFileReader(VerifiedSource(open_source(path))).source
    out = np.zeros(stop - start, np.uint8)
    places = np.array([start], np.int64), np.array([stop], np.int64)
    if bit is None:
        source.read_into(*places, out, np.zeros(1, np.int64))
        assert out.tobytes() == expected
    else:
        with pytest.raises(CorruptFileError, match="checksum"):
            source.read_into(*places, out, np.zeros(1, np.int64))
