"""Text for reports of values: bounds and counts of columns, and zone maps."""

from __future__ import annotations

from typing import Any

from lance_arrow.cli.printing import Console, count, print_line, print_summary, print_table, subject
from lance_arrow.cli.render import write_report
from lance_arrow.cli.row_text import cell
from lance_arrow.cli.stats_view import StatsReport, ZonesReport


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
    print_summary(
        console,
        ["column", "type", "values", "nulls", "NaN", "min", "max", "bytes", "codecs", "told by"],
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
            ]
            for one in report.columns
        ],
        right={2, 3, 4, 7},
        optional=(8, 9, 4, 2),
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
            print_table(
                console, ["zone", "first row", "rows", "min", "max", "nulls", "NaN"], rows, right={0, 1, 2, 5, 6}
            )
    if report.without:
        print_line(console, f"without a zone map: {', '.join(report.without)}")


def _known(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _bound(value: Any, is_exact: bool | None) -> str:
    """A bound; one that is no value, since long ones are cut, is marked."""
    if value is None:
        return ""
    return cell(value) if is_exact else f"{cell(value)} (cut)"
