"""`list_folders` and `remove_tree` on the kinds of filesystems, files and folders beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.io import list_folders, list_tree, remove_tree


@pytest.mark.parametrize("filesystem", [LocalFileSystem(), MemoryFileSystem(), arrow_fs.LocalFileSystem()])
def test_folders_are_listed_and_one_is_removed(filesystem: Any, tmp_path: Path) -> None:
    root = f"{tmp_path}/folders"
    assert list_folders(filesystem, root) == []
    for name in ("b/x", "a[1]/deep/x", "a1/x", "file"):
        place = f"{root}/{name}"
        if isinstance(filesystem, arrow_fs.FileSystem):
            filesystem.create_dir(place.rpartition("/")[0], recursive=True)
            with filesystem.open_output_stream(place) as out:
                out.write(b"x")
        else:
            filesystem.makedirs(place.rpartition("/")[0], exist_ok=True)
            filesystem.pipe_file(place, b"x")
    assert list_folders(filesystem, root) == ["a1", "a[1]", "b"]
    # A name with brackets is no pattern.
    remove_tree(filesystem, f"{root}/a[1]")
    assert list(list_tree(filesystem, root)) == ["a1/x", "b/x", "file"]
