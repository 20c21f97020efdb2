"""`TableZones`: bounds of the rows of a fragment, from zone maps of its files and from the ZONEMAP index.

A leaf has the zone map of its file, or else the zones of an index. Zones of all leaves are cut at each other's borders.
Rows that no zone of an index covers have unknown values: they were deleted before it was made, or were added later.
"""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.errors import CorruptFileError, LanceError, TruncatedReadError, UnsupportedError
from lance_arrow.io import AnyFileSystem, Location
from lance_arrow.late_arrow import pc
from lance_arrow.manifests.manifest import read_section
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.manifests.versions import VERSIONS
from lance_arrow.manifests.zone_indices import ZoneIndexMeta, zone_indices
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.pruning.zone_predicates import Verdict, ZonePredicate
from lance_arrow.pruning.zone_pruning import PruneResult, prune_zones
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.settings import Limits
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import bounds_type, is_repeated, zones_schema

_COUNTS = ("null_count", "nan_count", "fragment_id", "zone_start", "zone_length")
_COLUMNS = ("min", "max", *_COUNTS)
# Each index of a column is a file, opened before the first filtered row comes; more of them are not worth it.
_MOST_SEGMENTS = 1024
# An index that cannot be read is no index.
_UNUSABLE = (CorruptFileError, UnsupportedError, TruncatedReadError, FileNotFoundError)


@dataclass(frozen=True, eq=False)
class BoundedZones:
    """Zones of some rows of a fragment.

    Parameters
    ----------
    starts, stops
        ``(n,) int64`` rows of the fragment's files, ascending, apart.
    zone_map
        The ``n`` zones.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    zone_map: ZoneMap

    @classmethod
    def of_map(cls, zone_map: ZoneMap, num_rows: int) -> BoundedZones:
        """Zones of a file's own map."""
        starts = np.arange(zone_map.num_zones, dtype=np.int64) * zone_map.rows_per_zone
        stops = np.minimum(starts + zone_map.rows_per_zone, num_rows)
        return cls(starts, stops, zone_map)

    @cached_property
    def _zones(self) -> pa.RecordBatch:
        """The zones, and one that stands for rows in no zone; where zones are not cut, nothing asks for it."""
        return _with_unknown(self.zone_map.zones)

    def at(self, borders: NDArray[np.int64]) -> ZoneMap:
        """Return the zones of the spans that begin at `borders`; no span crosses a border of a zone."""
        if np.array_equal(self.starts, borders) and np.array_equal(self.stops[:-1], borders[1:]):
            # What the map has made of itself for predicates serves the next one, too.
            return self.zone_map
        owners = np.searchsorted(self.starts, borders, side="right") - 1
        inside = (owners >= 0) & (borders < self.stops[np.maximum(owners, 0)]) if len(self.starts) else owners >= 0
        numbers = np.where(inside, owners, len(self.starts))
        return ZoneMap(self._zones.take(pa.array(numbers)), 1, is_repeated=False)


class IndexZones:
    """The zones of an index, of all its fragments.

    Parameters
    ----------
    table
        Columns as table-format 12.1 has them.
    """

    def __init__(self, table: pa.Table) -> None:
        owners = table["fragment_id"].to_numpy().astype(np.int64)
        starts = table["zone_start"].to_numpy().astype(np.int64)
        lengths = table["zone_length"].to_numpy().astype(np.int64)
        order = np.lexsort((starts, owners))
        self.owners: NDArray[np.int64] = owners[order]
        self.zones = _as_zones(table.take(pa.array(order)))
        self._starts, self._stops = starts[order], starts[order] + lengths[order]

    def of(self, fragment_id: int) -> BoundedZones | None:
        """Return the zones of a fragment; None for one without, or whose zones contradict each other."""
        first, stop = np.searchsorted(self.owners, [fragment_id, fragment_id + 1]).tolist()
        starts, stops = self._starts[first:stop], self._stops[first:stop]
        is_wrong = (starts < 0).any() or (stops <= starts).any() or (starts[1:] < stops[:-1]).any()
        if first == stop or is_wrong:
            return None
        return BoundedZones(starts, stops, ZoneMap(self.zones.slice(first, stop - first), 1, is_repeated=False))

    def without(self, path: Path, predicate: ZonePredicate) -> NDArray[np.int64]:
        """Return the fragments in none of whose zones a row can satisfy a filter, ``(n,) int64``."""
        zone_map = ZoneMap(self.zones, 1, is_repeated=False)
        verdicts = predicate.verdicts({path: zone_map}, self.zones.num_rows)
        ids, firsts = np.unique(self.owners, return_index=True)
        if not len(ids):
            return ids
        return ids[np.add.reduceat((verdicts != Verdict.NO).astype(np.int64), firsts) == 0]


