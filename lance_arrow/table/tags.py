"""`TableTags`: the tags of a table as a mapping, and what makes, moves and removes them."""

from __future__ import annotations

import datetime
import json
import posixpath
from collections.abc import Callable, Iterator, Mapping

from lance_arrow.errors import InvalidArgumentError, VersionNotFoundError
from lance_arrow.io import Location, file_exists, list_sizes, make_folder, remove_file, write_file
from lance_arrow.manifests.manifest import ManifestMeta
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
from lance_arrow.manifests.versions import VERSIONS, VersionChoice, open_version
from lance_arrow.settings import Limits
from lance_arrow.spi import CommitAttempt, CommitStrategy


class TableTags(Mapping[str, TagMeta]):
    """Tags of a table, as they are at each call: names to versions.

    Parameters
    ----------
    root
        Folder of the table.
    branch
        Which line numbers of versions are of.
    strategy_of
        Tells how files are made only if there are none; called when something is to be written.
    limits
        For manifests that are read.
    """

    def __init__(
        self, root: Location, branch: str | None, strategy_of: Callable[[], CommitStrategy], limits: Limits
    ) -> None:
        self._root = root
        self._branch = branch
        self._strategy_of = strategy_of
        self._limits = limits

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
        return repr({name: tag.version for name, tag in self.items()})

    def create(self, name: str, version: int) -> None:
        """Give a version a name.

        Parameters
        ----------
        name
            Letters, digits, ``.``, ``-`` and ``_``.
        version
            A version of this line.

        Raises
        ------
        InvalidArgumentError
            There is such a tag already, or no tag can have that name.
        VersionNotFoundError
            There is no such version.
        """
        place = self._place(name)
        now = _now()
        data = self._content(version, {"createdAt": now, "updatedAt": now, "metadata": {}})
        make_folder(place.filesystem, posixpath.dirname(place.path))
        attempt = CommitAttempt(
            table=self._root.name,
            version=version,
            path=place.path,
            data=data,
            exists=lambda: file_exists(place),
            write=lambda: write_file(place, data),
        )
        if not self._strategy_of().publish(attempt):
            raise InvalidArgumentError(f"there is a tag {name!r} already", path=self._root.name, detail=name)

    def update(self, name: str, version: int) -> None:
        """Let a tag stand for another version.

        Raises
        ------
        VersionNotFoundError
            There is no such tag, or no such version.
        """
        self._strategy_of()
        place = self._place(name)
        read_tag(self._root, name)
        old = tag_content(self._root, name)
        write_file(place, self._content(version, {**old, "updatedAt": _now()}))

    def delete(self, name: str) -> None:
        """Remove a tag; its version stays.

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
        return Location(self._root.filesystem, posixpath.join(self._root.path, TAGS, f"{name}.json"))

    def _content(self, version: int, others: Mapping[str, object]) -> bytes:
        manifest = open_version(self._root, VersionChoice(version=version, branch=self._branch), self._limits)
        branch = line_name(self._branch)
        size = _manifest_bytes(self._root, manifest, self._branch)
        content = {**others, "branch": branch, "version": manifest.version, "manifestSize": size}
        return json.dumps(content, indent=2).encode()


def _manifest_bytes(root: Location, manifest: ManifestMeta, branch: str | None) -> int | None:
    line = branch_root(root, branch)
    sizes = list_sizes(line.filesystem, posixpath.join(line.path, VERSIONS))
    return sizes.get(posixpath.basename(manifest.facts.manifest_path))


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat().replace("+00:00", "Z")
