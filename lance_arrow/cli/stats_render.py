"""Text for reports of values: bounds and counts of columns, and zone maps."""

from __future__ import annotations

import math
from typing import Any

from lance_arrow.cli.printing import (
    Console,
    count,
    print_line,
    print_summary,
    print_table,
    subject,
    text_bar,
    text_span,
)
from lance_arrow.cli.render import write_report
from lance_arrow.cli.row_text import cell
from lance_arrow.cli.stats_view import StatsReport, ZoneMapReport, ZonesReport

_BAR_CHARACTERS, _SPAN_CHARACTERS = 10, 24
# Types whose plain values sort as the values do.
_IN_ORDER = ("string", "large_string", "binary", "large_binary", "date32", "date64", "timestamp")


@write_report.register
def _(report: StatsReport, console: Console) -> None:
    print_line(
        console,
        subject(report.path, report.num_rows, version=report.version, table_version=report.table_version),
    )
    if report.num_files != 1 or report.table_version is not None:
        print_line(console, f"in {count(report.num_files, 'data file')}")
    if report.deleted_rows:
        rows = count(report.deleted_rows, "deleted row")
        print_line(console, f"{rows} still in the files: counted by no figure but bytes")
    print_line(console)
    has_bars = console.has_bars
    largest = max([one.size_bytes for one in report.columns], default=0) or 1
    print_summary(
        console,
        ["column", "type", "values", "nulls", "NaN", "min", "max", "bytes", "codecs", "told by", *["share"] * has_bars],
        [
            [
                one.path,
                one.type,
                _known(one.num_values),
                _known(one.null_count),
                _known(one.nan_count),
                _bound(one.min, one.min_exact),
                _bound(one.max, one.max_exact),
                f"{one.size_bytes:,}",
                ", ".join(one.codecs),
                one.source,
                *([text_bar(one.size_bytes / largest, _BAR_CHARACTERS)] if has_bars else ()),
            ]
            for one in report.columns
        ],
        right={2, 3, 4, 7},
        optional=(8, 9, 4, 2, *[10] * has_bars),
    )


@write_report.register
def _(report: ZonesReport, console: Console) -> None:
    version = "" if report.table_version is None else f"version {report.table_version}, "
    print_line(console, f"{report.path}: {version}{report.num_rows:,} rows")
    for one in report.maps:
        fragments = ""
        if report.num_fragments is not None:
            fragments = f" in {one.num_fragments:,} of {count(report.num_fragments, 'fragment')}"
        print_line(
            console,
            f"{one.path}: {one.type}, {count(one.num_zones, 'zone')} of {one.rows_per_zone:,} rows{fragments} "
            f"({one.source})",
        )
        if one.zones is not None:
            rows = [
                [
                    f"{zone.zone:,}",
                    f"{zone.first_row:,}",
                    f"{zone.num_rows:,}",
                    _bound(zone.min, zone.min_exact),
                    _bound(zone.max, zone.max_exact),
                    _known(zone.null_count),
                    _known(zone.nan_count),
                ]
                for zone in one.zones
            ]
            header = ["zone", "first row", "rows", "min", "max", "nulls", "NaN"]
            spans = _spans(one) if console.has_bars else None
            if spans is not None:
                header = [*header, "range"]
                rows = [[*cells, span] for cells, span in zip(rows, spans, strict=True)]
            print_table(console, header, rows, right={0, 1, 2, 5, 6})
    if report.without:
        print_line(console, f"without a zone map: {', '.join(report.without)}")


def _spans(report: ZoneMapReport) -> list[str] | None:
    """Draw where the bounds of each zone are among all bounds; None unless their plain values are in their order.

    Numbers are drawn by distance, text, dates and instants by their place in the order.
    """
    zones = report.zones or []
    bounds = [one for zone in zones for one in (zone.min, zone.max) if one is not None]
    if bounds and all(type(one) in (int, float) and math.isfinite(one) for one in bounds):
        low, high = min(bounds), max(bounds)
        places = {one: (one - low) / (high - low) if high > low else 0.0 for one in bounds}
    elif bounds and report.type.startswith(_IN_ORDER):
        ordered = sorted(set(bounds))
        places = {one: at / max(len(ordered) - 1, 1) for at, one in enumerate(ordered)}
    else:
        return None
    return [
        ""
        if zone.min is None and zone.max is None
        else text_span(places.get(zone.min, 0.0), places.get(zone.max, 1.0), _SPAN_CHARACTERS)
        for zone in zones
    ]


def _known(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _bound(value: Any, is_exact: bool | None) -> str:
    """A bound; one that is no value, since long ones are cut, is marked."""
    if value is None:
        return ""
    return cell(value) if is_exact else f"{cell(value)} (cut)"
