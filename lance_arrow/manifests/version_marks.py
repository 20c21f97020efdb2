"""Marks beside the manifests: a cleanup says which versions it removes, others which one they are about to name.

.removing-<first>-<last>.<16 hexadecimal digits>.tmp     until the manifests of these versions are gone
.keeping-<version>.<16 hexadecimal digits>.tmp           until a tag, a branch or a restore names the version

Both sides write their mark first, and list the folder then. So at least one sees the other: a cleanup keeps a version
that is about to be named, or the other side fails. Marks of dead processes have names of unfinished files, which a
cleanup removes when they are old.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import secrets
from collections.abc import Iterator, Sequence

from lance_arrow.errors import CommitConflictError, VersionNotFoundError
from lance_arrow.io import Location, file_exists, list_first, list_names, remove_file, write_file
from lance_arrow.manifests.names import names_of
from lance_arrow.manifests.versions import VERSIONS, manifest_place

_REMOVING = re.compile(r"\.removing-(\d+)-(\d+)\.[0-9a-f]{16}\.tmp")
_KEEPING = re.compile(r"\.keeping-(\d+)\.[0-9a-f]{16}\.tmp")
_MOST_MARKS = 100
"""Files to list for finding all marks."""
_CONTENT = b"{}"
"""Some stores treat empty objects as folders."""


@contextlib.contextmanager
def keeping(line: Location, version: int) -> Iterator[None]:
    """Keep a version from being removed while something that names it is made.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    version
        Number of the version.

    Raises
    ------
    VersionNotFoundError
        The version does not exist.
    CommitConflictError
        A cleanup is removing it.
    OSError
        Errors of the filesystem.
    """
    with _mark(line, f"keeping-{version}"):
        for name in _marks(line):
            marked = _REMOVING.fullmatch(name)
            if marked is not None and int(marked[1]) <= version <= int(marked[2]):
                raise CommitConflictError(
                    f"a cleanup is removing versions {marked[1]} to {marked[2]}; repeat this when it has ended",
                    retryable=True,
                    path=line.name,
                )
        # A mark is removed after the manifests: one that was not seen is yet to come, and sees this one, or has gone.
        if not any(file_exists(manifest_place(line, name)) for name in names_of(version)):
            raise VersionNotFoundError(f"version {version} was removed", path=line.name, detail=version)
        yield


@contextlib.contextmanager
def removing(line: Location, versions: Sequence[int]) -> Iterator[frozenset[int]]:
    """Say which versions are about to be removed; yields those that another process is about to name.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    versions
        Numbers of the versions, ascending; nothing is written if there are none.

    Raises
    ------
    OSError
        Errors of the filesystem.
    """
    if not versions:
        yield frozenset()
        return
    with _mark(line, f"removing-{versions[0]}-{versions[-1]}"):
        kept = [_KEEPING.fullmatch(name) for name in _marks(line)]
        yield frozenset(int(one[1]) for one in kept if one is not None)


def _marks(line: Location) -> list[str]:
    """List the marks, and perhaps other files: without the manifests, where a store lists names in order."""
    folder = posixpath.join(line.path, VERSIONS)
    first = list_first(line.given, folder, _MOST_MARKS)
    if first is not None:
        files, is_all = first
        # A dot comes before the digits and letters of manifests.
        if is_all or any(not name.startswith(".") for name in files):
            return list(files)
    return list_names(line.given, folder)


@contextlib.contextmanager
def _mark(line: Location, text: str) -> Iterator[None]:
    name = f".{text}.{secrets.token_hex(8)}.tmp"
    place = line.at(posixpath.join(line.path, VERSIONS, name))
    try:
        write_file(place, _CONTENT)
        yield
    finally:
        # A mark that cannot be removed is one of a dead process; it must not hide how the work ended.
        with contextlib.suppress(OSError):
            remove_file(place)
