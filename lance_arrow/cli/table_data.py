"""Reports about the rows of a version of a table: its schema, its first rows, counts and bounds of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.leaf_arrays import arrays_by_leaf
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.cli.file_view import HeadReport, SchemaReport, schema_report
from lance_arrow.cli.row_values import plain_rows
from lance_arrow.cli.stats_view import (
    WHOLE_FILE,
    ColumnPart,
    ColumnStats,
    StatsReport,
    ZoneMapReport,
    ZonesReport,
    part_of,
    summed,
)
from lance_arrow.io import AnyFileSystem
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.manifests.versions import VersionChoice, open_version, table_location
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.fragment_rows import FragmentRows, stored_column
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.zone_reader import ZoneReader, is_lacking
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import bounds_type, is_repeated
from lance_arrow.table.lance_table import LanceTable

_DESCRIPTORS = ReadOptions(blobs="descriptors", json="bytes")


def choose(version: str | None, branch: str | None) -> VersionChoice:
    """Turn ``--version`` and ``--branch`` into a choice: digits are a number, other text is a tag."""
    if version is None or version.isdecimal():
        return VersionChoice(version=None if version is None else int(version), branch=branch)
    return VersionChoice(tag=version, branch=branch)


def view_table_schema(
    uri: str, choice: VersionChoice, *, storage_options: Mapping[str, Any] | None = None
) -> SchemaReport:
    """Report on the schema of a version; errors as `LanceTable.open`."""
    table = _open(uri, choice, storage_options)
    return schema_report(
        table.schema,
        path=table.uri,
        version=table.manifest.data_format,
        num_rows=table.count_rows(),
        table_version=table.version,
    )


def view_table_head(
    uri: str,
    choice: VersionChoice,
    *,
    num_rows: int,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> HeadReport:
    """Read the first `num_rows` live rows of a version; errors as `LanceTable.take`."""
    table = _open(uri, choice, storage_options)
    rows = table.take(np.arange(min(num_rows, table.count_rows())), columns=columns)
    return HeadReport(
        path=table.uri,
        num_rows=table.count_rows(),
        columns=rows.column_names,
        rows=plain_rows(rows),
        table_version=table.version,
    )


def view_table_stats(
    uri: str,
    choice: VersionChoice,
    *,
    columns: Sequence[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> StatsReport:
    """Report counts and bounds of the live rows of a version.

    Zone maps tell of fragments without deleted rows; of the others, and where there is no zone map, values are read.

    Raises
    ------
    LanceError, OSError
        As `LanceTable.open` and `LanceTable.to_table`; a path that names no column.
    """
    root = table_location(uri, storage_options=storage_options)
    manifest = open_version(root, choice, default_runtime().settings.limits)
    table = TableColumns(manifest.facts, _DESCRIPTORS)
    files = OpenFiles(_DESCRIPTORS)
    nodes = Projection.of(table.roots, table.schema.metadata, columns).nodes
    leaves = [leaf for node in nodes for leaf in node.leaves()]
    found: dict[int, list[ColumnPart]] = {leaf.column: [] for leaf in leaves}
    num_rows = deleted = 0
    for meta in manifest.fragments:
        fragment = FragmentView(table, meta, files, root.filesystem)
        for part in fragment.parts(leaves):
            found[part.leaf.column].append(part)
        num_rows += fragment.rows.num_rows
        deleted += fragment.rows.num_physical - fragment.rows.num_rows
    return StatsReport(
        path=root.name,
        version=manifest.data_format,
        num_rows=num_rows,
        columns=[summed(found[leaf.column]) if found[leaf.column] else _nothing(leaf) for leaf in leaves],
        num_files=sum(len(meta.files) for meta in manifest.fragments),
        deleted_rows=deleted,
        table_version=manifest.version,
    )


def view_table_zones(
    uri: str, choice: VersionChoice, *, storage_options: Mapping[str, Any] | None = None
) -> ZonesReport:
    """Report how many fragments and zones have bounds of each leaf; errors as `LanceTable.open` and `LanceFile`."""
    root = table_location(uri, storage_options=storage_options)
    manifest = open_version(root, choice, default_runtime().settings.limits)
    table = TableColumns(manifest.facts, _DESCRIPTORS)
    files = OpenFiles(_DESCRIPTORS)
    leaves = [leaf for root_node in table.roots for leaf in root_node.leaves()]
    found: dict[str, list[tuple[ZoneMap, str]]] = {leaf.path: [] for leaf in leaves}
    num_rows = 0
    for meta in manifest.fragments:
        fragment = FragmentView(table, meta, files, root.filesystem)
        num_rows += fragment.rows.num_physical
        for leaf in leaves:
            zone_map = fragment.zone_map(leaf)
            if zone_map is not None:
                found[leaf.path].append((zone_map, fragment.source(leaf)))
    return ZonesReport(
        path=root.name,
        num_rows=num_rows,
        maps=[
            ZoneMapReport(
                path=leaf.path,
                type=str(leaf.field.type),
                source=", ".join(dict.fromkeys(source for _, source in found[leaf.path])),
                rows_per_zone=max(zone_map.rows_per_zone for zone_map, _ in found[leaf.path]),
                num_zones=sum(zone_map.num_zones for zone_map, _ in found[leaf.path]),
                zones=None,
                num_fragments=len(found[leaf.path]),
            )
            for leaf in leaves
            if found[leaf.path]
        ],
        without=[leaf.path for leaf in leaves if not found[leaf.path]],
        table_version=manifest.version,
        num_fragments=len(manifest.fragments),
    )


class FragmentView:
    """One fragment: what its files know of leaves of the table."""

    def __init__(self, columns: TableColumns, meta: FragmentMeta, files: OpenFiles, filesystem: AnyFileSystem) -> None:
        self.rows = FragmentRows(columns, meta, files, filesystem)
        self._reader = TableReader(columns, (meta,), filesystem, files)
        self._tops = {leaf.column: root for root in columns.roots for leaf in root.leaves()}

    def parts(self, leaves: Sequence[LeafNode]) -> Iterator[ColumnPart]:
        """Yield what is known of leaves, in their order."""
        # A deleted row is in the zones.
        is_whole = self.rows.meta.deletion is None
        maps = {leaf.column: self.zone_map(leaf) if is_whole else None for leaf in leaves}
        read = self._read([leaf for leaf in leaves if is_lacking(maps[leaf.column])])
        for leaf in leaves:
            zone_map, origin = maps[leaf.column], "zone map"
            if is_lacking(zone_map):
                zone_map, origin = read.get(leaf.column), "values"
            place = self.place(leaf)
            if place is None:
                # The column is younger than the fragment: all its values are null, and take no bytes.
                told = "nothing" if zone_map is None else origin
                yield ColumnPart(leaf=leaf, size_bytes=0, codecs=[], zone_map=zone_map, origin=told)
                continue
            number, column = place
            (meta,) = self.rows.open_file(number).rows.file.columns([column])
            yield part_of(leaf, meta, zone_map, origin)

    def stored(self, leaf: LeafNode) -> ColumnPart:
        """Return the bytes and codecs of a leaf, without its values; no bytes if it is younger than the fragment."""
        place = self.place(leaf)
        if place is None:
            return ColumnPart(leaf=leaf, size_bytes=0, codecs=[], zone_map=None, origin="nothing")
        number, column = place
        (meta,) = self.rows.open_file(number).rows.file.columns([column])
        return part_of(leaf, meta, None, "nothing")

    def place(self, leaf: LeafNode) -> tuple[int, int] | None:
        """Number of the file that has a leaf, and its physical column there."""
        meta, field_id = self.rows.meta, self.rows.columns.field_id(leaf)
        found = meta.file_of(field_id)
        if found is None:
            return None
        number = next(at for at, one in enumerate(meta.files) if one is found[0])
        column = stored_column(found[0], self.rows.open_file(number), field_id, found[1])
        return None if column < 0 else (number, column)

    def zone_map(self, leaf: LeafNode) -> ZoneMap | None:
        """Zone map of a leaf, if it is of the table's type and tells of all that may be null above it."""
        place = self.place(leaf)
        siblings = [self.place(other) for other in self._tops[leaf.column].leaves()]
        # Nulls above a leaf may be stored in another file.
        if place is None or any(one is None or one[0] != place[0] for one in siblings):
            return None
        opened = self.rows.open_file(place[0])
        own = next((one for root in opened.rows.roots for one in root.leaves() if one.column == place[1]), None)
        if own is None or bounds_type(own) is None or bounds_type(own) != bounds_type(leaf):
            return None
        return opened.zones.get([own])[0]

    def source(self, leaf: LeafNode) -> str:
        """Where the zone map of a leaf is that has one: ``"file"`` or ``"sidecar"``."""
        place = self.place(leaf)
        assert place is not None
        opened = self.rows.open_file(place[0])
        own = [one for root in opened.rows.roots for one in root.leaves() if one.column == place[1]]
        (inside,) = ZoneReader(opened.rows).get(own)
        (together,) = opened.zones.get(own)
        return "file" if inside is not None and is_lacking(inside) == is_lacking(together) else "sidecar"

    def _read(self, leaves: Sequence[LeafNode]) -> dict[int, ZoneMap]:
        """Bounds of the live rows' values, as one zone for each leaf that has bounds and can be read."""
        builders = [
            (leaf, ZoneBuilder(leaf, WHOLE_FILE))
            for leaf in leaves
            if bounds_type(leaf) is not None and not any(one.refusal for one in self._tops[leaf.column].leaves())
        ]
        if not builders:
            return {}
        tops = {leaf.column: self._tops[leaf.column].field.name for leaf, _ in builders}
        names = list(dict.fromkeys(tops.values()))
        projection = self._reader.projection(names)
        for batch in self._reader.batches(projection, None, None):
            arrays = arrays_by_leaf(projection.nodes, batch)
            for leaf, builder in builders:
                builder.add(arrays[leaf.column])
        return {leaf.column: ZoneMap(builder.finish(), WHOLE_FILE, is_repeated(leaf)) for leaf, builder in builders}


def _nothing(leaf: LeafNode) -> ColumnStats:
    """Statistics of a leaf of a table without rows."""
    part = ColumnPart(leaf=leaf, size_bytes=0, codecs=[], zone_map=None, origin="nothing")
    if bounds_type(leaf) is not None:
        builder = ZoneBuilder(leaf, WHOLE_FILE)
        part = ColumnPart(
            leaf=leaf,
            size_bytes=0,
            codecs=[],
            zone_map=ZoneMap(builder.finish(), WHOLE_FILE, is_repeated(leaf)),
            origin="nothing",
        )
    return summed([part])


def _open(uri: str, choice: VersionChoice, storage_options: Mapping[str, Any] | None) -> LanceTable:
    return LanceTable.open(
        uri, version=choice.version, tag=choice.tag, branch=choice.branch, storage_options=storage_options
    )
