"""What opening costs where the schema is known: calls of Python and C, folders listed, fragments made."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls
from fsspec.implementations.memory import MemoryFileSystem

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.manifests import fragments as fragments_module

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
        (lambda path: pads.dataset(str(path), format=LanceFormat()), 235),
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
        (LanceTable.open, 250),
        (lambda path: LanceTable.open(path).count_rows(), 270),
    ],
)
def test_a_table_whatever_its_fragments(folder: Path, done: Callable[[Path], object], most: int) -> None:
    one = folder / "1.tables.lance"
    assert calls_of(done, one, folder / "300.tables.lance") <= calls_of(done, one, one) + 20 <= most


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
