"""Reports about the values of one file, or of a folder of files: bounds and counts of columns, and zone maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import true_flags
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.leaf_arrays import arrays_by_leaf
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.cli.file_view import codecs_of
from lance_arrow.cli.row_values import plain_values
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.io import VerifiedSource, locate, open_source
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.blobs.blob_reader import BlobReader
from lance_arrow.scan.file_batches import FileBatches
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.zone_reader import ZoneReader, is_lacking, zone_reader
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_bounds import bound_array
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import bounds_type, is_repeated
from lance_arrow.structure.description import describe

WHOLE_FILE = (1 << 32) - 1
"""Rows of a zone that holds all rows of a file."""

# Blobs have no bounds: their places are enough.
_AS_STORED = ReadOptions(blobs="descriptors", json="bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """Statistics of the values of one leaf.

    Parameters
    ----------
    path, type
        Of the leaf.
    num_values
        Items: rows, or for leaves inside lists the items of all lists.
    null_count, nan_count
        Of these; None where the type has no bounds and the column is not read for it.
    min, max
        Plain values that none is below or above; None where there is no value, or no bound.
    min_exact, max_exact
        Whether the bound is a value: long strings are cut.
    size_bytes
        Of the column's pages and buffers.
    codecs
        That its values are stored by.
    source
        What told: ``"zone map"``, ``"sidecar"``, ``"values"`` (they were read), or ``"nothing"``.
    """

    path: str
    type: str
    num_values: int | None
    null_count: int | None
    nan_count: int | None
    min: Any
    max: Any
    min_exact: bool | None
    max_exact: bool | None
    size_bytes: int
    codecs: list[str]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsReport:
    """Counts and bounds of all columns of a file, a folder of files, or a version of a table.

    Parameters
    ----------
    path
        The file or folder.
    version
        Of the file or files; None where they are of several.
    num_rows
        Rows; in a table those that are not deleted.
    columns
        One for each leaf.
    num_files
        Files that were looked at.
    deleted_rows
        Rows that are still in the files of a table: `size_bytes` of the columns includes them, no other figure does.
    table_version
        Of a table; None otherwise.
    """

    path: str
    version: str | None
    num_rows: int
    columns: list[ColumnStats]
    num_files: int = 1
    deleted_rows: int = 0
    table_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneReport:
    """One zone; bounds are plain values, counts that are not known None."""

    zone: int
    first_row: int
    num_rows: int
    min: Any
    max: Any
    min_exact: bool
    max_exact: bool
    null_count: int | None
    nan_count: int | None
    value_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneMapReport:
    """The zone map of one leaf, or the zone maps of a leaf of a table.

    Parameters
    ----------
    path, type
        Of the leaf.
    source
        ``"file"`` or ``"sidecar"``; both where the files of a table differ.
    rows_per_zone
        Rows of a zone; of the largest zones where the files of a table differ.
    num_zones
        Zones of all files.
    zones
        The zones of a file, if they were asked for.
    num_fragments
        Of a table: fragments in which the leaf has a zone map.
    """

    path: str
    type: str
    source: str
    rows_per_zone: int
    num_zones: int
    zones: list[ZoneReport] | None
    num_fragments: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonesReport:
    """The zone maps of a file or a version of a table, and the leaves that have none.

    Parameters
    ----------
    path
        The file or table.
    num_rows
        Rows that zones count: in a table also rows that are deleted.
    maps
        One for each leaf that has a zone map.
    without
        The other leaves.
    table_version, num_fragments
        Of a table; None otherwise.
    """

    path: str
    num_rows: int
    maps: list[ZoneMapReport]
    without: list[str]
    table_version: int | None = None
    num_fragments: int | None = None


class _File:
    """One open file, with zone maps of its own and those beside it."""

    def __init__(self, source: Any, storage_options: Mapping[str, Any] | None) -> None:
        place = locate(source, storage_options=storage_options)
        self.source = VerifiedSource(open_source(source if place is None else place))
        self.runtime = default_runtime()
        with ExitStack() as on_failure:
            on_failure.callback(self.source.close)
            self.file = LanceFileReader(self.source, limits=self.runtime.settings.limits)
            self.rows = row_reader(self.file, self.runtime, _AS_STORED)
            self.blobs = BlobReader(self.rows, place)
            self._own, self._all = ZoneReader(self.rows), zone_reader(self.rows, place)
            on_failure.pop_all()

    def maps(self, leaves: Sequence[LeafNode]) -> list[tuple[ZoneMap | None, bool]]:
        """Zone map of each leaf, and whether it is in the file: one beside it may know more."""
        own = self._own.get(leaves)
        return [
            (found, mine is not None and is_lacking(mine) == is_lacking(found))
            for found, mine in zip(self._all.get(leaves), own, strict=True)
        ]

    def leaves(self, columns: Sequence[str] | None) -> list[LeafNode]:
        """Leaves at or below the columns; all when None."""
        projection = Projection.of(self.rows.roots, self.rows.metadata, columns)
        return [leaf for node in projection.nodes for leaf in node.leaves()]

    def close(self) -> None:
        self.source.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPart:
    """Facts of one leaf in one file or fragment.

    Parameters
    ----------
    leaf
        The leaf.
    size_bytes, codecs
        Of its column in the file.
    zone_map
        Bounds and counts; None where nothing tells.
    origin
        What told, as `ColumnStats.source`.
    """

    leaf: LeafNode
    size_bytes: int
    codecs: list[str]
    zone_map: ZoneMap | None
    origin: str


def view_stats(
    source: Any, *, columns: Sequence[str] | None = None, storage_options: Mapping[str, Any] | None = None
) -> StatsReport:
    """Report counts and bounds of columns: from zone maps, and where there are none by reading the values.

    Raises
    ------
    LanceError, OSError
        As `LanceFile`; a path that names no column.
    """
    with closing(_File(source, storage_options)) as file:
        return StatsReport(
            path=file.file.name,
            version=str(file.file.version),
            num_rows=file.rows.num_rows,
            columns=[summed([part]) for part in _parts(file, columns)],
        )


def view_folder_stats(folder: str, files: Sequence[Any], *, columns: Sequence[str] | None = None) -> StatsReport:
    """Report as `view_stats` on several files together.

    Raises
    ------
    InvalidArgumentError
        A column is of different types in two files.
    """
    found: dict[str, list[ColumnPart]] = {}
    versions: dict[str, None] = {}
    num_rows = 0
    for source in files:
        with closing(_File(source, None)) as file:
            for part in _parts(file, columns):
                others = found.setdefault(part.leaf.path, [])
                if others and others[0].leaf.field.type != part.leaf.field.type:
                    raise InvalidArgumentError(
                        f"the column is {part.leaf.field.type} in this file, {others[0].leaf.field.type} in others of "
                        "the folder: name one file",
                        path=file.file.name,
                        column=part.leaf.path,
                    )
                others.append(part)
            versions[str(file.file.version)] = None
            num_rows += file.rows.num_rows
    return StatsReport(
        path=folder,
        version=next(iter(versions)) if len(versions) == 1 else None,
        num_rows=num_rows,
        columns=[summed(parts) for parts in found.values()],
        num_files=len(files),
    )


def _parts(file: _File, columns: Sequence[str] | None) -> list[ColumnPart]:
    leaves = file.leaves(columns)
    metas = file.file.columns([leaf.column for leaf in leaves])
    found = dict(zip((leaf.column for leaf in leaves), file.maps(leaves), strict=True))
    unknown = [leaf for leaf in leaves if is_lacking(found[leaf.column][0]) and bounds_type(leaf) is not None]
    read = _read_bounds(file, unknown)
    parts = []
    for leaf, meta in zip(leaves, metas, strict=True):
        zone_map, is_own = found[leaf.column]
        origin = "zone map" if is_own else "sidecar"
        if is_lacking(zone_map):
            zone_map, origin = read.get(leaf.column), "values"
        parts.append(part_of(leaf, meta, zone_map, origin))
    return parts


def view_zones(
    source: Any, *, columns: Sequence[str] | None = None, storage_options: Mapping[str, Any] | None = None
) -> ZonesReport:
    """Report the zone maps of a file, its own and those beside it; each zone of the columns that are named.

    Raises
    ------
    LanceError, OSError
        As `LanceFile`; a path that names no column.
    """
    with closing(_File(source, storage_options)) as file:
        leaves = file.leaves(columns)
        maps = [
            (leaf, zone_map, is_own)
            for leaf, (zone_map, is_own) in zip(leaves, file.maps(leaves), strict=True)
            if zone_map is not None
        ]
        with_map = {leaf.column for leaf, _, _ in maps}
        return ZonesReport(
            path=file.file.name,
            num_rows=file.rows.num_rows,
            maps=[
                ZoneMapReport(
                    path=leaf.path,
                    type=str(leaf.field.type),
                    source="file" if is_own else "sidecar",
                    rows_per_zone=zone_map.rows_per_zone,
                    num_zones=zone_map.num_zones,
                    zones=None if columns is None else _zones_of(zone_map),
                )
                for leaf, zone_map, is_own in maps
            ],
            without=[leaf.path for leaf in leaves if leaf.column not in with_map],
        )


def read_zone_maps(
    source: Any,
    *,
    columns: Sequence[str] | None,
    most: int,
    storage_options: Mapping[str, Any] | None,
    problems: list[LanceError],
) -> list[tuple[LeafNode, ZoneMap | None]]:
    """Read the zone maps of the first `most` leaves one by one; errors of damaged ones go to `problems`.

    Raises
    ------
    LanceError, OSError
        As `LanceFile`; a path that names no column.
    """
    found: list[tuple[LeafNode, ZoneMap | None]] = []
    with closing(_File(source, storage_options)) as file:
        for leaf in file.leaves(columns)[:most]:
            try:
                found.append((leaf, file.maps([leaf])[0][0]))
            except LanceError as error:
                problems.append(error)
    return found


def _read_bounds(file: _File, leaves: Sequence[LeafNode]) -> dict[int, ZoneMap]:
    """Bounds of whole columns, as one zone each."""
    tops = {leaf.column: root.field.name for root in file.rows.roots for leaf in root.leaves()}
    unreadable = {root.field.name for root in file.rows.roots if any(leaf.refusal for leaf in root.leaves())}
    builders = [(leaf, ZoneBuilder(leaf, WHOLE_FILE)) for leaf in leaves if tops[leaf.column] not in unreadable]
    if not builders:
        return {}
    names = dict.fromkeys(tops[leaf.column] for leaf, _ in builders)
    projection = Projection.covering(file.rows.roots, file.rows.metadata, [(name,) for name in names])
    batches = FileBatches(OpenFile(file.source, file.rows))
    everything = RowRanges.one(0, file.rows.num_rows)
    for batch in batches.stream(projection, None, None, everything):
        arrays = arrays_by_leaf(projection.nodes, batch)
        for leaf, builder in builders:
            builder.add(arrays[leaf.column])
    return {leaf.column: ZoneMap(builder.finish(), WHOLE_FILE, is_repeated(leaf)) for leaf, builder in builders}


def part_of(leaf: LeafNode, meta: ColumnMeta, zone_map: ZoneMap | None, origin: str) -> ColumnPart:
    """Return what a file knows of a leaf, with the size and the codecs of its column."""
    table = default_runtime().table
    pages = [describe(page.message, page.description, table, page.distribution) for page in meta.pages]
    return ColumnPart(
        leaf=leaf,
        size_bytes=int(meta.buffer_sizes.sum()) + sum(int(page.buffer_sizes.sum()) for page in meta.pages),
        codecs=list(dict.fromkeys(name for page in pages for name in codecs_of(page))),
        zone_map=zone_map,
        origin=origin if zone_map is not None else "nothing",
    )


def summed(parts: Sequence[ColumnPart]) -> ColumnStats:
    """Put what several files know of a leaf together; what one of them does not know is not known."""
    leaf = parts[0].leaf
    counts: dict[str, int | None] = dict.fromkeys(("value_count", "null_count", "nan_count"))
    low: tuple[Any, bool | None] = (None, None)
    high: tuple[Any, bool | None] = (None, None)
    maps = [part.zone_map for part in parts if part.zone_map is not None]
    if len(maps) == len(parts):
        whole = ZoneMap(_together([one.zones for one in maps]), WHOLE_FILE, maps[0].is_repeated)
        counts = {name: int(whole.counts(name).sum()) for name in counts}
        low, high = _bound(whole, "min"), _bound(whole, "max")
    return ColumnStats(
        path=leaf.path,
        type=str(leaf.field.type),
        num_values=counts["value_count"],
        null_count=counts["null_count"],
        nan_count=counts["nan_count"],
        min=low[0],
        max=high[0],
        min_exact=low[1],
        max_exact=high[1],
        size_bytes=sum(part.size_bytes for part in parts),
        codecs=list(dict.fromkeys(name for part in parts for name in part.codecs)),
        source=", ".join(dict.fromkeys(part.origin for part in parts)),
    )


def _together(zones: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Zones of several files as those of one; maps of older files allow null where others do not."""
    schema = pa.schema([field.with_nullable(True) for field in zones[0].schema])
    columns = [pa.concat_arrays([one.column(name) for one in zones]) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _bound(zone_map: ZoneMap, name: str) -> tuple[Any, bool | None]:
    """The smallest lower, or largest upper, bound of all zones, and whether it is a value."""
    bounds = zone_map.zones.column(name)
    values = zone_map.counts("value_count") - zone_map.counts("null_count") - zone_map.counts("nan_count")
    is_null = true_flags(bounds.is_null())
    if not (values > 0).any() or (is_null & (values > 0)).any():
        return None, None
    found = bound_array(bounds, np.array([0, len(bounds)], np.int64))
    whole = found.mins if name == "min" else found.maxs
    exact = true_flags(zone_map.zones.column(f"{name}_exact"))
    (value,) = plain_values(whole)
    same = np.array([one == value for one in plain_values(bounds)], np.bool_)
    return value, bool((same & exact).any())


def _zones_of(zone_map: ZoneMap) -> list[ZoneReport]:
    zones = zone_map.zones
    bounds = [plain_values(zones.column(name)) for name in ("min", "max")]
    others = ("min_exact", "max_exact", "null_count", "nan_count", "value_count", "row_count")
    rest: dict[str, list[Any]] = {name: zones.column(name).to_pylist() for name in others}
    rows = rest.pop("row_count")
    first = np.cumsum(np.array(rows, np.int64)) - np.array(rows, np.int64)
    return [
        ZoneReport(
            zone=number,
            first_row=int(first[number]),
            num_rows=rows[number],
            min=bounds[0][number],
            max=bounds[1][number],
            **{name: values[number] for name, values in rest.items()},
        )
        for number in range(zone_map.num_zones)
    ]
