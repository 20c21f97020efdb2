"""What opening costs where the schema is known: calls of Python and C, folders listed, fragments made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls
from fsspec.implementations.memory import MemoryFileSystem

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.container.columns import ColumnTable
from lance_arrow.errors import LanceError
from lance_arrow.manifests import fragments as fragments_module
from lance_arrow.manifests import manifest as manifest_module
from lance_arrow.runtime import default_runtime

TABLE = pa.table({"n": pa.array(range(600)), "s": pa.array([f"text {n}" for n in range(600)])})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opens")
    for number in range(4):
        lance_arrow.write_table(TABLE.slice(number), path / f"{number}.lance")
    for rows in (600, 6, 2):
        LanceTable.create(path / f"{600 // rows}.tables.lance", TABLE, max_rows_per_file=rows)
    return path


def calls_of(done: Callable[[Path], object], first: Path, path: Path) -> int:
    """Calls of what is done with one path after it was done with others."""
    for _ in range(3):
        done(first)
    return count_calls(lambda: done(path))


@pytest.mark.parametrize(
    ("done", "most"),
    [
        # 30 with `format="ipc"`; 372 before.
        (lambda path: pads.dataset(str(path), format=LanceFormat()), 243),
        # 574 before.
        (lance_arrow.dataset, 325),
    ],
)
def test_a_file_as_a_dataset(folder: Path, done: Callable[[Path], object], most: int) -> None:
    assert calls_of(done, folder / "0.lance", folder / "1.lance") <= most


@pytest.mark.parametrize(
    ("done", "most"),
    [
        # 1,256 before, and 26 for each further fragment.
        (LanceTable.open, 280),
        (lambda path: LanceTable.open(path).count_rows(), 300),
    ],
)
def test_a_table_whatever_its_fragments(folder: Path, done: Callable[[Path], object], most: int) -> None:
    one, many = folder / "1.tables.lance", folder / "300.tables.lance"
    known = calls_of(done, one, one)
    manifest_module._known_manifest.cache_clear()
    new = count_calls(lambda: done(one))
    assert calls_of(done, one, many) <= new + 20 <= most
    # A manifest that is read again is not parsed again.
    assert known <= new - 60


def test_a_manifest_is_known_by_its_bytes(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    seen = []
    for number in range(3):
        # The same name, version and size, maybe within one tick of the clock of the filesystem.
        shutil.rmtree(path, ignore_errors=True)
        LanceTable.create(path, TABLE.slice(number, 100))
        seen.append(LanceTable.open(path).to_table()["n"][0].as_py())
        LanceTable.open(path).config["mine"] = "no one else's"
        assert LanceTable.open(path).config == {}
    assert seen == [0, 1, 2]


def test_a_file_is_known_by_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.lance"
    LanceTable.create(path, TABLE)
    parsed = []
    read = ColumnTable.read
    monkeypatch.setattr(
        ColumnTable, "read", lambda self, columns, name: parsed.append(columns) or read(self, columns, name)
    )
    for _ in range(3):
        assert lance_arrow.dataset(path).head(3).equals(TABLE.slice(0, 3))
        assert pads.dataset(str(path), format=LanceFormat()).head(3).equals(TABLE.slice(0, 3))
    assert parsed == [[0, 1]]
    # Other bytes in the same place, and as many.
    (place,) = (path / "data").iterdir()
    status = place.stat()
    whole = bytearray(place.read_bytes())
    whole[-5] ^= 1
    place.write_bytes(whole)
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(LanceError):
        lance_arrow.dataset(path).head(3)


def test_tails_are_bounded(tmp_path: Path) -> None:
    for number in range(80):
        lance_arrow.write_table(TABLE.slice(0, 2), tmp_path / f"{number}.lance")
        lance_arrow.dataset(tmp_path / f"{number}.lance").head(1)
    assert len(default_runtime().tails) == 64


def test_a_dataset_of_a_table(folder: Path) -> None:
    """Few calls for each fragment, none of which makes its message or looks at its files."""

    def done(path: Path) -> int:
        return lance_arrow.dataset(path).count_rows()

    one, few, many = (folder / f"{number}.tables.lance" for number in (1, 100, 300))
    assert (calls_of(done, one, many) - calls_of(done, one, few)) / 200 <= 3


def test_counts_look_at_no_fragment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a fragment was made")

    monkeypatch.setattr(fragments_module, "fragment_from_message", refuse)
    path = folder / "300.tables.lance"
    assert LanceTable.open(path).count_rows() == len(TABLE)
    assert lance_arrow.dataset(path).count_rows() == len(TABLE)
    assert LanceTable.open(path).dataset().count_rows() == len(TABLE)
    assert len(lance_arrow.dataset(path).files) == 300


def test_versions_are_listed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    for done in (LanceTable.open, lance_arrow.dataset):
        done(folder / "1.tables.lance")
        assert listed == [str(folder / "1.tables.lance" / "_versions")]
        listed.clear()
    pads.dataset(str(folder / "0.lance"), format=LanceFormat())
    assert not listed


def test_a_far_file_is_looked_for_as_a_table_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryFileSystem()
    lance_arrow.write_table(TABLE, "/looked/for/a.lance", filesystem=store)
    listed = []
    ls = MemoryFileSystem.ls

    def noted(self: MemoryFileSystem, path: str, *how: object, **named: object) -> object:
        listed.append(path)
        return ls(self, path, *how, **named)

    monkeypatch.setattr(MemoryFileSystem, "ls", noted)
    dataset = lance_arrow.dataset("/looked/for/a.lance", filesystem=store)
    assert dataset.to_table().equals(TABLE)
    assert listed == ["/looked/for/a.lance/_versions"]
    # The format does not keep it in mind for other folders.
    pads.dataset("/looked", format=dataset.format, filesystem=store)
    assert "/looked/_versions" in listed
