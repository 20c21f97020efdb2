"""Text for what `verify` found."""

from __future__ import annotations

from lance_arrow.cli.printing import Console, count, print_line, size
from lance_arrow.cli.render import write_report
from lance_arrow.files.verification import VerifyReport


@write_report.register
def _(report: VerifyReport, console: Console) -> None:
    checked = report.checked
    version = "" if report.version is None else f"version {report.version}, "
    said = count(len(report.errors), "fault") if report.errors else "no fault found, but not everything was checked"
    print_line(console, f"{report.path}: {version}{'in order' if report.ok else said}")
    is_one_file = report.version is None and checked.files == 1
    if not is_one_file:
        print_line(
            console, f"files: {count(checked.files, 'data file')}, {count(checked.deletion_files, 'deletion file')}"
        )
    if is_one_file and not report.has_checksums:
        print_line(console, "compared with checksums: nothing, the file has none")
    else:
        without = checked.files_without_checksums
        none = "" if is_one_file or not without else f"; {count(without, 'file')} without checksums"
        print_line(
            console,
            f"compared with checksums: {count(checked.blocks, 'block')} of {size(checked.checked_bytes)} in all{none}",
        )
    print_line(
        console,
        f"decoded: {count(checked.columns, 'column')}, {count(checked.pages, 'page')}, {count(checked.rows, 'row')}",
    )
    for finding in report.errors:
        print_line(console, f"fault: {finding}")
    for finding in report.unchecked:
        print_line(console, f"not decoded: {finding}")
