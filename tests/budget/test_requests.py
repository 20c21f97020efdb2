"""How often a file is asked, and for which bytes: exact counts, not timings."""

from __future__ import annotations

from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from stores import CountingStore
from values import seeded
from watched import WatchedSource
from witness import Witness

import lance_arrow
from lance_arrow.io import open_source
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

COLUMNS, ROWS = 100, 20_000


@pytest.fixture(scope="module")
def wide(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = seeded("wide")
    table = pa.table({f"c{i}": pa.array(rng.integers(0, 2**62, ROWS)) for i in range(COLUMNS)})
    return witness.write(table, tmp_path_factory.mktemp("wide") / "wide.lance", "2.2")


def places(witness: Witness, path: Path) -> list[tuple[int, int]]:
    """First and last byte of each column's page buffers."""
    columns = witness.describe(path)["columns"]
    found = []
    for pages in columns:
        buffers = [buffer for page in pages for buffer in page["buffers"]]
        found.append((min(p for p, _ in buffers), max(p + size for p, size in buffers)))
    return found


def remote(path: Path) -> WatchedSource:
    """The file as an object store would give it: requests are joined over gaps of up to a MiB."""
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file("/budget/wide.lance", path.read_bytes())
    return WatchedSource(open_source("/budget/wide.lance", filesystem=filesystem))


def local(path: Path) -> WatchedSource:
    return WatchedSource(open_source(path))


@pytest.mark.parametrize("make", [remote, local])
def test_cold_open_of_a_hundred_columns(wide: Path, make: object) -> None:
    source = make(wide)  # type: ignore[operator]
    with lance_arrow.LanceFile(source) as file:
        assert len(file.schema) == COLUMNS
        assert file.num_rows == ROWS
        stats = source.snapshot()
        assert 1 <= stats.requests <= 3
        assert stats.bytes_fetched <= 256 << 10


def test_one_column_reads_its_pages_and_metadata_only(witness: Witness, wide: Path) -> None:
    for number in (0, 37, COLUMNS - 1):
        start, stop = places(witness, wide)[number]
        source = local(wide)
        with lance_arrow.LanceFile(source) as file:
            source.ranges.clear()
            assert file.read(columns=[f"c{number}"]).num_rows == ROWS
        data_end = max(stop for _, stop in places(witness, wide))
        pages = [(a, b) for a, b in source.ranges if a < data_end]
        metadata = [(a, b) for a, b in source.ranges if a >= data_end]
        assert all(start <= a and b <= stop for a, b in pages)
        assert sum(b - a for a, b in pages) <= stop - start
        assert sum(b - a for a, b in metadata) <= 1024, "the metadata of one column is small"


def test_all_columns_come_in_few_requests(wide: Path) -> None:
    source = remote(wide)
    with lance_arrow.LanceFile(source) as file:
        opened = source.snapshot()
        assert file.read().num_rows == ROWS
        stats = source.snapshot() - opened
    megabytes = wide.stat().st_size / (1 << 20)
    # Two waves (indices, data) per window of rows, each joined up to 16 MiB per request.
    assert stats.requests <= 4 * (megabytes / 16 + 1)
    assert stats.bytes_fetched <= 1.2 * wide.stat().st_size


def test_take_of_one_row_fetches_one_chunk_per_column(wide: Path) -> None:
    source = local(wide)
    with lance_arrow.LanceFile(source) as file:
        file.take([5], columns=["c3"])
        before = source.snapshot()
        assert file.take([12_345], columns=["c3"]).num_rows == 1
        stats = source.snapshot() - before
    # The chunk table is cached by the first take; a chunk of 8-byte values is at most 8 KiB.
    assert stats.requests == 1
    assert stats.bytes_fetched <= 8 << 10


def test_dataset_scan_counts(wide: Path, receipts: list[ReadReport]) -> None:
    dataset = pads.dataset(wide, format=lance_arrow.LanceFormat())
    assert dataset.count_rows() == ROWS
    assert sum(report.fetched_bytes for report in receipts) == 0, "counting rows reads no page"
    receipts.clear()
    table = dataset.to_table(columns=["c1"], filter=pc.field("c2") > 2**61)
    assert 0 < table.num_rows < ROWS
    (report,) = receipts
    assert set(report.columns) == {"c1", "c2"}
    assert report.fetched_bytes <= 1.1 * 2 * 8 * ROWS
    assert report.files == 1
    assert np.isfinite(report.seconds)
    stages = report.stage_seconds
    assert set(stages) == {"zones", "rows", "requests"}
    assert 0 < stages["requests"] < stages["rows"]


ZONED_ROWS, ZONED_COLUMNS = 200_000, 8


@pytest.fixture(scope="module")
def zoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = seeded("zoned")
    columns = {f"c{i}": rng.integers(0, 2**62, ZONED_ROWS) for i in range(ZONED_COLUMNS - 1)}
    path = tmp_path_factory.mktemp("zoned") / "zoned.lance"
    lance_arrow.write_table(pa.table({"id": np.arange(ZONED_ROWS), **columns}), path)
    return path


def far(path: Path) -> CountingStore:
    return CountingStore({"/zoned.lance": path.read_bytes()})


def test_zone_maps_come_in_one_wave(zoned: Path) -> None:
    store = far(zoned)
    with lance_arrow.LanceFile("/zoned.lance", filesystem=store) as file:
        opened, opened_bytes = len(store.waves), store.bytes_fetched
        condition = (pc.field("c0") < 0) | (pc.field("c1") < 0) | (pc.field("c2") < 0)
        assert file.count_rows(condition) == 0
        # The metadata of three columns, then their maps: none of it is a page.
        assert len(store.waves) - opened <= 2
        assert store.bytes_fetched - opened_bytes <= 64 << 10


def test_a_selective_filter_fetches_a_zone_and_a_few_chunks(zoned: Path) -> None:
    source = local(zoned)
    with lance_arrow.LanceFile(source) as file:
        opened = source.snapshot()
        assert file.read(filter=pc.field("id") == 123_456).num_rows == 1
        stats = source.snapshot() - opened
    # Of `id` a zone of 8,192 rows; of the others a chunk; and metadata, maps and chunk tables of all. Chunks are read
    # in blocks of 16 KiB, to be compared with their checksums.
    assert stats.bytes_fetched <= ZONED_COLUMNS * (36 << 10)
    assert stats.bytes_fetched <= 0.03 * zoned.stat().st_size


def test_a_selective_filter_of_a_far_file_takes_few_rounds(zoned: Path) -> None:
    store = far(zoned)
    with lance_arrow.LanceFile("/zoned.lance", filesystem=store) as file:
        opened, opened_bytes = len(store.waves), store.bytes_fetched
        assert file.read(filter=pc.field("id") == 123_456).num_rows == 1
        # Metadata, maps, chunk tables of all columns side by side, chunks of one zone of all columns.
        assert len(store.waves) - opened <= 4
        assert store.bytes_fetched - opened_bytes <= 0.2 * zoned.stat().st_size