class TableZones:
    """Zones of the fragments of one version, from ZONEMAP indices; read when first needed, kept, shared by threads.

    Parameters
    ----------
    facts
        The version.
    allow_external_bases
        Whether indices may lie outside of the folder that holds the table; those that may not are not used.
    """

    def __init__(self, facts: TableFacts, *, allow_external_bases: bool = False) -> None:
        self._facts = facts
        self._allow_external_bases = allow_external_bases
        self._lock = threading.Lock()
        self._metas: tuple[ZoneIndexMeta, ...] | None = None
        self._segments_of: dict[int, list[tuple[ZoneIndexMeta, IndexZones]]] = {}
        self._owners: dict[int, dict[int, IndexZones]] = {}

    def of(
        self, fragment_id: int, field_id: int, leaf: LeafNode, filesystem: AnyFileSystem | None, files: OpenFiles
    ) -> BoundedZones | None:
        """Return the zones of a field in a fragment; None when no index covers it."""
        segments = self._segments(field_id, leaf, filesystem, files)
        with self._lock:
            owners = self._owners.get(field_id)
            if owners is None:
                owners = self._owners[field_id] = _owners(segments)
        zones = owners.get(fragment_id)
        return None if zones is None else zones.of(fragment_id)

    def excluded(
        self,
        predicate: ZonePredicate | None,
        leaves: Mapping[Path, tuple[int, LeafNode]],
        filesystem: AnyFileSystem | None,
        files: OpenFiles,
    ) -> NDArray[np.int64]:
        """Return the fragments in which, by their indices, no row can satisfy a filter; all are judged at once.

        Parameters
        ----------
        predicate
            The filter; nothing is excluded when None.
        leaves
            Field id and leaf of the columns that it mentions.
        filesystem, files
            The table's, and where files are opened.

        Returns
        -------
        ndarray
            ``(n,) int64`` fragment ids. Rows that were deleted before an index was made are in no zone, and not live.
        """
        found = [np.empty(0, np.int64)]
        if predicate is not None:
            for path, (field_id, leaf) in leaves.items():
                for meta, zones in self._segments(field_id, leaf, filesystem, files):
                    ids = zones.without(path, predicate)
                    found.append(meta.covers(ids))
        return np.unique(np.concatenate(found))

    def _segments(
        self, field_id: int, leaf: LeafNode, filesystem: AnyFileSystem | None, files: OpenFiles
    ) -> list[tuple[ZoneIndexMeta, IndexZones]]:
        if self._facts.index_position is None or bounds_type(leaf) is None or is_repeated(leaf):
            return []
        with self._lock:
            found = self._segments_of.get(field_id)
            if found is not None:
                return found
            if self._metas is None:
                self._metas = self._listed(filesystem, files.limits)
            metas = {meta.file: meta for meta in self._metas if meta.field_id == field_id}
            read = [(meta, self._zones(meta, leaf, filesystem, files)) for meta in [*metas.values()][:_MOST_SEGMENTS]]
            found = [(meta, zones) for meta, zones in read if zones is not None]
            self._segments_of[field_id] = found
            return found

    def _listed(self, filesystem: AnyFileSystem | None, limits: Limits) -> tuple[ZoneIndexMeta, ...]:
        facts = self._facts
        name = posixpath.basename(facts.manifest_path)
        place = Location(filesystem, posixpath.join(facts.root, VERSIONS, name))
        assert facts.index_position is not None
        try:
            data = read_section(place, facts.index_position, limits, is_sealed=facts.is_sealed)
            section = parse(IndexSection, data, what="the index section", max_bytes=limits.max_metadata_bytes)
        except _UNUSABLE:
            return ()
        return zone_indices(section)

    def _zones(
        self, meta: ZoneIndexMeta, leaf: LeafNode, filesystem: AnyFileSystem | None, files: OpenFiles
    ) -> IndexZones | None:
        try:
            path = self._facts.index_path(meta, allow_external_bases=self._allow_external_bases)
            opened = files.get(FilePlace(path=path, filesystem=filesystem))
            roots = [root for root in opened.rows.roots if root.field.name in _COLUMNS]
            batches, _ = opened.rows.read(roots, RowRanges.one(0, opened.rows.num_rows))
            table = pa.Table.from_batches(batches)
        except _UNUSABLE:
            return None
        except LanceError as error:
            error.add_note(f"while reading the index {meta.name!r}, which can be dropped")
            raise
        bounds = bounds_type(leaf)
        if not set(_COLUMNS) <= set(table.column_names) or bounds is None or table.schema.field("min").type != bounds:
            return None
        # What a count that is missing would become depends on the processor.
        if any(table[name].null_count for name in _COUNTS) or _contradict(table):
            return None
        return IndexZones(table)


