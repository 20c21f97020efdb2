"""A page about a version of a table: fragments, bytes, zones, and the lines of versions."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.cli.pages.file_page import zones_section
from lance_arrow.cli.pages.line_page import lines_section
from lance_arrow.cli.pages.page_parts import MAX_ROWS, document, facts, legend, merged_bar, note, problems, row, section
from lance_arrow.cli.pages.zone_ranges import ZoneRanges, zone_ranges
from lance_arrow.cli.printing import count, size
from lance_arrow.cli.render import ErrorReport, error_report
from lance_arrow.cli.stats_view import ColumnPart
from lance_arrow.cli.table_data import FragmentView, choose
from lance_arrow.cli.table_view import FragmentReport, fragment_report
from lance_arrow.errors import InvalidArgumentError, LanceError, TableNotFoundError, VersionNotFoundError
from lance_arrow.html_repr import Segment, bar
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import open_version, table_location
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.scan.projection import Projection
from lance_arrow.statistics.zone_maps import ZoneMap

_AS_STORED = ReadOptions(blobs="descriptors", json="bytes")
_MAX_FRAGMENTS = 100
_MAX_LOOKS = 5_000
_MAX_MAPS = 48
_LIVE, _DELETED = 0, 1


@dataclass(slots=True)
class _Leaf:
    """What the fragments that were opened know of one leaf."""

    leaf: LeafNode
    parts: list[tuple[int, ColumnPart]] = field(default_factory=list)
    maps: list[tuple[int, ZoneMap]] = field(default_factory=list)


def table_page(
    uri: str,
    *,
    version: str | None,
    branch: str | None,
    columns: Sequence[str] | None,
    storage_options: Mapping[str, Any] | None,
) -> tuple[str, list[ErrorReport]]:
    """Return a page about a version of a table, and what is wrong with it.

    Raises
    ------
    InvalidArgumentError, TableNotFoundError, VersionNotFoundError
        There is no such table, branch, version or column.
    """
    root = table_location(uri, storage_options=storage_options)
    found: list[LanceError | OSError] = []
    manifest: ManifestMeta | None = None
    body: list[str] = []
    try:
        manifest = open_version(root, choose(version, branch), default_runtime().settings.limits)
    except (InvalidArgumentError, TableNotFoundError, VersionNotFoundError):
        raise
    except LanceError as error:
        found.append(error)
    if manifest is not None:
        body = _version_sections(root, manifest, columns, found)
    lines = lines_section(root, branch, None if manifest is None else manifest.version, found)
    wrong = [error_report(one) for one in found]
    head = "" if manifest is None else _facts(manifest)
    return document(root.name, [head, problems(wrong), *body, lines]), wrong


def _facts(manifest: ManifestMeta) -> str:
    fragments = [fragment_report(one) for one in manifest.fragments]
    sizes = [one.size_bytes for one in fragments]
    rows = [one.num_rows for one in fragments]
    known = [one for one in sizes if one is not None]
    moment = manifest.timestamp
    time = moment.isoformat(sep=" ", timespec="seconds") if isinstance(moment, datetime.datetime) else "unknown"
    return facts(
        {
            "version": f"{manifest.version} of {manifest.branch or 'main'}, {time}",
            "format": f"Lance {manifest.data_format or 'of several versions'}",
            "rows": "unknown" if None in rows else f"{sum(one or 0 for one in rows):,}",
            "deleted rows in the files": f"{sum(one.deleted_rows for one in fragments):,}",
            "fragments": f"{len(fragments):,}",
            "data files": f"{sum(len(one.files) for one in fragments):,}, {size(sum(known))}"
            + ("" if len(known) == len(sizes) else " and more of unknown size"),
        }
    )


def _version_sections(
    root: Location, manifest: ManifestMeta, columns: Sequence[str] | None, found: list[LanceError | OSError]
) -> list[str]:
    table = TableColumns(manifest.facts, _AS_STORED)
    files = OpenFiles(_AS_STORED)
    nodes = Projection.of(table.roots, None, columns).nodes
    leaves = [_Leaf(leaf) for node in nodes for leaf in node.leaves()]
    looked = max(1, min(_MAX_FRAGMENTS, _MAX_LOOKS // max(len(leaves), 1)))
    num_rows = opened = 0
    for meta in manifest.fragments[:looked]:
        try:
            fragment = FragmentView(table, meta, files, root.filesystem)
            parts = [fragment.stored(one.leaf) for one in leaves]
            maps = [fragment.zone_map(one.leaf) for one in leaves[:_MAX_MAPS]]
            physical = fragment.rows.num_physical
        except (LanceError, OSError) as error:
            found.append(error)
            num_rows += (meta.num_rows or 0) + fragment_report(meta).deleted_rows
            continue
        opened += 1
        for one, part in zip(leaves, parts, strict=True):
            one.parts.append((meta.id, part))
        for one, zone_map in zip(leaves, maps, strict=False):
            if zone_map is not None:
                one.maps.append((num_rows, zone_map))
        num_rows += physical
    remark = f"{opened:,} of {count(len(manifest.fragments), 'fragment')} opened"
    return [
        _fragments_section([fragment_report(one) for one in manifest.fragments]),
        _bytes_section(leaves, remark),
        _zones(leaves, num_rows, remark),
    ]


def _fragments_section(fragments: Sequence[FragmentReport]) -> str:
    shown, hidden = fragments[:MAX_ROWS], fragments[MAX_ROWS:]
    largest = max([(one.num_rows or 0) + one.deleted_rows for one in shown], default=0)
    rows = []
    for one in shown:
        live = "unknown" if one.num_rows is None else f"{one.num_rows:,}"
        deleted = f", {one.deleted_rows:,} deleted" if one.deleted_rows else ""
        segments = [
            Segment(one.num_rows or 0, f"{live} rows", _LIVE),
            Segment(one.deleted_rows, f"{one.deleted_rows:,} deleted rows", _DELETED),
        ]
        known = "size unknown" if one.size_bytes is None else size(one.size_bytes)
        detail = f"{count(len(one.files), 'file')}, {known}"
        rows.append(row(f"fragment {one.id}", f"{live} rows{deleted}", bar(segments, largest or 1), detail))
    if hidden:
        amount = sum(one.num_rows or 0 for one in hidden)
        gone = sum(one.deleted_rows for one in hidden)
        rows.append(row(f"… and {len(hidden):,} more fragments", f"{amount:,} rows, {gone:,} deleted", ""))
    return section("Fragments", legend({"rows": _LIVE, "deleted rows": _DELETED}), *rows)


def _bytes_section(leaves: Sequence[_Leaf], remark: str) -> str:
    totals = {one.leaf.column: sum(part.size_bytes for _, part in one.parts) for one in leaves}
    whole, largest = sum(totals.values()), max(totals.values(), default=0)
    ordered = sorted(leaves, key=lambda one: -totals[one.leaf.column])
    shown, hidden = ordered[:MAX_ROWS], ordered[MAX_ROWS:]
    rows = []
    for one in shown:
        segments = [
            Segment(part.size_bytes, f"fragment {number}: {part.size_bytes:,} B", at % 2 * 6)
            for at, (number, part) in enumerate(one.parts)
        ]
        codecs = ", ".join(dict.fromkeys(name for _, part in one.parts for name in part.codecs))
        amount = totals[one.leaf.column]
        share = f"{size(amount)} {100 * amount / whole:.1f} %" if whole else size(amount)
        detail = f"{one.leaf.field.type}; {codecs or 'no codecs'}"
        rows.append(row(one.leaf.path, share, merged_bar(segments, largest or 1), detail, num_bytes=amount))
    if hidden:
        amount = sum(totals[one.leaf.column] for one in hidden)
        rows.append(row(f"… and {len(hidden):,} more columns", size(amount), "", num_bytes=amount))
    said = f"Columns by their bytes, the largest first. The parts of a bar are fragments: {remark}."
    return section("Where the bytes are", note(said), *rows)


def _zones(leaves: Sequence[_Leaf], num_rows: int, remark: str) -> str:
    ranges: list[ZoneRanges] = []
    undrawn = 0
    for one in leaves[:_MAX_MAPS]:
        drawn = None
        if one.maps and len({zone_map.low.type for _, zone_map in one.maps}) == 1:
            drawn = zone_ranges(one.leaf.path, str(one.leaf.field.type), num_rows, one.maps)
        if drawn is None:
            undrawn += 1
        else:
            ranges.append(drawn)
    remarks = [f"Rows include deleted ones: {remark}."]
    if len(leaves) > _MAX_MAPS:
        remarks.append(f"Zone maps of the first {_MAX_MAPS} columns were read; --columns chooses others.")
    if undrawn:
        remarks.append(f"{count(undrawn, 'column')} without zone maps that can be drawn")
    return zones_section(ranges, remarks)
