"""Requests of pyarrow's client of S3: a file is asked for its size at most once, and not where the size is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bucket_server import BUCKET, Bucket, bucket
from watched import WatchedSource

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, MissingFileError, TruncatedReadError
from lance_arrow.io import open_source

ROWS = 100_000
FILE, TABLE = f"{BUCKET}/rows.lance", f"{BUCKET}/table.lance"


@pytest.fixture
def rows() -> pa.Table:
    rng = np.random.default_rng(8)
    return pa.table({"id": np.arange(ROWS), "x": rng.random(ROWS), "text": [f"text {i * i}" for i in range(ROWS)]})


@pytest.fixture
def store(rows: pa.Table, tmp_path: Path) -> Iterator[Bucket]:
    lance_arrow.write_table(rows, tmp_path / "rows.lance")
    LanceTable.create(tmp_path / "table.lance", rows)
    with bucket(tmp_path) as server:
        yield server


def kinds(store: Bucket) -> Counter[str]:
    """Requests since the last call, by method."""
    found = Counter(one.split()[0] for one in store.requests)
    store.requests.clear()
    return found


def test_a_file_is_asked_for_its_size_once(store: Bucket, rows: pa.Table) -> None:
    with LanceFile(FILE, filesystem=store.filesystem()) as file:
        assert kinds(store) == {"HEAD": 1, "GET": 1}
        assert file.take([70_000]).to_pylist() == rows.slice(70_000, 1).to_pylist()
    assert kinds(store)["HEAD"] == 0


def test_a_table_asks_no_file_for_its_size(store: Bucket, rows: pa.Table) -> None:
    table = LanceTable.open(TABLE, filesystem=store.filesystem())
    assert kinds(store) == {"LIST": 1, "GET": 1}
    assert table.take([70_000]).to_pylist() == rows.slice(70_000, 1).to_pylist()
    assert table.to_table(filter=pc.field("id") == 70_001).num_rows == 1
    assert set(kinds(store)) == {"GET"}


def test_zone_maps_beside_a_file_are_looked_for_once(store: Bucket, tmp_path: Path, rows: pa.Table) -> None:
    lance_arrow.write_table(rows, tmp_path / "bare.lance", rows_per_zone=0)
    dataset = lance_arrow.dataset(f"{BUCKET}/bare.lance", filesystem=store.filesystem())
    for requests in (1, 0):
        kinds(store)
        assert dataset.to_table(filter=pc.field("id") == 5).num_rows == 1
        # One more asks whether the file has changed.
        found = kinds(store)
        assert (found["HEAD"], found["LIST"]) == (requests + 1, 0)


class Waves(WatchedSource):
    """Counts the reads that a caller waits for."""

    num_waves = 0

    def _remember(self, starts: Any, stops: Any) -> None:
        self.num_waves += 1
        super()._remember(starts, stops)


@pytest.mark.parametrize("row", [0, 123, 50_000, ROWS - 1])
def test_rows_come_with_the_index_of_their_page(store: Bucket, tmp_path: Path, rows: pa.Table, row: int) -> None:
    source = Waves(open_source(FILE, filesystem=store.filesystem()))
    with LanceFile(source) as file:
        opened = source.num_waves
        assert file.take([row]).to_pylist() == rows.slice(row, 1).to_pylist()
    assert source.num_waves == opened + 1
    assert sum(store.sent) <= 0.2 * (tmp_path / "rows.lance").stat().st_size


def test_a_dataset_of_a_table_asks_no_file_for_its_size(store: Bucket) -> None:
    dataset = LanceTable.open(TABLE, filesystem=store.filesystem()).dataset()
    kinds(store)
    assert dataset.to_table(filter=pc.field("id") == 5).num_rows == 1
    assert set(kinds(store)) == {"GET"}


def test_a_take_of_a_dataset_of_a_file_asks_once_whether_the_file_changed(store: Bucket, rows: pa.Table) -> None:
    dataset = lance_arrow.dataset(FILE, filesystem=store.filesystem())
    kinds(store)
    for row in (70_000, 70_001):
        assert dataset.take([row]).to_pylist() == rows.slice(row, 1).to_pylist()
        assert kinds(store)["HEAD"] == 1
    with pytest.raises(InvalidArgumentError, match=f"row {ROWS} does not exist"):
        dataset.take([ROWS])


def data_file(folder: Path) -> Path:
    (found,) = (folder / "table.lance" / "data").iterdir()
    return found


@pytest.mark.parametrize("door", [LanceTable.to_table, lambda table: table.take([1])])
def test_a_missing_file_is_named(store: Bucket, tmp_path: Path, door: Callable[[LanceTable], object]) -> None:
    table = LanceTable.open(TABLE, filesystem=store.filesystem())
    data_file(tmp_path).unlink()
    with pytest.raises(MissingFileError, match="which is not there"):
        door(table)


@pytest.mark.parametrize("size", [-1000, 0, 1000])
def test_a_file_that_is_shorter_is_an_error(store: Bucket, tmp_path: Path, size: int) -> None:
    file = data_file(tmp_path)
    file.write_bytes(file.read_bytes()[:size])
    table = LanceTable.open(TABLE, filesystem=store.filesystem())
    with pytest.raises((CorruptFileError, TruncatedReadError)) as caught:
        table.to_table()
    assert file.name in str(caught.value)


def test_bytes_behind_the_size_in_the_manifest_are_not_read(store: Bucket, tmp_path: Path, rows: pa.Table) -> None:
    with data_file(tmp_path).open("ab") as file:
        file.write(bytes(1000))
    assert LanceTable.open(TABLE, filesystem=store.filesystem()).to_table().equals(rows)


def test_what_changed_is_opened_anew(store: Bucket, tmp_path: Path, rows: pa.Table) -> None:
    filesystem = store.filesystem()
    dataset = lance_arrow.dataset(FILE, filesystem=filesystem)
    assert dataset.to_table()["x"].equals(rows["x"])
    other = rows.set_column(1, "x", pa.array(np.random.default_rng(9).random(ROWS)))
    lance_arrow.write_table(other, tmp_path / "rows.lance")
    assert lance_arrow.dataset(FILE, filesystem=filesystem).to_table()["x"].equals(other["x"])
