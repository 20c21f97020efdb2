"""`TableBranches`: the branches of a table as a mapping, with methods to make and remove them."""

from __future__ import annotations

import json
import posixpath
import time
import uuid
from collections.abc import Callable, Iterator

from lance_arrow.errors import InvalidArgumentError, TableExistsError, VersionNotFoundError
from lance_arrow.io import Location, list_tree, remove_file
from lance_arrow.manifests.base_paths import DATA, DELETIONS, TRANSACTIONS
from lance_arrow.manifests.references import (
    MAIN,
    BranchMeta,
    branch_content,
    branch_file,
    branch_root,
    inner_folders,
    line_name,
    read_branches,
    read_tags,
)
from lance_arrow.manifests.version_marks import keeping
from lance_arrow.manifests.versions import VERSIONS, VersionChoice, open_version
from lance_arrow.manifests.zone_indices import INDICES
from lance_arrow.settings import Limits
from lance_arrow.spi.commits import CommitStrategy
from lance_arrow.table.copies.cloning import CloneSource, clone_version
from lance_arrow.table.named_versions import NamedVersions, manifest_bytes

_OWN_FOLDERS = frozenset({VERSIONS, DATA, DELETIONS, TRANSACTIONS, INDICES})


class TableBranches(NamedVersions[BranchMeta]):
    """Branches of a table by name, except the main one, read at each call; parameters are those of `NamedVersions`."""

    _kind = "branch"

    def __init__(
        self, root: Location, branch: str | None, strategy_of: Callable[[], CommitStrategy], limits: Limits
    ) -> None:
        super().__init__(root, line_name(branch), strategy_of, limits)

    def __getitem__(self, name: str) -> BranchMeta:
        return read_branches(self._root)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(read_branches(self._root))

    def __len__(self) -> int:
        return len(read_branches(self._root))

    def __repr__(self) -> str:
        shown = {name: (one.parent_branch, one.parent_version) for name, one in self.items()}
        return f"{type(self).__name__}({shown})"

    def create(self, name: str, version: int | str | None = None, *, message: str | None = None) -> None:
        """Make a branch; `LanceTable.open(..., branch=name)` opens it.

        Parameters
        ----------
        name
            Words of letters, digits, ``.``, ``-`` and ``_``, with ``/`` between them.
        version
            First version of the branch: number of a version of this branch, or a tag. The newest version when None.
        message
            Text that `history` shows with the version.

        Raises
        ------
        InvalidArgumentError
            There is such a branch already, or the name is not valid.
        VersionNotFoundError
            There is no such version or tag.
        CommitConflictError
            A cleanup is removing the version.
        """
        # Branches lie in each other by their names: a part like a folder of versions would be taken for that.
        if name == MAIN or (
            isinstance(name, str) and (name.endswith(".lock") or not _OWN_FOLDERS.isdisjoint(name.split("/")[1:]))
        ):
            raise InvalidArgumentError(f"a branch cannot have the name {name!r}", detail=name)
        target = branch_root(self._root, name)
        strategy = self._strategy_of()
        if name in self:
            raise InvalidArgumentError(f"there is a branch {name!r} already", path=self._root.name, detail=name)
        if isinstance(version, str):
            choice = VersionChoice(tag=version)
        else:
            choice = VersionChoice(version=version, branch=self._branch)
        manifest = open_version(self._root, choice, self._limits)
        line = branch_root(self._root, manifest.branch)
        source = CloneSource(line=line, manifest=manifest, limits=self._limits)
        with keeping(line, manifest.version):
            self._make(name, source, target, strategy, message)

    def _make(
        self, name: str, source: CloneSource, target: Location, strategy: CommitStrategy, message: str | None
    ) -> None:
        manifest = source.manifest
        try:
            made = clone_version(source, target, strategy, branch=name, message=message)
        except TableExistsError as error:
            raise InvalidArgumentError(
                f"there is a branch {name!r} already, or files of a deleted one: branches.delete removes them",
                path=self._root.name,
                detail=name,
            ) from error
        content = {
            "parentBranch": manifest.branch,
            "identifier": {"version_mapping": [*self._mapping(manifest.branch), [manifest.version, uuid.uuid4().hex]]},
            "parentVersion": manifest.version,
            "createAt": int(time.time()),
            "manifestSize": manifest_bytes(target, made),
            "metadata": {},
        }
        place = self._root.at(branch_file(self._root, name))
        self._publish(name, manifest.version, place, json.dumps(content, indent=2).encode(), strategy)

    def delete(self, name: str) -> None:
        """Remove a branch with its versions and its own files.

        Raises
        ------
        VersionNotFoundError
            There is no such branch.
        InvalidArgumentError
            Another branch begins with a version of it, or a tag names one.
        """
        self._strategy_of()
        line = branch_root(self._root, name)
        if name == MAIN:
            raise InvalidArgumentError("the main branch cannot be removed", path=self._root.name)
        known = read_branches(self._root)
        left = list_tree(line.filesystem, line.path)
        inner = inner_folders(name, known)
        own = [path for path in left if path.split("/", 1)[0] in _OWN_FOLDERS and not path.startswith(inner)]
        if name not in known and not own:
            raise VersionNotFoundError(f"the table has no branch {name!r}", path=self._root.name, detail=name)
        for other in known.values():
            if other.parent_branch == name:
                raise InvalidArgumentError(f"branch {other.name!r} begins with branch {name!r}", path=self._root.name)
        for tag in read_tags(self._root).values():
            if tag.branch == name:
                raise InvalidArgumentError(f"tag {tag.name!r} names a version of branch {name!r}")
        remove_file(self._root.at(branch_file(self._root, name)))
        # Versions first: what names files goes before these.
        for path in sorted(own, key=lambda path: not path.startswith(VERSIONS)):
            remove_file(line.at(posixpath.join(line.path, path)))

    def _mapping(self, parent: str | None) -> list[object]:
        """Return where the lines above began, as branches of them are identified."""
        if parent is None:
            return []
        content = branch_content(self._root, parent)
        identifier = content.get("identifier")
        mapping = identifier.get("version_mapping") if isinstance(identifier, dict) else None
        return list(mapping) if isinstance(mapping, list) else []
