"""`durability`: what is on the disk when a change has returned; refusals, and how it travels with a handle."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError

ROWS = pa.table({"id": pa.array(range(100), pa.int64()), "name": [f"name {i}" for i in range(100)]})

needs_names_of_descriptors = pytest.mark.skipif(
    not os.path.exists("/proc/self/fd"), reason="only Linux tells the path of an open file, in /proc"
)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of what is brought to the disk, and of manifests as they get their names."""
    found: list[str] = []
    real_sync, real_link = os.fsync, os.link

    def sync(descriptor: int) -> None:
        found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real_sync(descriptor)

    def link(source: str, target: str) -> None:
        found.append(f"link {os.path.basename(os.path.dirname(target))}")
        real_link(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "link", link)
    return found


def _kinds(paths: list[str], table: Path) -> list[str]:
    return [path if path.startswith("link") else os.path.relpath(path, table).split("/")[0] for path in paths]


@needs_names_of_descriptors
@pytest.mark.parametrize(
    ("change", "written"),
    [
        (lambda table: table.append(ROWS), ["data", "data"]),
        (lambda table: table.append(ROWS, max_rows_per_file=40), ["data", "data", "data", "data"]),
        (lambda table: table.delete("id < 3"), ["_deletions", "_deletions"]),
        (lambda table: table.update({"name": "'x'"}, "id < 3"), ["data", "_deletions", "data", "_deletions"]),
        (lambda table: table.add_columns({"more": "id + 1"}), ["data", "data"]),
        (lambda table: table.update_config({"a": "b"}), []),
    ],
)
def test_files_are_on_the_disk_before_a_version_names_them(
    tmp_path: Path, synced: list[str], change: Callable[[LanceTable], object], written: list[str]
) -> None:
    path = tmp_path / "t"
    table = LanceTable.create(path, ROWS)
    synced.clear()
    change(table)
    # Files, their folders; the manifest before and its folder after it gets its name.
    assert _kinds(synced, path) == [*written, "_versions", "link _versions", "_versions"]
    assert not [one for one in synced if one.endswith(" (deleted)")]


@needs_names_of_descriptors
def test_each_of_many_files_is_on_the_disk(tmp_path: Path, synced: list[str]) -> None:
    path = tmp_path / "t"
    table = LanceTable.create(path, ROWS)
    synced.clear()
    table.append(ROWS, max_rows_per_file=4)
    files = {str(path / "data" / file.path) for one in table.manifest.fragments[1:] for file in one.files}
    assert len(files) == 25
    assert set(synced[:25]) == files
    assert _kinds(synced[25:], path) == ["data", "_versions", "link _versions", "_versions"]


@needs_names_of_descriptors
def test_a_failing_disk_makes_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    table = LanceTable.create(path, ROWS)

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for rows in (100, 4):
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output error") as found:
            table.append(ROWS, max_rows_per_file=rows)
        assert str(path / "data") in str(found.value.filename)
        monkeypatch.undo()
        assert LanceTable.open(path).version == table.version == 1
        assert len(list((path / "data").iterdir())) == 1
    table.append(ROWS)
    assert LanceTable.open(path).count_rows() == 200


@needs_names_of_descriptors
def test_a_new_table_is_on_the_disk_with_its_folder(tmp_path: Path, synced: list[str]) -> None:
    LanceTable.create(tmp_path / "t", ROWS)
    assert _kinds(synced, tmp_path / "t") == ["data", "data", ".", "..", "_versions", "link _versions", "_versions"]


def test_nothing_is_synced_by_rename(tmp_path: Path, synced: list[str]) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, durability="rename")
    table.append(ROWS)
    table.delete("id < 3")
    table.merge(ROWS, on="id").when_matched_update_all().execute()
    table.compact()
    table.tags.create("a", table.version)
    pickle.loads(pickle.dumps(table)).append(ROWS)
    table.checkout(table.version).append(ROWS)
    LanceTable.open(tmp_path / "t", durability="rename").append(ROWS)
    assert {one for one in synced if not one.startswith("link")} == set()
    synced.clear()
    LanceTable.open(tmp_path / "t").append(ROWS)
    assert synced


@pytest.mark.parametrize("wrong", ["fsnc", "none", None, True, 1])
def test_anything_else_is_refused(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"durability is .*, expected 'fsync' or 'rename'"):
        LanceTable.create(tmp_path / "t", ROWS, durability=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "t").exists()
    LanceTable.create(tmp_path / "t", ROWS)
    for call in (LanceTable.open, lambda path, **how: LanceTable.create(path, ROWS, mode="append", **how)):
        with pytest.raises(InvalidArgumentError, match="durability"):
            call(tmp_path / "t", durability=wrong)
    assert LanceTable.open(tmp_path / "t").version == 1
