"""Fragments above 128 KiB in a store: ends of many files in one wave, pages in another, zone maps asked together."""

from __future__ import annotations

import functools
import itertools
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import made_once
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from bucket_server import BUCKET, Bucket, bucket

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.container import joined_files, joined_source
from lance_arrow.container.joined_source import JoinedSource
from lance_arrow.errors import CorruptFileError, MissingFileError, StoreError
from lance_arrow.integrations.duckdb import relation
from lance_arrow.io import FileEnds, obstore_filesystem
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments import fragment_rows
from lance_arrow.scan.groups.group_sizes import may_read_ends
from lance_arrow.watching import receipts

NUM_FRAGMENTS, NUM_ROWS = 20, 20_000
TOTAL = NUM_FRAGMENTS * NUM_ROWS
FILTERS = {
    "none": None,
    "sorted": f"id >= {TOTAL // 2} and id < {TOTAL // 2 + 5}",
    "of a border": f"id >= {NUM_ROWS - 3} and id < {NUM_ROWS + 3}",
    "rare": "x < 5",
    "nulls": "some is null and x < 50",
    "words": "word = 'w7' and id > 350000",
    "two columns": "id < 30000 or x = 17",
    "nothing": "id < 0",
    "nothing that zone maps see": "x % 7 = 9",
}


@functools.cache
def rows() -> pa.Table:
    random = np.random.default_rng(4)
    return pa.table({
        "id": np.arange(TOTAL),
        "x": random.integers(0, 1000, TOTAL),
        "some": pa.array(random.random(TOTAL), mask=random.random(TOTAL) < 0.1),
        **{name: random.random(TOTAL) for name in ("u", "v")},
        "word": pa.array([f"w{number}" for number in range(50)]).take(pa.array(random.integers(0, 50, TOTAL))),
        "items": pa.ListArray.from_arrays(np.arange(0, 2 * TOTAL + 1, 2, np.int32), random.integers(0, 9, 2 * TOTAL)),
    })  # fmt: skip


def with_deletions(table: LanceTable) -> None:
    table.delete("id % 1000 = 7")
    table.add_columns({"twice": "id * 2"})


def with_other_fragments(table: LanceTable) -> None:
    first = rows().slice(0, 3_000)
    table.append(first)
    table.add_columns({"twice": "id * 2"})
    table.append(pa.concat_tables([first] * 9).append_column("twice", pa.array(np.arange(27_000))))


