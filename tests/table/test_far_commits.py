"""Commits to stores: files are written while versions are listed, and removed where nothing came of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import manifests
import pyarrow as pa
import pytest
from bucket_server import Bucket, bucket

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError
from lance_arrow.files.data_file_writer import DataFileWriter
from lance_arrow.io import Location
from lance_arrow.manifests.feature_flags import NO_TRANSACTION_FILES
from lance_arrow.manifests.versions import ManifestFile
from lance_arrow.spi.commits import CommitAttempt
from lance_arrow.table import commit, deletion_files, row_deletion
from lance_arrow.table.strategies import ExclusiveCreate

ROWS = pa.table({"id": [1, 2, 3]})
PATIENCE_SECONDS = 30


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    with bucket(tmp_path) as started:
        yield started


def transactions(server: Bucket) -> list[str]:
    return sorted(file.name for file in server.folder.glob("t/_transactions/*"))


def stored(server: Bucket) -> list[Path]:
    return sorted(path for path in server.folder.rglob("*") if path.is_file())


class Watched:
    """Lets a listing of versions wait until a transaction is written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written = threading.Event()
        self.waited: list[bool] = []
        self._list, self._write = commit.list_manifests, commit.write_file
        monkeypatch.setattr(commit, "list_manifests", self.list)
        monkeypatch.setattr(commit, "write_file", self.write)

    def write(self, place: Location, data: bytes) -> None:
        self._write(place, data)
        if "/_transactions/" in f"/{place.path}":
            self.written.set()

    def list(self, root: Location, *, since: int = 0) -> Sequence[ManifestFile]:
        if since:
            self.waited.append(self.written.wait(PATIENCE_SECONDS))
        return self._list(root, since=since)


