"""`clean_up`: remove old versions of a branch and unused files; by default, only report them.

A version stays if it is the newest, tagged, detached or the beginning of a branch. It also stays if it is among the
newest `retain_versions`, or was current within `older_than`. A file of this branch is removed if no remaining manifest
of any branch names it. Files whose names are not those of a table's files stay. A file that no manifest ever named must
also be so old that no commit can be about to name it.

Manifests are removed first. Then versions are listed again, so that files of a new commit stay. A mark says which
versions are removed, so that no other process names one of them meanwhile (`manifests.version_marks`).
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lance_arrow.engine import NamedFiles
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import ListedFile, Location, list_tree, remove_files
from lance_arrow.manifests.base_paths import DATA, DELETIONS, TRANSACTIONS
from lance_arrow.manifests.manifest_contents import READ_AT_ONCE, manifest_contents
from lance_arrow.manifests.names import NamingScheme, parse_name
from lance_arrow.manifests.references import branch_root, inner_folders, line_name, read_branches, read_tags
from lance_arrow.manifests.version_files import VersionFiles, version_files
from lance_arrow.manifests.version_marks import removing
from lance_arrow.manifests.versions import VERSIONS, ManifestFile, list_manifests
from lance_arrow.manifests.zone_indices import INDICES
from lance_arrow.settings import Limits
from lance_arrow.table.method_arguments import DEFAULT_AGE

UNNAMED_AGE = datetime.timedelta(days=7)
_TREE = "tree"
_MANIFESTS = f"{VERSIONS}/"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")
_OWN = (DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS)
_DELETION = re.compile(r"\d+-\d+-\d+\.(arrow|bin)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupFile:
    """A file that a cleanup removes.

    Parameters
    ----------
    path
        Path below the folder of the branch.
    size_bytes
        Size; None if the filesystem does not report it.
    reason
        ``"old version"``: manifest of an old version. ``"only old versions"``: only old versions name the file.
        ``"no version"``: no version names it.
    """

    path: str
    size_bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupReport:
    """Versions and files that a cleanup removes, or has removed.

    Parameters
    ----------
    is_dry_run
        Whether nothing was removed.
    versions
        Old versions, ascending.
    files
        Removed files, with the manifests.
    kept
        Versions that stay, with the reason.
    """

    is_dry_run: bool
    versions: tuple[int, ...]
    files: tuple[CleanupFile, ...]
    kept: dict[int, str] = field(default_factory=dict)

    @property
    def num_bytes(self) -> int:
        """Bytes of the files whose sizes are known."""
        return sum(file.size_bytes or 0 for file in self.files)

    def __str__(self) -> str:
        verb = "would be" if self.is_dry_run else "were"
        return f"{len(self.versions)} versions and {len(self.files)} files of {self.num_bytes:,} bytes {verb} removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupRules:
    """Rules of a cleanup.

    Parameters
    ----------
    older_than
        Versions that were current within this time stay.
    retain_versions
        At least this many of the newest versions stay.
    delete_unverified
        Whether files that no manifest names are removed at any age. No process may write meanwhile.
    """

    older_than: datetime.timedelta = DEFAULT_AGE
    retain_versions: int | None = None
    delete_unverified: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.older_than, datetime.timedelta) or self.older_than < datetime.timedelta():
            raise InvalidArgumentError(f"older_than is {self.older_than!r}, expected a timedelta, at least 0")
        count = self.retain_versions
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            raise InvalidArgumentError(f"retain_versions is {count!r}, expected an integer, at least 1")


def clean_up(
    root: Location, branch: str | None, rules: CleanupRules, limits: Limits, *, dry_run: bool
) -> CleanupReport:
    """Remove old versions of a branch, and unused files.

    Parameters
    ----------
    root
        Folder of the table.
    branch
        Which line; its own files are touched, no others.
    rules
        What goes.
    limits
        For manifests that are read.
    dry_run
        Whether to only tell.

    Raises
    ------
    UnsupportedError, UnsupportedFeatureFlagError
        A manifest has unknown fields, so that the files it names are not known.
    CorruptManifestError
        A manifest is damaged; nothing is removed.
    OSError
        Errors of the filesystem, unchanged.
    """
    line = branch_root(root, branch)
    manifests = list_manifests(line)
    # Another branch may be called as if it were a folder of this one.
    inner = inner_folders(branch, read_branches(root))
    tree = list_tree(line.filesystem, line.path)
    listed = {path: file for path, file in tree.items() if not path.startswith(inner)}
    now = datetime.datetime.now(datetime.UTC)
    seen = _Seen(rules, now, _named_versions(root, branch), len(manifests))
    files = NamedFiles()
    sizes = {path.removeprefix(_MANIFESTS): file.size_bytes for path, file in listed.items()}
    for first in range(0, len(manifests), READ_AT_ONCE):
        some = manifests[first : first + READ_AT_ONCE]
        contents = manifest_contents(line, some, sizes)
        for one in some:
            seen.add(_named_by(line, one, limits, contents.get(one.version), files))
    seen.end()
    kept, old, needed = seen.kept, seen.old, seen.needed
    needed |= _needed_by_detached(line, listed, limits)
    needed |= _needed_elsewhere(root, line, limits)
    if not dry_run:
        with removing(line, list(old)) as claimed:
            claims = dict.fromkeys(claimed, "another process is about to name it")
            named = {**claims, **_named_versions(root, branch)} if old else {}
            for one in [one for one in manifests if one.version in old and one.version in named]:
                kept[one.version] = named[one.version]
                del old[one.version]
                needed |= _names(line, one, limits)
            remove_files(line.given, line.path, [file.path for file in _manifest_files(old, listed)])
    going = _manifest_files(old, listed)
    if not dry_run:
        for fresh in list_manifests(line, since=manifests[-1].version + 1):
            needed |= _names(line, fresh, limits)
        needed |= _needed_elsewhere(root, line, limits)
    others = _unneeded(listed, needed, seen.known, rules, now)
    if not dry_run:
        remove_files(line.given, line.path, [file.path for file in others])
    return CleanupReport(
        is_dry_run=dry_run,
        versions=tuple(old),
        files=(*going, *others),
        kept=dict(sorted(kept.items())),
    )


def _named_versions(root: Location, branch: str | None) -> dict[int, str]:
    """Return the versions that a branch or a tag names, with the reason to keep them."""
    branches = read_branches(root).values()
    own = line_name(branch)
    reasons = {one.parent_version: f"branch {one.name!r} begins here" for one in branches if one.parent_branch == own}
    for tag in read_tags(root).values():
        if tag.branch == own:
            reasons[tag.version] = f"tag {tag.name!r}"
    return reasons


class _Seen:
    """Versions of a line as they are read, oldest first. Which files each names is not kept: there may be many of both.

    Parameters
    ----------
    rules, now
        Which versions stay.
    named
        Versions that a branch or a tag names, with the reason to keep them.
    count
        How many versions there are.

    Attributes
    ----------
    kept
        Versions that stay, with the reason.
    old
        The others, with the paths of their manifests.
    needed, known
        What versions that stay name, and what the others name.
    """

    def __init__(self, rules: CleanupRules, now: datetime.datetime, named: Mapping[int, str], count: int) -> None:
        self._rules, self._now, self._named, self._left = rules, now, named, count
        self._last: VersionFiles | None = None
        self.kept: dict[int, str] = {}
        self.old: dict[int, str] = {}
        self.needed: set[str] = set()
        self.known: set[str] = set()

    def add(self, version: VersionFiles | None) -> None:
        """Take the next version; None for one that is gone."""
        if version is None:
            self._left -= 1
            return
        if self._last is not None:
            # A version was current until the next one was made.
            self._settle(self._last, version.timestamp)
        self._last = version

    def end(self) -> None:
        """Tell that the last version was the newest."""
        if self._last is not None:
            self._settle(self._last, None)

    def _settle(self, version: VersionFiles, until: datetime.datetime | None) -> None:
        reason = self._reason(version.version, until)
        self._left -= 1
        if reason is None:
            self.old[version.version] = version.manifest
        else:
            self.kept[version.version] = reason
        (self.known if reason is None else self.needed).update(version.names)

    def _reason(self, version: int, until: datetime.datetime | None) -> str | None:
        """Return why a version stays, which was current until some time; None if it goes."""
        most = self._rules.retain_versions
        if self._left == 1:
            return "the newest"
        if version in self._named:
            return self._named[version]
        if until is None or self._now - until < self._rules.older_than:
            return f"was current within {self._rules.older_than}"
        return None if most is None or self._left > most else f"one of the newest {most}"


def _named_by(
    line: Location,
    manifest: ManifestFile,
    limits: Limits,
    data: memoryview | None = None,
    files: NamedFiles | None = None,
) -> VersionFiles | None:
    """Read which files a version names; None if another cleanup has removed the version since it was listed."""
    try:
        return version_files(line, manifest, limits, data, files)
    except FileNotFoundError:
        # A store that does not find what it lists must not cost a version its files.
        if manifest.version in [one.version for one in list_manifests(line, since=manifest.version)]:
            raise
        return None


def _names(line: Location, manifest: ManifestFile, limits: Limits) -> set[str]:
    """Return the paths of the files that a version names; none of one that is gone."""
    found = _named_by(line, manifest, limits)
    return set() if found is None else found.names


def _needed_elsewhere(root: Location, line: Location, limits: Limits) -> set[str]:
    """Return what other lines of the table name.

    Files have names of their own: one that another line names anywhere is taken for ours.
    """
    needed: set[str] = set()
    for place, manifest in _other_manifests(root, line):
        needed |= _names(place, manifest, limits)
    return needed


def _needed_by_detached(line: Location, listed: dict[str, ListedFile], limits: Limits) -> set[str]:
    """Return what detached versions of a line name, and their manifests."""
    needed: set[str] = set()
    for path, file in listed.items():
        parsed = parse_name(path.removeprefix(_MANIFESTS)) if path.startswith(_MANIFESTS) else None
        if parsed is not None and parsed.scheme is NamingScheme.DETACHED:
            needed |= version_files(line, ManifestFile(parsed, file.size_bytes), limits).names
            needed.add(path)
    return needed


def _other_manifests(root: Location, line: Location) -> Iterable[tuple[Location, ManifestFile]]:
    folders = {root.path}
    for path in list_tree(root.filesystem, posixpath.join(root.path, _TREE)):
        folder, name = posixpath.split(path)
        if posixpath.basename(folder) == VERSIONS and parse_name(name) is not None:
            folders.add(posixpath.join(root.path, _TREE, posixpath.dirname(folder)))
    for folder in sorted(folders - {line.path}):
        place = root.at(folder)
        yield from ((place, manifest) for manifest in list_manifests(place))


def _manifest_files(old: Mapping[int, str], listed: dict[str, ListedFile]) -> list[CleanupFile]:
    return [
        CleanupFile(path=path, size_bytes=listed[path].size_bytes, reason="old version")
        for path in old.values()
        if path in listed
    ]


def _unneeded(
    listed: dict[str, ListedFile], needed: set[str], known: set[str], rules: CleanupRules, now: datetime.datetime
) -> list[CleanupFile]:
    found = []
    for path, file in listed.items():
        owner = _owner(path)
        if owner is None or owner in needed:
            continue
        if owner in known:
            reason = "only old versions"
        else:
            reason = "no version"
            is_old = file.modified is not None and now - file.modified >= UNNAMED_AGE
            if not (rules.delete_unverified or is_old):
                continue
        found.append(CleanupFile(path=path, size_bytes=file.size_bytes, reason=reason))
    return found


def _owner(path: str) -> str | None:
    """Return what a manifest would have to name for a file to be needed; None for files that are none of ours."""
    folder, _, rest = path.partition("/")
    if folder in _OWN and _UNFINISHED.fullmatch(posixpath.basename(rest)):
        # Unfinished file of a writer that died: no version names it.
        return path
    if folder == DATA and rest.endswith(".lance") and "/" not in rest:
        return path
    if folder == DATA and rest.count("/") == 1:
        # A folder with the name of a data file holds the bytes of its large blobs.
        return f"{DATA}/{rest.split('/', 1)[0]}.lance"
    if folder == DELETIONS and _DELETION.fullmatch(rest):
        return path
    if folder == TRANSACTIONS and rest.endswith(".txn") and "/" not in rest:
        return path
    name = rest.split("/", 1)[0]
    if folder == INDICES and "/" in rest and _UUID.fullmatch(name):
        return posixpath.join(INDICES, name)
    return None
