"""Text for what `salvage` saved, and what it could not."""

from __future__ import annotations

from collections.abc import Sequence

from lance_arrow.cli.printing import Console, count, print_line
from lance_arrow.cli.render import write_report
from lance_arrow.files.salvaging.reports import LostRows, SalvageReport
from lance_arrow.table.salvaging.reports import TableSalvageReport

_MOST_LINES = 50


@write_report.register
def _(report: SalvageReport, console: Console) -> None:
    print_line(console, f"{report.path}: {_saved(report)} of {report.num_rows:,}")
    if report.repaired:
        print_line(console, f"rebuilt from checksums: {', '.join(report.repaired)}")
    _write_rest(report, console)
    _write_some(console, "left out: rows", [f"{start}..{stop}" for start, stop in report.left_out])
    _write_lost(report.lost, console)


@write_report.register
def _(report: TableSalvageReport, console: Console) -> None:
    total = "" if report.num_rows is None else f" of {report.num_rows:,}"
    print_line(console, f"{report.path}: version {report.version}, {_saved(report)}{total}")
    for version in report.unreadable:
        print_line(console, f"version {version.version} cannot be read: {version.message}")
    for file in report.repaired:
        print_line(console, f"rebuilt from checksums: {file}")
    _write_rest(report, console)
    for one in report.fragments:
        left_out = [f"{start}..{stop}" for start, stop in one.left_out]
        _write_some(console, f"left out: fragment {one.id}, rows", left_out)
        if one.deleted is None:
            print_line(console, f"fragment {one.id}: it is not known which rows are deleted")
    _write_lost(report.lost, console)


def _saved(report: SalvageReport | TableSalvageReport) -> str:
    nulls = f" ({report.rows_with_nulls:,} with nulls for lost values)" if report.rows_with_nulls else ""
    return f"{count(report.rows_saved, 'row')} saved{nulls}"


def _write_rest(report: SalvageReport | TableSalvageReport, console: Console) -> None:
    if report.is_proven:
        print_line(console, "compared with checksums: all that is saved")
    else:
        print_line(console, "not proven: some of what is saved has no checksums; changed values would not be noticed")
    print_line(console, "wrote nothing" if report.target is None else f"wrote: {report.target}")
    _write_some(console, "left out: columns", report.columns_left_out)


def _write_some(console: Console, what: str, items: Sequence[str]) -> None:
    if items:
        more = f", and {len(items) - _MOST_LINES:,} more" if len(items) > _MOST_LINES else ""
        print_line(console, f"{what} {', '.join(items[:_MOST_LINES])}{more}")


def _write_lost(lost: Sequence[LostRows], console: Console) -> None:
    for one in lost[:_MOST_LINES]:
        print_line(console, f"lost: {one}")
    if len(lost) > _MOST_LINES:
        print_line(console, f"and {len(lost) - _MOST_LINES:,} more; --json and --report list all")