def test_the_transaction_is_written_while_versions_are_listed(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    watched = Watched(monkeypatch)
    table.append(ROWS)
    assert watched.waited == [True]
    assert (table.version, len(transactions(server))) == (2, 2)
    assert table.count_rows() == 6


def test_a_transaction_with_a_name_is_written_once(server: Bucket) -> None:
    """Who repeats it finds its version, and leaves nothing of its own."""
    store = server.store()
    LanceTable.create("t", ROWS, filesystem=store)
    part = lance_arrow.write_fragments(ROWS, "t", filesystem=store)
    versions = [lance_arrow.commit_fragments("t", [part], filesystem=store).version for _ in range(2)]
    assert versions == [2, 2]
    assert len(transactions(server)) == 2
    assert LanceTable.open("t", filesystem=store).count_rows() == 6


def test_a_refused_change_leaves_no_transaction(server: Bucket) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    stale = LanceTable.open("t", filesystem=server.store())
    table.update_config({"owner": "billing"})
    named = transactions(server)
    with pytest.raises(CommitConflictError):
        stale.update_config({"owner": "shipping"})
    assert transactions(server) == named


def test_a_listing_that_fails_leaves_no_transaction(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    named = transactions(server)

    def fails(*_: Any, **__: Any) -> None:
        raise OSError("no answer")

    monkeypatch.setattr(commit, "list_manifests", fails)
    with pytest.raises(OSError, match="no answer"):
        table.append(ROWS)
    assert transactions(server) == named
    assert len(list(server.folder.glob("t/data/*"))) == 1


def test_a_transaction_that_cannot_be_written_makes_no_version(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())

    def fails(*_: Any) -> None:
        raise PermissionError(13, "Access Denied")

    monkeypatch.setattr(commit, "write_file", fails)
    with pytest.raises(PermissionError):
        table.append(ROWS)
    monkeypatch.undo()
    assert LanceTable.open("t", filesystem=server.store()).version == 1
    assert len(list(server.folder.glob("t/data/*"))) == 1


def test_tables_without_files_of_transactions_get_none(server: Bucket) -> None:
    LanceTable.create("t", ROWS, filesystem=server.store())

    def add(message: Any) -> None:
        message.reader_feature_flags |= NO_TRANSACTION_FILES
        message.writer_feature_flags |= NO_TRANSACTION_FILES

    manifests.change(server.folder / "t", add)
    named = transactions(server)
    table = LanceTable.open("t", filesystem=server.store())
    table.append(ROWS)
    assert transactions(server) == named
    assert LanceTable.open("t", filesystem=server.store()).count_rows() == 6


def ordered(monkeypatch: pytest.MonkeyPatch, listed: threading.Event | None = None) -> list[str]:
    """Return the steps of a commit, in their order as they happen; rows are sent when versions were `listed`."""
    steps: list[str] = []
    send, publish = DataFileWriter.close, ExclusiveCreate.publish

    def sends(writer: DataFileWriter) -> None:
        assert listed is None or listed.wait(PATIENCE_SECONDS)
        time.sleep(0.05)
        send(writer)
        steps.append("sent")

    def publishes(strategy: ExclusiveCreate, attempt: CommitAttempt) -> bool:
        steps.append("named")
        return publish(strategy, attempt)

    monkeypatch.setattr(DataFileWriter, "close", sends)
    monkeypatch.setattr(ExclusiveCreate, "publish", publishes)
    return steps


@pytest.mark.parametrize("kind", ["append", "overwrite", "update", "merge", "add column"])
def test_rows_are_sent_while_versions_are_listed_and_named_after(
    kind: str, server: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    listed, listing = threading.Event(), commit.list_manifests

    def lists(*given: Any, **options: Any) -> Sequence[ManifestFile]:
        listed.set()
        return listing(*given, **options)

    monkeypatch.setattr(commit, "list_manifests", lists)
    steps = ordered(monkeypatch, listed)
    change(table, kind)
    assert steps == ["sent", "named"]
    assert LanceTable.open("t", filesystem=server.store()).version == 2


@pytest.mark.parametrize("kind", ["append", "update", "add column", "delete"])
def test_rows_that_cannot_be_sent_are_not_named(kind: str, server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    before = stored(server)
    steps = ordered(monkeypatch)

    def fails(*_: Any) -> None:
        time.sleep(0.05)
        raise PermissionError(13, "Access Denied")

    if kind == "delete":
        monkeypatch.setattr(deletion_files, "write_file", fails)
    else:
        monkeypatch.setattr(DataFileWriter, "close", fails)
    with pytest.raises(PermissionError):
        change(table, kind)
    assert "named" not in steps
    assert stored(server) == before
    assert LanceTable.open("t", filesystem=server.store()).version == 1


def change(table: LanceTable, kind: str) -> None:
    rows = pa.table({"id": [2, 7]})
    if kind == "append":
        table.append(ROWS)
    elif kind == "overwrite":
        table.overwrite(ROWS)
    elif kind == "update":
        table.update({"id": "id + 10"}, where="id = 2")
    elif kind == "merge":
        table.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    elif kind == "delete":
        table.delete("id = 2")
    else:
        table.add_columns({"twice": "id * 2"})


@pytest.mark.parametrize("kind", ["update", "merge"])
def test_new_rows_and_deletions_are_written_at_once(kind: str, server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())
    deleted, waited = threading.Event(), list[bool]()
    write, close = row_deletion.write_deletions, DataFileWriter.close

    def noted(*given: Any) -> Any:
        deleted.set()
        return write(*given)

    def waits(writer: DataFileWriter) -> None:
        waited.append(deleted.wait(PATIENCE_SECONDS))
        close(writer)

    monkeypatch.setattr(row_deletion, "write_deletions", noted)
    monkeypatch.setattr(DataFileWriter, "close", waits)
    change(table, kind)
    assert waited == [True]
    expected = [1, 3, 12] if kind == "update" else [1, 2, 3, 7]
    assert sorted(LanceTable.open("t", filesystem=server.store()).to_table()["id"].to_pylist()) == expected


def test_an_update_whose_deletions_fail_leaves_no_rows(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create("t", ROWS, filesystem=server.store())

    def fails(*_: Any) -> None:
        raise PermissionError(13, "Access Denied")

    monkeypatch.setattr(row_deletion, "write_deletions", fails)
    with pytest.raises(PermissionError):
        table.update({"id": "id + 10"}, where="id = 2")
    assert len(list(server.folder.glob("t/data/*"))) == 1
    assert LanceTable.open("t", filesystem=server.store()).version == 1