def _owners(segments: Sequence[tuple[ZoneIndexMeta, IndexZones]]) -> dict[int, IndexZones]:
    """Return which index tells of each fragment: the first one that covers it, and has zones of it."""
    found: dict[int, IndexZones] = {}
    for meta, zones in segments:
        for fragment_id in meta.covers(np.unique(zones.owners)).tolist():
            found.setdefault(fragment_id, zones)
    return found


def prune_fragment(
    zones: Mapping[Path, BoundedZones], num_rows: int, predicate: ZonePredicate | None, within: RowRanges
) -> PruneResult:
    """Ask zones which rows of a fragment can, and which do, satisfy a filter; as `prune_rows`."""
    undecided = PruneResult(within, RowRanges.one(0, 0))
    if predicate is None or not zones or not len(within):
        return undecided
    borders = _borders(list(zones.values()), num_rows)
    if len(borders) < 2:
        return undecided
    maps = {path: one.at(borders[:-1]) for path, one in zones.items()}
    return prune_zones(maps, borders, predicate, within)


def _borders(zones: Sequence[BoundedZones], num_rows: int) -> NDArray[np.int64]:
    """Return the first rows of spans that no border of a zone crosses, and the number of rows."""
    first = zones[0]
    are_alike = all(
        np.array_equal(one.starts, first.starts) and np.array_equal(one.stops, first.stops) for one in zones[1:]
    )
    if are_alike and len(first.starts) and first.starts[0] == 0 and first.stops[-1] == num_rows:
        borders = np.append(first.starts, num_rows)
        if np.array_equal(borders[1:], first.stops):
            return borders
    edges = [np.array([0, num_rows], np.int64), *(edge for one in zones for edge in (one.starts, one.stops))]
    borders = np.unique(np.concatenate(edges))
    return borders[(borders >= 0) & (borders <= num_rows)]


def _as_zones(table: pa.Table) -> pa.RecordBatch:
    """Show zones of an index as those of a file's map.

    An upper bound of NaN says that there is NaN, and hides the true one. Bounds that are both missing say that there
    is no value. How many rows there were is not told; only whether there are values, nulls and NaN matters.
    """
    low, high = table["min"].combine_chunks(), table["max"].combine_chunks()
    low, high = (one.chunk(0) if isinstance(one, pa.ChunkedArray) else one for one in (low, high))
    is_float = pa.types.is_floating(low.type)
    has_value = low.is_valid()
    if is_float:
        nan = pa.scalar(None, low.type)
        has_value = pc.or_(has_value, pc.and_(high.is_valid(), pc.fill_null(pc.invert(_is_nan(high)), False)))
        low, high = (pc.if_else(pc.fill_null(_is_nan(one), False), nan, one) for one in (low, high))
    else:
        has_value = pc.or_(has_value, high.is_valid())
    nulls = table["null_count"].to_numpy().astype(np.int64)
    nans = table["nan_count"].to_numpy().astype(np.int64)
    values = nulls + nans + has_value.to_numpy(zero_copy_only=False).astype(np.int64)
    no = pa.array(np.zeros(table.num_rows, bool))
    counts = [pa.array(one) for one in (nulls, nans, values, values)]
    return pa.RecordBatch.from_arrays([low, high, no, no, *counts], schema=zones_schema(low.type))


def _contradict(table: pa.Table) -> bool:
    """Whether zones have bounds in the wrong order, or more nulls or NaNs than rows; then no zone is believed."""
    low, high = (
        one.cast(pa.float32()) if pa.types.is_float16(one.type) else one for one in (table["min"], table["max"])
    )
    lengths = table["zone_length"].to_numpy()
    too_many = [(table[name].to_numpy() > lengths).any() for name in ("null_count", "nan_count")]
    return bool(pc.any(pc.greater(low, high)).as_py()) or any(too_many)


def _is_nan(array: pa.Array) -> pa.Array:
    return pc.is_nan(array.cast(pa.float32()) if pa.types.is_float16(array.type) else array)


def _with_unknown(zones: pa.RecordBatch) -> pa.RecordBatch:
    """Add a zone in which anything may be."""
    bounds = zones.schema.field("min").type
    nothing = pa.array([None], bounds)
    no, one, three = pa.array([False]), pa.array([1], pa.int64()), pa.array([3], pa.int64())
    unknown = pa.RecordBatch.from_arrays([nothing, nothing, no, no, one, one, three, three], schema=zones.schema)
    columns = [pa.concat_arrays([left, right]) for left, right in zip(zones.columns, unknown.columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=zones.schema)
