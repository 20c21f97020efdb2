"""Data files that belong to a table, named as files: exact live rows of one version, or a refusal that says why.

`pyarrow.dataset.dataset("t.lance", format=LanceFormat())` finds bare files and asks the format about them, one by one:

    t.lance/data/a.lance     first file of a fragment        the live rows of the fragment
    t.lance/data/b.lance     another file of the fragment    no rows: the first one yields them
    t.lance/data/c.lance     not named by the version        no rows
    t.lance/tree/x/data/...  a branch                        refused: the search mixes folders
    u/data/d.lance           of a table without versions     refused: deleted rows are not known

All files of one dataset must belong to the same version, so they share a session. It begins while a dataset is made,
and fixes the version when the schema or the first rows are read.
"""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.handler_protocol import FoundFiles, SharedPayload
from lance_arrow.arrow_dataset.places import file_place
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.errors import InternalError, MissingFileError, UnsupportedError
from lance_arrow.io import Location, list_names, locate, redact
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.path_kinds import refuse_lost_versions
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.file_place import FilePlace

if TYPE_CHECKING:
    from lance_arrow.manifests.fragments import FragmentMeta
    from lance_arrow.manifests.manifest import ManifestMeta
    from lance_arrow.manifests.table_facts import TableFacts

_KEPT_SESSIONS = 16
_INSTEAD = "lance_arrow.dataset(...) reads them"


class TableSession(SharedPayload):
    """One version of a table, for the files of one dataset: the payload of each.

    Parameters
    ----------
    root
        Folder of the table.
    choice
        Which version is wanted.
    """

    def __init__(self, root: Location, choice: VersionChoice) -> None:
        self.root = root
        self.found_files: FoundFiles = bridge.FoundFiles()
        self._choice = choice
        self._lock = threading.Lock()
        self._manifest: ManifestMeta | None = None
        self._by_anchor: dict[str, int] = {}

    def at(self, path: str, filesystem: Any) -> FoundPart:
        """Return the payload of one of the files."""
        place = file_place(path, filesystem, None, None)
        found = locate(place.path, filesystem=place.filesystem)  # type: ignore[arg-type]
        assert found is not None
        return FoundPart(self, found.path)

    def facts(self) -> TableFacts:
        """Return the version, fixed now unless it is already.

        Raises
        ------
        UnsupportedError
            The files that can be found are not all there is, or are those of a branch.
        MissingFileError
            A file that the version names is not there.
        LanceError
            As `open_version`.
        """
        return self._resolved().facts

    def part(self, path: str) -> TablePart:
        """Return what a file stands for; errors are those of `facts`."""
        manifest, number = self._used(), self._number(path)
        if number is None:
            return TablePart(manifest.facts, None)
        return TablePart.of(manifest.facts, manifest.fragments, number)

    def fragments(self, paths: Sequence[str]) -> list[FragmentMeta | None]:
        """Return the fragments that begin with files; None for a file that yields no rows."""
        fragments = self._used().fragments
        numbers = [self._number(path) for path in paths]
        return [None if number is None else fragments[number] for number in numbers]

    def _number(self, path: str) -> int | None:
        found = self._by_anchor.get(path)
        if found is None and not self.found_files.has(path):
            # A file by another name must not look like one without rows.
            raise InternalError("a file of a table is asked for by a path that it was not found by", path=path)
        return found

    def _used(self) -> ManifestMeta:
        manifest = self._resolved()
        if not self.found_files.is_used:
            from lance_arrow.manifests.fragments import row_counts  # noqa: PLC0415 - for tables alone

            counts = row_counts(manifest.fragments).tolist()
            self.found_files.use({path: counts[number] for path, number in self._by_anchor.items()})
        return manifest

    def _resolved(self) -> ManifestMeta:
        with self._lock:
            if self._manifest is None:
                _refuse_branch(self.root)
                manifest = open_version(self.root, self._choice, default_runtime().settings.limits)
                self._by_anchor = self._anchors(manifest)
                self._manifest = manifest
            return self._manifest

    def _anchors(self, manifest: ManifestMeta) -> dict[str, int]:
        """Return the numbers of fragments by the path of their first file; every one must be found as a file."""
        from lance_arrow.manifests.fragments import first_files  # noqa: PLC0415 - for tables alone

        folder = posixpath.join(self.root.path, DATA)
        names = set(list_names(self.root.given, folder))
        facts, fragments = manifest.facts, manifest.fragments
        anchors: dict[str, int] = {}
        prefix = facts.data_prefix
        for number, path in enumerate(first_files(fragments, prefix)[0]):
            place = self._anchor(facts, fragments[number]) if path is None else path
            name = place[len(prefix) :] if place.startswith(prefix) else "/"
            if "/" not in name and name not in names:
                shown = redact(place)
                raise MissingFileError(
                    f"the manifest {facts.manifest_path!r} names the data file {shown!r}, which does not exist",
                    path=shown,
                )
            if place in anchors:
                raise UnsupportedError(
                    f"two fragments begin with the data file {name!r}; {_INSTEAD}", path=self.root.name
                )
            anchors[place] = number
        return anchors

    def _anchor(self, facts: TableFacts, fragment: FragmentMeta) -> str:
        """Return the path of a fragment's first file."""
        if fragment.files and fragment.files[0].base_id is None:
            return facts.data_path(fragment.files[0])
        what = "lies in files of another table" if fragment.files else "lies in no file"
        raise UnsupportedError(
            f"fragment {fragment.id} of version {facts.version} {what}, so this folder lacks its files; {_INSTEAD}",
            path=self.root.name,
        )


