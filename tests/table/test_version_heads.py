"""What a version says of itself: its features, its time, its writer, and whose it is."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import manifests
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow import LanceTable
from lance_arrow.errors import (
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from lance_arrow.io import Location
from lance_arrow.manifests.feature_flags import (
    BASE_PATHS,
    CONFIG,
    COVERING_INDEX,
    DELETION_FILES,
    NO_TRANSACTION_FILES,
    STABLE_ROW_IDS,
)
from lance_arrow.manifests.versions import VersionChoice, is_table, list_manifests, open_version, table_location
from lance_arrow.proto.table_pb2 import Manifest
from lance_arrow.table import commit
from lance_arrow.table.strategies import ExclusiveCreate

ROWS = pa.table({"id": [1, 2, 3]})
_FUTURE = datetime.datetime(2111, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LanceTable.create(tmp_path / "t.lance", ROWS)
    return tmp_path / "t.lance"


def flags(path: Path) -> tuple[int, int]:
    """Of the newest version: what readers must know, and what writers must."""
    message = manifests.message_of(manifests.newest(path))
    return message.reader_feature_flags, message.writer_feature_flags


def given(path: Path, flag: int) -> None:
    def add(message: Manifest) -> None:
        message.reader_feature_flags |= flag
        message.writer_feature_flags |= flag

    manifests.change(path, add)


def test_deletions_are_a_feature_as_long_as_there_are_some(path: Path) -> None:
    assert flags(path) == (0, 0)
    table = LanceTable.open(path)
    table.delete("id = 2")
    assert flags(path) == (DELETION_FILES, DELETION_FILES)
    table.append(ROWS)
    assert flags(path) == (DELETION_FILES, DELETION_FILES)
    table.compact()
    assert flags(path) == (0, 0)


def test_a_configuration_concerns_writers_as_long_as_there_is_one(path: Path) -> None:
    table = LanceTable.open(path)
    table.update_config({"owner": "billing"})
    assert flags(path) == (0, CONFIG)
    table.append(ROWS)
    assert flags(path) == (0, CONFIG)
    table.update_config({"owner": None})
    assert flags(path) == (0, 0)


def test_features_of_base_paths_and_of_indices_go_with_them(path: Path) -> None:
    given(path, BASE_PATHS | COVERING_INDEX)
    table = LanceTable.open(path)
    table.append(ROWS)
    assert flags(path) == (0, 0)
    table.create_zone_map("id")
    given(path, COVERING_INDEX)
    table = LanceTable.open(path)
    table.append(ROWS)
    assert flags(path) == (COVERING_INDEX, COVERING_INDEX)


def test_a_version_with_base_paths_says_so(path: Path) -> None:
    def add(message: Manifest) -> None:
        message.base_paths.add(id=1, path="elsewhere")

    manifests.change(path, add)
    LanceTable.open(path).append(ROWS)
    assert flags(path) == (BASE_PATHS, BASE_PATHS)


def test_stable_row_ids_stay_a_feature(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, enable_stable_row_ids=True)
    table.delete("id = 2")
    table.compact()
    assert flags(tmp_path / "t") == (STABLE_ROW_IDS, STABLE_ROW_IDS)


def test_each_version_is_later_than_the_one_before(path: Path) -> None:
    """Even if the clock of the writer before went ahead, to the nanosecond."""

    def ahead(message: Manifest) -> None:
        message.timestamp.seconds, message.timestamp.nanos = int(_FUTURE.timestamp()), 999_999_999

    manifests.change(path, ahead)
    LanceTable.open(path).append(ROWS)
    time = manifests.message_of(manifests.newest(path)).timestamp
    assert (time.seconds, time.nanos) == (int(_FUTURE.timestamp()) + 1, 0)


def test_a_version_has_the_time_of_its_commit(path: Path) -> None:
    before = datetime.datetime.now(datetime.UTC)
    table = LanceTable.open(path)
    table.append(ROWS)
    after = datetime.datetime.now(datetime.UTC)
    stamp = manifests.message_of(manifests.newest(path)).timestamp
    assert before.timestamp() <= stamp.seconds + stamp.nanos / 1e9 <= after.timestamp()


class LosesItsReply(ExclusiveCreate):
    """Makes the version, says that it did not, and leaves nothing of the transaction but its name."""

    def publish(self, attempt: Any) -> bool:
        assert super().publish(attempt)
        root = Path(self._table.path)
        message = manifests.message_of(Path(attempt.path))
        message.ClearField("transaction_section")
        Path(attempt.path).write_bytes(manifests.file_of(message))
        (root / "_transactions" / message.transaction_file).write_bytes(b"\xff\xff\xff")
        return False


def test_a_version_is_ours_by_the_name_of_its_transaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record that would tell cannot be read: without its name the rows would be appended twice."""
    table = LanceTable.open(path)
    monkeypatch.setattr("lance_arrow.table.strategies.ExclusiveCreate", LosesItsReply)
    judged: list[object] = []
    monkeypatch.setattr(commit._Commit, "_check", lambda *given: judged.append(given))
    table.append(ROWS)
    assert (table.version, judged) == (2, [])
    monkeypatch.undo()
    assert LanceTable.open(path).count_rows() == 6


