"""`FragmentRows`: live rows of one fragment of a table: its files side by side, deleted rows left out.

rows ─► ranges of rows that are left ─► each file reads them ─► blobs filled ─► columns put together ─► batches
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.assembly.column_tree import ColumnNode, LeafNode
from lance_arrow.assembly.pruning import Path
from lance_arrow.assembly.row_weights import RowWeights
from lance_arrow.assembly.zone_maps import ZoneMap
from lance_arrow.assembly.zone_types import bounds_type, zones_schema
from lance_arrow.container.footer import FileVersion
from lance_arrow.datasets.field_sources import FieldSource, FileNodes, LeafPlace, bind_fields, expanded
from lance_arrow.datasets.handler import FilePlace
from lance_arrow.datasets.open_files import OpenFile, OpenFiles
from lance_arrow.datasets.table_columns import TableColumns, VirtualColumn
from lance_arrow.datasets.table_zones import BoundedZones, judged_fragment
from lance_arrow.datasets.windows import may_be_sliced
from lance_arrow.datasets.zone_predicates import ZonePredicate
from lance_arrow.datasets.zone_pruning import JudgedRows, leaf_at
from lance_arrow.errors import CorruptManifestError, MissingFileError, UnsupportedError, located
from lance_arrow.io import AnyFileSystem, Location
from lance_arrow.manifests.deletions import DeletionVector, read_deletions
from lance_arrow.manifests.fragments import NO_COLUMN, DataFileMeta, FragmentMeta
from lance_arrow.manifests.row_ids import RowIds, RowVersions, parse_row_ids, parse_row_versions
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import RowRanges

_ADDRESS_SHIFT = 32
# In files of these, structs and lists have columns of their own.
_WITH_HEADERS = (FileVersion.V0_1, FileVersion.V2_0)
# Ranges of so few rows that planning each of them costs more than decoding what lies between them.
_SHORT_RANGE_ROWS = 64
# How many times the wanted rows may be decoded for that.
_MOST_WASTE = 4


class FragmentRows:
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
    """

    def __init__(self, columns: TableColumns, meta: FragmentMeta, files: OpenFiles, filesystem: AnyFileSystem) -> None:
        self.columns = columns
        self.meta = meta
        self._files = files
        self._filesystem = filesystem
        self._limits = default_runtime().settings.limits

    @cached_property
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

    @cached_property
    def deletions(self) -> DeletionVector | None:
        """Deleted rows; None when there are none. Errors are those of `read_deletions`."""
        deletion = self.meta.deletion
        if deletion is None:
            return None
        facts = self.columns.facts
        place = Location(self._filesystem, facts.deletion_path(deletion))
        return read_deletions(
            place, deletion, self.num_physical, manifest_path=facts.manifest_path, limits=self._limits
        )

    @property
    def num_rows(self) -> int:
        """Live rows; nothing is read where the manifest tells."""
        known = self.meta.num_rows
        if known is not None:
            return known
        return self.num_physical if self.deletions is None else self.deletions.num_live

    @cached_property
    def live(self) -> RowRanges:
        """Live rows, as ranges of rows of the files."""
        if self.deletions is None:
            return RowRanges.one(0, self.num_physical)
        return self.deletions.live()

    def offsets_of(self, live_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the n-th live rows lie in the files, for ``(k,) int64`` numbers n."""
        return live_rows if self.deletions is None else self.deletions.offsets_of(live_rows)

    @cached_property
    def row_ids(self) -> RowIds | None:
        """Stable row ids; None where ids are addresses."""
        if self.meta.row_ids is None:
            return None
        with located(path=self.columns.facts.manifest_path):
            return parse_row_ids(self.meta.row_ids, self.num_physical)

    def virtual(self, number: int, offsets: NDArray[np.int64], pool: pa.MemoryPool | None) -> pa.Array:
        """Return a virtual column for rows of the files."""
        kind = VirtualColumn(number)
        if kind is VirtualColumn.ROW_ID and self.row_ids is not None:
            return _owned(self.row_ids.at(offsets), pool)
        if kind in (VirtualColumn.ROW_ID, VirtualColumn.ROW_ADDRESS):
            return _owned(offsets.astype(np.uint64) + np.uint64(self.meta.id << _ADDRESS_SHIFT), pool)
        versions = self._created_at if kind is VirtualColumn.CREATED_AT else self._updated_at
        # Rows whose version nobody wrote down are as old as the table.
        return _owned(np.ones(len(offsets), np.uint64) if versions is None else versions.at(offsets), pool)

    @cached_property
    def _created_at(self) -> RowVersions | None:
        return self._versions(self.meta.created_at_versions)

    @cached_property
    def _updated_at(self) -> RowVersions | None:
        return self._versions(self.meta.updated_at_versions)

    def _versions(self, data: bytes | None) -> RowVersions | None:
        if data is None:
            return None
        with located(path=self.columns.facts.manifest_path):
            return parse_row_versions(data, self.num_physical)

    def judged(self, predicate: ZonePredicate | None, within: RowRanges | None = None) -> JudgedRows:
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
        zones: dict[Path, BoundedZones] = {}
        for path in () if predicate is None else predicate.fields():
            found = self._zones_of(path)
            if found is not None:
                zones[path] = found
        return judged_fragment(zones, self.num_physical, predicate, self.live if within is None else within)

    def _zones_of(self, path: Path) -> BoundedZones | None:
        leaf = leaf_at(self.columns.all_roots, path)
        if leaf is None:
            return None
        if leaf.column < 0:
            kind = VirtualColumn(leaf.column)
            is_address = kind is VirtualColumn.ROW_ADDRESS or (kind is VirtualColumn.ROW_ID and self.row_ids is None)
            return self._addresses() if is_address else None
        field_id = self.columns.field_id(leaf)
        found = self.meta.file_of(field_id)
        if found is None:
            return None
        file, column = found
        if len(path) > 1 and not self._is_together(path[0], file):
            # What is null lies in another file.
            return None
        opened = self.open_file(next(at for at, one in enumerate(self.meta.files) if one is file))
        own = next((one for root in opened.rows.roots for one in root.leaves() if one.column == column), None)
        if own is None or bounds_type(own) != bounds_type(leaf) or bounds_type(own) is None:
            return None
        zone_map = opened.zones.get([own])[0]
        if zone_map is not None and zone_map.num_zones and not zone_map.is_repeated:
            return BoundedZones.of_map(zone_map, self.num_physical)
        return self.columns.zones.of(self.meta.id, field_id, leaf, self._filesystem, self._files)

    def _is_together(self, name: str, file: DataFileMeta) -> bool:
        """Whether all leaves of a column are in one file."""
        root = next(root for root in self.columns.roots if root.field.name == name)
        places = [self.meta.file_of(self.columns.field_id(leaf)) for leaf in root.leaves()]
        return all(place is not None and place[0] is file for place in places)

    def _addresses(self) -> BoundedZones | None:
        """The one zone of addresses, which are as many as there are rows."""
        if not self.num_physical:
            return None
        first = self.meta.id << _ADDRESS_SHIFT
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
        path = facts.data_path(file)
        try:
            opened = self._files.get(FilePlace(path=path, filesystem=self._filesystem, size=file.size_bytes))
        except FileNotFoundError as error:
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


class FragmentReading:
    """Reads some columns of a fragment; may be shared by threads.

    Parameters
    ----------
    rows
        The fragment.
    nodes
        (Pruned) columns of the table, virtual ones among them.
    """

    def __init__(self, rows: FragmentRows, nodes: Sequence[ColumnNode]) -> None:
        self.rows = rows
        self.nodes = tuple(nodes)
        self.schema = pa.schema([node.shown for node in nodes])
        self._opened: dict[int, OpenFile] = {}
        self._leaves: dict[int, dict[int, LeafPlace]] = {}
        stored = [node for node in nodes if not _is_virtual(node)]
        with located(path=rows.columns.facts.manifest_path):
            sources, self._parts = bind_fields(stored, self._place_of, lambda file: self._open(file).rows.roots)
        self._sources: dict[str, FieldSource] = {source.node.field.name: source for source in sources}
        counts = {opened.rows.num_rows for opened in self._opened.values()} - {rows.num_physical}
        if counts:
            raise CorruptManifestError(
                f"data files of fragment {rows.meta.id} have {counts.pop()} and {rows.num_physical} rows",
                path=rows.columns.facts.manifest_path,
            )

    @property
    def opened(self) -> list[OpenFile]:
        """The files that are read."""
        return list(self._opened.values())

    @property
    def file_bytes(self) -> int:
        """Bytes of the files that are read."""
        return sum(opened.source.size() for opened in self.opened)

    @cached_property
    def leaf_paths(self) -> tuple[str, ...]:
        """Paths of the leaves that are decoded, as the files name them."""
        return tuple(leaf.path for part in self._parts for node in part.nodes for leaf in node.leaves())

    @cached_property
    def has_blobs(self) -> bool:
        """Whether bytes of blobs are read."""
        return any(node.shown is not node.field for part in self._parts for node in part.nodes)

    def weights(self) -> RowWeights:
        """Estimate what the rows of the files take in memory."""
        parts = [self._opened[part.file].rows.weights(part.nodes) for part in self._parts]
        return parts[0] if len(parts) == 1 else RowWeights.together(parts, self.rows.num_physical)

    def cut_by_blobs(self, windows: Sequence[RowRanges], piece_bytes: int) -> list[RowRanges]:
        """Cut windows further, so that the blobs of each have few bytes; their descriptors are read for that."""
        for part in self._parts:
            if any(node.shown is not node.field for node in part.nodes):
                windows = list(self._opened[part.file].blobs.windows(part.nodes, windows, piece_bytes))
        return list(windows)

    def read(
        self, rows: RowRanges, pool: pa.MemoryPool | None = None, *, is_take: bool = False
    ) -> tuple[list[pa.RecordBatch], int]:
        """Read rows of the files.

        Parameters
        ----------
        rows
            Which; all live.
        pool
            Arrow memory pool of the result; the default one when None.
        is_take
            Whether the rows are scattered, so that decoding what lies between them is out of the question.

        Returns
        -------
        batches
            In row order, of `schema`; more than one where 32-bit offsets overflow, or blobs are large.
        num_pages
            Pages touched.

        Raises
        ------
        LanceError
            As `RowReader.read` and `FieldSource.array`.
        """
        wanted = rows if is_take or not self._may_be_filtered else _worth_planning(rows)
        per_file = []
        num_pages = 0
        for part in self._parts:
            batches, pages = self._read_file(part, wanted, pool, is_take=is_take)
            per_file.append((part.file, batches))
            num_pages += pages
        live = None if wanted is rows else _is_wanted(rows, wanted)
        offsets = expanded(wanted.starts, wanted.stops) if self._needs_offsets else None
        made = []
        start = 0
        for num_rows, columns in _aligned(per_file, wanted.num_rows):
            own = None if offsets is None else offsets[start : start + num_rows]
            batch = self._assembled(columns, num_rows, own, pool)
            if live is not None:
                batch = batch.filter(pa.array(live[start : start + num_rows]))
            made.append(batch)
            start += num_rows
        return made, num_pages

    @cached_property
    def _may_be_filtered(self) -> bool:
        return may_be_sliced(self.nodes)

    @cached_property
    def _needs_offsets(self) -> bool:
        return any(_is_virtual(node) for node in self.nodes)

    def _read_file(
        self, part: FileNodes, rows: RowRanges, pool: pa.MemoryPool | None, *, is_take: bool
    ) -> tuple[list[pa.RecordBatch], int]:
        opened = self._opened[part.file]
        read = opened.rows.take if is_take else opened.rows.read
        batches, counts = read(part.nodes, rows, pool)
        if any(node.shown is not node.field for node in part.nodes):
            pieces = (piece for batch in batches for piece in opened.blobs.pending(part.nodes, batch).pieces())
            batches = [piece.filled(pool) for piece in pieces]
        return batches, counts.pages

    def _assembled(
        self,
        columns: dict[tuple[int, str], pa.Array],
        num_rows: int,
        offsets: NDArray[np.int64] | None,
        pool: pa.MemoryPool | None,
    ) -> pa.RecordBatch:
        arrays = []
        for node in self.nodes:
            if isinstance(node, LeafNode) and node.column < 0:
                assert offsets is not None
                arrays.append(self.rows.virtual(node.column, offsets, pool))
                continue
            source = self._sources[node.field.name]
            with located(path=self.rows.columns.facts.manifest_path):
                parts = [columns[file, kept.field.name] for file, kept in source.parts]
                arrays.append(source.array(parts, num_rows, pool))
        if not arrays:
            empty = pa.Array.from_buffers(pa.struct([]), num_rows, [None], 0, children=[])
            return pa.RecordBatch.from_struct_array(empty)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _place_of(self, leaf: LeafNode) -> LeafPlace | None:
        field_id = self.rows.columns.field_id(leaf)
        found = self.rows.meta.file_of(field_id)
        if found is None:
            self._refuse_whole(leaf)
            return None
        file, column = found
        number = next(at for at, one in enumerate(self.rows.meta.files) if one is file)
        places = self._leaves_of(number)
        if file.version is FileVersion.V0_1:
            # Its manifests name no columns: the ids in the file do.
            column = self._column_with_id(number, field_id)
        if column == NO_COLUMN or column not in places:
            raise _no_column(file, column, leaf)
        return places[column]

    def _column_with_id(self, number: int, field_id: int) -> int:
        leaves = self._open(number).rows.file.leaves
        return next((leaf.column for leaf in leaves if leaf.field_id == field_id), NO_COLUMN)

    def _refuse_whole(self, leaf: LeafNode) -> None:
        """Refuse a leaf that no file has, but of which a file has what lies above it in one column: it is not null."""
        for above in self.rows.columns.ids_above(leaf):
            found = self.rows.meta.file_of(above)
            if found is not None and found[0].version not in _WITH_HEADERS and found[1] != NO_COLUMN:
                raise UnsupportedError(
                    f"the data file {found[0].path!r} has what lies above this field in one column", column=leaf.path
                )

    def _leaves_of(self, number: int) -> dict[int, LeafPlace]:
        """Places of the leaves of a file, by physical column."""
        known = self._leaves.get(number)
        if known is None:
            roots = self._open(number).rows.roots
            known = {
                leaf.column: LeafPlace(number, at, steps)
                for at, root in enumerate(roots)
                for leaf, steps in _leaf_steps(root)
            }
            self._leaves[number] = known
        return known

    def _open(self, number: int) -> OpenFile:
        opened = self._opened.get(number)
        if opened is None:
            opened = self._opened[number] = self.rows.open_file(number)
        return opened


def _leaf_steps(node: ColumnNode, above: tuple[int, ...] = ()) -> Iterator[tuple[LeafNode, tuple[int, ...]]]:
    if isinstance(node, LeafNode):
        yield node, above
    for number, child in enumerate(node.children):
        yield from _leaf_steps(child, (*above, number))


def _is_virtual(node: ColumnNode) -> bool:
    return isinstance(node, LeafNode) and node.column < 0


def _no_column(file: DataFileMeta, column: int, leaf: LeafNode) -> CorruptManifestError:
    return CorruptManifestError(
        f"data file {file.path!r} is said to have the field in its physical column {column}, which is no leaf there",
        column=leaf.path,
        detail=column,
    )


def _missing(manifest_path: str, path: str) -> MissingFileError:
    return MissingFileError(
        f"the manifest {manifest_path!r} names the data file {path!r}, which is not there", path=path
    )


def _worth_planning(rows: RowRanges) -> RowRanges:
    """Return one range over all rows where the ranges are too short, unless far too much lies between them."""
    if len(rows) < 2 or rows.num_rows >= _SHORT_RANGE_ROWS * len(rows):
        return rows
    whole = RowRanges.one(int(rows.starts[0]), int(rows.stops[-1]))
    return whole if whole.num_rows <= _MOST_WASTE * rows.num_rows else rows


def _is_wanted(rows: RowRanges, whole: RowRanges) -> NDArray[np.bool_]:
    """Return for each row of one range whether it is among `rows`."""
    edges = np.zeros(whole.num_rows + 1, np.int8)
    edges[rows.starts - whole.starts[0]] += 1
    edges[rows.stops - whole.starts[0]] -= 1
    return np.cumsum(edges[:-1]).astype(bool)


def _aligned(
    per_file: Sequence[tuple[int, Sequence[pa.RecordBatch]]], num_rows: int
) -> Iterator[tuple[int, dict[tuple[int, str], pa.Array]]]:
    """Cut the batches of all files at the same rows; yield their number and the columns by file and name."""
    borders = {0, num_rows}
    for _, batches in per_file:
        borders.update(np.cumsum([batch.num_rows for batch in batches]).tolist())
    left = {file: list(batches) for file, batches in per_file}
    ordered = sorted(borders)
    for start, stop in pairwise(ordered):
        columns = {}
        for file, batches in left.items():
            while not batches[0].num_rows:
                batches.pop(0)
            first = batches.pop(0)
            if first.num_rows > stop - start:
                batches.insert(0, first.slice(stop - start))
                first = first.slice(0, stop - start)
            columns.update({(file, name): array for name, array in zip(first.schema.names, first.columns, strict=True)})
        yield stop - start, columns


def _owned(values: NDArray[np.uint64], pool: pa.MemoryPool | None) -> pa.Array:
    """Copy numbers into memory of Arrow's, which may outlive the interpreter."""
    buffer = pa.allocate_buffer(values.nbytes, pool)
    np.frombuffer(buffer, np.uint64)[:] = values
    return pa.Array.from_buffers(pa.uint64(), len(values), [None, buffer])
