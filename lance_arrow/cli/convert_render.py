"""Text for reports of conversions; importing it teaches `render` about them."""

from __future__ import annotations

from lance_arrow.cli.printing import NOTHING_WRITTEN, Console, count, print_line, size
from lance_arrow.cli.render import write_report
from lance_arrow.conversion.reports import ConvertReport, ExportReport, SourceReport

_MAX_LISTED = 20


@write_report.register
def _(report: ConvertReport, console: Console) -> None:
    known = "" if report.source_bytes is None else f", {size(report.source_bytes)}"
    formats = ", ".join(sorted({one.format for one in report.sources}))
    print_line(
        console, f"read: {count(report.num_rows, 'row')} of {count(len(report.sources), 'input')} ({formats}{known})"
    )
    for one in report.sources[:_MAX_LISTED]:
        print_line(console, f"  {one.path}: {count(one.num_rows, 'row')}{_changes(one)}")
    if len(report.sources) > _MAX_LISTED:
        print_line(console, f"  and {count(len(report.sources) - _MAX_LISTED, 'more input')}")
    if report.partition_columns:
        print_line(console, f"columns from names of folders: {', '.join(report.partition_columns)}")
    if report.is_dry_run:
        print_line(
            console,
            f"would write: {report.target} ({report.target_kind}, Lance {report.file_version}): "
            f"{count(len(report.columns), 'column')}, {count(report.num_rows, 'row')}",
        )
        print_line(console, NOTHING_WRITTEN)
        return
    version = "" if report.table_version is None else f", version {report.table_version}"
    print_line(
        console,
        f"wrote: {report.target} ({report.target_kind}{version}, Lance {report.file_version}): "
        f"{count(len(report.columns), 'column')}, {size(report.num_bytes)}, in {report.seconds:.2f} s",
    )
    checked = report.checked
    print_line(
        console,
        f"verified: {count(checked.rows, 'row')} read and written, {count(checked.blocks, 'block')} "
        f"({size(checked.checked_bytes)}) compared with checksums, {count(checked.pages, 'page')} decoded",
    )


def _changes(one: SourceReport) -> str:
    parts = [f"{name} {change}" for name, change in one.retyped.items()]
    if one.filled:
        parts.append(f"null in {', '.join(one.filled)}")
    return f" ({'; '.join(parts)})" if parts else ""


@write_report.register
def _(report: ExportReport, console: Console) -> None:
    version = "" if report.table_version is None else f", version {report.table_version}"
    print_line(console, f"{report.source} ({report.source_kind}{version}) -> {report.target} ({report.format})")
    print_line(
        console,
        f"{count(report.num_rows, 'row')}, {count(len(report.columns), 'column')}, {size(report.num_bytes)}, "
        f"in {report.seconds:.2f} s",
    )
