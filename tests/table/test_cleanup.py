"""Cleanup: what goes and what stays, and that nothing is touched which somebody might need."""

from __future__ import annotations

import datetime
import os
import shutil
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError, LanceError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.version_files import VersionFiles, version_files
from lance_arrow.manifests.version_marks import keeping
from lance_arrow.proto.table_pb2 import Manifest
from lance_arrow.table import cleanup

NOW = datetime.timedelta()


class Held(VersionFiles):
    """What a version names, which weak references can refer to."""


def rows_of(start: int, stop: int) -> pa.Table:
    return pa.table({"id": np.arange(start, stop)})


def files_of(path: Path) -> set[str]:
    return {str(found.relative_to(path)) for found in path.rglob("*") if found.is_file()}


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    """Six versions: made, appended, deleted, updated, compacted in two."""
    made = LanceTable.create(tmp_path / "t.lance", rows_of(0, 20), max_rows_per_file=10)
    made.append(rows_of(20, 25))
    made.delete(pc.field("id") == 3)
    made.update({"id": "id + 100"}, "id = 12")
    made.compact()
    return made


def test_dry_run_is_the_default(table: LanceTable) -> None:
    path = Path(table.uri)
    before = files_of(path)
    assert table.cleanup().versions == ()
    report = table.cleanup(older_than=NOW)
    assert (report.is_dry_run, report.versions) == (True, (1, 2, 3, 4, 5))
    assert files_of(path) == before
    done = table.cleanup(older_than=NOW, dry_run=False)
    assert (done.files, done.num_bytes, done.is_dry_run) == (report.files, report.num_bytes, False)
    assert before - files_of(path) == {file.path for file in done.files}
    assert sorted(files_of(path)) == sorted(
        [f"data/{table.manifest.fragments[0].files[0].path}", f"_transactions/{table.manifest.transaction_file}",
         f"_versions/{18446744073709551615 - 6}.manifest"]
    )  # fmt: skip
    assert table.to_table().num_rows == 24
    assert [version.version for version in table.history()] == [6]
    assert table.cleanup(older_than=NOW, dry_run=False).files == ()
    table.append(rows_of(50, 51))
    assert LanceTable.open(path).version == 7


def test_what_stays(table: LanceTable) -> None:
    path = Path(table.uri)
    table.tags.create("keep", 2)
    expected = {version: LanceTable.open(path, version=version).to_table() for version in (2, 5, 6)}
    report = table.cleanup(older_than=NOW, retain_versions=2, dry_run=False)
    assert report.versions == (1, 3, 4)
    assert report.kept == {2: "tag 'keep'", 5: "one of the newest 2", 6: "the newest"}
    for version, rows in expected.items():
        assert LanceTable.open(path, version=version).to_table().equals(rows)
    with pytest.raises(InvalidArgumentError, match="older_than"):
        table.cleanup(older_than=-datetime.timedelta(days=1))
    with pytest.raises(InvalidArgumentError, match="retain_versions"):
        table.cleanup(retain_versions=0)


def test_age_counts_from_when_a_version_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 5))
    for number in range(3):
        table.append(rows_of(number, number + 1))
    times = {1: 30, 2: 20, 3: 1, 4: 0}
    for version, days in times.items():
        place = path / "_versions" / f"{18446744073709551615 - version}.manifest"
        moment = time.time() - days * 86_400

        def edit(message: Manifest, seconds: int = int(moment)) -> None:
            message.timestamp.seconds = seconds

        content = place.read_bytes()
        message = manifests.message_of(place)
        edit(message)
        position = manifests.FOOTER.unpack(content[-manifests.FOOTER.size :])[0]
        place.write_bytes(manifests.file_of(message, content[:position]))
    # Version 2 is 20 days old, but was the newest until yesterday.
    assert LanceTable.open(path).cleanup().versions == (1,)
    assert LanceTable.open(path).cleanup(older_than=datetime.timedelta(hours=12)).versions == (1, 2)


def test_unnamed_files(table: LanceTable) -> None:
    """What no version names may be waiting for one; what is not called as our files are is nobody's business."""
    path = Path(table.uri)
    shutil.copy(path / "data" / table.manifest.fragments[0].files[0].path, path / "data" / "young.lance")
    old = ["data/old.lance", "data/old/1.blob", "_deletions/0-1-2.arrow", "_transactions/1-x.txn",
           "_indices/0a0b0c0d-0a0b-0c0d-0a0b-0a0b0c0d0e0f/x.lance"]  # fmt: skip
    foreign = ["readme.md", "data/notes.txt", "data/a/b/c.lance", "_indices/mine/x.lance", "_deletions/mine.arrow",
               "_versions/.tmp_7.manifest_x", "_versions/latest_version_hint.json", "_refs/tags/x.txt", "other/x.lance",
               "_transactions/mine.txt"]  # fmt: skip
    for name in (*old, *foreign):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"x")
        os.utime(path / name, (time.time() - 8 * 86_400,) * 2)
    report = table.cleanup()
    assert {(file.path, file.reason) for file in report.files} == {(name, "no version") for name in old}
    table.cleanup(dry_run=False)
    assert files_of(path) >= {*foreign, "data/young.lance"}
    assert not files_of(path) & {*old}
    table.cleanup(delete_unverified=True, dry_run=False)
    assert files_of(path) >= {*foreign}
    assert "data/young.lance" not in files_of(path)
    assert table.to_table().num_rows == 24


