"""The same rows through every server: read, filtered, taken, scanned by pyarrow, written; and how often it is asked."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
import s3fs
from running import SERVERS, Place
from same import assert_same, taken

import lance_arrow
from lance_arrow import LanceDataset, LanceFile, LanceFormat, LanceTable, write_table

ROWS = 40_000
PlaceOf = Callable[[str], Place]
WRITABLE = [name for name in SERVERS if name != "http"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    n = np.arange(ROWS)
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "id": n,
            "x": pa.array(rng.standard_normal(ROWS), mask=n % 7 == 0),
            "word": [f"word {one % 1000:04}" for one in n],
            "noise": rng.integers(0, 2**62, ROWS),
        }
    )


@pytest.fixture(scope="module")
def local(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("local") / "file.lance"
    write_table(table, path, rows_per_zone=1000)
    return path


FILTER = (pc.field("id") >= 12_345) & (pc.field("id") < 12_400)


def check(table: pa.Table, source: Any, filesystem: Any = None, options: Any = None) -> None:
    with LanceFile(source, filesystem=filesystem, storage_options=options) as file:
        assert_same(table, file.read())
        assert_same(table.filter(FILTER), file.read(filter=FILTER))
        rows = np.array([39_999, 0, 7, 7, 20_000])
        assert_same(taken(table, rows), file.take(rows))
    dataset = lance_arrow.dataset(source, filesystem=filesystem, storage_options=options)
    assert isinstance(dataset, LanceDataset)
    assert_same(table.filter(FILTER).select(["word"]), dataset.to_table(columns=["word"], filter=FILTER))
    assert_same(table.slice(0, 5), dataset.head(5))
    assert dataset.count_rows() == ROWS


@pytest.mark.parametrize("name", SERVERS)
def test_a_file_is_read(place_of: PlaceOf, table: pa.Table, local: Path, name: str) -> None:
    place = place_of(name)
    url = place.put(local, "read.lance")
    if name != "webdav":
        # Its URLs do not name the server.
        check(table, url, options=place.options)
    check(table, place.path("read.lance"), place.filesystem)


@pytest.mark.parametrize("name", SERVERS)
def test_pyarrow_scans_it(place_of: PlaceOf, table: pa.Table, local: Path, name: str) -> None:
    place = place_of(name)
    place.put(local, "scan.lance")
    dataset = pads.dataset(place.path("scan.lance"), format=LanceFormat(), filesystem=place.filesystem)
    assert_same(table, dataset.to_table())
    assert dataset.count_rows(filter=FILTER) == 55


@pytest.mark.parametrize("name", SERVERS)
def test_what_is_missing_is_named(place_of: PlaceOf, name: str) -> None:
    place = place_of(name)
    # Errors of filesystems are raised as they are: that of SFTP has no name in it.
    with pytest.raises(FileNotFoundError, match=r"absent\.lance" if name != "sftp" else "No such file"):
        LanceFile(place.path("absent.lance"), filesystem=place.filesystem)


@pytest.mark.parametrize("name", WRITABLE)
def test_a_file_is_written(place_of: PlaceOf, table: pa.Table, name: str) -> None:
    place = place_of(name)
    path = place.path("written.lance")
    write_table(table, path, filesystem=place.filesystem)
    check(table, path, place.filesystem)
    write_table(table.slice(0, 10), path, filesystem=place.filesystem)
    assert_same(table.slice(0, 10), lance_arrow.read_table(path, filesystem=place.filesystem))


@pytest.mark.parametrize("name", WRITABLE)
def test_pyarrow_writes_files(place_of: PlaceOf, table: pa.Table, name: str) -> None:
    place = place_of(name)
    # Arrow compares paths as they are listed, which for WebDAV is without a slash in front.
    folder = place.path("many").lstrip("/") if name == "webdav" else place.path("many")
    # pyarrow finishes files of any format in threads of its own, which filesystems of one connection cannot bear.
    is_single = name in ("ftp", "sftp")
    limits = {} if is_single else {"max_rows_per_file": 15_000, "max_rows_per_group": 5000}
    pads.write_dataset(table, folder, format=LanceFormat(), filesystem=place.filesystem, preserve_order=True, **limits)
    dataset = pads.dataset(folder, format=LanceFormat(), filesystem=place.filesystem)
    assert len(dataset.files) == (1 if is_single else 3)
    assert_same(table, dataset.to_table().sort_by("id"))


@pytest.mark.parametrize("name", SERVERS)
def test_a_table_is_read(place_of: PlaceOf, table: pa.Table, tmp_path: Path, name: str) -> None:
    made = LanceTable.create(tmp_path / "made.lance", table)
    made.append(table.slice(0, 100))
    made.delete("id < 50")
    place = place_of(name)
    place.put(tmp_path / "made.lance", "made.lance")
    opened = LanceTable.open(place.path("made.lance"), filesystem=place.filesystem)
    assert opened.version == made.version
    assert opened.count_rows() == ROWS + 100 - 100
    assert opened.to_table(columns=["id"], filter=pc.field("id") < 60)["id"].to_pylist() == [
        *range(50, 60),
        *range(50, 60),
    ]
    before = lance_arrow.dataset(place.path("made.lance"), version=1, filesystem=place.filesystem)
    assert_same(table, before.to_table())


def test_chains_over_a_store(place_of: PlaceOf, table: pa.Table, local: Path, tmp_path: Path) -> None:
    place = place_of("s3")
    url = place.put(local, "chained.lance")
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(local, "inside/file.lance")
    archive_url = place.put(tmp_path / "archive.zip", "archive.zip")
    cache = {"cache_storage": str(tmp_path / "cache")}
    check(table, f"simplecache::{url}", options={"s3": place.options, "simplecache": cache})
    check(table, f"zip://inside/file.lance::{archive_url}", options={"s3": place.options})
    references = fsspec.filesystem(
        "reference", fo={"file.lance": [url]}, remote_protocol="s3", remote_options=dict(place.options)
    )
    check(table, "file.lance", references)
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/servers/file.lance", place.filesystem.cat_file(place.path("chained.lance")))
    check(table, "memory://servers/file.lance")


@pytest.fixture
def store(place_of: PlaceOf, monkeypatch: pytest.MonkeyPatch) -> tuple[fsspec.AbstractFileSystem, list[int]]:
    """A new filesystem of the S3 server, and how many ranges each call asked it for, in order."""
    counted: list[int] = []
    original = s3fs.S3FileSystem._cat_ranges

    async def cat_ranges(self: Any, paths: Any, *args: Any, **kwargs: Any) -> Any:
        counted.append(len(paths))
        return await original(self, paths, *args, **kwargs)

    monkeypatch.setattr(s3fs.S3FileSystem, "_cat_ranges", cat_ranges)
    return fsspec.filesystem("s3", skip_instance_cache=True, **place_of("s3").options), counted


Store = tuple[fsspec.AbstractFileSystem, list[int]]


def test_a_selective_query_takes_two_rounds(place_of: PlaceOf, table: pa.Table, local: Path, store: Store) -> None:
    place = place_of("s3")
    path = place.put(local, "rounds.lance").removeprefix("s3://")
    filesystem, rounds = store
    dataset = lance_arrow.dataset(path, filesystem=filesystem)
    assert dataset.count_rows() == ROWS
    opened = len(rounds)
    assert opened >= 1
    found = dataset.to_table(columns=["word", "noise"], filter=FILTER)
    assert_same(table.filter(FILTER).select(["word", "noise"]), found)
    assert 1 <= len(rounds) - opened <= 2
    assert len(rounds) == len([one for one in rounds if one])


def test_a_head_reads_one_chunk_of_each_column(place_of: PlaceOf, table: pa.Table, local: Path, store: Store) -> None:
    place = place_of("s3")
    path = place.put(local, "head.lance").removeprefix("s3://")
    filesystem, rounds = store
    dataset = lance_arrow.dataset(path, filesystem=filesystem)
    assert dataset.count_rows() == ROWS
    opened = len(rounds)
    assert_same(table.slice(0, 5), dataset.head(5))
    assert 1 <= len(rounds) - opened <= 2
