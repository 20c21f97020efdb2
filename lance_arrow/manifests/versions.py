"""From the folder of a table to one manifest: the newest, by number, by tag, by time, on a branch.

The newest needs a listing and one read; a number needs no listing.
"""

from __future__ import annotations

import datetime
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lance_arrow.errors import CorruptManifestError, InvalidArgumentError, TableNotFoundError, VersionNotFoundError
from lance_arrow.io import (
    AnyFileSystem,
    Location,
    file_exists,
    has_file,
    is_local_kind,
    list_first,
    list_names,
    list_sizes,
    resolve,
)
from lance_arrow.manifests.names import SUFFIX, ManifestName, NamingScheme, names_of, parse_name
from lance_arrow.manifests.references import branch_root, read_branches, read_tag
from lance_arrow.settings import Limits

if TYPE_CHECKING:
    from lance_arrow.manifests.manifest import ManifestMeta

VERSIONS = "_versions"
_NEWEST = 32
"""Manifests to list for finding the newest one: more than many writers create during one attempt."""
_V2_CHARACTERS = len(str(ManifestName(0, NamingScheme.V2)))
_MOST_LINES = 1024
_of_one_scheme: WeakKeyDictionary[Any, dict[str, None]] = WeakKeyDictionary()
"""Lines of versions, by filesystem, that were found to have V2 names alone: no writer goes back to the older ones."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest found by listing.

    Parameters
    ----------
    name
        Its name, with the number of its version.
    size_bytes
        None if the filesystem does not return it, and for local files, whose size is read when they are opened.
    """

    name: ManifestName
    size_bytes: int | None

    @property
    def version(self) -> int:
        """Its version."""
        return self.name.version


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChoice:
    """Choice of a version of a table.

    Parameters
    ----------
    version, tag, as_of
        By number, by tag, or the newest one that is not later than a time. A time is a `datetime`, a `date`, or ISO
        text; without a time zone it is local time. If all are None, the newest version is chosen.
    branch
        Line of versions; the main one when None.

    Raises
    ------
    InvalidArgumentError
        More than one of the first three is given, or one is not valid.
    """

    version: int | None = None
    tag: str | None = None
    as_of: Any = None
    branch: str | None = None

    def __post_init__(self) -> None:
        if [self.version is None, self.tag is None, self.as_of is None].count(False) > 1:
            raise InvalidArgumentError("give one of version, tag and as_of")
        if self.version is not None and not _is_version(self.version):
            raise InvalidArgumentError(
                f"version is {self.version!r}, expected an integer, at least 1", detail=self.version
            )
        if self.as_of is not None:
            moment(self.as_of)


