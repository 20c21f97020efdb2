"""`TableFacts`: data that all fragments of a version share, small enough to be pickled with each of them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lance_arrow.container.fields import SchemaField
from lance_arrow.errors import CorruptManifestError, located
from lance_arrow.io import AnyFileSystem, is_local_kind
from lance_arrow.late_arrow import arrow_fs
from lance_arrow.manifests.base_paths import DATA, DELETIONS, BasePathMeta, place_of
from lance_arrow.manifests.base_scope import check_followed
from lance_arrow.manifests.fragments import DataFileMeta, DeletionFileMeta
from lance_arrow.manifests.zone_indices import INDICES, ZoneIndexMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One version of a table, without its fragments.

    Parameters
    ----------
    root
        Path of the table on its filesystem.
    protocols
        Protocols of URLs of that filesystem.
    version
        Number of the version.
    manifest_path
        The manifest, for error messages.
    fields
        Top-level fields of the schema, with ids.
    schema_metadata
        Metadata of the Arrow schema.
    has_stable_row_ids
        Whether ``_rowid`` differs from ``_rowaddr``.
    base_paths
        Other places of files, by id.
    index_position
        Position of the indices in the manifest's file; None without indices.
    branch
        Branch of the version; None for the main one.
    is_sealed
        Whether the manifest's file has checksums.
    next_row_id
        The first unused row id; None without stable row ids.
    """

    root: str
    protocols: tuple[str, ...]
    version: int
    manifest_path: str
    fields: tuple[SchemaField, ...]
    schema_metadata: Mapping[str, bytes] = field(default_factory=dict)
    has_stable_row_ids: bool = False
    base_paths: Mapping[int, BasePathMeta] = field(default_factory=dict)
    index_position: int | None = None
    branch: str | None = None
    is_sealed: bool = False
    next_row_id: int | None = None

    def data_path(self, file: DataFileMeta, *, allow_external_bases: bool = False) -> str:
        """Return the path of a data file.

        Parameters
        ----------
        file
            The file.
        allow_external_bases
            Whether a base path may be outside of the folder that holds the table.

        Raises
        ------
        UnsupportedError
            As `check_followed` and `place_of`.
        """
        return self._place(file.base_id, DATA, file.path, allow_external_bases)

    @property
    def data_prefix(self) -> str:
        """Prefix of the paths of the table's own data files."""
        return posixpath.join(self.root, DATA, "")

    def data_paths(self, files: Sequence[DataFileMeta], *, allow_external_bases: bool = False) -> list[str]:
        """Return the paths of many data files, as `data_path` does."""
        prefix = self.data_prefix
        return [
            prefix + file.path
            if file.base_id is None
            else self.data_path(file, allow_external_bases=allow_external_bases)
            for file in files
        ]

    def deletion_path(self, deletion: DeletionFileMeta, *, allow_external_bases: bool = False) -> str:
        """Return the path of a deletion file, as `data_path` does."""
        return self._place(deletion.base_id, DELETIONS, deletion.name, allow_external_bases)

    def index_path(self, index: ZoneIndexMeta, *, allow_external_bases: bool = False) -> str:
        """Return the path of an index's file, as `data_path` does."""
        return self._place(index.base_id, INDICES, index.file, allow_external_bases)

    def index_folder(self, base_id: int | None, uuid: str, *, allow_external_bases: bool = False) -> str:
        """Return the folder of an index, as `data_path` does."""
        return self._place(base_id, INDICES, uuid, allow_external_bases)

    def _place(self, base_id: int | None, folder: str, name: str, allow_external_bases: bool) -> str:
        with located(path=self.manifest_path):
            if base_id is None:
                return place_of(self.root, None, folder, name, self.protocols)
            base = self.base_paths.get(base_id)
            if base is None:
                raise CorruptManifestError(
                    f"a file lies in the base path {base_id}, which the manifest does not define", detail=base_id
                )
            path = place_of(self.root, base, folder, name, self.protocols)
            check_followed(self.root, self.branch, base, self.protocols, allow_external=allow_external_bases)
            return path


def protocols_of(filesystem: AnyFileSystem | None) -> tuple[str, ...]:
    """Return the protocols of URLs of a filesystem; None is the local one."""
    if filesystem is None or is_local_kind(filesystem) or isinstance(filesystem, arrow_fs.LocalFileSystem):
        return "file", "local"
    if isinstance(filesystem, arrow_fs.FileSystem):
        return (filesystem.type_name,)
    protocol = filesystem.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
