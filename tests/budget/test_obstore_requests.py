"""Requests and bytes of stores of obstore, by door: what a path is, its size and its end are asked together."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bucket_server import BUCKET, Bucket, bucket
from obstore.fsspec import FsspecStore

import lance_arrow
from lance_arrow import LanceFile, LanceTable

ROWS = 300_000
COLUMNS = 6
FILES = 3


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = np.random.default_rng(8)
    numbers = {f"x{one}": rng.integers(0, 1 << 40, ROWS) for one in range(COLUMNS - 1)}
    return pa.table({"id": np.arange(ROWS), **numbers})


@pytest.fixture(scope="module")
def server(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("bucket")
    lance_arrow.write_table(rows, folder / "rows.lance")
    LanceTable.create(folder / "table.lance", rows)
    (folder / "files").mkdir()
    for number in range(FILES):
        lance_arrow.write_table(rows.slice(0, 1000), folder / "files" / f"{number}.lance")
    with bucket(folder) as started:
        yield started


def direct(server: Bucket) -> tuple[Any, str]:
    return server.store(), ""


def by_fsspec(server: Bucket) -> tuple[Any, str]:
    return (
        FsspecStore(
            "s3", endpoint=server.endpoint, access_key_id="key", secret_access_key="secret", region="us-east-1",
            client_options={"allow_http": True},
        ),
        f"{BUCKET}/",
    )  # fmt: skip


both = pytest.mark.parametrize("way", [direct, by_fsspec])
Way = Callable[[Bucket], tuple[Any, str]]


def asked(server: Bucket) -> dict[str, int]:
    """Requests since the last call, by method, and the bytes that they brought."""
    found = Counter(one.split()[0] for one in server.requests)
    found["bytes"] = sum(server.sent)
    server.requests.clear()
    server.sent.clear()
    return found


def counts(server: Bucket) -> dict[str, int]:
    found = asked(server)
    return {kind: count for kind, count in found.items() if kind != "bytes"}


def check_take(server: Bucket, more: int = 0) -> None:
    """One row of each column: the index of its page, and the row, which are asked together."""
    found = counts(server)
    assert found.keys() == {"GET"}
    assert found["GET"] <= 2 * COLUMNS + more


@both
def test_a_file(server: Bucket, rows: pa.Table, way: Way) -> None:
    store, before = way(server)
    asked(server)
    with LanceFile(f"{before}rows.lance", filesystem=store) as file:
        assert counts(server) == {"GET": 1}
        assert file.take([70_000]).equals(rows.slice(70_000, 1))
        check_take(server)


@both
def test_a_dataset_of_a_file(server: Bucket, rows: pa.Table, way: Way) -> None:
    store, before = way(server)
    asked(server)
    dataset = lance_arrow.dataset(f"{before}rows.lance", filesystem=store)
    assert counts(server) == {"LIST": 1, "GET": 1}
    assert dataset.take([70_000]).equals(rows.slice(70_000, 1))
    # One more asks whether the file has changed.
    check_take(server, more=1)
    assert dataset.count_rows() == ROWS
    assert counts(server) == {"GET": 1}


@both
def test_a_listed_file(server: Bucket, way: Way) -> None:
    store, before = way(server)
    asked(server)
    lance_arrow.dataset([f"{before}rows.lance"], filesystem=store)
    assert counts(server) == {"GET": 1}


@both
def test_a_table(server: Bucket, rows: pa.Table, way: Way) -> None:
    store, before = way(server)
    asked(server)
    table = LanceTable.open(f"{before}table.lance", filesystem=store)
    assert counts(server) == {"LIST": 1, "GET": 1}
    assert table.take([70_000]).equals(rows.slice(70_000, 1))
    # One more has the metadata of the data file.
    check_take(server, more=1)
    assert table.to_table(filter=pc.field("id") == 5).num_rows == 1
    assert counts(server).keys() == {"GET"}


@both
def test_a_dataset_of_a_table(server: Bucket, way: Way) -> None:
    store, before = way(server)
    asked(server)
    lance_arrow.dataset(f"{before}table.lance", filesystem=store)
    # The second GET asks whether the path is a file, while the first request is on its way. The table does not wait for
    # the answer, so that the request may arrive late.
    until = time.monotonic() + 10
    while len(server.requests) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert counts(server) == {"LIST": 1, "GET": 2}


@both
def test_a_folder(server: Bucket, way: Way) -> None:
    store, before = way(server)
    asked(server)
    dataset = lance_arrow.dataset(f"{before}files", filesystem=store)
    # Versions, and the files, which say that it is a folder; the path as a file, and the first file.
    assert counts(server) == {"LIST": 2, "GET": 2}
    assert dataset.count_rows() == FILES * 1000
    assert counts(server) == {"GET": FILES}


@both
def test_a_pattern(server: Bucket, way: Way) -> None:
    store, before = way(server)
    asked(server)
    assert len(lance_arrow.dataset(f"{before}files/*.lance", filesystem=store).files) == FILES
    assert counts(server) == {"HEAD": 1, "LIST": 2, "GET": 1}


@pytest.mark.parametrize(
    ("door", "expected"),
    [
        (LanceFile, {"GET": 1, "LIST": 1}),
        (LanceTable.open, {"LIST": 1}),
        (lance_arrow.dataset, {"LIST": 2, "GET": 1, "HEAD": 1}),
    ],
)
def test_nothing(server: Bucket, door: Callable[..., Any], expected: dict[str, int]) -> None:
    asked(server)
    with pytest.raises((FileNotFoundError, lance_arrow.errors.TableNotFoundError)):
        door("nothing", filesystem=server.store())
    assert counts(server) == expected


def test_what_is_asked_together_takes_one_wait(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    store = server.store()
    lance_arrow.dataset("rows.lance", filesystem=store)
    asked(server)
    seen: list[int] = []

    def refusal(_: str) -> None:
        # Both requests are here before either is answered.
        seen.append(len(server.requests))

    monkeypatch.setattr(server, "seconds", 0.5)
    monkeypatch.setattr(server, "refusal", refusal)
    begun = time.perf_counter()
    lance_arrow.dataset("rows.lance", filesystem=store)
    assert time.perf_counter() - begun < 0.95
    assert len(seen) == 2


def test_takes_read_little_between_rows(server: Bucket, rows: pa.Table) -> None:
    size = (server.folder / "rows.lance").stat().st_size
    wanted = np.sort(np.random.default_rng(1).choice(ROWS, 20, replace=False))
    with LanceFile("rows.lance", filesystem=server.store()) as file:
        asked(server)
        assert file.take(wanted.tolist()).equals(rows.take(wanted))
        found = asked(server)
    assert found["GET"] <= 20 * COLUMNS
    assert found["bytes"] <= 0.6 * size
    with LanceFile("rows.lance", filesystem=server.store()) as file:
        asked(server)
        file.take([12_345])
        found = asked(server)
    # An index and three blocks that have checksums, at most, of each column.
    assert found["bytes"] <= COLUMNS * 100_000


def test_a_scan_asks_for_each_byte_once(server: Bucket) -> None:
    size = (server.folder / "rows.lance").stat().st_size
    asked(server)
    with LanceFile("rows.lance", filesystem=server.store()) as file:
        file.read()
    found = asked(server)
    assert found["bytes"] <= 1.02 * size + (64 << 10)
    assert found["GET"] <= 2 + size // (1 << 20)


def test_a_long_history_takes_two_listings(server: Bucket, tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "long", pa.table({"x": [1]}))
    for _ in range(40):
        table.append(pa.table({"x": [1]}))
    with bucket(tmp_path) as other:
        assert LanceTable.open("long", filesystem=other.store()).version == 41
        assert counts(other) == {"LIST": 2, "GET": 1}
