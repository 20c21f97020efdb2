"""Checks of the target of a conversion: it is never a source, and is replaced only if the caller asks for that."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.conversion.formats import LANCE_ENDING, foreign_ending
from lance_arrow.errors import InvalidArgumentError, TableExistsError, TableNotFoundError, TargetExistsError
from lance_arrow.io import Location, file_exists, list_tree
from lance_arrow.manifests.versions import is_table

_TABLE_FOLDERS = frozenset({"data", "_versions", "_transactions", "_deletions", "_indices", "_refs", "tree"})


def check_lance_name(target: Location) -> None:
    """Refuse a target whose name is that of another format.

    Raises
    ------
    InvalidArgumentError
        It is.
    """
    ending = foreign_ending(posixpath.basename(target.path))
    if ending is not None:
        raise InvalidArgumentError(
            f"a name that ends in {ending} is that of another format: convert writes Lance; export "
            "(lance_arrow.export, lance-arrow export) writes Parquet, CSV and Arrow IPC",
            path=target.name,
        )


def check_not_a_source(target: Location, sources: Sequence[Location]) -> None:
    """Refuse a target that is a source, lies inside one, or holds one, by any name the filesystem knows it under.

    Raises
    ------
    InvalidArgumentError
        It is so; nothing was changed.
    """
    for source in sources:
        relation = _relation(target, source)
        if relation is not None:
            raise InvalidArgumentError(f"the target {relation} {source.name!r}; nothing was changed", path=target.name)


def check_file_target(target: Location, *, overwrite: bool) -> None:
    """Refuse a file that exists without `overwrite`, and a folder always.

    Raises
    ------
    FileNotFoundError
        The folder for the file does not exist.
    TargetExistsError
        There is a file.
    InvalidArgumentError
        There is a folder.
    """
    if file_exists(target):
        if not overwrite:
            raise TargetExistsError(
                "there is a file here already; replace it with --overwrite (overwrite=True)", path=target.name
            )
    elif _is_folder(target):
        kind = "a table" if is_table(target) else "a folder"
        raise InvalidArgumentError(
            f"there is {kind} here, a file cannot replace it; write a table with --table (table=True)", path=target.name
        )
    elif _is_local(target):
        folder = os.path.dirname(os.path.realpath(target.path))
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)


def check_table_target(target: Location, *, overwrite: bool, append: bool) -> None:
    """Refuse a table that exists without `overwrite` or `append`; refuse a file or another folder always.

    Raises
    ------
    TableExistsError
        There is a table.
    TableNotFoundError
        There is none to append to.
    InvalidArgumentError
        There is a file, or a folder of other things.
    """
    if is_table(target):
        if not (overwrite or append):
            raise TableExistsError(
                "there is a table here already; replace its rows by a new version with --overwrite (overwrite=True), "
                "or add to them with --append (append=True)",
                path=target.name,
            )
        return
    if append:
        raise TableNotFoundError("there is no table to append to", path=target.name)
    if file_exists(target):
        raise TargetExistsError("there is a file here, a table cannot replace it", path=target.name)
    strangers = {path.split("/")[0] for path in list_tree(target.filesystem, target.path)} - _TABLE_FOLDERS
    if strangers:
        raise InvalidArgumentError(
            f"the target is a folder but not a table: it holds {min(strangers)!r}", path=target.name
        )


def check_export_name(target: Location, expected: frozenset[str], name: str) -> None:
    """Refuse an exported file whose name is that of Lance or of a format that is not written.

    Raises
    ------
    InvalidArgumentError
        It is so.
    """
    ending = posixpath.splitext(target.path)[1].lower()
    if ending == LANCE_ENDING or (foreign_ending(target.path) is not None and ending not in expected):
        raise InvalidArgumentError(f"a name that ends in {ending} is not that of {name}", path=target.name)


def _relation(target: Location, source: Location) -> str | None:
    if _is_local(target) and _is_local(source):
        return _local_relation(Path(os.path.abspath(target.path)), Path(os.path.abspath(source.path)))
    if not _share_a_store(target, source):
        return None
    ours, theirs = (posixpath.normpath("/" + place.path.strip("/")) for place in (target, source))
    if ours == theirs:
        return "is the source"
    if ours.startswith(theirs.rstrip("/") + "/"):
        return "lies inside the source"
    return "holds the source" if theirs.startswith(ours.rstrip("/") + "/") else None


def _local_relation(target: Path, source: Path) -> str | None:
    """Compare what the names lead to: links, hard links and other spellings are the same file."""
    if _same(target, source):
        return "is the source"
    if any(_same(above, source) for above in _above(target)):
        return "lies inside the source"
    return "holds the source" if any(_same(above, target) for above in _above(source)) else None


def _above(path: Path) -> Iterator[Path]:
    yield from path.parents
    yield from Path(os.path.realpath(path)).parents


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(one) == os.path.realpath(other)


def _is_local(place: Location) -> bool:
    return isinstance(place.filesystem, LocalFileSystem | arrow_fs.LocalFileSystem)


def _is_folder(place: Location) -> bool:
    filesystem = place.filesystem
    if isinstance(filesystem, AbstractFileSystem):
        return bool(filesystem.isdir(place.path))
    return bool(filesystem.get_file_info(place.path).type == arrow_fs.FileType.Directory)


def _share_a_store(one: Location, other: Location) -> bool:
    """Whether two paths may be of one store; options are not compared: they need not tell stores apart."""
    return bool(_protocols(one) & _protocols(other))


def _protocols(place: Location) -> set[str]:
    filesystem = place.filesystem
    if isinstance(filesystem, AbstractFileSystem):
        found = filesystem.protocol
        return {found} if isinstance(found, str) else set(found)
    return {filesystem.type_name}
