"""Commits among versions that are not as usual: without a record, with a damaged one, or gone meanwhile."""

from __future__ import annotations

import contextlib
import datetime
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import manifests
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow import LanceTable
from lance_arrow.errors import (
    CommitConflictError,
    CorruptManifestError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from lance_arrow.io import Location
from lance_arrow.manifests import versions, writing
from lance_arrow.manifests.names import ManifestName, NamingScheme
from lance_arrow.manifests.version_files import version_files
from lance_arrow.manifests.versions import VersionChoice, list_manifests, open_version
from lance_arrow.proto.table_pb2 import DataFile, Manifest
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.runtime import default_runtime
from lance_arrow.settings import Limits, Settings
from lance_arrow.spi import hookimpl
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy
from lance_arrow.table import commit
from lance_arrow.table.conflicts import Outcome, footprint_of, judge
from lance_arrow.table.replacement import DataReplacement
from lance_arrow.table.strategies import SingleWriter
from lance_arrow.table.written_files import WrittenFiles

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LanceTable.create(tmp_path / "t.lance", ROWS)
    return tmp_path / "t.lance"


def without_record(path: Path) -> None:
    """Let the newest version tell nothing of its transaction."""
    message = manifests.message_of(manifests.newest(path))
    message.ClearField("transaction_section")
    message.ClearField("transaction_file")
    manifests.newest(path).write_bytes(manifests.file_of(message))


def with_damaged_record(path: Path) -> None:
    without_record(path)
    (path / "_transactions").mkdir(exist_ok=True)
    (path / "_transactions" / "damaged.txn").write_bytes(b"\xff\xff\xff")

    def name(message: Manifest) -> None:
        message.transaction_file = "damaged.txn"

    manifests.change(path, name)


@pytest.mark.parametrize("spoil", [without_record, with_damaged_record])
def test_unknown_changes_of_others(path: Path, spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, restoring = LanceTable.open(path), LanceTable.open(path)
    LanceTable.open(path).append(ROWS)
    spoil(path)
    refused: list[CommitConflictError] = []
    check = commit._Commit._check

    def noted(*arguments: Any) -> None:
        try:
            check(*arguments)
        except CommitConflictError as error:
            refused.append(error)
            raise

    monkeypatch.setattr(commit._Commit, "_check", noted)
    # It is made anew, from what the other writer left.
    mine.delete("id = 1")
    assert ["(an operation without record): its changes are unknown" in str(error) for error in refused] == [True]
    assert refused[0].retryable
    assert LanceTable.open(path).to_table()["id"].to_pylist() == [2, 3, 2, 3]
    # What replaces everything need not know them.
    restoring.restore(1)
    assert len(refused) == 1
    assert LanceTable.open(path).count_rows() == 3


def test_files_of_versions_without_a_record(path: Path) -> None:
    LanceTable.open(path).append(ROWS)
    without_record(path)
    line = Location(None, str(path))
    newest = list_manifests(line)[-1]
    found = version_files(line, newest, Limits())
    assert not [name for name in found.names if name.startswith("_transactions")]
    assert len([name for name in found.names if name.startswith("data/")]) == 2
    # A cleanup reads many at once.
    LanceTable.open(path).append(ROWS)
    without_record(path)
    report = LanceTable.open(path).cleanup(older_than=datetime.timedelta(), dry_run=False)
    assert report.versions == (1, 2)
    assert LanceTable.open(path).count_rows() == 9


def test_an_index_section_that_is_gone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.open(path)
    table.create_zone_map("id")

    def gone(*_: object, **__: object) -> bytes:
        raise FileNotFoundError(2, "no such file")

    monkeypatch.setattr(commit, "read_section", gone)
    with pytest.raises(VersionNotFoundError, match="version 2 is gone"):
        table.append(ROWS)


def test_fields_of_a_manifest_that_cannot_be_parsed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.open(path)
    monkeypatch.setattr(writing, "split_manifest", lambda body: None)
    with pytest.raises(CorruptManifestError, match="fields cannot be parsed"):
        table.append(ROWS)
    assert LanceTable.open(path).version == 1


def test_a_manifest_that_is_too_large_to_be_stored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if sizes of manifests had 16 bits, and not 32."""
    schema = ROWS.schema.with_metadata({"long": "x" * (1 << 16)})
    table = LanceTable.create(path.parent / "long.lance", ROWS.cast(schema))
    monkeypatch.setattr(writing, "SECTION_HEAD", struct.Struct("<H"))
    with pytest.raises(UnsupportedError, match="cannot be stored: compact the table"):
        table.append(ROWS)


class Overtaken:
    """Lets another writer create the table first, each time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @hookimpl
    def lance_commit_strategy(self, location: object, settings: object) -> CommitStrategy:
        return self

    def publish(self, attempt: CommitAttempt) -> bool:
        if not attempt.exists():
            manager = default_runtime().plugins.manager
            manager.unregister(self)
            try:
                LanceTable.create(self.path, ROWS.slice(0, 1))
            finally:
                manager.register(self)
        return False


@contextlib.contextmanager
def registered(plugin: object) -> Iterator[None]:
    manager = default_runtime().plugins.manager
    manager.register(plugin)
    try:
        yield
    finally:
        manager.unregister(plugin)


def test_another_writer_creates_the_table_first(tmp_path: Path) -> None:
    with registered(Overtaken(tmp_path / "new.lance")), pytest.raises(TableExistsError):
        LanceTable.create(tmp_path / "new.lance", ROWS)
    assert LanceTable.open(tmp_path / "new.lance").count_rows() == 1


def test_a_single_writer_replaces_no_version() -> None:
    class Attempt:
        def exists(self) -> bool:
            return True

        def write(self) -> None:
            raise AssertionError("a version is replaced")

    assert not SingleWriter().publish(Attempt())  # type: ignore[arg-type]


def test_a_day_is_its_first_moment(path: Path) -> None:
    tomorrow = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1)
    location = Location(None, str(path))
    assert open_version(location, VersionChoice(as_of=tomorrow), Limits()).version == 1
    with pytest.raises(VersionNotFoundError):
        open_version(location, VersionChoice(as_of=tomorrow - datetime.timedelta(days=9)), Limits())


@pytest.mark.parametrize("has_others", [False, True])
def test_a_store_that_lists_nothing_after_a_name(has_others: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next version is looked for by its name in the other scheme."""
    names = {str(ManifestName(version, NamingScheme.V2)): 1 for version in (41, 42)}

    def listed(filesystem: object, folder: str, count: int, *, after: str = "") -> Any:
        return (names, False) if not after else None

    asked: list[str] = []

    def exists(place: Location) -> bool:
        asked.append(place.path)
        return has_others

    monkeypatch.setattr(versions, "list_first", listed)
    monkeypatch.setattr(versions, "file_exists", exists)
    found = versions._first_files(Location(MemoryFileSystem(), "/t"), "/t/_versions")
    assert found == (None if has_others else names)
    assert asked == ["/t/_versions/43.manifest"]


def test_a_branch_of_no_table_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for made, error in ((False, TableNotFoundError), (True, VersionNotFoundError)):
        if made:
            LanceTable.create(tmp_path / "t", pa.table({"a": [1]}))
        with pytest.raises(error):
            LanceTable.open(tmp_path / "t", branch="side")


def test_a_replaced_file_is_in_the_way_of_an_index_of_the_list_above(path: Path) -> None:
    """The transaction names the items alone, and the index the list."""
    table = LanceTable.open(path)
    replacement = DataReplacement({0: DataFile(fields=[2])}, frozenset((1, 2)))
    made = commit._Commit(
        Location(None, str(path)), replacement, table._manifest, WrittenFiles(), SingleWriter(), Settings(), {}, None
    )
    for field, expected in ((1, Outcome.RETRYABLE), (2, Outcome.RETRYABLE), (3, Outcome.COMPATIBLE)):
        index = Transaction()
        index.create_index.new_indices.add(name="i", fields=[field])
        assert judge(made._footprint, footprint_of(index.SerializeToString())).outcome is expected