TABLES: dict[str, tuple[dict[str, Any], Callable[[LanceTable], None]]] = {
    "plain": ({}, lambda _: None),
    "deletions": ({}, with_deletions),
    "others": ({}, with_other_fragments),
    "no zone maps": ({"rows_per_zone": None}, lambda _: None),
    "no checksums": ({"checksums": False}, lambda _: None),
    "many zones": ({"rows_per_zone": 999}, lambda _: None),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("groups")
    found = rows()
    for name, (options, change) in TABLES.items():
        change(LanceTable.create(folder / name, found, max_rows_per_file=NUM_ROWS, **options))
    with bucket(folder) as started:
        yield started


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of files whose ends were read together."""
    counts: list[int] = []

    def counted(filesystem: Any, paths: Any, *args: Any) -> Any:
        counts.append(len(paths))
        return FileEnds(filesystem, paths, *args)

    monkeypatch.setattr(joined_files, "FileEnds", counted)
    return counts


def copied(server: Bucket, tmp_path: Path) -> tuple[Path, list[Path]]:
    found = rows().select(["id", "x", "u", "v"])
    made_once.copied(
        "far groups", tmp_path / "own", lambda made: LanceTable.create(made, found, max_rows_per_file=NUM_ROWS)
    )
    return tmp_path, sorted((tmp_path / "own" / "data").iterdir())


@pytest.mark.cover(1)
@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_those_of_a_local_table(
    name: str, filter: str, server: Bucket, ends: list[int], whole_run: bool
) -> None:
    said = FILTERS[filter]
    local = LanceTable.open(server.folder / name)
    projections = (["x", "some"], ["items", "id"], None)
    # Every day, each filter has one of them.
    first = list(FILTERS).index(filter) % 3
    for columns in projections if whole_run else projections[first : first + 1]:
        expected = local.to_table(columns, filter=said)
        table = LanceTable.open(name, filesystem=server.store())
        assert table.to_table(columns, filter=said).equals(expected)
        dataset = lance_arrow.dataset(name, filesystem=server.store())
        assert dataset.to_table(columns, filter=said).equals(expected)
        streamed = pa.Table.from_batches(dataset.to_batches(columns, filter=said), expected.schema)
        assert streamed.equals(expected)
    assert max(ends) > 2
    if said is not None:
        count = local.count_rows(said)
        assert LanceTable.open(name, filesystem=server.store()).count_rows(said) == count
        assert lance_arrow.dataset(name, filesystem=server.store()).count_rows(said) == count


@pytest.mark.cover(1)
@pytest.mark.parametrize(
    ("work", "most"),
    [
        (lambda table: table.to_table(columns=["x"]), 2 * NUM_FRAGMENTS + 8),
        (lambda table: table.to_table(filter=FILTERS["sorted"]), NUM_FRAGMENTS + 8),
        (lambda table: table.count_rows("x < 5"), 2 * NUM_FRAGMENTS + 8),
    ],
)
@pytest.mark.parametrize("opened", [LanceTable.open, lance_arrow.dataset])
def test_requests(opened: Any, work: Any, most: int, server: Bucket) -> None:
    table = opened("plain", filesystem=server.store())
    server.requests.clear()
    work(table)
    assert NUM_FRAGMENTS <= len(server.requests) <= most


def test_few_rows_for_duckdb_are_those_of_one_fragment(server: Bucket) -> None:
    """Which columns lie in dictionaries is found by opening it, and it is opened once."""
    server.requests.clear()
    table = lance_arrow.dataset("plain", filesystem=server.store(), strings="dictionary")
    assert len(relation(table).limit(5).fetchall()) == 5
    files = [request for request in server.requests if "/data/" in request]
    assert len({request.rpartition("/data/")[2] for request in files}) == 1
    # Its end, and its pages.
    assert len(files) == 2


@pytest.mark.parametrize("opened", [LanceTable.open, lance_arrow.dataset])
@pytest.mark.parametrize(
    "work",
    [
        lambda table: table.to_table(columns=["x"]),
        lambda table: table.to_table(filter=FILTERS["rare"]),
        lambda table: table.count_rows("x < 5"),
        lambda table: table.take(np.arange(0, 300_000, 5_000)),
    ],
    ids=["column", "filter", "count", "take"],
)
def test_deletion_files_are_asked_for_together(
    opened: Any, work: Any, server: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(*args: Any, **named: Any) -> Any:
        raise AssertionError("a deletion file is read by itself")

    table = opened("deletions", filesystem=server.store())
    server.requests.clear()
    monkeypatch.setattr(fragment_rows, "read_deletions", alone)
    work(table)
    asked = [one for one in server.requests if "_deletions" in one]
    assert len(asked) == len(set(asked))
    assert 2 * len(asked) > NUM_FRAGMENTS


READ_FIRST: dict[str, Callable[[Any], pa.Table]] = {
    "one row": lambda table: table.take([5 * NUM_ROWS]),
    "rows of some": lambda table: table.take(np.arange(3) * NUM_ROWS),
    "rows of all": lambda table: table.take(np.arange(NUM_FRAGMENTS - 1) * NUM_ROWS + 9),
    "head": lambda table: table.head(5),
}


@pytest.mark.parametrize("opened", [LanceTable.open, lance_arrow.dataset])
@pytest.mark.parametrize("read", READ_FIRST.values(), ids=list(READ_FIRST))
def test_files_are_opened_while_deletions_are_read(
    opened: Any, read: Callable[[Any], pa.Table], server: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = opened("deletions", filesystem=server.store())
    asked, waited = threading.Event(), list[bool]()

    def wait_for_data(request: str) -> None:
        if "/_deletions/" in request:
            waited.append(asked.wait(30))
        elif "/data/" in request:
            asked.set()

    monkeypatch.setattr(server, "refusal", wait_for_data)
    assert read(table).equals(read(LanceTable.open(server.folder / "deletions")))
    assert waited
    assert all(waited)


@pytest.mark.parametrize("read", READ_FIRST.values(), ids=list(READ_FIRST))
@pytest.mark.parametrize("lost", ["data", "_deletions"])
def test_what_is_missing_is_told(read: Callable[[Any], pa.Table], lost: str, server: Bucket, tmp_path: Path) -> None:
    shutil.copytree(server.folder / "deletions", tmp_path / "t")
    for file in (tmp_path / "t" / lost).iterdir():
        file.unlink()
    with bucket(tmp_path) as slow:
        table = LanceTable.open("t", filesystem=slow.store())
        with pytest.raises(MissingFileError, match=f"{lost}/"):
            read(table)


@pytest.mark.cover(1)
@pytest.mark.parametrize("opened", [LanceTable.open, lance_arrow.dataset])
@pytest.mark.parametrize("name", ["plain", "deletions", "others", "no checksums"])
def test_takes(opened: Any, name: str, server: Bucket, ends: list[int]) -> None:
    local, table = LanceTable.open(server.folder / name), opened(name, filesystem=server.store())
    wanted = np.random.default_rng(5).integers(0, local.count_rows(), 100)
    assert table.take(wanted).equals(local.take(wanted))
    assert sum(ends) >= NUM_FRAGMENTS - 2
    # What was read is kept; gaps between ranges differ once indices of pages are known.
    table.take(wanted)
    server.requests.clear()
    assert table.take(wanted).equals(local.take(wanted))
    assert not server.requests
    # Of few fragments each is opened by itself.
    few = np.array([3, NUM_ROWS + 5, 5 * NUM_ROWS + 2])
    assert opened(name, filesystem=server.store()).take(few, ["x"]).equals(local.take(few, ["x"]))


def test_receipts_count_what_is_read_after_the_ends(server: Bucket) -> None:
    table = LanceTable.open("plain", filesystem=server.store())
    for work in (lambda: table.to_table(["x"]), lambda: table.take(np.arange(0, TOTAL, NUM_ROWS))):
        server.requests.clear()
        server.sent.clear()
        with receipts() as found:
            work()
        assert sum(one.files for one in found) == NUM_FRAGMENTS
        assert sum(one.requests for one in found) == len(server.requests)
        assert sum(one.fetched_bytes for one in found) == sum(server.sent)


def test_a_table_through_another_client(server: Bucket, ends: list[int]) -> None:
    s3fs = pytest.importorskip("s3fs")
    files = s3fs.S3FileSystem(
        key="key", secret="secret", client_kwargs={"endpoint_url": server.endpoint, "region_name": "us-east-1"}
    )
    table = LanceTable.open(f"{BUCKET}/plain", filesystem=files)
    assert table.to_table(["x"]).equals(LanceTable.open(server.folder / "plain").to_table(["x"]))
    assert max(ends) > 2


def said(store: Any, place: Any, filter: str | None) -> tuple[str, ...]:
    """Return the kind of error and the file that reading raises, or a checksum of the rows."""
    try:
        found = LanceTable.open(place, filesystem=store).to_table(["x"], filter=filter)
    except CorruptFileError as error:
        return type(error).__name__, Path(str(error.path)).name
    return (str(pa.compute.sum(found["x"])),)


def test_ends_are_read_of_local_and_far_files_within_the_limits(server: Bucket) -> None:
    limits = default_runtime().settings.limits
    assert may_read_ends(obstore_filesystem.as_filesystem(server.store()), limits)
    few = replace(limits, max_metadata_bytes=60_000)
    assert not may_read_ends(obstore_filesystem.as_filesystem(server.store()), few)
    assert may_read_ends(fsspec.filesystem("file"), limits)
    assert not may_read_ends(fsspec.filesystem("file"), replace(limits, max_metadata_bytes=10_000))
    assert not may_read_ends(fsspec.filesystem("memory"), limits)
    blocks = fsspec.filesystem("blockcache", target_protocol="http", cache_storage=str(server.folder / "cached"))
    assert not may_read_ends(blocks, limits)


@pytest.mark.parametrize("filter", [None, "x < 500"])
def test_a_flip_is_blamed_on_its_file(filter: str | None, server: Bucket, tmp_path: Path) -> None:
    folder, files = copied(server, tmp_path)
    for file in (files[2], files[-1]):
        whole = file.read_bytes()
        for place in (1000, len(whole) // 2, len(whole) - 6_000):
            damaged = bytearray(whole)
            damaged[place] ^= 0x10
            file.write_bytes(damaged)
            with bucket(folder) as own:
                assert said(own.store(), "own", filter) == said(None, folder / "own", filter)
        file.write_bytes(whole)


def test_a_missing_file_is_named(server: Bucket, tmp_path: Path) -> None:
    folder, files = copied(server, tmp_path)
    files[3].unlink()
    with bucket(folder) as own, pytest.raises(MissingFileError, match=files[3].name):
        LanceTable.open("own", filesystem=own.store()).to_table(["x"])


def test_what_failed_is_asked_again(server: Bucket, monkeypatch: pytest.MonkeyPatch, ends: list[int]) -> None:
    asked, calls, numbers = joined_source.ask_files, [], itertools.count()

    def failing(filesystem: Any, paths: Any, starts: Any, stops: Any, versions: Any) -> Any:
        calls.append(len(paths))
        answers = list(asked(filesystem, paths, starts, stops, versions))
        if next(numbers) == 0:
            answers[0], answers[1] = ConnectionResetError("cut"), bytes(answers[1])[:-1]
        return answers

    monkeypatch.setattr(joined_source, "ask_files", failing)
    table = LanceTable.open("plain", filesystem=server.store())
    assert table.to_table(["x"]).equals(LanceTable.open(server.folder / "plain").to_table(["x"]))
    assert 2 in calls
    assert ends


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[tuple[JoinedSource, list[bytes], list[int]]]:
    """Three files as one source, of whose ends 10 bytes are in memory."""
    contents = [bytes(range(size)) for size in (200, 5, 90)]
    for number, content in enumerate(contents):
        (tmp_path / f"{number}").write_bytes(content)
    sizes = np.array(list(map(len, contents)), np.int64)
    with bucket(tmp_path) as own:
        filesystem = obstore_filesystem.as_filesystem(own.store())
        ends = FileEnds(filesystem, ["0", "1", "2"], sizes, 10)
        assert ends.flags.tolist() == [1, 1, 1]
        yield JoinedSource(ends), contents, ends.starts.tolist()


def test_ranges_of_joined_files(joined: tuple[JoinedSource, list[bytes], list[int]]) -> None:
    source, contents, starts = joined
    places = [(0, 3, 50), (0, 180, 200), (0, 195, 200), (1, 0, 5), (2, 0, 90), (2, 7, 7), (0, 0, 200)]
    begins = np.array([starts[file] + start for file, start, _ in places], np.int64)
    ends = np.array([starts[file] + stop for file, _, stop in places], np.int64)
    found, requests, num_bytes = source.read_counted(begins, ends)
    assert [one.tobytes() for one in found] == [contents[file][start:stop] for file, start, stop in places]
    assert (requests, num_bytes) == (4, 47 + 10 + 80 + 190)
    (over,) = source.read(begins[:1], ends[4:5])
    whole = over.tobytes()
    assert whole[: 200 - 3] == contents[0][3:]
    assert whole[starts[2] - starts[0] - 3 :] == contents[2]
    assert not any(whole[200 - 3 : starts[1] - starts[0] - 3])


def test_a_joined_file_that_went_is_an_error(
    joined: tuple[JoinedSource, list[bytes], list[int]], tmp_path: Path
) -> None:
    source, _, starts = joined
    (tmp_path / "2").unlink()
    with pytest.raises(StoreError):
        source.read(np.array([starts[2]]), np.array([starts[2] + 20]))
