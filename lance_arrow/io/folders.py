"""Listing one folder of any filesystem."""

from __future__ import annotations

import posixpath

from fsspec import AbstractFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.io.location import AnyFileSystem


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
