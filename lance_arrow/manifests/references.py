"""Tags and branches: small JSON files beside the versions.

_refs/tags/<tag>.json                          {"version": 2, "branch": null, ...}
_refs/branches/<branch, "/" as "%2F">.json     {"parentBranch": null, "parentVersion": 1, ...}
tree/<branch>/                                 the branch, a folder in the form of a table
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType

import numpy as np

from lance_arrow.errors import (
    CorruptManifestError,
    InvalidArgumentError,
    TruncatedReadError,
    VersionNotFoundError,
    located,
)
from lance_arrow.io import Location, list_names, open_source

MAIN = "main"
TAGS = "_refs/tags"
BRANCHES = "_refs/branches"
_JSON = ".json"
_MAX_BYTES = 16 << 20
_READS = 3
"""A reference may be replaced by another one between the requests for its size and for its bytes."""
_PART = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class TagMeta:
    """A name for a version.

    Parameters
    ----------
    name
        The tag.
    version
        Its version.
    branch
        Branch of the version; None for the main one.
    """

    name: str
    version: int
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class BranchMeta:
    """A branch: a line of versions that starts at a version of another line.

    Parameters
    ----------
    name
        Name of the branch.
    parent_branch, parent_version
        Branch and version at which it starts; None for the main branch.
    """

    name: str
    parent_branch: str | None
    parent_version: int


def line_name(branch: str | None) -> str | None:
    """Return the internal name of a line of versions: None for the main one, which callers may also name ``"main"``."""
    return None if branch == MAIN else branch


def inner_folders(branch: str | None, names: Iterable[str]) -> tuple[str, ...]:
    """Return folders of branches inside the folder of a branch, whose names extend its name; each ends in a slash."""
    prefix = None if line_name(branch) is None else f"{branch}/"
    return () if prefix is None else tuple(f"{name[len(prefix) :]}/" for name in names if name.startswith(prefix))


def branch_root(root: Location, branch: str | None) -> Location:
    """Return the folder of a branch; the table's own for None and ``"main"``.

    Raises
    ------
    InvalidArgumentError
        The name is not valid for a branch.
    """
    branch = line_name(branch)
    if branch is None:
        return root
    _check_name(branch, "branch")
    return Location(root.given, posixpath.join(root.path, "tree", branch))


def read_tag(root: Location, tag: str) -> TagMeta:
    """Read one tag.

    Raises
    ------
    VersionNotFoundError
        The tag does not exist; the message lists the existing ones.
    CorruptManifestError
        Its file does not have the content of a tag.
    """
    _check_name(tag, "tag")
    try:
        content = _json(root, posixpath.join(TAGS, tag + _JSON))
    except FileNotFoundError:
        known = ", ".join(map(repr, _listed(root, TAGS))) or "none"
        raise VersionNotFoundError(f"the table has no tag {tag!r}; tags: {known}", path=root.name, detail=tag) from None
    return _tag(tag, content, root)


def check_tag_name(name: object) -> None:
    """Raise `InvalidArgumentError` for an invalid name of a tag."""
    _check_name(name, "tag")


def tag_content(root: Location, tag: str) -> Mapping[str, object]:
    """Return the content of a tag's file, which must exist."""
    return _json(root, posixpath.join(TAGS, tag + _JSON))


def read_tags(root: Location) -> Mapping[str, TagMeta]:
    """Read all tags, by name."""
    return {name: read_tag(root, name) for name in _listed(root, TAGS)}


def read_branches(root: Location) -> Mapping[str, BranchMeta]:
    """Read all branches but the main one, by name."""
    found = {}
    for encoded in _listed(root, BRANCHES):
        content = _json(root, posixpath.join(BRANCHES, encoded + _JSON))
        name = encoded.replace("%2F", "/")
        parent, version = content.get("parentBranch"), content.get("parentVersion")
        if not isinstance(version, int) or not _is_number(version) or not isinstance(parent, (str, NoneType)):
            raise CorruptManifestError(
                f"branch {name!r} began at version {version!r} of {parent!r}", path=root.name, detail=name
            )
        found[name] = BranchMeta(name, parent, version)
    return found


def branch_file(root: Location, branch: str) -> str:
    """Return the path of the file that describes a branch, on the table's filesystem."""
    _check_name(branch, "branch")
    return posixpath.join(root.path, BRANCHES, branch.replace("/", "%2F") + _JSON)


def branch_content(root: Location, branch: str) -> Mapping[str, object]:
    """Return the content of a branch's file, which must exist."""
    return _json(root, posixpath.relpath(branch_file(root, branch), root.path))


def _tag(name: str, content: Mapping[str, object], root: Location) -> TagMeta:
    version, branch = content.get("version"), content.get("branch")
    if not isinstance(version, int) or not _is_number(version) or not isinstance(branch, (str, NoneType)):
        raise CorruptManifestError(
            f"tag {name!r} refers to version {version!r} of branch {branch!r}", path=root.name, detail=name
        )
    if branch is not None and branch != MAIN:
        _check_name(branch, "branch")
    return TagMeta(name, version, None if branch == MAIN else branch)


def _listed(root: Location, folder: str) -> list[str]:
    names = list_names(root.given, posixpath.join(root.path, folder))
    return [name.removesuffix(_JSON) for name in names if name.endswith(_JSON)]


def _json(root: Location, path: str) -> Mapping[str, object]:
    place = Location(root.given, posixpath.join(root.path, path))
    for _ in range(_READS - 1):
        with contextlib.suppress(CorruptManifestError, TruncatedReadError):
            return _json_of(place)
    return _json_of(place)


def _json_of(place: Location) -> Mapping[str, object]:
    source = open_source(place)
    try:
        size = source.size()
        with located(path=place.name):
            if size > _MAX_BYTES:
                raise CorruptManifestError(f"a reference has {size} bytes")
            (data,) = source.read(np.array([0]), np.array([size]))
            try:
                content = json.loads(data.tobytes())
            except (ValueError, RecursionError) as error:
                raise CorruptManifestError(f"a reference is not JSON: {error}") from error
            if not isinstance(content, dict):
                raise CorruptManifestError(f"a reference is {type(content).__name__}, expected an object")
            return content
    finally:
        source.close()


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the {what} is {name!r}, expected a name", detail=name)
    parts = name.split("/") if what == "branch" else [name]
    if not all(_PART.fullmatch(part) and ".." not in part for part in parts):
        raise InvalidArgumentError(
            f"{name!r} is not a valid {what} name: expected letters, digits, '.', '-' and '_'", detail=name
        )
