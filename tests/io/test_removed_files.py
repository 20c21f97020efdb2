"""Files removed together: object stores are asked once, others file by file."""

from __future__ import annotations

from pathlib import Path

import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.errors import LanceError
from lance_arrow.io import remove_files

NAMES = ["a", "b/c", "d"]


class Store(AsyncFileSystem):
    """An object store that removes many files with one request, unless it refuses that."""

    cachable = False

    def __init__(self, *, removes_many: bool = True, broken: str = "") -> None:
        super().__init__()
        self.files = {f"box/t/{name}" for name in [*NAMES, "stays"]}
        self.requests: list[object] = []
        self._removes_many, self._broken = removes_many, broken

    async def _rm(self, path, recursive=False, **_):
        paths = await self._expand_path(path, recursive=recursive)
        self.requests.append(len(paths))
        if not self._removes_many:
            raise PermissionError("not this request")
        self.files -= set(paths)

    async def _rm_file(self, path, **_):
        self.requests.append(path)
        if path == self._broken:
            raise PermissionError(f"no right to remove {path}")
        if path not in self.files:
            raise FileNotFoundError(path)
        self.files.discard(path)


def test_stores_are_asked_once() -> None:
    store = Store()
    remove_files(store, "box/t", [*NAMES, "gone"])
    assert store.requests == [4]
    assert store.files == {"box/t/stays"}


def test_stores_that_refuse_are_asked_for_each() -> None:
    store = Store(removes_many=False)
    remove_files(store, "box/t", [*NAMES, "gone"])
    assert store.files == {"box/t/stays"}
    assert store.requests == [4, *(f"box/t/{name}" for name in [*NAMES, "gone"])]


def test_names_are_no_patterns() -> None:
    store = Store()
    # As a pattern, the folder would be `box/t` too, and the name each file of one letter.
    store.files = {"box/t/a", "box/t/d", "box/[t]/a", "box/[t]/?"}
    remove_files(store, "box/[t]", ["a", "?"])
    assert store.files == {"box/t/a", "box/t/d"}


def test_the_error_of_one_file_is_told() -> None:
    with pytest.raises((OSError, LanceError), match="no right to remove box/t/d"):
        remove_files(Store(removes_many=False, broken="box/t/d"), "box/t", NAMES)


def test_other_filesystems(tmp_path: Path) -> None:
    memory = MemoryFileSystem()
    (tmp_path / "b").mkdir()
    for name in [*NAMES, "stays"]:
        (tmp_path / name).write_bytes(b"x")
        memory.pipe_file(f"/removed/{name}", b"x")
    for filesystem, folder in ((None, str(tmp_path)), (memory, "/removed")):
        remove_files(filesystem, folder, [*NAMES, "gone"])
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["stays"]
    assert memory.find("/removed") == ["/removed/stays"]
    memory.rm("/removed", recursive=True)