def test_refused(table: LanceTable) -> None:
    """A manifest that is not understood may name anything: old ones, and those of other lines, count."""
    path = Path(table.uri)
    before = files_of(path)
    place = path / "_versions" / f"{18446744073709551615 - 2}.manifest"
    content = place.read_bytes()
    position = manifests.FOOTER.unpack(content[-manifests.FOOTER.size :])[0]
    for field in (b"\xfa\x07\x01x", b""):
        message = manifests.message_of(place)
        if field:
            message.MergeFromString(field)
        else:
            message.fragments[0].MergeFromString(b"\xfa\x07\x01x")
        place.write_bytes(manifests.file_of(message, content[:position]))
        for dry_run in (True, False):
            with pytest.raises(UnsupportedError, match="unknown field 127"):
                table.cleanup(older_than=NOW, dry_run=dry_run)
    place.write_bytes(content[:-9])
    with pytest.raises(LanceError):
        table.cleanup(older_than=NOW, dry_run=False)
    assert files_of(path) == before


def test_beside_writers_and_readers(tmp_path: Path) -> None:
    """Nobody loses a file of a version that was current within the time that is kept."""
    path = tmp_path / "t.lance"
    LanceTable.create(path, rows_of(0, 50), max_rows_per_file=10)
    stop = threading.Event()
    errors: list[BaseException] = []

    def clean() -> None:
        try:
            while not stop.is_set():
                LanceTable.open(path).cleanup(older_than=datetime.timedelta(seconds=5), dry_run=False)
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    def read() -> None:
        try:
            while not stop.is_set():
                table = LanceTable.open(path)
                time.sleep(0.05)
                assert table.to_table().num_rows == table.count_rows()
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=clean), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    try:
        for number in range(12):
            table = LanceTable.open(path)
            table.append(rows_of(100 + number, 101 + number))
            table.delete(pc.field("id") == number)
            if number % 4 == 3:
                table.compact()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors
    assert sorted(LanceTable.open(path).to_table()["id"].to_pylist()) == [*range(12, 50), *range(100, 112)]


def test_files_of_a_version_that_is_claimed_meanwhile_stay(tmp_path: Path) -> None:
    made = LanceTable.create(tmp_path / "t.lance", rows_of(0, 3))
    for first in (10, 20):
        made.overwrite(rows_of(first, first + 3))
    with keeping(Location(None, made.uri), 2):
        report = made.cleanup(older_than=NOW, dry_run=False)
    assert (report.versions, list(report.kept)) == ((1,), [2, 3])
    assert LanceTable.open(made.uri, version=2).to_table()["id"].to_pylist() == [10, 11, 12]


def test_names_of_few_versions_are_held_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = LanceTable.create(tmp_path / "t.lance", rows_of(0, 1))
    for number in range(40):
        made.append(rows_of(number, number + 1))
    held: weakref.WeakSet[VersionFiles] = weakref.WeakSet()
    most = 0

    def noted(*arguments: Any, **named: Any) -> Any:
        nonlocal most
        read = version_files(*arguments, **named)
        found = Held(version=read.version, timestamp=read.timestamp, manifest=read.manifest, names=read.names)
        held.add(found)
        most = max(most, len(held))
        return found

    monkeypatch.setattr(cleanup, "version_files", noted)
    assert len(made.cleanup(older_than=NOW).versions) == 40
    assert most <= 2


@pytest.mark.parametrize("is_listed", [False, True])
def test_versions_that_another_cleanup_removes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_listed: bool
) -> None:
    made = LanceTable.create(tmp_path / "t.lance", rows_of(0, 3))
    for first in (10, 20, 30):
        made.overwrite(rows_of(first, first + 3))
    before = cleanup.list_manifests(Location(None, made.uri))
    monkeypatch.setattr(cleanup, "manifest_contents", lambda *_: {})
    read = cleanup.version_files
    other = LanceTable.open(made.uri)

    def removed_first(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(cleanup, "version_files", read)
        assert other.cleanup(older_than=NOW, retain_versions=2, dry_run=False).versions == (1, 2)
        if is_listed:
            monkeypatch.setattr(cleanup, "list_manifests", lambda *_, **__: before)
        return read(*arguments, **named)

    monkeypatch.setattr(cleanup, "version_files", removed_first)
    if is_listed:
        # Who lists a version and does not find it cannot be asked which files are needed.
        with pytest.raises(FileNotFoundError):
            made.cleanup(older_than=NOW, dry_run=False)
    else:
        assert made.cleanup(older_than=NOW, dry_run=False).versions == (3,)
    assert LanceTable.open(made.uri).to_table()["id"].to_pylist() == [30, 31, 32]
