"""Tables on stores of obstore: every door takes a store, and of two writers neither loses a version."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from bucket_server import BUCKET, Bucket, bucket
from obstore.fsspec import FsspecStore
from obstore.store import HTTPStore, LocalStore, MemoryStore
from pyarrow import fs as arrow_fs

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceTable, LanceWriter
from lance_arrow.errors import InvalidArgumentError, UnsupportedError

ROWS = pa.table({"id": np.arange(5000), "x": np.random.default_rng(1).random(5000)})
WRITERS, APPENDS = 4, 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    with bucket(tmp_path) as started:
        yield started


def fsspec_of(server: Bucket) -> FsspecStore:
    return FsspecStore(
        "s3", endpoint=server.endpoint, access_key_id="key", secret_access_key="secret", region="us-east-1",
        client_options={"allow_http": True},
    )  # fmt: skip


KINDS: dict[str, Callable[[Bucket], tuple[Any, str]]] = {
    "s3": lambda server: (server.store(), ""),
    "fsspec": lambda server: (fsspec_of(server), f"{BUCKET}/"),
    "local": lambda server: (LocalStore(str(server.folder)), ""),
    "memory": lambda _: (MemoryStore(), ""),
}


@pytest.mark.parametrize("kind", KINDS)
def test_files(server: Bucket, kind: str) -> None:
    store, before = KINDS[kind](server)
    path = f"{before}folder/rows.lance"
    lance_arrow.write_table(ROWS, path, filesystem=store, rows_per_zone=500)
    with LanceFile(path, filesystem=store) as file:
        assert file.read().equals(ROWS)
        assert file.take([4999, 0]).equals(ROWS.take([4999, 0]))
    assert lance_arrow.read_table(path, columns=["x"], filesystem=store).equals(ROWS.select(["x"]))
    assert lance_arrow.read_schema(path, filesystem=store).equals(ROWS.schema)
    with LanceWriter(f"{before}folder/more.lance", ROWS.schema, filesystem=store) as writer:
        writer.write(ROWS)
    assert lance_arrow.verify(path, filesystem=store).ok
    for what in (path, f"{before}folder", f"{before}folder/*.lance", [path]):
        dataset = lance_arrow.dataset(what, filesystem=store)
        count = 1 if what in (path, [path]) else 2
        assert dataset.count_rows() == count * ROWS.num_rows
        assert dataset.to_table(filter="id == 70").num_rows == count
        assert dataset.take([1]).equals(ROWS.slice(1, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_tables(server: Bucket, kind: str) -> None:
    store, before = KINDS[kind](server)
    path = f"{before}folder/table"
    table = LanceTable.create(path, ROWS, filesystem=store)
    table.append(ROWS)
    table.delete("id < 100")
    table.update({"x": 2.0}, where="id == 100")
    table.tags.create("kept", 2)
    found = LanceTable.open(path, filesystem=store)
    assert found.count_rows() == 2 * (ROWS.num_rows - 100)
    assert found.count_rows("x == 2.0") == 2
    assert LanceTable.open(path, filesystem=store, tag="kept").count_rows() == 2 * ROWS.num_rows
    found.compact()
    assert lance_arrow.dataset(path, filesystem=store).count_rows() == 2 * (ROWS.num_rows - 100)
    assert found.cleanup(older_than=datetime.timedelta(), dry_run=False).files
    assert lance_arrow.verify(path, filesystem=store).ok
    assert LanceTable.open(path, filesystem=store).version >= 5


def test_pyarrow_scans_a_filesystem_of_obstore(server: Bucket) -> None:
    store = fsspec_of(server)
    lance_arrow.write_table(ROWS, f"{BUCKET}/rows.lance", filesystem=store)
    server.requests.clear()
    filesystem = arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(store))
    dataset = pads.dataset(f"{BUCKET}/rows.lance", format=LanceFormat(), filesystem=filesystem)
    assert dataset.to_table().equals(ROWS)
    assert server.requests.count("GET rows.lance") <= 3


@pytest.mark.parametrize("kind", ["s3", "fsspec"])
def test_datasets_and_tables_travel(server: Bucket, kind: str) -> None:
    store, before = KINDS[kind](server)
    table = LanceTable.create(f"{before}table", ROWS, filesystem=store)
    for one in (table, table.dataset(), lance_arrow.dataset(f"{before}table", filesystem=store)):
        assert pickle.loads(pickle.dumps(one)).count_rows() == ROWS.num_rows


@pytest.mark.share(2)
@pytest.mark.parametrize("kind", KINDS)
def test_no_version_of_many_writers_is_lost(server: Bucket, kind: str) -> None:
    store, before = KINDS[kind](server)
    LanceTable.create(f"{before}table", ROWS.slice(0, 1), filesystem=store)
    together = threading.Barrier(WRITERS)

    def write(writer: int) -> None:
        table = LanceTable.open(f"{before}table", filesystem=store)
        together.wait()
        for number in range(APPENDS):
            table.append(ROWS.slice(1 + writer * APPENDS + number, 1))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    table = LanceTable.open(f"{before}table", filesystem=store)
    assert sorted(table.to_table()["id"].to_pylist()) == list(range(1 + WRITERS * APPENDS))
    assert table.version == 1 + WRITERS * APPENDS


def test_http_is_for_reading(server: Bucket) -> None:
    table = LanceTable.create("table", ROWS, filesystem=server.store())
    lance_arrow.write_table(ROWS, "rows.lance", filesystem=server.store())
    store = HTTPStore(f"{server.endpoint}/{BUCKET}", client_options={"allow_http": True})
    assert lance_arrow.dataset("rows.lance", filesystem=store).take([7]).equals(ROWS.slice(7, 1))
    assert LanceTable.open("table", version=1, filesystem=store).count_rows() == table.count_rows()
    with pytest.raises(UnsupportedError, match="read-only"):
        LanceTable.open("table", version=1, filesystem=store).append(ROWS)


@pytest.mark.parametrize("door", [LanceFile, lance_arrow.dataset, LanceTable.open, lance_arrow.verify])
def test_options_are_not_for_a_store(door: Callable[..., Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="storage_options are for URLs"):
        door("x", filesystem=MemoryStore(), storage_options={"key": "x"})
    with pytest.raises(InvalidArgumentError, match="a store of obstore"):
        door("x", filesystem="s3")


def test_obstore_is_imported_for_its_objects_alone(tmp_path: Path) -> None:
    script = (
        "import sys, fsspec, lance_arrow, pyarrow as pa\n"
        "table = pa.table({'x': [1]})\n"
        f"for path, files in (({str(tmp_path / 'x')!r}, None), ('y', fsspec.filesystem('memory'))):\n"
        "    lance_arrow.LanceTable.create(path, table, filesystem=files).append(table)\n"
        "    assert lance_arrow.dataset(path, filesystem=files).count_rows() == 2\n"
        "assert not [name for name in sys.modules if name.startswith('obstore')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_a_clone_needs_urls(server: Bucket) -> None:
    filesystem = fsspec_of(server)
    table = LanceTable.create(f"{BUCKET}/table", ROWS, filesystem=filesystem)
    table.shallow_clone(f"{BUCKET}/clone", filesystem=filesystem)
    clone = LanceTable.open(f"{BUCKET}/clone", filesystem=filesystem, allow_external_bases=True)
    assert clone.count_rows("id < 7") == 7
    with pytest.raises(UnsupportedError, match="FsspecStore"):
        LanceTable.open("table", filesystem=server.store()).shallow_clone("other", filesystem=server.store())
