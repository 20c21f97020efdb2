"""`NamedVersions`: what tags and branches of a table share: a file for each name, made only if there is none."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from lance_arrow.errors import InvalidArgumentError, NotPicklableError
from lance_arrow.io import Location, file_exists, list_sizes, make_folder, write_file
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VERSIONS
from lance_arrow.settings import Limits
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy

Named_co = TypeVar("Named_co", covariant=True)


class NamedVersions(Mapping[str, Named_co]):
    """Names of versions of a table, read at each call.

    Parameters
    ----------
    root
        Folder of the table.
    branch
        Branch of the version numbers; the main branch when None.
    strategy_of
        Returns the commit strategy; called before a write.
    limits
        Limits for manifests.
    """

    _kind: ClassVar[str]

    def __init__(
        self, root: Location, branch: str | None, strategy_of: Callable[[], CommitStrategy], limits: Limits
    ) -> None:
        self._root = root
        self._branch = branch
        self._strategy_of = strategy_of
        self._limits = limits

    def __reduce__(self) -> tuple[object, ...]:
        raise NotPicklableError(
            f"a {type(self).__name__} is a view of an open table; pickle the LanceTable, or a dict of this mapping",
            path=self._root.name,
        )

    def _publish(self, name: str, version: int, place: Location, data: bytes, strategy: CommitStrategy) -> None:
        """Make the file of a name; raises `InvalidArgumentError` where there is one already."""
        make_folder(place.given, posixpath.dirname(place.path))
        attempt = CommitAttempt(
            table=self._root.name,
            version=version,
            path=place.path,
            data=data,
            exists=lambda: file_exists(place),
            write=lambda: write_file(place, data),
        )
        if not strategy.publish(attempt):
            raise InvalidArgumentError(f"there is a {self._kind} {name!r} already", path=self._root.name, detail=name)


def manifest_bytes(line: Location, manifest: ManifestMeta) -> int | None:
    """Return the size of a manifest of a line of versions; None where its folder does not list it."""
    sizes = list_sizes(line.given, posixpath.join(line.path, VERSIONS))
    return sizes.get(posixpath.basename(manifest.facts.manifest_path))
