"""Datasets and tables whose local files are mapped: the rows and errors of files that are read."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from same import assert_same

import lance_arrow
from lance_arrow import LanceFormat, LanceTable, write_table
from lance_arrow.errors import CorruptFileError, InvalidArgumentError
from lance_arrow.io.buffer_source import MappedSource

# More rows than those of files that are read together.
ROWS = 200_000
F = pc.field


def rows(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 30, ROWS)
    return pa.table({
        "id": np.arange(ROWS) + seed * ROWS,
        "packed": pa.array(rng.integers(0, 1000, ROWS), mask=few == 7),
        "plain": rng.normal(size=ROWS),
        "word": pa.array([f"word {one}" for one in few]),
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mapped") / "files"
    folder.mkdir()
    for seed in (0, 1):
        write_table(rows(seed), folder / f"{seed}.lance")
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mapped") / "table"
    made = LanceTable.create(path, rows(0))
    made.append(rows(1))
    made.delete("packed = 4")
    return path


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were mapped."""
    names: list[str] = []
    make = MappedSource.__init__

    def noted(self: MappedSource, *arguments: object) -> None:
        make(self, *arguments)
        names.append(Path(self.name).name)

    monkeypatch.setattr(MappedSource, "__init__", noted)
    return names


DOORS: dict[str, Callable[..., object]] = {
    "pyarrow.dataset": lambda path, memory_map: pads.dataset(path, format=LanceFormat(memory_map=memory_map)),
    "lance_arrow.dataset": lance_arrow.dataset,
    "LanceTable": LanceTable.open,
}


@pytest.mark.parametrize(("door", "kind"), [(door, "table") for door in DOORS] + [(one, "folder") for one in DOORS][:2])
def test_rows_are_those_that_are_read(door: str, kind: str, folder: Path, table: Path, mapped: list[str]) -> None:
    path = table if kind == "table" else folder
    read, held = (DOORS[door](path, memory_map=is_mapped) for is_mapped in (False, True))
    chosen = np.random.default_rng(3).integers(0, read.count_rows(), 500).tolist()
    for condition in (None, F("packed") < 3, (F("id") > 199_000) & (F("word") == "word 3")):
        assert_same(read.to_table(filter=condition), held.to_table(filter=condition))
        assert read.count_rows(filter=condition) == held.count_rows(filter=condition)
    assert_same(read.take(chosen), held.take(chosen))
    assert len(set(mapped)) == 2
    # What is mapped is kept from scan to scan, as files are kept open.
    assert len(mapped) == 2


def test_a_file_that_was_replaced_is_mapped_anew(tmp_path: Path, mapped: list[str]) -> None:
    path = tmp_path / "file.lance"
    write_table(rows(0), path)
    dataset = lance_arrow.dataset(path, memory_map=True)
    assert dataset.to_table(["id"])["id"][0].as_py() == 0
    write_table(rows(3), tmp_path / "new.lance")
    (tmp_path / "new.lance").replace(path)
    assert dataset.to_table(["id"])["id"][0].as_py() == 3 * ROWS
    assert len(mapped) == 2


def test_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file.lance"
    write_table(rows(0), path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    told = []
    for memory_map in (False, True):
        with pytest.raises(CorruptFileError, match="checksum") as caught:
            lance_arrow.dataset(path, memory_map=memory_map).to_table()
        told.append((caught.value.path, caught.value.column, caught.value.page, caught.value.byte_range))
    assert told[0] == told[1]


def test_files_of_stores_are_not_mapped(folder: Path, table: Path, tmp_path: Path) -> None:
    import fsspec  # noqa: PLC0415

    store = fsspec.filesystem("memory")
    name = tmp_path.name
    store.pipe(f"/{name}/file.lance", (folder / "0.lance").read_bytes())
    for dataset in (
        lambda: lance_arrow.dataset(f"memory://{name}/file.lance", memory_map=True),
        lambda: pads.dataset(f"{name}/file.lance", filesystem=store, format=LanceFormat(memory_map=True)),
    ):
        with pytest.raises(InvalidArgumentError, match="only local files can be mapped"):
            dataset().to_table()
    LanceTable.create(f"memory://{name}/table", rows(0))
    with pytest.raises(InvalidArgumentError, match="only local files can be mapped"):
        LanceTable.open(f"memory://{name}/table", memory_map=True).to_table()


def test_formats_say_so(folder: Path) -> None:
    plain, mapping = LanceFormat(), LanceFormat(memory_map=True)
    assert (plain.memory_map, mapping.memory_map) == (False, True)
    assert plain != mapping
    assert pickle.loads(pickle.dumps(mapping)) == mapping
    again = pickle.loads(pickle.dumps(lance_arrow.dataset(folder, memory_map=True)))
    assert again.format.memory_map
    assert again.count_rows() == 2 * ROWS
    with pytest.raises(InvalidArgumentError, match="memory_map is 'yes', expected True or False"):
        LanceFormat(memory_map="yes")  # type: ignore[arg-type]
