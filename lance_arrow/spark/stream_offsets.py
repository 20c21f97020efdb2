"""Versions as offsets of a stream: the fragments each version added, and where a batch ends.

An offset ``{"snapshot": s, "version": v, "index": i}``: all that versions before `v` added is done, and the first `i`
fragments that version `v` added. Version `s` counts as having added all that is in it; 0 means that no version does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_arrow.errors import InvalidArgumentError, UnsupportedError, VersionNotFoundError
from lance_arrow.io import Location
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.versions import ManifestFile, list_manifests, manifest_place, read_listed
from lance_arrow.runtime import default_runtime
from lance_arrow.table.transactions import read_transaction

# Rows stay what they are, wherever they lie afterwards.
_HARMLESS = ("rewrite", "create_index", "reserve_fragments", "update_config", "update_mem_wal_state", "update_bases")
_KEYS = ("snapshot", "version", "index")
_KEPT = 4


@dataclass(frozen=True, slots=True, order=True)
class StreamOffset:
    """A place in the history of a table; see the module."""

    version: int
    index: int
    snapshot: int = 0

    @classmethod
    def parse(cls, said: dict[str, int]) -> StreamOffset:
        """Read an offset as Spark keeps it.

        Raises
        ------
        InvalidArgumentError
            It is none: the checkpoint is of another source.
        """
        if sorted(said) != sorted(_KEYS) or not all(isinstance(said[key], int) for key in _KEYS):
            raise InvalidArgumentError(
                f"the checkpoint has the offset {said}, which is not an offset of format 'lance'"
            )
        return cls(said["version"], said["index"], said["snapshot"])

    def as_dict(self) -> dict[str, int]:
        """Return the offset as Spark keeps it."""
        return {"snapshot": self.snapshot, "version": self.version, "index": self.index}


@dataclass(frozen=True, slots=True, eq=False)
class Addition:
    """Fragments that one version added; the stream had `first` of them before."""

    manifest: ManifestMeta
    fragments: Sequence[FragmentMeta]


class TableChanges:
    """The fragments that versions of a branch added.

    Parameters
    ----------
    root
        The table.
    branch
        The line; the main one when None.
    changes
        What to do about versions that did more than add rows: ``"fail"``, ``"skip"`` them, or take what they
        ``"added"``.
    """

    def __init__(self, root: Location, branch: str | None, changes: str) -> None:
        self._line = branch_root(root, branch)
        self._changes = changes
        self._held: dict[int, ManifestMeta] = {}

    def newest(self) -> int:
        """Return the number of the newest version; 0 where there is no table."""
        found = list_manifests(self._line)
        return found[-1].version if found else 0

    def between(self, start: StreamOffset, last: int) -> list[Addition]:
        """Return what versions from that of an offset up to `last` added, the offset's own version whole.

        Raises
        ------
        VersionNotFoundError
            A version between was removed: its added rows are unknown.
        UnsupportedError
            One did more than add rows, and the options do not allow that.
        """
        listed = {one.version: one for one in list_manifests(self._line)}
        for version in range(start.version, last + 1):
            if version not in listed:
                raise VersionNotFoundError(
                    f"version {version} was removed, so its added rows are unknown; start the query anew",
                    path=self._line.name,
                    detail=version,
                )
        return [self._addition(version, listed, start.snapshot) for version in range(start.version, last + 1)]

    def _addition(self, version: int, listed: dict[int, ManifestFile], snapshot: int) -> Addition:
        manifest = self._manifest(listed[version])
        if version in (snapshot, 1):
            return Addition(manifest, manifest.fragments)
        limits = default_runtime().settings.limits
        transaction = read_transaction(self._line, manifest_place(self._line, listed[version].name), manifest, limits)
        operation = None if transaction is None else transaction.operation
        if operation in _HARMLESS:
            return Addition(manifest, ())
        if operation != "append":
            if self._changes == "fail":
                raise UnsupportedError(
                    f"version {version} is {operation or 'an operation without record'}: it did more than add rows; "
                    "option changes = skip passes over such versions, changes = added takes the rows they added",
                    path=self._line.name,
                    detail=version,
                )
            if self._changes == "skip":
                return Addition(manifest, ())
        if version - 1 not in listed:
            raise VersionNotFoundError(
                f"version {version - 1} was removed, so the rows that version {version} added are unknown",
                path=self._line.name,
                detail=version - 1,
            )
        before = {fragment.id for fragment in self._manifest(listed[version - 1]).fragments}
        return Addition(manifest, [one for one in manifest.fragments if one.id not in before])

    def _manifest(self, file: ManifestFile) -> ManifestMeta:
        held = self._held.get(file.version)
        if held is None:
            held = self._held[file.version] = read_listed(self._line, file, default_runtime().settings.limits)
            while len(self._held) > _KEPT:
                self._held.pop(next(iter(self._held)))
        return held


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Limits of one batch; None is no limit. A batch takes at least one fragment."""

    max_rows: int | None = None
    max_bytes: int | None = None
    max_fragments: int | None = None

    def admit(self, start: StreamOffset, additions: Sequence[Addition]) -> StreamOffset:
        """Return where a batch ends that begins at an offset; `additions` are of its version and those after it."""
        rows = num_bytes = count = 0
        for addition in additions:
            version = addition.manifest.version
            first = start.index if version == start.version else 0
            for index, fragment in enumerate(addition.fragments):
                if index < first:
                    continue
                rows += fragment.physical_rows or 0
                num_bytes += sum(file.size_bytes or 0 for file in fragment.files)
                count += 1
                if count > 1 and self._exceeds(rows, num_bytes, count):
                    return StreamOffset(version, index, start.snapshot)
        last = additions[-1]
        return StreamOffset(last.manifest.version, len(last.fragments), start.snapshot)

    def _exceeds(self, rows: int, num_bytes: int, count: int) -> bool:
        limits = ((rows, self.max_rows), (num_bytes, self.max_bytes), (count, self.max_fragments))
        return any(limit is not None and found > limit for found, limit in limits)