@dataclass(frozen=True, slots=True, eq=False)
class FoundPart:
    """A file that was found in a table's folder: which rows it stands for is decided when they are first wanted.

    Parameters
    ----------
    session
        The version, the same for all files of one dataset.
    path
        The file.
    """

    session: TableSession
    path: str

    def resolved(self) -> TablePart:
        """Return the part; `TableSession.part` tells what it raises."""
        return self.session.part(self.path)

    def __reduce__(self) -> tuple[object, ...]:
        # Elsewhere, later, another version might be the newest.
        part = self.resolved()
        return TablePart, (part.facts, part.fragment)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What a folder is to one thread: threads make datasets side by side."""

    thread: int
    root: Location
    session: TableSession | None


class TableSessions:
    """Sessions of one format: finds the table a file belongs to.

    Parameters
    ----------
    choice
        Which version of tables is wanted.
    """

    def __init__(self, choice: VersionChoice) -> None:
        self._choice = choice
        self._known: list[_Known] = []
        self._lock = threading.Lock()

    def adopt(self, place: FilePlace) -> TableSession | None:
        """Return the payload of a file of a dataset that is being made; None for files of no table.

        Raises
        ------
        TableNotFoundError
            The file is of a table without versions.
        CorruptManifestError, OSError
            As `is_table`.
        """
        for root, path in _candidates(place):
            known = self._find(root)
            if known is None:
                known = self._begin(root)
            if known.session is None:
                continue
            session = known.session
            if not session.found_files.adopt(path):
                # Another dataset is being made; the table may have changed, or be gone.
                begun = self._begin(root).session
                if begun is None:
                    return None
                begun.found_files.adopt(path)
                session = begun
            return session
        return None

    def begin(self, place: FilePlace) -> TableSession | None:
        """Begin a session for the dataset that a file is inspected for; returns and raises as `adopt`."""
        for root, _ in _candidates(place):
            session = self._begin(root).session
            if session is not None:
                return session
        return None

    def _find(self, root: Location) -> _Known | None:
        thread = threading.get_ident()
        with self._lock:
            found = [known for known in self._known if known.thread == thread and known.root == root]
            return found[-1] if found else None

    def _begin(self, root: Location) -> _Known:
        thread = threading.get_ident()
        if is_table(root):
            known = _Known(thread, root, TableSession(root, self._choice))
        else:
            refuse_lost_versions(root, partial(default_runtime().side_by_side, is_far=not root.is_local))
            known = _Known(thread, root, None)
        with self._lock:
            others = [one for one in self._known if one.thread != thread or one.root != root]
            self._known = [*others[1 - _KEPT_SESSIONS :], known]
        return known


def _candidates(place: FilePlace) -> Iterator[tuple[Location, str]]:
    """Yield the folders that a file's table might be: those above a folder ``data`` in its path."""
    if place.filesystem is None or f"/{DATA}/" not in place.path:
        return
    found = locate(place.path, filesystem=place.filesystem)
    assert found is not None
    parts = found.path.split("/")
    for at in range(len(parts) - 2, 0, -1):
        if parts[at] == DATA:
            yield Location(found.given, "/".join(parts[:at])), found.path


def _refuse_branch(root: Location) -> None:
    """Refuse a table in ``tree/`` of another: a branch, whose files are found along with those of the main line."""
    if "/tree/" not in root.path:
        return
    parts = root.path.split("/")
    for at in range(len(parts) - 2, 0, -1):
        above = Location(root.given, "/".join(parts[:at]))
        if parts[at] == "tree" and is_table(above):
            branch = "/".join(parts[at + 1 :])
            raise UnsupportedError(
                f"pyarrow found files of the branch {branch!r} of a table along with those of its main branch; "
                f"use lance_arrow.dataset({above.name!r}) or lance_arrow.dataset({above.name!r}, branch={branch!r})",
                path=root.name,
            )
