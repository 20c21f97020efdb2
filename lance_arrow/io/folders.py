"""Listing one folder of any filesystem."""

from __future__ import annotations

import posixpath

from fsspec import AbstractFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.io.location import AnyFileSystem


def list_sizes(filesystem: AnyFileSystem, folder: str) -> dict[str, int | None]:
    """Return the files directly in `folder` and their sizes in bytes (None where the filesystem does not tell).

    Parameters, and what a missing folder gives, are those of `list_names`.
    """
    if isinstance(filesystem, AbstractFileSystem):
        filesystem.invalidate_cache(folder)
        try:
            found = filesystem.ls(folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {
            posixpath.basename(info["name"].rstrip("/")): info.get("size") for info in found if info["type"] == "file"
        }
    infos = filesystem.get_file_info(arrow_fs.FileSelector(folder, allow_not_found=True))
    return {info.base_name: info.size for info in infos if info.type == arrow_fs.FileType.File}


def list_names(filesystem: AnyFileSystem, folder: str) -> list[str]:
    """Return the names of the files directly in `folder`, sorted; none when there is no such folder.

    Raises
    ------
    OSError
        Whatever else the filesystem raises, unchanged.
    """
    if isinstance(filesystem, AbstractFileSystem):
        # Stores without folders answer an old listing from their cache.
        filesystem.invalidate_cache(folder)
        try:
            found = filesystem.ls(folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(posixpath.basename(info["name"].rstrip("/")) for info in found if info["type"] == "file")
    infos = filesystem.get_file_info(arrow_fs.FileSelector(folder, allow_not_found=True))
    return sorted(info.base_name for info in infos if info.type == arrow_fs.FileType.File)
