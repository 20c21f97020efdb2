"""From what a caller names to the list of inputs: files, folders, globs and tables, on any filesystem.

| Named | Inputs |
|---|---|
| a file | that file |
| a folder of a table | the rows of its current version |
| another folder | every file below it whose path has no part that begins with ``.`` or ``_``, by name |
| a pattern with ``*``, ``?`` or ``[`` | files it matches; folders it matches, as above |

Folders ``key=value`` below the folder named, and those directly above a file, are hive partitions.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.conversion.formats import HEAD_BYTES, TAIL_BYTES, Format, format_of_bytes, format_of_name
from lance_arrow.conversion.hive import keys_of, trailing_keys
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import AnyFileSystem, Location, file_exists, list_tree
from lance_arrow.io.globs import matches_of, no_match
from lance_arrow.manifests.versions import is_table, table_location

PathLike = str | os.PathLike[str]
_VERSIONS = "_versions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One file or table to read.

    Parameters
    ----------
    place
        Where it is.
    format
        What it is.
    size_bytes
        Its size; None for a table, and where the filesystem does not tell.
    keys
        Its hive partition, as text.
    """

    place: Location
    format: Format
    size_bytes: int | None
    keys: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Printable place."""
        return self.place.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Named sources, and the inputs that were found there.

    Parameters
    ----------
    roots
        The places as they were named; patterns by what they matched.
    inputs
        In the order named; files of a folder by path.
    """

    roots: Sequence[Location]
    inputs: Sequence[Input]

    @property
    def is_one_table(self) -> bool:
        """Whether the only input is a table."""
        return len(self.inputs) == 1 and self.inputs[0].format == "table"


def find_sources(
    sources: PathLike | Sequence[PathLike],
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Sources:
    """Find the inputs.

    Parameters
    ----------
    sources
        One path or URL, or several.
    filesystem, storage_options
        fsspec or pyarrow filesystem of the paths, or store of obstore; options for the filesystem of a URL.

    Raises
    ------
    FileNotFoundError
        There is nothing at a path, or a pattern matches nothing.
    InvalidArgumentError
        A folder has no files, files of several formats, or tables in it. A file has no known format. An input is named
        twice.
    """
    named = [sources] if isinstance(sources, (str, os.PathLike)) or not isinstance(sources, Sequence) else sources
    if not named:
        raise InvalidArgumentError("no source is named")
    roots: list[Location] = []
    inputs: list[Input] = []
    for one in named:
        place = table_location(one, filesystem, storage_options)
        for root in _expanded(place):
            roots.append(root)
            inputs += _inputs_of(root)
    seen: set[str] = set()
    for found in inputs:
        if found.name in seen:
            raise InvalidArgumentError("an input is named twice: its rows would be written twice", path=found.name)
        seen.add(found.name)
    return Sources(roots=roots, inputs=inputs)


def child_place(root: Location, relative: str) -> Location:
    """Return a place below a folder, named as the folder is."""
    path = posixpath.join(root.path, relative)
    name = "" if root.name == root.path else f"{root.name.rstrip('/')}/{relative}"
    return Location(root.filesystem, path, name)


def _expanded(place: Location) -> list[Location]:
    """Return what a pattern matches, sorted; the place itself where it is none, or exists under this very name."""
    found = matches_of(place)
    if found is None:
        return [place]
    matches = {
        path: kind for path, kind in found.items() if not posixpath.basename(path.rstrip("/")).startswith((".", "_"))
    }
    if not matches:
        raise no_match(place)
    # A folder holds what a pattern matches below it, too.
    folders = {path for path, kind in matches.items() if kind == "directory"}
    kept = [one for one in matches if not any(parent in folders for parent in _parents(one))]
    return [Location(place.filesystem, one, _printed(place, one)) for one in kept]


def _printed(place: Location, path: str) -> str:
    scheme, separator, _ = place.name.partition("://")
    return f"{scheme}://{path.lstrip('/')}" if separator and "::" not in place.name and "://" not in path else ""


def _parents(path: str) -> list[str]:
    found = []
    while (above := posixpath.dirname(path)) != path:
        found.append(above)
        path = above
    return found


def _is_folder(place: Location) -> bool:
    filesystem = place.filesystem
    if isinstance(filesystem, AbstractFileSystem):
        return bool(filesystem.isdir(place.path))
    return bool(filesystem.get_file_info(place.path).type == arrow_fs.FileType.Directory)


def _inputs_of(root: Location) -> list[Input]:
    if file_exists(root):
        folders = trailing_keys(posixpath.dirname(root.path).split("/"))
        return [_file_input(root, None, keys_of(folders, path=root.name))]
    if is_table(root):
        return [Input(place=root, format="table", size_bytes=None)]
    if not _is_folder(root):
        raise FileNotFoundError(2, os.strerror(2), root.name)
    return _folder_inputs(root)


def _folder_inputs(root: Location) -> list[Input]:
    above = trailing_keys(root.path.split("/"))
    found: list[Input] = []
    for relative, listed in list_tree(root.filesystem, root.path).items():
        parts = relative.split("/")
        if _VERSIONS in parts:
            table = "/".join(parts[: parts.index(_VERSIONS)])
            raise InvalidArgumentError(
                f"the folder holds a Lance table, {table!r}: name tables one by one", path=root.name
            )
        if any(part.startswith((".", "_")) for part in parts):
            continue
        place = child_place(root, relative)
        keys = keys_of([*above, *parts[:-1]], path=place.name)
        found.append(_file_input(place, listed.size_bytes, keys))
    if not found:
        raise InvalidArgumentError(
            "the folder holds no files to convert (names that begin with '.' or '_' are skipped)", path=root.name
        )
    formats = sorted({one.format for one in found})
    if len(formats) > 1:
        raise InvalidArgumentError(
            f"the folder holds files of several formats ({', '.join(formats)}): name those you mean, "
            "by a pattern such as '*.parquet'",
            path=root.name,
        )
    return found


def _file_input(place: Location, size_bytes: int | None, keys: Mapping[str, str | None]) -> Input:
    head, tail, size = _ends(place, size_bytes)
    found = format_of_bytes(head, tail) or format_of_name(posixpath.basename(place.path))
    if head[:4] == b"FEA1":
        raise InvalidArgumentError("Feather version 1 is not read: rewrite it with pyarrow.feather", path=place.name)
    if found is None:
        raise InvalidArgumentError(
            "neither a Parquet, Arrow IPC, ORC nor Lance file by its bytes, and its name is not that of CSV or JSON",
            path=place.name,
        )
    return Input(place=place, format=found, size_bytes=size, keys=keys)


def _ends(place: Location, size_bytes: int | None) -> tuple[bytes, bytes, int]:
    with open_file(place) as file:
        size = file.size() if size_bytes is None else size_bytes
        head = file.read_at(min(HEAD_BYTES, size), 0)
        tail = file.read_at(min(TAIL_BYTES, size), max(0, size - TAIL_BYTES))
    return head, tail, size


def open_file(place: Location) -> Any:
    """Open a file for reading as a `pyarrow.NativeFile`.

    Raises
    ------
    OSError
        As the filesystem says.
    """
    return as_arrow_filesystem(place.filesystem).open_input_file(place.path)


def as_arrow_filesystem(filesystem: AnyFileSystem) -> arrow_fs.FileSystem:
    """Return a filesystem as one of pyarrow's, without the native bridge."""
    if isinstance(filesystem, arrow_fs.FileSystem):
        return filesystem
    if type(filesystem) is LocalFileSystem:
        return arrow_fs.LocalFileSystem()
    return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(filesystem))
