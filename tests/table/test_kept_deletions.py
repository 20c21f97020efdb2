"""Deleted rows of far tables: a version asks for no deletion file that its table has read or written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bucket_server import Bucket, bucket
from fsspec.asyn import AsyncFileSystem

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.io import Location
from lance_arrow.manifests import kept_deletions
from lance_arrow.manifests.deletions import DeletionVector
from lance_arrow.manifests.fragments import DeletionFileMeta
from lance_arrow.manifests.kept_deletions import KeptDeletions

ROWS = pa.table({"id": np.arange(400)})
FAR = AsyncFileSystem()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    with bucket(tmp_path) as started:
        yield started


def asked(server: Bucket) -> list[str]:
    """Deletion files that were asked for since the last call."""
    found = [one for one in server.requests if one.startswith("GET") and "/_deletions/" in one]
    server.requests.clear()
    return found


def test_what_a_table_wrote_it_does_not_ask_for(server: Bucket) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store(), max_rows_per_file=100)
    table.delete("id % 10 = 3")
    table.delete("id % 10 = 4")
    assert table.take([0, 399 - 80]).column("id").to_pylist() == [0, 399]
    table.update({"id": "id + 1000"}, where="id = 5")
    table.delete("id = 7")
    rows = table.to_table()
    assert asked(server) == []
    other = LanceTable.open("t", filesystem=server.store())
    assert other.to_table().equals(rows)
    assert len(asked(server)) == 4
    other.delete("id = 8")
    assert other.count_rows() == len(rows) - 1
    assert asked(server) == []


def test_a_change_after_a_change_asks_for_no_bytes_again(server: Bucket) -> None:
    rows = pa.table({"id": np.arange(300_000), "x": np.random.default_rng(1).random(300_000)})
    table = LanceTable.create("t", rows, filesystem=server.store())
    (file,) = (server.folder / "t" / "data").iterdir()

    def requests() -> int:
        found = sum(one.startswith("GET") and file.name in one for one in server.requests)
        server.requests.clear()
        return found

    requests()
    table.add_columns({"twice": "x * 2"})
    first = requests()
    table.add_columns({"thrice": "x * 3"})
    assert requests() == 0 < first
    assert table.take([7]).to_pylist()[0]["thrice"] == rows["x"][7].as_py() * 3


def test_versions_of_others_have_their_own_deletions(server: Bucket) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store(), max_rows_per_file=100)
    other = LanceTable.open("t", filesystem=server.store())
    table.delete("id = 1")
    other.delete("id = 101")
    table.refresh()
    for one in (table, other, LanceTable.open("t", filesystem=server.store())):
        assert len(one.to_table()) == 398
        assert not set(one.to_table()["id"].to_pylist()) & {1, 101}
    assert LanceTable.open("t", version=2, filesystem=server.store()).count_rows() == 399


def test_verify_reads_files_that_are_kept(server: Bucket) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    table.delete("id < 9")
    (file,) = (server.folder / "t" / "_deletions").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert table.count_rows() == 391
    assert not lance_arrow.verify("t", filesystem=server.store()).ok


def meta(count: int | None) -> DeletionFileMeta:
    return DeletionFileMeta(name="0-1-2.arrow", is_bitmap=False, read_version=1, id=2, num_deleted_rows=count)


def vector(count: int, num_rows: int = 1000) -> DeletionVector:
    return DeletionVector(np.arange(count), num_rows)


def test_only_what_the_manifest_says_is_found() -> None:
    kept, place = KeptDeletions(), Location(FAR, "/t/_deletions/0-1-2.arrow")
    kept.keep(place, vector(5))
    found = kept.find(place, meta(5), 1000)
    assert found is not None
    assert len(found.offsets) == 5
    assert kept.find(place, meta(None), 1000) is found
    assert kept.find(place, meta(6), 1000) is None
    assert kept.find(place, meta(5), 999) is None
    assert kept.find(Location(AsyncFileSystem(asynchronous=True), place.path), meta(5), 1000) is None
    assert kept.find(Location(FAR, "/u"), meta(5), 1000) is None


def test_local_files_are_not_kept(tmp_path: Path) -> None:
    kept, place = KeptDeletions(), Location(None, str(tmp_path / "file"))
    kept.keep(place, vector(5))
    assert kept.find(place, meta(5), 1000) is None


def test_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_deletions, "_MOST_ROWS", 100)
    monkeypatch.setattr(kept_deletions, "_MOST_FILES", 3)
    places = [Location(FAR, f"/{number}") for number in range(5)]
    kept = KeptDeletions()

    def held() -> list[bool]:
        return [kept.find(place, meta(None), 1000) is not None for place in places]

    for place in places[:4]:
        kept.keep(place, vector(5))
    assert held() == [False, True, True, True, False]
    kept.find(places[1], meta(5), 1000)
    kept.keep(places[4], vector(95))
    assert held() == [False, True, False, False, True]
    # One that is written again counts once; a longer one is not kept.
    kept.keep(places[4], vector(95))
    assert held() == [False, True, False, False, True]
    kept.keep(places[0], vector(101))
    assert held() == [False, True, False, False, True]
