"""From the folder of a table to one manifest: the newest, by number, by tag, as of a moment, on a branch.

The newest takes a listing and one read; a number takes no listing.
"""

from __future__ import annotations

import datetime
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from lance_arrow.errors import CorruptManifestError, InvalidArgumentError, TableNotFoundError, VersionNotFoundError
from lance_arrow.io import AnyFileSystem, Location, list_first, list_names, list_sizes, resolve
from lance_arrow.manifests.manifest import ManifestMeta, read_manifest
from lance_arrow.manifests.names import SUFFIX, ManifestName, NamingScheme, names_of, parse_name
from lance_arrow.manifests.references import branch_root, read_branches, read_tag
from lance_arrow.settings import Limits

VERSIONS = "_versions"
_NEWEST = 32
"""Manifests that a store is asked for to find the newest one: more than a crowd makes during one attempt."""
_V2_CHARACTERS = len(str(ManifestName(0, NamingScheme.V2)))


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest found by listing.

    Parameters
    ----------
    name
        What it is called, hence which version it is of.
    size_bytes
        None where the filesystem does not tell, and of local files, which tell it when they are opened.
    """

    name: ManifestName
    size_bytes: int | None

    @property
    def version(self) -> int:
        """Its version."""
        return self.name.version


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChoice:
    """Which version of a table is wanted.

    Parameters
    ----------
    version, tag, as_of
        By number, by tag, or the newest one not later than a moment (a `datetime`, a `date`, or ISO text; without a
        time zone it is local time); the newest one when all are None.
    branch
        Which line of versions; the main one when None.

    Raises
    ------
    InvalidArgumentError
        More than one of the first three is given, or one makes no sense.
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
    """Find the folder that a path or URL means, as `resolve` does; relative local paths become absolute."""
    found = resolve(uri, filesystem, storage_options)
    path = found.path.rstrip("/") or found.path
    if isinstance(found.filesystem, LocalFileSystem):
        path = os.path.abspath(path)
    return found if path == found.path else Location(found.filesystem, path, found.name)


def is_table(root: Location) -> bool:
    """Whether a folder is a table: whether it has manifests."""
    return newest_manifest(root) is not None


def list_manifests(root: Location, *, since: int = 0) -> tuple[ManifestFile, ...]:
    """List the versions there are, oldest first, detached ones left out; none where there is no table.

    Parameters
    ----------
    root
        Folder of a line of versions.
    since
        The first version that is wanted.

    Raises
    ------
    CorruptManifestError
        Names of both schemes are in one folder.
    """
    files = _files(root, newest=since > 0)
    if since and max(files, default="") < str(ManifestName(since, NamingScheme.V2)):
        files = _files(root)
    return _since(root, files, since)


def newest_manifest(root: Location) -> ManifestFile | None:
    """Return the newest version there is, detached ones left out; None where there is no table.

    Raises
    ------
    CorruptManifestError
        Names of both schemes are in one folder.
    """
    files = _files(root, newest=True)
    newest: ManifestName | None = None
    for name in sorted(files):
        if newest is None:
            parsed = parse_name(name)
            if parsed is None or parsed.scheme is NamingScheme.DETACHED:
                continue
            newest = parsed
            # Newer versions have smaller names, where these are counted down; and they are all of one length.
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
    oldest = str(ManifestName(since, NamingScheme.V2))
    for name, size_bytes in files.items():
        # Of a long history, most names are not worth a closer look.
        if name > oldest and len(name) == len(oldest) and name.removesuffix(SUFFIX).isdecimal():
            schemes.add(NamingScheme.V2)
            continue
        parsed = parse_name(name)
        if parsed is not None and parsed.scheme is not NamingScheme.DETACHED:
            schemes.add(parsed.scheme)
            if parsed.version >= since:
                found.append(ManifestFile(parsed, size_bytes))
    if len(schemes) > 1:
        raise CorruptManifestError("manifests are named in two schemes, expected one", path=root.name)
    return tuple(sorted(found, key=lambda manifest: manifest.version))


def _first_files(root: Location, folder: str) -> Mapping[str, int | None]:
    """Return the newest manifests of a long history, where a store tells these first; none where it is not sure."""
    found = list_first(root.filesystem, folder, _NEWEST)
    if found is None:
        return {}
    files, is_all = found
    if is_all:
        return files
    if not files or any(len(name) != _V2_CHARACTERS or not name.removesuffix(SUFFIX).isdecimal() for name in files):
        return {}
    # Manifests of the other scheme, which may lie behind those of this one, would make all of it doubtful.
    others = list_first(root.filesystem, folder, 1, after=str(1 << 64))
    return files if others is not None and all(_is_detached(name) for name in others[0]) else {}


def _is_detached(name: str) -> bool:
    parsed = parse_name(name)
    return parsed is not None and parsed.scheme is NamingScheme.DETACHED


def _files(root: Location, *, newest: bool = False) -> Mapping[str, int | None]:
    """List the folder of manifests; with `newest`, older ones may be left out."""
    folder = posixpath.join(root.path, VERSIONS)
    if root.is_local:
        return dict.fromkeys(list_names(root.filesystem, folder))
    return (newest and _first_files(root, folder)) or list_sizes(root.filesystem, folder)


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
        The table's own folder, that of its main branch.
    choice
        Which version.
    limits
        As for `read_manifest`.
    newest
        The newest version of the main branch, if it was found already.

    Raises
    ------
    TableNotFoundError
        There is no table.
    VersionNotFoundError
        The table has no such version, tag or branch.
    LanceError
        As `read_manifest`.
    """
    branch, version = choice.branch, choice.version
    if choice.tag is not None:
        tag = read_tag(root, choice.tag)
        if branch is not None and branch_root(root, branch) != branch_root(root, tag.branch):
            raise InvalidArgumentError(f"tag {tag.name!r} is of branch {tag.branch or 'main'!r}, not of {branch!r}")
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
    """Read a manifest that a listing of its line of versions found."""
    place = manifest_place(line, manifest.name)
    return read_manifest(place, line, manifest.version, size_bytes=manifest.size_bytes, limits=limits)


def moment(given: Any) -> datetime.datetime:
    """Turn what a caller may give for a moment into one of UTC.

    Raises
    ------
    InvalidArgumentError
        It is none.
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
        raise InvalidArgumentError(f"as_of is {given!r}, which no clock shows: {error}", detail=given) from None


def _numbered(root: Location, line: Location, version: int, branch: str | None, limits: Limits | None) -> ManifestMeta:
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
    # Clocks of writers differ, so times need not ascend: the newest version that is old enough is wanted.
    for manifest in reversed(manifests):
        meta = read_listed(line, manifest, limits)
        if meta.timestamp is not None and meta.timestamp <= latest:
            return meta
    raise VersionNotFoundError(
        f"the table has no version as of {latest.isoformat()}; the oldest that is left is {manifests[0].version}",
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
    """Return where a manifest of a line of versions lies."""
    return Location(line.filesystem, posixpath.join(line.path, VERSIONS, str(name)))


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 64
