"""`IndexRemaking`: the indices of a version that can be made again when rows move, and the making.

Others that name rows by address keep the fragments that they cover where these are.
"""

from __future__ import annotations

import posixpath
import time
import uuid
from collections.abc import Sequence

from lance_arrow.errors import LanceError
from lance_arrow.io import Location, make_folder
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.zone_indices import INDICES, ZONE_TYPE, details_type, uuid_text
from lance_arrow.proto.table_pb2 import IndexMetadata, IndexSection
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.table.indices.address_sets import address_sets_remake
from lance_arrow.table.indices.btree import btree_remake
from lance_arrow.table.indices.coverage import fragments_of, has_row_ids, is_system
from lance_arrow.table.indices.moves import RowMoves
from lance_arrow.table.indices.remake import IndexTarget, Remake
from lance_arrow.table.indices.zones import zones_remake
from lance_arrow.table.operations.rewriting import RewriteGroup
from lance_arrow.table.written_files import WrittenFiles

_BTREE_TYPE = "btreeindexdetails"


class IndexRemaking:
    """Indices of a version that name rows by address, as far as they can be made again.

    Parameters
    ----------
    section
        All indices of the version.
    base, reader
        The version, and what reads it.
    line
        Folder of the table, or of its branch.
    """

    def __init__(self, section: IndexSection, base: ManifestMeta, reader: TableReader, line: Location) -> None:
        self._base, self._reader, self._line = base, reader, line
        self._remakes: dict[bytes, tuple[IndexMetadata, Remake]] = {}
        stable = base.facts.has_stable_row_ids
        for index in section.indices:
            if is_system(index) or not index.fragment_bitmap or has_row_ids(index, stable_row_ids=stable):
                continue
            remake = self._remake_of(index, stable)
            if remake is not None:
                self._remakes[index.uuid.uuid] = index, remake

    @property
    def indices(self) -> frozenset[bytes]:
        """UUIDs of the indices that can be made again."""
        return frozenset(self._remakes)

    def made(
        self, groups: Sequence[range], made: Sequence[RewriteGroup], dropped: frozenset[str], files: WrittenFiles
    ) -> dict[bytes, IndexMetadata]:
        """Make those indices again that cover a fragment which was rewritten.

        Parameters
        ----------
        groups, made
            As for `RowMoves`.
        dropped
            Names of indices that are dropped instead.
        files
            Told of the files.

        Returns
        -------
        dict
            By UUID of the old index, the new one; it does not say what it covers.
        """
        moves = RowMoves(self._reader, groups, made)
        found = {}
        for number, (index, remake) in self._remakes.items():
            covered = frozenset(fragments_of(index.fragment_bitmap) or ())
            if index.name not in dropped and covered & moves.fragments:
                found[number] = self._written(index, remake, moves, covered, files)
        return found

    def _written(
        self, index: IndexMetadata, remake: Remake, moves: RowMoves, covered: frozenset[int], files: WrittenFiles
    ) -> IndexMetadata:
        own = uuid.uuid4()
        folder = self._line.at(posixpath.join(self._line.path, INDICES, str(own)))
        make_folder(folder.given, folder.path)
        target = IndexTarget(folder, files)
        remake.write(moves, covered, target)
        new = IndexMetadata()
        new.CopyFrom(index)
        new.uuid.uuid = own.bytes
        new.created_at = time.time_ns() // 1_000_000
        # It lies in this table, even where the old one lies in the table that this is a clone of.
        new.ClearField("base_id")
        new.ClearField("files")
        for name, size in sorted(target.sizes.items()):
            new.files.add(path=name, size_bytes=size)
        new.index_details.value = remake.details(index.index_details.value)
        return new

    def _remake_of(self, index: IndexMetadata, stable: bool) -> Remake | None:
        kind = details_type(index)
        try:
            folder = self._folder(index)
            if kind == _BTREE_TYPE:
                return btree_remake(index, folder)
            if kind == ZONE_TYPE:
                return zones_remake(index, folder, self._base, self._reader)
            return None if stable else address_sets_remake(index, folder)
        except (LanceError, FileNotFoundError):
            # An index that cannot be read cannot be made again: it keeps its fragments, and the report names it.
            return None

    def _folder(self, index: IndexMetadata) -> Location:
        base_id = index.base_id if index.HasField("base_id") else None
        path = self._base.facts.index_folder(
            base_id,
            uuid_text(index.uuid.uuid),
            allow_external_bases=self._reader.columns.options.allow_external_bases,
        )
        return self._line.at(path)