def table_location(
    uri: str | os.PathLike[str],
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Location:
    """Return the folder of a path or URL, as `resolve` does; relative local paths become absolute."""
    found = resolve(uri, filesystem, storage_options)
    path = found.path.rstrip("/") or found.path
    if is_local_kind(found.given):
        path = os.path.abspath(path)
    return found if path == found.path else Location(found.given, path, found.name)


def is_table(root: Location) -> bool:
    """Return whether a folder is a table: whether it has manifests."""
    if not root.is_local:
        # Stores may list the newest versions alone.
        return newest_manifest(root) is not None
    return has_file(root.given, posixpath.join(root.path, VERSIONS), _is_attached)


def _is_attached(name: str) -> bool:
    parsed = parse_name(name)
    return parsed is not None and parsed.scheme is not NamingScheme.DETACHED


def list_manifests(root: Location, *, since: int = 0) -> tuple[ManifestFile, ...]:
    """List the versions, oldest first, without detached ones; empty if there is no table.

    Parameters
    ----------
    root
        Folder of a line of versions.
    since
        The first version to return.

    Raises
    ------
    CorruptManifestError
        A folder has names of both schemes.
    """
    files = _files(root, newest=since > 0)
    if since and max(files, default="") < str(ManifestName(since, NamingScheme.V2)):
        files = _files(root)
    return _since(root, files, since)


def newest_manifest(root: Location) -> ManifestFile | None:
    """Return the newest version, without detached ones; None if there is no table.

    Raises
    ------
    CorruptManifestError
        A folder has names of both schemes.
    """
    files = _files(root, newest=True)
    newest: ManifestName | None = None
    for name in sorted(files):
        if newest is None:
            parsed = parse_name(name)
            if parsed is None or parsed.scheme is NamingScheme.DETACHED:
                continue
            newest = parsed
            # In the V2 scheme newer versions have smaller names, and all names have the same length.
            if parsed.scheme is not NamingScheme.V2:
                break
            expected, size_bytes = len(name), files[name]
        elif len(name) != expected:
            break
    else:
        return None if newest is None else ManifestFile(newest, size_bytes)
    return _since(root, files, 0)[-1]


def _since(root: Location, files: Mapping[str, int | None], since: int) -> tuple[ManifestFile, ...]:
    found = []
    schemes = set()
    has_older = False
    oldest = str(ManifestName(since, NamingScheme.V2))
    for name, size_bytes in files.items():
        # Most names of a long history are skipped without parsing.
        if name > oldest and len(name) == _V2_CHARACTERS and name.removesuffix(SUFFIX).isdecimal():
            has_older = True
            continue
        parsed = parse_name(name)
        if parsed is not None and parsed.scheme is not NamingScheme.DETACHED:
            schemes.add(parsed.scheme)
            if parsed.version >= since:
                found.append(ManifestFile(parsed, size_bytes))
    if has_older:
        schemes.add(NamingScheme.V2)
    if len(schemes) > 1:
        raise CorruptManifestError("manifests are named in two schemes, expected one", path=root.name)
    return tuple(sorted(found, key=lambda manifest: manifest.version))


def _first_files(root: Location, folder: str) -> Mapping[str, int | None] | None:
    """Return the newest manifests of a long history, if a store lists them first; None if that is not certain."""
    found = list_first(root.given, folder, _NEWEST)
    if found is None:
        return None
    files, is_all = found
    are_newer = bool(files) and not any(
        len(name) != _V2_CHARACTERS or not name.removesuffix(SUFFIX).isdecimal() for name in files
    )
    known = _of_one_scheme.setdefault(root.given, {})
    if not are_newer:
        known.pop(root.path, None)
        return files if is_all else None
    if is_all:
        _keep(known, root.path)
    if is_all or root.path in known:
        return files
    # Manifests of the other scheme may follow those of this one, and would make the result wrong.
    others = list_first(root.given, folder, 1, after=str(1 << 64))
    if others is None:
        # Azure lists no names after one: the next version is looked for by its name in the other scheme.
        newest = parse_name(min(files))
        assert newest is not None
        return None if file_exists(manifest_place(root, ManifestName(newest.version + 1, NamingScheme.V1))) else files
    if not all(_is_detached(name) for name in others[0]):
        return None
    _keep(known, root.path)
    return files


def _keep(known: dict[str, None], path: str) -> None:
    known[path] = None
    if len(known) > _MOST_LINES:
        # Another thread may have dropped it.
        known.pop(next(iter(known)), None)


def _is_detached(name: str) -> bool:
    parsed = parse_name(name)
    return parsed is not None and parsed.scheme is NamingScheme.DETACHED


def _files(root: Location, *, newest: bool = False) -> Mapping[str, int | None]:
    """List the folder of manifests; with `newest`, older ones may be omitted."""
    folder = posixpath.join(root.path, VERSIONS)
    if root.is_local:
        return dict.fromkeys(list_names(root.given, folder))
    first = _first_files(root, folder) if newest else None
    return list_sizes(root.given, folder) if first is None else first


def open_version(
    root: Location,
    choice: VersionChoice,
    limits: Limits | None = None,
    *,
    newest: ManifestFile | None = None,
) -> ManifestMeta:
    """Find and read the manifest of a version.

    Parameters
    ----------
    root
        The table's own folder, with its main branch.
    choice
        The chosen version.
    limits
        As for `read_manifest`.
    newest
        The newest version of the main branch, if already known.

    Raises
    ------
    TableNotFoundError
        There is no table.
    VersionNotFoundError
        The version, tag or branch does not exist.
    LanceError
        As `read_manifest`.
    """
    branch, version = choice.branch, choice.version
    if choice.tag is not None:
        tag = read_tag(root, choice.tag)
        if branch is not None and branch_root(root, branch) != branch_root(root, tag.branch):
            raise InvalidArgumentError(
                f"tag {tag.name!r} belongs to branch {tag.branch or 'main'!r}, not to {branch!r}"
            )
        branch, version = tag.branch, tag.version
    line = branch_root(root, branch)
    if version is not None:
        return _numbered(root, line, version, branch, limits)
    if choice.as_of is not None:
        manifests = list_manifests(line)
        if manifests:
            return _as_of(line, manifests, moment(choice.as_of), limits)
    if newest is None or line is not root:
        newest = newest_manifest(line)
    if newest is None:
        raise _nothing(root, line, branch)
    return read_listed(line, newest, limits)


def read_listed(line: Location, manifest: ManifestFile, limits: Limits | None = None) -> ManifestMeta:
    """Read a manifest from a listing of its line of versions."""
    from lance_arrow.manifests.manifest import read_manifest  # noqa: PLC0415 - for folders that are tables

    place = manifest_place(line, manifest.name)
    return read_manifest(place, line, manifest.version, size_bytes=manifest.size_bytes, limits=limits)


def moment(given: Any) -> datetime.datetime:
    """Convert a caller's time to UTC.

    Raises
    ------
    InvalidArgumentError
        The value is not a time.
    """
    if isinstance(given, str):
        try:
            given = datetime.datetime.fromisoformat(given)
        except ValueError as error:
            raise InvalidArgumentError(f"as_of is {given!r}, expected ISO text: {error}", detail=given) from None
    if isinstance(given, datetime.date) and not isinstance(given, datetime.datetime):
        given = datetime.datetime.combine(given, datetime.time())
    if not isinstance(given, datetime.datetime):
        raise InvalidArgumentError(f"as_of is {given!r}, expected a datetime, a date or ISO text", detail=given)
    try:
        return given.astimezone(datetime.UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise InvalidArgumentError(f"as_of is {given!r}, which is not a valid time: {error}", detail=given) from None


def _numbered(root: Location, line: Location, version: int, branch: str | None, limits: Limits | None) -> ManifestMeta:
    from lance_arrow.manifests.manifest import read_manifest  # noqa: PLC0415 - for folders that are tables

    for name in names_of(version):
        try:
            return read_manifest(manifest_place(line, name), line, version, limits=limits)
        except FileNotFoundError:
            continue
    manifests = list_manifests(line)
    if not manifests:
        raise _nothing(root, line, branch)
    first, last = manifests[0].version, manifests[-1].version
    raise VersionNotFoundError(
        f"the table has no version {version}; there are {len(manifests)}, from {first} to {last}",
        path=line.name,
        detail=version,
    )


def _as_of(
    line: Location, manifests: Sequence[ManifestFile], latest: datetime.datetime, limits: Limits | None
) -> ManifestMeta:
    # Clocks of writers differ, so times may not ascend: the newest version that is old enough is chosen.
    for manifest in reversed(manifests):
        meta = read_listed(line, manifest, limits)
        if meta.timestamp is not None and meta.timestamp <= latest:
            return meta
    raise VersionNotFoundError(
        f"the table has no version as of {latest.isoformat()}; the oldest remaining one is {manifests[0].version}",
        path=line.name,
        detail=latest,
    )


def _nothing(root: Location, line: Location, branch: str | None) -> TableNotFoundError | VersionNotFoundError:
    if line != root and list_manifests(root):
        known = ", ".join(map(repr, read_branches(root))) or "none"
        return VersionNotFoundError(
            f"the table has no branch {branch!r}; branches: {known}", path=root.name, detail=branch
        )
    return TableNotFoundError("there is no table here: no manifest in _versions", path=root.name)


def manifest_place(line: Location, name: ManifestName) -> Location:
    """Return the place of a manifest of a line of versions."""
    return Location(line.given, posixpath.join(line.path, VERSIONS, str(name)))


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 64