class SaysNo(ExclusiveCreate):
    """Makes the version, and says that it did not."""

    def publish(self, attempt: Any) -> bool:
        assert super().publish(attempt)
        return False


def test_a_version_without_a_file_of_its_transaction_is_ours_by_its_record(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(path, NO_TRANSACTION_FILES)
    table = LanceTable.open(path)
    monkeypatch.setattr("lance_arrow.table.strategies.ExclusiveCreate", SaysNo)
    table.append(ROWS)
    assert table.version == 2
    assert manifests.message_of(manifests.newest(path)).transaction_file == ""
    monkeypatch.undo()
    assert LanceTable.open(path).count_rows() == 6


class Late(ExclusiveCreate):
    """Begins when another writer has made the table, changed it, and removed its first version."""

    def publish(self, attempt: Any) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("lance_arrow.table.strategies.ExclusiveCreate", ExclusiveCreate)
            table = LanceTable.create(self._table.path, ROWS)
            table.append(ROWS)
            table.cleanup(older_than=datetime.timedelta(), dry_run=False)
        return False


def test_a_table_is_not_created_over_what_a_cleanup_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lance_arrow.table.strategies.ExclusiveCreate", Late)
    with pytest.raises(TableExistsError):
        LanceTable.create(tmp_path / "t", ROWS)
    monkeypatch.undo()
    table = LanceTable.open(tmp_path / "t")
    assert ([one.version for one in table.history()], table.count_rows()) == ([2], 6)


def test_a_table_that_was_removed_does_not_come_back(path: Path) -> None:
    table = LanceTable.open(path)
    shutil.rmtree(path)
    with pytest.raises(VersionNotFoundError, match="version 1, which this change began with, was removed"):
        table.append(ROWS)
    assert not list(path.glob("_versions/*"))


@pytest.mark.parametrize("name", ["latest_version_hint.json", f"d{(1 << 63) + 5}.manifest"])
def test_a_folder_without_attached_versions_is_no_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "t" / "_versions").mkdir(parents=True)
    (tmp_path / "t" / "_versions" / name).write_bytes(b"{}")
    assert not is_table(Location(None, str(tmp_path / "t")))
    with pytest.raises(TableNotFoundError):
        LanceTable.open(tmp_path / "t")


def test_a_tag_and_its_branch_may_both_be_named(path: Path) -> None:
    table = LanceTable.open(path)
    table.branches.create("side")
    side = LanceTable.open(path, branch="side")
    side.append(ROWS)
    side.tags.create("there", 2)
    table.tags.create("here", 1)
    root = Location(None, str(path))
    assert open_version(root, VersionChoice(tag="there", branch="side")).branch == "side"
    assert open_version(root, VersionChoice(tag="here", branch="main")).version == 1
    # What is known of the main branch is of no other.
    newest = list_manifests(root)[-1]
    found = open_version(root, VersionChoice(branch="side"), newest=newest)
    assert (found.branch, found.version) == ("side", 2)
    for tag, branch in (("there", "main"), ("here", "side")):
        with pytest.raises(InvalidArgumentError, match=f"'{tag}' belongs to branch"):
            open_version(root, VersionChoice(tag=tag, branch=branch))


def test_the_folder_of_a_table_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("t.lance", "t.lance/", "./t.lance//", tmp_path / "t.lance", f"{tmp_path}/x/../t.lance"):
        assert table_location(given).path == str(tmp_path / "t.lance")
    assert table_location("/").path == "/"
    store = MemoryFileSystem()
    assert table_location("/bucket/t/", store).path == "/bucket/t"


def test_unknown_data_of_a_fragment_is_named(path: Path) -> None:
    def add(message: Manifest) -> None:
        message.fragments[0].files[0].MergeFromString(b"\xa2\x7d\x00")

    manifests.change(path, add)
    with pytest.raises(UnsupportedError, match=r"^files\[0\] of fragment 0 has the unknown field 2004"):
        LanceTable.open(path).delete("id = 1")
    manifests.change(path, lambda message: message.fragments[0].files[0].DiscardUnknownFields())
    manifests.change(path, lambda message: message.fragments[0].MergeFromString(b"\xa2\x7d\x00"))
    with pytest.raises(UnsupportedError, match=r"^fragment 0 has the unknown field 2004"):
        LanceTable.open(path).delete("id = 1")


def test_fragments_in_another_order_can_be_changed(path: Path) -> None:
    LanceTable.open(path).append(ROWS)

    def swap(message: Manifest) -> None:
        first, second = (type(one).FromString(one.SerializeToString()) for one in message.fragments)
        del message.fragments[:]
        message.fragments.extend((second, first))

    manifests.change(path, swap)
    table = LanceTable.open(path)
    table.append(ROWS)
    assert [one.id for one in manifests.message_of(manifests.newest(path)).fragments] == [0, 1, 2]
    assert table.count_rows() == 9
