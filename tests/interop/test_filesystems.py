"""The same file through every kind of filesystem, URL chain and handle."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import columns
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from fsspec.implementations.zip import ZipFileSystem
from pyarrow import fs as arrow_fs
from same import assert_same, taken
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

Place = Callable[[Path], tuple[Any, Any]]


def in_memory(path: Path) -> Any:
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe_file(f"/places/{path.name}", path.read_bytes())
    return filesystem


def zipped(path: Path) -> Path:
    archive = path.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as sink:
        sink.write(path, f"inside/{path.name}")
    return archive


def memory_url(path: Path) -> tuple[Any, Any]:
    in_memory(path)
    return f"memory://places/{path.name}", None


def zip_in_memory_url(path: Path) -> tuple[Any, Any]:
    fsspec.filesystem("memory").pipe_file("/places/archive.zip", zipped(path).read_bytes())
    return f"zip://inside/{path.name}::memory://places/archive.zip", None


def simplecache_url(path: Path) -> tuple[Any, Any]:
    in_memory(path)
    return f"simplecache::memory://places/{path.name}", None


URLS: dict[str, Place] = {
    "path": lambda path: (path, None),
    "text": lambda path: (str(path), None),
    "file_url": lambda path: (path.as_uri(), None),
    "memory_url": memory_url,
    "zip_url": lambda path: (f"zip://inside/{path.name}::{zipped(path)}", None),
    "zip_in_memory_url": zip_in_memory_url,
    "simplecache_url": simplecache_url,
}
FILESYSTEMS: dict[str, Place] = {
    "memory": lambda path: (f"/places/{path.name}", in_memory(path)),
    "zip": lambda path: (f"inside/{path.name}", ZipFileSystem(str(zipped(path)))),
    "simplecache": lambda path: (
        f"/places/{path.name}",
        fsspec.filesystem("simplecache", fs=in_memory(path), cache_storage=str(path.parent / "cache")),
    ),
    "fsspec_local": lambda path: (str(path), fsspec.filesystem("file")),
    "arrow_local": lambda path: (str(path), arrow_fs.LocalFileSystem()),
    "arrow_subtree": lambda path: (path.name, arrow_fs.SubTreeFileSystem(str(path.parent), arrow_fs.LocalFileSystem())),
    "arrow_over_fsspec": lambda path: (
        f"/places/{path.name}",
        arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(in_memory(path))),
    ),
}


@pytest.fixture(scope="module")
def written(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, Path]:
    names = ["int32_small", "double_normal", "bool_random", "int64_runs"]
    expected = columns.table("fixed", "2.2", 1024, "some").select(names)
    expected = expected.append_column("s", columns.table("text", "2.2", 1024, "some")["string_words"])
    return expected, witness.write(expected, tmp_path_factory.mktemp("places") / "file.lance", "2.2")


def check_file(expected: pa.Table, source: Any, filesystem: Any) -> None:
    with lance_arrow.LanceFile(source, filesystem=filesystem) as file:
        assert_same(expected, file.read())
        indices = np.array([1000, 3, 3, 0, 1023])
        assert_same(taken(expected, indices), file.take(indices))


@pytest.mark.parametrize("kind", [*URLS, *FILESYSTEMS])
def test_file(written: tuple[pa.Table, Path], kind: str) -> None:
    expected, path = written
    check_file(expected, *{**URLS, **FILESYSTEMS}[kind](path))


@pytest.mark.parametrize("kind", FILESYSTEMS)
def test_arrow_dataset(written: tuple[pa.Table, Path], kind: str) -> None:
    expected, path = written
    place, filesystem = FILESYSTEMS[kind](path)
    dataset = pads.dataset(place, format=lance_arrow.LanceFormat(), filesystem=filesystem)
    assert_same(expected, dataset.to_table())
    assert dataset.count_rows() == expected.num_rows


@pytest.mark.parametrize("kind", [*URLS, *FILESYSTEMS])
def test_own_dataset(written: tuple[pa.Table, Path], kind: str) -> None:
    expected, path = written
    place, filesystem = {**URLS, **FILESYSTEMS}[kind](path)
    dataset = lance_arrow.dataset(place, filesystem=filesystem)
    assert isinstance(dataset, pads.FileSystemDataset)
    assert_same(expected, dataset.to_table())
    assert_same(taken(expected, [7, 1000, 7]), dataset.take([7, 1000, 7]))


@pytest.mark.parametrize("hold", [bytes, bytearray, memoryview, pa.py_buffer], ids=lambda hold: hold.__name__)
def test_bytes_in_memory(written: tuple[pa.Table, Path], hold: Callable[[bytes], Any]) -> None:
    expected, path = written
    check_file(expected, hold(path.read_bytes()), None)


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.lance"):
        lance_arrow.LanceFile(tmp_path / "absent.lance")
    with pytest.raises(FileNotFoundError):
        lance_arrow.LanceFile("memory://places/absent.lance")


def test_exception_of_a_filesystem_passes_unchanged(written: tuple[pa.Table, Path]) -> None:
    class Refusing(type(fsspec.filesystem("memory"))):  # type: ignore[misc]
        cachable = False

        def cat_ranges(self, *args: Any, **kwargs: Any) -> Any:
            raise PermissionError("no bytes for you")

        def cat_file(self, *args: Any, **kwargs: Any) -> Any:
            raise PermissionError("no bytes for you")

    _, path = written
    in_memory(path)
    with pytest.raises(PermissionError, match="no bytes for you"):
        lance_arrow.LanceFile(f"/places/{path.name}", filesystem=Refusing())
