"""A page about one file: where its bytes are, what its zones overlap, what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from lance_arrow.cli.file_view import ColumnReport, FileReport, PageReport, view_file
from lance_arrow.cli.pages.page_parts import (
    MAX_ROWS,
    colours_of,
    document,
    facts,
    legend_of,
    merged_bar,
    note,
    problems,
    row,
    section,
)
from lance_arrow.cli.pages.zone_ranges import ZoneRanges, draw, zone_ranges
from lance_arrow.cli.printing import count, size
from lance_arrow.cli.render import ErrorReport, error_report
from lance_arrow.cli.stats_view import read_zone_maps
from lance_arrow.container.footer import FOOTER_BYTES, FileFooter, read_footer
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.html_repr import COLOURS, Segment, bar
from lance_arrow.io import locate, open_source

MAX_DRAWN = 24
"""Columns whose zones are drawn."""
_MAX_MAPS = 200


def file_page(
    source: Any, *, columns: Sequence[str] | None, storage_options: Mapping[str, Any] | None
) -> tuple[str, list[ErrorReport]]:
    """Return a page about a file, and what is wrong with the file.

    Raises
    ------
    InvalidArgumentError
        A path names no column.
    OSError
        The file cannot be read.
    """
    found: list[LanceError] = []
    try:
        report = view_file(source, columns=columns, storage_options=storage_options, problems=found)
    except InvalidArgumentError:
        raise
    except LanceError as error:
        wrong = [error_report(error)]
        return document(str(source), [problems(wrong), *_remains(source, storage_options)]), wrong
    ranges, others = _ranges(source, report, columns, storage_options, found)
    wrong = [error_report(error) for error in found]
    wrong += [_unreadable(report, column, page) for column in report.columns for page in column.pages if page.problem]
    sections = [
        facts(
            {
                "format": f"Lance {report.version}",
                "rows": f"{report.num_rows:,}",
                "columns": f"{report.footer.num_columns:,}",
                "size": size(report.size_bytes),
            }
        ),
        problems(wrong),
        _bytes_section(report, is_whole=columns is None and not found),
        zones_section(ranges, others),
        note("Metadata was read, no values. lance-arrow verify compares checksums and decodes every page."),
    ]
    return document(report.path, sections), wrong


def zones_section(ranges: Sequence[ZoneRanges], others: Sequence[str]) -> str:
    """Draw zones of columns; `others` are remarks about columns that are not drawn."""
    remarks = [note(one) for one in others]
    if not ranges:
        return section("Zones", note("No column has zone maps that can be drawn."), *remarks)
    said = (
        "Each rectangle is a zone: its rows from left to right, its values from bottom to top in the order of all "
        "bounds. A filter reads the zones at the height of its values, so it prunes well where few rectangles are "
        "above each other."
    )
    more = len(ranges) - MAX_DRAWN
    cut = [note(f"… and {more:,} more columns with zone maps; --columns chooses")] if more > 0 else []
    return section("Zones", note(said), *(draw(one) for one in ranges[:MAX_DRAWN]), *cut, *remarks)


def _ranges(
    source: Any,
    report: FileReport,
    columns: Sequence[str] | None,
    storage_options: Mapping[str, Any] | None,
    found: list[LanceError],
) -> tuple[list[ZoneRanges], list[str]]:
    try:
        maps = read_zone_maps(source, columns=columns, most=_MAX_MAPS, storage_options=storage_options, problems=found)
    except LanceError as error:
        found.append(error)
        return [], []
    drawn = [
        (leaf.path, zone_ranges(leaf.path, str(leaf.field.type), report.num_rows, [(0, zone_map)]))
        for leaf, zone_map in maps
        if zone_map is not None
    ]
    remarks = []
    without = len(maps) - len(drawn)
    if without:
        remarks.append(f"{count(without, 'column')} without a zone map; lance-arrow zones build makes them")
    unsorted = sum(one is None for _, one in drawn)
    if unsorted:
        remarks.append(f"{count(unsorted, 'column')} with bounds that have no order to draw")
    if len(maps) == _MAX_MAPS:
        remarks.append(f"Zone maps of the first {_MAX_MAPS} columns were read; --columns chooses others")
    return [one for _, one in drawn if one is not None], remarks


def _bytes_section(report: FileReport, *, is_whole: bool) -> str:
    amounts: dict[str, int] = {}
    for column in report.columns:
        for page in column.pages:
            amounts[_codecs(page)] = amounts.get(_codecs(page), 0) + page.size_bytes
    colours = colours_of(amounts)
    ordered = sorted(report.columns, key=lambda one: -one.size_bytes)
    shown, hidden = ordered[:MAX_ROWS], ordered[MAX_ROWS:]
    largest = max([one.size_bytes for one in ordered], default=0)
    rows = [_column_row(one, largest, report.size_bytes, colours) for one in shown]
    if hidden:
        amount = sum(one.size_bytes for one in hidden)
        rows.append(row(f"… and {len(hidden):,} more columns", _share(amount, report.size_bytes), "", num_bytes=amount))
    buffers = sum(one.size_bytes for one in report.global_buffers)
    rows.append(row("global buffers", _share(buffers, report.size_bytes), "", num_bytes=buffers))
    rest = report.size_bytes - report.data_bytes - buffers
    name = "metadata, footer, padding" if is_whole else "columns not shown, metadata, footer, padding"
    rows.append(row(name, _share(rest, report.size_bytes), "", num_bytes=rest))
    said = (
        "Columns by their bytes, the largest first. The parts of a bar are pages, their colours encodings. Ratios "
        "compare with the values in Arrow."
    )
    return section("Where the bytes are", note(said), legend_of(colours), *rows)


def _column_row(column: ColumnReport, largest: int, whole: int, colours: Mapping[str, int]) -> str:
    segments = [
        Segment(
            page.size_bytes,
            f"page {page.number}: {page.num_rows:,} rows, {page.size_bytes:,} B, {_codecs(page)}",
            colours[_codecs(page)],
        )
        for page in column.pages
    ]
    own = sum(one.size_bytes for one in column.buffers)
    segments.append(Segment(own, f"buffers of the column, with its zone map: {own:,} B", len(COLOURS) - 1))
    encodings = ", ".join(dict.fromkeys(_codecs(page) for page in column.pages))
    ratio = "" if column.compression_ratio is None else f"; ratio {column.compression_ratio:.2f}"
    detail = f"{column.type or 'structure'}; {count(len(column.pages), 'page')}; {encodings or 'no pages'}{ratio}"
    drawn = merged_bar(segments, largest) if largest else bar([], 1)
    name = column.path or f"(structure {column.column})"
    return row(name, _share(column.size_bytes, whole), drawn, detail, num_bytes=column.size_bytes)


def _codecs(page: PageReport) -> str:
    return " + ".join(page.codecs) or page.encoding.key.rpartition("/")[2].rpartition(".")[2]


def _share(amount: int, whole: int) -> str:
    return f"{size(amount)} {100 * amount / whole:.1f} %" if whole else size(amount)


def _unreadable(report: FileReport, column: ColumnReport, page: PageReport) -> ErrorReport:
    start = min((one.offset for one in page.buffers), default=None)
    stop = max((one.offset + one.size_bytes for one in page.buffers), default=0)
    return ErrorReport(
        type="Unreadable page",
        message=page.problem or "",
        path=report.path,
        column=column.path or str(column.column),
        page=page.number,
        byte_range=None if start is None else (start, stop),
    )


def _remains(source: Any, storage_options: Mapping[str, Any] | None) -> list[str]:
    """What can be told of a file that cannot be opened: its size, and its footer if that is sound."""
    place = locate(source, storage_options=storage_options)
    with closing(open_source(source if place is None else place)) as opened:
        num_bytes = opened.size()
        start = max(0, num_bytes - FOOTER_BYTES)
        (tail,) = opened.read(np.array([start], np.int64), np.array([num_bytes], np.int64))
    told = {"size": size(num_bytes), f"bytes from {start:,}": bytes(tail).hex(" ")}
    try:
        footer: FileFooter | None = read_footer(tail, num_bytes)
    except LanceError:
        # The page says already why the file cannot be opened.
        footer = None
    if footer is None:
        told["footer"] = "cannot be read"
    else:
        told |= {
            "format": f"Lance {footer.version}",
            "columns": f"{footer.num_columns:,}, metadata from byte {footer.first_column_position:,}",
            "global buffers": f"{footer.num_global_buffers:,}, table at byte {footer.buffer_table_position:,}",
        }
    return [section("What could be read", facts(told))]
