"""Many small files with few requests: those that are as big as they should be, and no others."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.io import read_small_files


def one_by_one(function, numbers):
    for number in numbers:
        function(number)


def in_threads(function, numbers):
    threads = [threading.Thread(target=function, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("side_by_side", [one_by_one, in_threads])
def test_local_files(tmp_path: Path, side_by_side) -> None:
    contents = [bytes([number % 251]) * (number * 7 % 300) for number in range(200)]
    paths = []
    for number, content in enumerate(contents):
        paths.append(str(tmp_path / f"{number} ü"))
        Path(paths[-1]).write_bytes(content)
    sizes = np.array([len(content) for content in contents], np.int64)
    os.unlink(paths[3])
    os.unlink(paths[4])
    os.mkdir(paths[4])
    os.unlink(paths[5])
    os.mkfifo(paths[5])
    sizes[6] += 1
    sizes[7] -= 1
    data, starts, flags = read_small_files(LocalFileSystem(), paths, sizes, side_by_side, 3)
    assert np.flatnonzero(flags == 0).tolist() == [3, 4, 5, 6, 7]
    for number in np.flatnonzero(flags).tolist():
        assert data[starts[number] : starts[number] + sizes[number]].tobytes() == contents[number]
    assert not (starts % 64).any()
    assert not data.flags.writeable


def test_one_call_for_all_files_of_another_filesystem(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = MemoryFileSystem()
    filesystem.pipe({"/small/a": b"12345", "/small/b": b"678"})
    calls = []
    cat_ranges = filesystem.cat_ranges
    monkeypatch.setattr(filesystem, "cat_ranges", lambda *args, **more: calls.append(1) or cat_ranges(*args, **more))
    sizes = np.array([5, 3, 4, 4], np.int64)
    paths = ["/small/a", "/small/b", "/small/c", "/small/b"]
    data, starts, flags = read_small_files(filesystem, paths, sizes, one_by_one, 2)
    assert flags.tolist() == [1, 1, 0, 0]
    assert data[starts[0] : starts[0] + 5].tobytes() == b"12345"
    assert data[starts[1] : starts[1] + 3].tobytes() == b"678"
    assert calls == [1]


def test_filesystems_without_ranges_of_many_files_read_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    sub = arrow_fs.SubTreeFileSystem(str(tmp_path), arrow_fs.LocalFileSystem())
    _, _, flags = read_small_files(sub, ["a"], np.array([1], np.int64), one_by_one, 2)
    assert flags.tolist() == [0]


def test_paths_that_no_file_can_have() -> None:
    _, _, flags = read_small_files(LocalFileSystem(), ["a\0b"], np.array([1], np.int64), one_by_one, 2)
    assert flags.tolist() == [0]
