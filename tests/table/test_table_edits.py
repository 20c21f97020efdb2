"""What `LanceTable` writes: one version per call, exact rows, nothing dropped, nothing left behind."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from google.protobuf.unknown_fields import UnknownFieldSet

from lance_arrow import LanceTable
from lance_arrow.errors import (
    CommitConflictError,
    CorruptManifestError,
    InvalidArgumentError,
    LanceError,
    TableExistsError,
    UnsupportedError,
    UnsupportedFeatureFlagError,
    VersionNotFoundError,
)
from lance_arrow.manifests.writing import LIBRARY
from lance_arrow.proto.table_pb2 import DataFragment, Manifest
from lance_arrow.table.operations.edit_result import EditResult

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "s": ["a", None, "c"]})
MORE = pa.table({"id": pa.array([4, 5], pa.int64()), "s": ["d", "e"]})
EDITS: dict[str, Callable[[LanceTable], EditResult]] = {
    "append": lambda table: table.append(MORE),
    "overwrite": lambda table: table.overwrite(MORE),
    "delete": lambda table: table.delete(pc.field("id") == 2),
    "restore": lambda table: table.restore(1),
}


def _merge(table: LanceTable) -> None:
    table.merge(MORE, on="id").when_matched_update_all().when_not_matched_insert_all().execute()


OTHER_EDITS: dict[str, Callable[[LanceTable], object]] = {
    "update": lambda table: table.update({"s": "'x'"}, pc.field("id") == 2),
    "merge": _merge,
    "add_columns": lambda table: table.add_columns({"twice": pc.field("id") * 2}),
    "drop_columns": lambda table: table.drop_columns(["s"]),
    "alter_columns": lambda table: table.alter_columns({"path": "id", "data_type": pa.int32()}),
    "replace_columns": lambda table: table.replace_columns({"id": 1, "s": "'x'"}),
    "compact": lambda table: table.compact(),
    "update_config": lambda table: table.update_config({"a": "b"}),
    "create_zone_map": lambda table: table.create_zone_map("id"),
    "branch": lambda table: table.branches.create("b"),
    "clone": lambda table: table.shallow_clone(f"{table.uri}-clone"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    LanceTable.create(tmp_path / "t.lance", ROWS)
    return tmp_path / "t.lance"


def files_of(path: Path) -> set[str]:
    return {str(found.relative_to(path)) for found in path.rglob("*") if found.is_file()}


def test_modes_of_create(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, ROWS, message="first")
    assert (table.version, table.count_rows(), table.schema) == (1, 3, ROWS.schema)
    with pytest.raises(TableExistsError, match="already"):
        LanceTable.create(path, ROWS)
    with pytest.raises(FileExistsError):
        LanceTable.create(path, ROWS)
    appended = LanceTable.create(path, MORE, mode="append", message="second")
    assert (appended.version, appended.count_rows()) == (2, 5)
    replaced = LanceTable.create(path, MORE.select(["s"]), mode="overwrite", file_version="2.1")
    assert (replaced.version, replaced.schema.names, replaced.manifest.data_format) == (3, ["s"], "2.1")
    assert [version.message for version in replaced.history()] == [None, "second", "first"]
    for mode in ("overwrite", "append"):
        fresh = LanceTable.create(tmp_path / mode, ROWS, mode=mode)
        assert (fresh.version, fresh.count_rows()) == (1, 3)
    with pytest.raises(InvalidArgumentError, match="mode is 'other'"):
        LanceTable.create(path, ROWS, mode="other")
    with pytest.raises(InvalidArgumentError, match="no stable row ids"):
        LanceTable.create(path, ROWS, mode="overwrite", enable_stable_row_ids=True)
    with pytest.raises(InvalidArgumentError, match=r"version 2\.1, not 2\.3"):
        LanceTable.create(path, ROWS, mode="append", file_version="2.3")
    assert LanceTable.open(path).version == 3


def test_calls_return_their_version_and_move_the_handle(path: Path) -> None:
    table = LanceTable.open(path)
    other = LanceTable.open(path)
    for number, edit in enumerate(EDITS.values(), start=2):
        assert edit(table).version == table.version == number
        assert table.to_table().equals(LanceTable.open(path).to_table())
    assert other.version == 1
    assert other.to_table().equals(ROWS)


def test_streams_are_cut_into_files(tmp_path: Path) -> None:
    ids = np.arange(1000)
    batches = (pa.record_batch({"id": ids[start : start + 70]}) for start in range(0, 1000, 70))
    table = LanceTable.create(tmp_path / "t.lance", batches, max_rows_per_file=128)
    assert [fragment.physical_rows for fragment in table.manifest.fragments] == [128] * 7 + [104]
    assert table.to_table()["id"].to_numpy().tolist() == ids.tolist()
    assert table.take([999, 0, 128])["id"].to_pylist() == [999, 0, 128]
    with pytest.raises(InvalidArgumentError, match="max_rows_per_file is 0"):
        table.append(ROWS.select(["id"]), max_rows_per_file=0)
    with pytest.raises(InvalidArgumentError, match="no batch to take the schema from"):
        LanceTable.create(tmp_path / "u.lance", iter(()))
    empty = LanceTable.create(tmp_path / "u.lance", iter(()), schema=ROWS.schema)
    assert empty.to_table().equals(ROWS.slice(0, 0))


def test_rows_are_fitted(tmp_path: Path) -> None:
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("l", pa.list_(pa.string()))])
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("n", inner), pa.field("s", pa.string())])
    first = pa.table({"id": [1], "n": pa.array([{"x": 1, "l": ["a"]}], inner), "s": ["x"]}, schema=schema)
    table = LanceTable.create(tmp_path / "t.lance", first)
    loose = pa.struct([("x", pa.int32()), ("l", pa.list_(pa.field("element", pa.string())))])
    given = pa.table(
        {
            "s": pa.array(["y", "z"], pa.string_view()),
            "n": pa.array([{"x": 2, "l": None}, None], loose),
            "id": pa.array([2, 3], pa.int64()),
        }
    )
    table.append(given)
    table.append(pa.table({"id": pa.array([4], pa.int64()), "s": pa.nulls(1)}))
    assert table.schema.equals(schema)
    assert table.to_table().to_pylist() == [
        {"id": 1, "n": {"x": 1, "l": ["a"]}, "s": "x"},
        {"id": 2, "n": {"x": 2, "l": None}, "s": "y"},
        {"id": 3, "n": None, "s": "z"},
        {"id": 4, "n": None, "s": None},
    ]
    before = files_of(tmp_path / "t.lance")
    refused = {
        "no column 'other'": pa.table({"id": pa.array([1], pa.int64()), "other": [1]}),
        "may not be null": pa.table({"s": ["x"]}),
        "the table has int64": pa.table({"id": pa.array([1], pa.int32())}),
        "not nullable": pa.table({"id": pa.array([None], pa.int64())}),
        "two fields have the name": pa.Table.from_arrays([ROWS["id"], ROWS["id"]], names=["id", "id"]),
    }
    for text, wrong in refused.items():
        with pytest.raises(InvalidArgumentError, match=text):
            table.append(wrong)
    null_inside = pa.array([{"x": None, "l": []}], loose)
    with pytest.raises(InvalidArgumentError, match="not nullable"):
        table.append(pa.table({"id": pa.array([5], pa.int64()), "n": null_inside}))
    assert files_of(tmp_path / "t.lance") == before
    assert table.version == 3


def test_failing_streams_leave_nothing_behind(path: Path) -> None:
    before = files_of(path)

    def batches() -> object:
        yield from MORE.to_batches()
        raise RuntimeError("the source is gone")

    table = LanceTable.open(path)
    for edit in (table.append, table.overwrite):
        with pytest.raises(RuntimeError, match="gone"):
            edit(batches(), max_rows_per_file=1)
    assert files_of(path) == before
    assert table.version == LanceTable.open(path).version == 1


def test_deletions(tmp_path: Path) -> None:
    ids = pa.table({"id": pa.array([*range(10), None], pa.int64())})
    table = LanceTable.create(tmp_path / "t.lance", ids, max_rows_per_file=4)
    table.delete([("id", "<", 2)])
    table.delete(pc.field("_rowaddr") == (1 << 32))
    table.delete(pc.field("id") > 8)
    assert table.to_table()["id"].to_pylist() == [2, 3, 5, 6, 7, 8, None]
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [2, 3, 2]
    assert table.manifest.reader_flags == table.manifest.writer_flags == 1
    table.delete(pc.field("id") <= 3)
    assert [fragment.id for fragment in table.manifest.fragments] == [1, 2]
    table.delete(pc.field("id") >= 0)
    assert table.to_table()["id"].to_pylist() == [None]
    table.delete(pc.field("id").is_null())
    assert table.count_rows() == 0
    assert table.manifest.reader_flags == 0
    assert table.version == 7
    table.append(ids.slice(0, 1))
    assert [fragment.id for fragment in table.manifest.fragments] == [3]
    for wrong in (pc.field("nothing") == 1, [("nothing", "=", 1)], 5, pc.field("id") + 1):
        with pytest.raises(InvalidArgumentError):
            table.delete(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="message is 5"):
        table.delete(pc.field("id") == 1, message=5)  # type: ignore[arg-type]


def test_deletions_by_sql(path: Path) -> None:
    pytest.importorskip("sqlglot")
    table = LanceTable.open(path)
    table.delete("id > 2 or s is null")
    assert table.to_table()["id"].to_pylist() == [1]
    for wrong in ("nothing = 1", "id +"):
        with pytest.raises(InvalidArgumentError):
            table.delete(wrong)
    assert table.version == 2


def test_old_handles_catch_up(path: Path) -> None:
    old, new = LanceTable.open(path), LanceTable.open(path)
    new.delete(pc.field("id") == 1)
    old.delete(pc.field("id") == 2)
    assert old.version == 3
    assert old.to_table()["id"].to_pylist() == [3]
    first = LanceTable.open(path, version=1)
    first.append(MORE)
    assert (first.version, first.to_table()["id"].to_pylist()) == (4, [3, 4, 5])
    stale = LanceTable.open(path)
    new = LanceTable.open(path)
    new.overwrite(MORE)
    with pytest.raises(CommitConflictError, match="made from version 4, but version 5 came first") as caught:
        stale.append(MORE)
    assert not caught.value.retryable
    assert (caught.value.ours.operation, caught.value.theirs.operation) == ("append", "overwrite")  # type: ignore[attr-defined]
    assert stale.version == 4


def test_versions_that_are_gone(path: Path) -> None:
    old = LanceTable.open(path)
    for _ in range(2):
        LanceTable.open(path).append(MORE)
    newest = manifests.newest(path)
    middle = sorted((path / "_versions").glob("*.manifest"))[1]
    middle.unlink()
    with pytest.raises(CommitConflictError, match="cannot be checked"):
        old.append(MORE)
    handle = LanceTable.open(path)
    newest.unlink()
    with pytest.raises(VersionNotFoundError, match="version 3, which this change began with, was removed"):
        handle.append(MORE)


def test_restore_and_tags(path: Path) -> None:
    table = LanceTable.open(path)
    table.append(MORE)
    table.tags.create("one", 1)
    assert (list(table.tags), len(table.tags), table.tags["one"].version) == (["one"], 1, 1)
    assert "two" not in table.tags
    with pytest.raises(InvalidArgumentError, match="already"):
        table.tags.create("one", 2)
    with pytest.raises(VersionNotFoundError):
        table.tags.create("two", 9)
    for name in ("../x", "a b", "", 5):
        with pytest.raises(InvalidArgumentError):
            table.tags.create(name, 1)  # type: ignore[arg-type]
    table.restore("one", message="back")
    assert (table.version, table.to_table().equals(ROWS)) == (3, True)
    table.tags.update("one", 2)
    assert LanceTable.open(path, tag="one").count_rows() == 5
    table.tags.delete("one")
    for change in (lambda: table.tags.delete("one"), lambda: table.tags.update("one", 1), lambda: table.restore("one")):
        with pytest.raises(VersionNotFoundError):
            change()
    assert [version.operation for version in table.history()] == ["restore", "append", "overwrite"]
    assert table.history()[0].message == "back"
    # Ids that were given are not given again.
    table.append(MORE)
    assert [fragment.id for fragment in table.manifest.fragments] == [0, 2]


def test_row_ids_go_on(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", ROWS, enable_stable_row_ids=True)
    table.append(MORE)
    table.restore(1)
    table.append(MORE)
    table.delete(pc.field("id") == 2)
    names = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    found = table.to_table(columns=names).to_pydict()
    assert found == dict(zip(names, [[1, 3, 4, 5], [0, 2, 5, 6], [1, 1, 4, 4], [1, 1, 4, 4]], strict=True))
    assert table.manifest.next_row_id == 7
    assert table.manifest.reader_flags == 3


def test_times_never_go_back(path: Path) -> None:
    future = datetime.datetime(2200, 1, 1, tzinfo=datetime.UTC)
    manifests.change(path, lambda message: message.timestamp.FromDatetime(future))
    table = LanceTable.open(path)
    table.append(MORE)
    assert table.manifest.timestamp is not None
    assert table.manifest.timestamp >= future
    assert LanceTable.open(path, as_of=future + datetime.timedelta(days=1)).version == 2


def unknown(message: Manifest | DataFragment) -> None:
    """Add a field of the number 500."""
    message.MergeFromString(b"\xa2\x1f\x03abc")


REFUSED: dict[str, tuple[Callable[[Manifest], object], type[LanceError], str]] = {
    "writer flag": (
        lambda message: setattr(message, "writer_feature_flags", 1 << 15),
        UnsupportedFeatureFlagError,
        "writer features 0x8000",
    ),
    "unknown field": (unknown, UnsupportedError, "unknown field 500"),
    "ids twice": (
        lambda message: message.fragments.add().CopyFrom(message.fragments[0]),
        CorruptManifestError,
        "two fragments have the id 0",
    ),
    "early writer": (lambda message: message.ClearField("writer_version"), UnsupportedError, "early release"),
}


@pytest.mark.cover(1)
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("edit", [*EDITS, *OTHER_EDITS])
def test_what_is_never_written_on(path: Path, case: str, edit: str) -> None:
    change, error, text = REFUSED[case]
    manifests.change(path, change)
    before = files_of(path.parent)
    table = LanceTable.open(path)
    with pytest.raises(error, match=text):
        (EDITS | OTHER_EDITS)[edit](table)
    assert files_of(path.parent) == before
    assert table.version == 1


@pytest.mark.parametrize("edit", OTHER_EDITS)
def test_what_is_not_known_of_a_fragment_is_not_changed(path: Path, edit: str) -> None:
    """Whatever touches the fragment refuses, and leaves nothing behind; the others go on."""
    LanceTable.open(path).append(MORE)
    manifests.change(path, lambda message: unknown(message.fragments[0]))
    before = files_of(path.parent)
    table = LanceTable.open(path)
    if edit in ("merge", "drop_columns", "update_config", "create_zone_map"):
        OTHER_EDITS[edit](table)
        first = manifests.message_of(manifests.newest(path)).fragments[0]
        assert [field.field_number for field in UnknownFieldSet(first)] == [500]
        return
    with pytest.raises(UnsupportedError, match="fragment 0 has the unknown field 500"):
        OTHER_EDITS[edit](table)
    assert files_of(path.parent) == before


def test_what_is_not_known_of_a_fragment_travels_along(path: Path) -> None:
    manifests.change(path, lambda message: unknown(message.fragments[0]))
    table = LanceTable.open(path)
    table.append(MORE)
    first = manifests.message_of(manifests.newest(path)).fragments[0]
    assert [field.field_number for field in UnknownFieldSet(first)] == [500]
    with pytest.raises(UnsupportedError, match="fragment 0 has the unknown field 500"):
        table.delete(pc.field("id") == 1)
    table.delete(pc.field("id") == 4)
    assert table.to_table()["id"].to_pylist() == [1, 2, 3, 5]


def test_what_is_kept(path: Path) -> None:
    def edit(message: Manifest) -> None:
        message.config["lance.some"] = "thing"
        message.table_metadata["t"] = "m"
        message.writer_feature_flags = 8 | 32
        message.reader_feature_flags = 32
        message.clustering.add(id=1, provider="p")
        message.transaction_section_deprecated = 0

    manifests.change(path, edit)
    table = LanceTable.open(path)
    num_transactions = len(list((path / "_transactions").iterdir()))
    for number in ("append", "delete", "overwrite", "restore"):
        EDITS[number](table)
        message = manifests.message_of(manifests.newest(path))
        assert message.config["lance.some"] == "thing"
        assert message.table_metadata["t"] == "m"
        assert message.clustering[0].provider == "p"
        deletes = any(fragment.HasField("deletion_file") for fragment in message.fragments)
        assert message.writer_feature_flags == 8 | 32 | deletes
        assert message.reader_feature_flags == 32 | deletes
        assert not message.HasField("transaction_section_deprecated")
        assert message.transaction_file == ""
        assert message.writer_version.library == LIBRARY
    # The table wants no files of transactions; history has them all the same.
    assert len(list((path / "_transactions").iterdir())) == num_transactions
    assert [version.operation for version in table.history()[:4]] == ["restore", "overwrite", "delete", "append"]


def test_files_of_older_versions_are_not_mixed(path: Path) -> None:
    def edit(message: Manifest) -> None:
        message.data_format.version = "0.1"

    manifests.change(path, edit)
    table = LanceTable.open(path)
    with pytest.raises(UnsupportedError, match=r"version 0\.1, which cannot be written"):
        table.append(MORE)
    table.overwrite(MORE)
    assert table.manifest.data_format == "2.2"


WORK = """
import sys
import pyarrow as pa
from lance_arrow import LanceTable
path, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
table = LanceTable.open(path)
for step in range(count):
    table.append(pa.table({"id": pa.array([number * 1000 + step], pa.int64()), "s": ["x"]}))
"""


@pytest.mark.whole
def test_processes_side_by_side(path: Path) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", WORK, str(path), str(n), "10"]) for n in range(1, 4)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    table = LanceTable.open(path)
    expected = Counter([1, 2, 3, *(n * 1000 + step for n in range(1, 4) for step in range(10))])
    assert Counter(table.to_table()["id"].to_pylist()) == expected
    assert [version.version for version in table.history()] == list(range(31, 0, -1))
    assert not list((path / "_versions").glob(".*"))
    named = {file.path for fragment in table.manifest.fragments for file in fragment.files}
    assert {file.name for file in (path / "data").iterdir()} == named
