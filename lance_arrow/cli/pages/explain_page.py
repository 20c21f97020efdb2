"""A page about a scan: which rows and zones a filter reads, why no fewer, and what the scan did read."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lance_arrow.arrays.column_paths import Path
from lance_arrow.arrow_dataset.planned_rows import PlannedPart, planned_rows
from lance_arrow.cli.pages.explain_view import ExplainReport, ReadSummary
from lance_arrow.cli.pages.file_page import MAX_DRAWN
from lance_arrow.cli.pages.page_parts import (
    document,
    facts,
    legend,
    merged_bar,
    note,
    problems,
    row,
    section,
    table,
)
from lance_arrow.cli.pages.zone_ranges import ZoneRanges, draw, zone_ranges
from lance_arrow.cli.printing import count, size
from lance_arrow.cli.render import ErrorReport
from lance_arrow.html_repr import Segment
from lance_arrow.scan.predicates import type_at
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import rows_before

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset

_READ, _PRUNED = 0, 7
_MAX_PARTS = 100


def explain_page(
    report: ExplainReport, dataset: LanceDataset, filter: str | None, wrong: Sequence[ErrorReport] = ()
) -> str:
    """Return the page; `wrong` is what kept the scan from its end.

    Raises
    ------
    LanceError, OSError
        As `planned_rows`.
    """
    plan = report.plan
    sections = [facts(plan.facts()), problems(wrong)]
    if plan.conjuncts:
        rows = [(one.text, f"{one.zones_pruned:,}", "; ".join(one.reasons)) for one in plan.conjuncts]
        said = "Conditions that are joined by AND, each by itself."
        sections.append(section("Conditions", note(said), table(("condition", "zones pruned", "why not more"), rows)))
    if report.read is not None:
        sections.append(_read_section(report, report.read))
    if filter is None:
        sections.append(note("Without a filter, every row is read, and no zone map."))
    else:
        paths, found = planned_rows(dataset, filter)
        parts = list(islice(found, _MAX_PARTS + 1))
        sections += [_rows_section(parts[:_MAX_PARTS], len(plan.files)), _zones_section(parts, paths, dataset)]
    return document(report.path, sections)


def _read_section(report: ExplainReport, read: ReadSummary) -> str:
    plan = report.plan
    zones = plan.total("zones") - plan.total("zones_pruned")
    rows = [
        ("files", f"{len(plan.files) - plan.total('is_left_out'):,}", f"{read.files:,}"),
        ("zones", f"{zones:,}", f"{read.zones_read:,}"),
        ("pages", f"{plan.total('pages_to_read'):,}", f"{read.pages:,}"),
        ("requests", f"about {plan.total('requests'):,}", f"{read.requests:,}"),
        ("bytes", f"about {size(plan.total('bytes_to_read'))}", size(read.fetched_bytes)),
        *((f"rows decoded of {name}", f"about {plan.total('rows_to_read'):,}", f"{rows:,}")
          for name, rows in read.decoded_rows.items()),
    ]  # fmt: skip
    said = (
        f"{count(read.rows, 'row')} in {read.seconds * 1000:,.0f} ms. Columns that are not in the filter are decoded "
        "where a row is left. Requests include those for the ends of files, which are kept while the process runs."
    )
    return section("What the scan did read", note(said), table(("", "planned", "read"), rows))


def _rows_section(parts: Sequence[PlannedPart], num_files: int) -> str:
    largest = max([part.num_physical for part in parts], default=0)
    # Files are told apart by what follows their common folder.
    folder = posixpath.commonpath([posixpath.dirname(part.name) for part in parts]) if parts else ""
    rows = []
    for part in parts:
        kept = part.rows.num_rows
        share = 100 * kept / part.num_physical if part.num_physical else 0
        bar = merged_bar(_segments(part.rows, part.num_physical), largest or 1)
        rows.append(
            row(part.name.removeprefix(f"{folder}/"), f"{kept:,} of {part.num_physical:,} rows, {share:.1f} %", bar)
        )
    if num_files > len(parts):
        rows.append(note(f"… and {num_files - len(parts):,} more files"))
    said = "Rows in their order. Rows that are deleted are not read."
    return section("Rows to read", note(said), legend({"read": _READ, "left out": _PRUNED}), *rows)


def _segments(kept: RowRanges, num_rows: int) -> list[Segment]:
    found, done = [], 0
    for start, stop in zip(kept.starts.tolist(), kept.stops.tolist(), strict=True):
        if start > done:
            found.append(Segment(start - done, f"rows {done:,} to {start:,}: left out", _PRUNED))
        found.append(Segment(stop - start, f"rows {start:,} to {stop:,}: read", _READ))
        done = stop
    if done < num_rows:
        found.append(Segment(num_rows - done, f"rows {done:,} to {num_rows:,}: left out", _PRUNED))
    return found


def _zones_section(parts: Sequence[PlannedPart], paths: Sequence[Path], dataset: LanceDataset) -> str:
    drawn: list[str] = []
    remarks: list[str] = []
    if len(parts) > _MAX_PARTS:
        parts = parts[:_MAX_PARTS]
        remarks.append(f"Zones of the first {_MAX_PARTS} files or fragments are drawn.")
    for path in paths[:MAX_DRAWN]:
        name = ".".join(path)
        found = _ranges(parts, path, str(type_at(dataset.schema, list(path))))
        if found is None:
            remarks.append(f"{name} has no zone maps that can be drawn.")
        else:
            drawn.append(draw(*found))
    said = (
        "Zones of the columns in the filter: rows from left to right, values from bottom to top in the order of all "
        "bounds. Zones that are left out are pale."
    )
    return section("Zones", note(said), *drawn, *(note(one) for one in remarks))


def _ranges(parts: Sequence[PlannedPart], path: Path, type_: str) -> tuple[ZoneRanges, np.ndarray] | None:
    maps, flags, first = [], [], 0
    for part in parts:
        zone_map = part.zone_map(path)
        if zone_map is not None and not zone_map.is_repeated and zone_map.num_zones:
            ends = np.cumsum(zone_map.counts("row_count"))
            before = rows_before(part.rows, np.concatenate([[0], ends]))
            flags.append(np.diff(before) > 0)
            maps.append((first, zone_map))
        first += part.num_physical
    if not maps or len({zone_map.low.type for _, zone_map in maps}) > 1:
        return None
    found = zone_ranges(".".join(path), type_, first, maps)
    return None if found is None else (found, np.concatenate(flags))
