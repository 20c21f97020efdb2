"""`TableTags`: the tags of a table as a mapping, with methods to make, move and remove them."""

from __future__ import annotations

import datetime
import json
import posixpath
from collections.abc import Iterator, Mapping

from lance_arrow.errors import InvalidArgumentError, VersionNotFoundError
from lance_arrow.io import Location, remove_file, write_file
from lance_arrow.manifests.references import (
    TAGS,
    TagMeta,
    branch_root,
    check_tag_name,
    line_name,
    read_tag,
    read_tags,
    tag_content,
)
from lance_arrow.manifests.version_marks import keeping
from lance_arrow.manifests.versions import VersionChoice, open_version
from lance_arrow.table.named_versions import NamedVersions, manifest_bytes


class TableTags(NamedVersions[TagMeta]):
    """Tags of a table by name, read at each call; parameters are those of `NamedVersions`."""

    _kind = "tag"

    def __getitem__(self, name: str) -> TagMeta:
        try:
            return read_tag(self._root, name)
        except (VersionNotFoundError, InvalidArgumentError) as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter(read_tags(self._root))

    def __len__(self) -> int:
        return len(read_tags(self._root))

    def __repr__(self) -> str:
        shown = {name: tag.version for name, tag in self.items()}
        return f"{type(self).__name__}({shown})"

    def create(self, name: str, version: int) -> None:
        """Tag a version.

        Parameters
        ----------
        name
            Letters, digits, ``.``, ``-`` and ``_``.
        version
            Number of a version of this branch.

        Raises
        ------
        InvalidArgumentError
            There is such a tag already, or the name is not valid.
        VersionNotFoundError
            There is no such version.
        CommitConflictError
            A cleanup is removing the version.
        """
        place = self._place(name)
        now = _now()
        strategy = self._strategy_of()
        with keeping(branch_root(self._root, self._branch), version):
            data = self._content(version, {"createdAt": now, "updatedAt": now, "metadata": {}})
            self._publish(name, version, place, data, strategy)

    def update(self, name: str, version: int) -> None:
        """Move a tag to another version of this branch.

        Raises
        ------
        VersionNotFoundError
            There is no such tag, or no such version.
        CommitConflictError
            A cleanup is removing the version.
        """
        self._strategy_of()
        place = self._place(name)
        read_tag(self._root, name)
        old = tag_content(self._root, name)
        with keeping(branch_root(self._root, self._branch), version):
            write_file(place, self._content(version, {**old, "updatedAt": _now()}))

    def delete(self, name: str) -> None:
        """Remove a tag. Its version stays until a cleanup removes it.

        Raises
        ------
        VersionNotFoundError
            There is no such tag.
        """
        self._strategy_of()
        read_tag(self._root, name)
        remove_file(self._place(name))

    def _place(self, name: str) -> Location:
        check_tag_name(name)
        return self._root.at(posixpath.join(self._root.path, TAGS, f"{name}.json"))

    def _content(self, version: int, others: Mapping[str, object]) -> bytes:
        manifest = open_version(self._root, VersionChoice(version=version, branch=self._branch), self._limits)
        branch = line_name(self._branch)
        size = manifest_bytes(branch_root(self._root, self._branch), manifest)
        content = {**others, "branch": branch, "version": manifest.version, "manifestSize": size}
        return json.dumps(content, indent=2).encode()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat().replace("+00:00", "Z")
