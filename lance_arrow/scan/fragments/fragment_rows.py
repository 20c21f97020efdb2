"""`FragmentRows`: live rows of one fragment of a table: its files side by side, deleted rows left out.

rows ─► ranges of rows that are left ─► each file reads them ─► blobs filled ─► columns put together ─► batches
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, leaf_at
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptManifestError, MissingFileError, located
from lance_arrow.io import AnyFileSystem, Location, is_local, redact
from lance_arrow.manifests.deletions import DeletionVector, read_deletions, read_many_deletions
from lance_arrow.manifests.fragments import NO_COLUMN, DataFileMeta, DeletionFileMeta, FragmentMeta
from lance_arrow.manifests.row_ids import RowIds, RowVersions, parse_row_ids, parse_row_versions
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.pruning.zone_pruning import PruneResult
from lance_arrow.runtime import Runtime, computed_once, default_runtime
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.fragments.table_columns import TableColumns, VirtualColumn
from lance_arrow.scan.fragments.table_zones import BoundedZones, prune_fragment
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.scan_options import ScanOptions
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import bounds_type, zones_schema

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.fragment_reading import FragmentReading
    from lance_arrow.statistics.zone_maps import ZoneMap

# Errors of filesystems for a path at which no file is, or can be.
_NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_NO_PATH = (errno.ENAMETOOLONG, errno.ELOOP)
ADDRESS_BITS = 32
"""Bits of a row's offset in its address; the fragment's id is above them."""


class TableSource(ABC):
    """Base of the sources of rows of a table: a fragment, or several joined."""

    columns: TableColumns
    meta: FragmentMeta
    """The fragment, or the first one of several, whose files have the same fields."""
    row_starts: NDArray[np.int64] | None = None
    """As `RowSource.row_starts`."""

    @property
    @abstractmethod
    def num_physical(self) -> int:
        """Rows of the files, deleted ones included."""

    @abstractmethod
    def open_file(self, number: int) -> OpenFile:
        """Open one of the files."""

    @abstractmethod
    def virtual(self, number: int, offsets: NDArray[np.int64], pool: pa.MemoryPool | None) -> pa.Array:
        """Return a virtual column for rows of the files, which ascend."""

    @property
    def name(self) -> str:
        """The manifest: a fragment may have several files."""
        return self.columns.facts.manifest_path

    @property
    def roots(self) -> tuple[ColumnNode, ...]:
        """Columns of the table, virtual ones among them."""
        return self.columns.all_roots

    @property
    def runtime(self) -> Runtime:
        """Runtime with the threads and limits of the reads."""
        return default_runtime()

    def reading(self, nodes: Sequence[ColumnNode]) -> FragmentReading:
        """Return what reads some (pruned) columns; errors are those of opening the files."""
        from lance_arrow.scan.fragments.fragment_reading import FragmentReading  # noqa: PLC0415 - it is made of this

        return FragmentReading(self, nodes)


class FragmentRows(TableSource):
    """Rows of one fragment.

    Parameters
    ----------
    columns
        The table's columns.
    meta
        The fragment.
    files
        Where its files are opened.
    filesystem
        The table's.
    scan_options
        Of the scan; the defaults when None.
    """

    def __init__(
        self,
        columns: TableColumns,
        meta: FragmentMeta,
        files: OpenFiles,
        filesystem: AnyFileSystem | None,
        scan_options: ScanOptions | None = None,
    ) -> None:
        self.columns = columns
        self.meta = meta
        self._files = files
        self._filesystem = filesystem
        self.scan_options = ScanOptions() if scan_options is None else scan_options
        self._limits = default_runtime().settings.limits
        self._bounded: dict[Path, tuple[ZoneMap, BoundedZones]] = {}

    @computed_once
    def num_physical(self) -> int:
        """Rows of the files, deleted ones included.

        Raises
        ------
        MissingFileError, LanceError
            The manifest does not tell, and the first file cannot either.
        """
        if self.meta.physical_rows is not None:
            return self.meta.physical_rows
        return self.open_file(0).rows.num_rows

    @computed_once
    def deletions(self) -> DeletionVector | None:
        """Deleted rows; None when there are none. Errors are those of `read_deletions`."""
        deletion = self.meta.deletion
        if deletion is None:
            return None
        place = Location(self._filesystem, self._deletion_path(deletion))
        found = self._files.deletions.find(place, deletion, self.num_physical)
        if found is None:
            manifest_path = self.columns.facts.manifest_path
            found = read_deletions(place, deletion, self.num_physical, manifest_path=manifest_path, limits=self._limits)
            self._files.deletions.keep(place, found)
        return found

    def _has_kept(self, deletion: DeletionFileMeta) -> bool:
        """Take the deleted rows that the table has kept, if it has."""
        place = Location(self._filesystem, self._deletion_path(deletion))
        found = self._files.deletions.find(place, deletion, self.num_physical)
        if found is not None:
            self.__dict__["deletions"] = found
        return found is not None

    def keep_deletions(self, place: Location, offsets: NDArray[np.int64]) -> None:
        """Keep which rows of this fragment a file deletes that was written now, for the versions that name it."""
        self._files.deletions.keep(place, DeletionVector(offsets, self.num_physical))

    def _deletion_path(self, deletion: DeletionFileMeta) -> str:
        is_allowed = self.columns.options.allow_external_bases
        return self.columns.facts.deletion_path(deletion, allow_external_bases=is_allowed)

    @staticmethod
    def read_deletions_of(fragments: Iterable[FragmentRows]) -> None:
        """Read the deletion files of fragments of one version at once, unless they were read.

        Errors of a file are raised when `deletions` is asked for.
        """
        missing = [
            (one, one.meta.deletion)
            for one in fragments
            if one.meta.deletion is not None and one.meta.physical_rows is not None and "deletions" not in one.__dict__
        ]
        is_far = bool(missing) and not is_local(missing[0][0]._filesystem)
        if is_far:
            missing = [(one, deletion) for one, deletion in missing if not one._has_kept(deletion)]
        if len(missing) < 2:
            return
        first, _ = missing[0]
        paths = [one._deletion_path(deletion) for one, deletion in missing]
        found = read_many_deletions(
            first._filesystem,
            paths,
            [deletion for _, deletion in missing],
            [one.num_physical for one, _ in missing],
            manifest_path=first.columns.facts.manifest_path,
            limits=first._limits,
        )
        for (one, _), path, vector in zip(missing, paths, found, strict=True):
            if vector is not None:
                one.__dict__["deletions"] = vector
                if is_far:
                    one._files.deletions.keep(Location(one._filesystem, path), vector)

    @property
    def num_rows(self) -> int:
        """Live rows; nothing is read where the manifest tells."""
        known = self.meta.num_rows
        if known is not None:
            return known
        return self.num_physical if self.deletions is None else self.deletions.num_live

    @computed_once
    def live(self) -> RowRanges:
        """Live rows, as ranges of rows of the files."""
        if self.deletions is None:
            return RowRanges.one(0, self.num_physical)
        return self.deletions.live()

    def offsets_of(self, live_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the n-th live rows lie in the files, for ``(k,) int64`` numbers n."""
        return live_rows if self.deletions is None else self.deletions.offsets_of(live_rows)

    @computed_once
    def row_ids(self) -> RowIds | None:
        """Stable row ids; None where ids are addresses."""
        if self.meta.row_ids is None:
            return None
        with located(path=self.columns.facts.manifest_path):
            return parse_row_ids(self.meta.row_ids, self.num_physical, self.columns.facts.next_row_id)

    def virtual(self, number: int, offsets: NDArray[np.int64], pool: pa.MemoryPool | None) -> pa.Array:
        """Return a virtual column for rows of the files."""
        kind = VirtualColumn(number)
        if kind is VirtualColumn.ROW_ID and self.row_ids is not None:
            return owned_ids(self.row_ids.at(offsets), pool)
        if kind in (VirtualColumn.ROW_ID, VirtualColumn.ROW_ADDRESS):
            return owned_ids(offsets.astype(np.uint64) + np.uint64(self.meta.id << ADDRESS_BITS), pool)
        versions = self._created_at if kind is VirtualColumn.CREATED_AT else self._updated_at
        # Rows without a recorded version are as old as the table.
        return owned_ids(np.ones(len(offsets), np.uint64) if versions is None else versions.at(offsets), pool)

    @computed_once
    def _created_at(self) -> RowVersions | None:
        return self._versions(self.meta.created_at_versions)

    @computed_once
    def _updated_at(self) -> RowVersions | None:
        return self._versions(self.meta.updated_at_versions)

    def _versions(self, data: bytes | None) -> RowVersions | None:
        if data is None:
            return None
        with located(path=self.columns.facts.manifest_path):
            return parse_row_versions(data, self.num_physical)

    def prune(self, predicate: ZonePredicate | None, within: RowRanges | None = None) -> PruneResult:
        """Ask zone maps of the files, and indices, which rows can, and which do, satisfy a filter.

        Parameters
        ----------
        predicate
            The filter, over columns of the table; nothing is decided when None.
        within
            Rows of the files to choose from; the live ones when None.

        Raises
        ------
        LanceError, OSError
            As `open_file`; a zone map is damaged.
        """
        chosen = self.live if within is None else within
        zones: dict[Path, BoundedZones] = {}
        for path in () if predicate is None else predicate.fields:
            found = self.bounded_zones(path)
            if found is not None:
                zones[path] = found
        return prune_fragment(zones, self.num_physical, predicate, chosen)

    def zone_map(self, path: Path) -> ZoneMap | None:
        """Return the zone map of a column, or of a field of structs, in its data file; None where there is none.

        Raises
        ------
        LanceError, OSError
            As `prune`.
        """
        return self.zone_maps([path])[0]

    def zone_maps(self, paths: Sequence[Path]) -> list[ZoneMap | None]:
        """Return the zone maps of columns, as `zone_map`; each file is opened, and its maps are read, once."""
        places = {path: place for place, path in enumerate(paths)}
        found: list[ZoneMap | None] = [None] * len(paths)
        for opened, leaves in self.bounded_leaves(paths).values():
            for path, zone_map in zip(leaves, opened.zones.get(list(leaves.values())), strict=True):
                found[places[path]] = zone_map
        return found

    def bounded_leaves(self, paths: Sequence[Path]) -> dict[int, tuple[OpenFile, dict[Path, LeafNode]]]:
        """Return, by the number of each file, the file and its leaves whose bounds are those of the table's columns.

        Each file is opened once. Columns of other bounds, and virtual ones, are in none.

        Raises
        ------
        LanceError, OSError
            As `open_file`.
        """
        opened: dict[int, OpenFile] = {}
        found: dict[int, tuple[OpenFile, dict[Path, LeafNode]]] = {}
        for path in paths:
            leaf = leaf_at(self.columns.roots, path)
            stored = None if leaf is None else self._stored_whole(path, self.columns.field_id(leaf), opened)
            if leaf is not None and stored is not None and bounds_type(stored[1]) == bounds_type(leaf):
                number = next(one for one, file in opened.items() if file is stored[0])
                found.setdefault(number, (stored[0], {}))[1][path] = stored[1]
        return found

    def bounded_zones(self, path: Path) -> BoundedZones | None:
        """Return zones of a column, or of a field of structs, from its file or an index; None where there are none.

        Raises
        ------
        LanceError, OSError
            As `prune`.
        """
        leaf = leaf_at(self.columns.all_roots, path)
        if leaf is None:
            return None
        if leaf.column < 0:
            kind = VirtualColumn(leaf.column)
            is_address = kind is VirtualColumn.ROW_ADDRESS or (kind is VirtualColumn.ROW_ID and self.row_ids is None)
            return self._addresses() if is_address else None
        field_id = self.columns.field_id(leaf)
        stored = self._stored_whole(path, field_id)
        if stored is None:
            return None
        opened, own = stored
        if bounds_type(own) != bounds_type(leaf) or bounds_type(own) is None:
            return None
        zone_map = opened.zones.get([own])[0]
        if zone_map is not None and zone_map.num_zones and not zone_map.is_repeated:
            known = self._bounded.get(path)
            if known is None or known[0] is not zone_map:
                known = self._bounded[path] = zone_map, BoundedZones.of_map(zone_map, self.num_physical)
            return known[1]
        return self.columns.zones.of(self.meta.id, field_id, leaf, self._filesystem, self._files)

    def _stored_whole(
        self, path: Path, field_id: int, opened: dict[int, OpenFile] | None = None
    ) -> tuple[OpenFile, LeafNode] | None:
        """Return what `stored_leaf` does; None too if nulls of structs around the leaf are stored in another file."""
        found = self.meta.file_of(field_id)
        if found is None or (len(path) > 1 and not self._is_together(path[0], found[0])):
            return None
        return self.stored_leaf(field_id, opened)

    def stored_leaf(self, field_id: int, opened: dict[int, OpenFile] | None = None) -> tuple[OpenFile, LeafNode] | None:
        """Return the file that has a leaf of the table, and the leaf there; None if there is no such leaf.

        Files in `opened`, by their number, are not opened again; others are added.

        Raises
        ------
        LanceError, OSError
            As `open_file`.
        """
        found = self.meta.file_of(field_id)
        if found is None:
            return None
        file, column = found
        number = next(at for at, one in enumerate(self.meta.files) if one is file)
        held = None if opened is None else opened.get(number)
        if held is None:
            held = self.open_file(number)
            if opened is not None:
                opened[number] = held
        column = stored_column(file, held, field_id, column)
        roots = held.rows.roots
        top = roots.place_with(column)
        leaves = () if top is None else roots[top].leaves()
        own = next((one for one in leaves if one.column == column), None)
        return None if own is None else (held, own)

    def _is_together(self, name: str, file: DataFileMeta) -> bool:
        """Whether all leaves of a column are in one file."""
        root = self.columns.roots.named(name)
        assert root is not None
        places = [self.meta.file_of(self.columns.field_id(leaf)) for leaf in root.leaves()]
        return all(place is not None and place[0] is file for place in places)

    def _addresses(self) -> BoundedZones | None:
        """The one zone of addresses, which are as many as there are rows."""
        if not self.num_physical:
            return None
        first = self.meta.id << ADDRESS_BITS
        low, high = pa.array([first], pa.uint64()), pa.array([first + self.num_physical - 1], pa.uint64())
        yes, none = pa.array([True]), pa.array([0], pa.int64())
        count = pa.array([self.num_physical], pa.int64())
        schema = zones_schema(pa.uint64())
        zones = pa.RecordBatch.from_arrays([low, high, yes, yes, none, none, count, count], schema=schema)
        return BoundedZones.of_map(ZoneMap(zones, self.num_physical, is_repeated=False), self.num_physical)

    def open_file(self, number: int) -> OpenFile:
        """Open one of the files.

        Raises
        ------
        MissingFileError
            It is not there.
        CorruptManifestError
            Its size or its number of rows is not what the manifest says.
        UnsupportedError
            It lies, or is of a version, that cannot be read.
        """
        file = self.meta.files[number]
        facts = self.columns.facts
        path = facts.data_path(file, allow_external_bases=self.columns.options.allow_external_bases)
        try:
            place = FilePlace(path=path, filesystem=self._filesystem, size=file.size_bytes, is_immutable=True)
            opened = self._files.get(place, self.scan_options)
        except OSError as error:
            if not isinstance(error, _NO_FILE) and error.errno not in _NO_PATH:
                raise
            raise _missing(facts.manifest_path, path) from error
        size = opened.source.size()
        if file.size_bytes is not None and size != file.size_bytes:
            raise CorruptManifestError(
                f"the data file has {size} bytes, the manifest {facts.manifest_path!r} says {file.size_bytes}",
                path=opened.source.name,
            )
        expected = self.meta.physical_rows
        if expected is not None and opened.rows.num_rows != expected:
            raise CorruptManifestError(
                f"the data file has {opened.rows.num_rows} rows, the manifest {facts.manifest_path!r} says {expected}",
                path=opened.source.name,
            )
        return opened


def stored_column(file: DataFileMeta, opened: OpenFile, field_id: int, column: int) -> int:
    """Return the physical column of a field, which the manifest calls `column`: of files of 0.1 it names none."""
    if file.version is not FileVersion.V0_1:
        return column
    return next((leaf.column for leaf in opened.rows.file.leaves if leaf.field_id == field_id), NO_COLUMN)


def _missing(manifest_path: str, path: str) -> MissingFileError:
    path = redact(path)
    return MissingFileError(
        f"the manifest {manifest_path!r} names the data file {path!r}, which is not there", path=path
    )


def owned_ids(values: NDArray[np.uint64], pool: pa.MemoryPool | None) -> pa.Array:
    """Copy numbers into memory of Arrow's, which may outlive the interpreter."""
    buffer = pa.allocate_buffer(values.nbytes, pool)
    np.frombuffer(buffer, np.uint64)[:] = values
    return pa.Array.from_buffers(pa.uint64(), len(values), [None, buffer])
