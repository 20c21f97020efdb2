"""Text for reports of tables; importing it teaches `render` about them."""

from __future__ import annotations

from lance_arrow.cli.log_render import number_text, time_text
from lance_arrow.cli.log_view import VersionReport
from lance_arrow.cli.printing import Console, count, print_line, print_table, size
from lance_arrow.cli.render import write_report
from lance_arrow.cli.table_view import (
    CleanReport,
    CompactReport,
    DiffReport,
    ShowReport,
)
from lance_arrow.table.indices.movable import listed


@write_report.register
def _(report: ShowReport, console: Console) -> None:
    one = report.version
    print_line(console, f"{report.path}: version {one.version} of {report.branch}, {time_text(one.timestamp)}")
    print_line(console, f"made by: {one.operation or 'unknown'} ({one.writer or 'writer unknown'})")
    if one.message:
        print_line(console, f"message: {one.message}")
    if one.tags:
        print_line(console, f"tags: {', '.join(one.tags)}")
    known = "size unknown" if report.size_bytes is None else size(report.size_bytes)
    rows = "unknown" if one.num_rows is None else f"{one.num_rows:,}"
    print_line(console, f"rows: {rows} in {count(one.num_fragments, 'fragment')}, {known}")
    ids = "stable" if report.stable_row_ids else "addresses"
    print_line(console, f"files: Lance {report.file_version or 'of several versions'}; row ids: {ids}")
    for name, columns in report.indices.items():
        print_line(console, f"index {name}: {', '.join(columns)}")
    for what, values in (("config", report.config), ("metadata", report.metadata)):
        for key, value in values.items():
            print_line(console, f"{what} {key}: {value}")
    print_line(console)
    print_table(console, ["column", "type"], [list(pair) for pair in report.columns.items()])
    print_line(console)
    print_table(
        console,
        ["fragment", "rows", "deleted", "bytes", "files"],
        [
            [
                str(one.id),
                number_text(one.num_rows),
                f"{one.deleted_rows:,}",
                number_text(one.size_bytes),
                ", ".join(one.files),
            ]
            for one in report.fragments
        ],
        right={0, 1, 2, 3},
    )
    print_line(console)
    branch = "" if report.branch == "main" else f" --branch {report.branch}"
    print_line(console, f"first rows: lance-arrow head {report.path} --version {one.version}{branch}")


@write_report.register
def _(report: DiffReport, console: Console) -> None:
    print_line(console, f"{report.path}: {_said(report.old)} -> {_said(report.new)}")
    print_line(console, f"operations: {', '.join(report.operations) or 'none'}")
    if report.rows_unknown is None:
        counts = [(report.rows_added, "added"), (report.rows_removed, "removed"), (report.rows_updated, "updated")]
        print_line(console, f"rows: {', '.join(f'{number_text(one)} {verb}' for one, verb in counts)}")
    else:
        print_line(console, f"rows: unknown: {report.rows_unknown}")
    for verb, numbers in (
        ("added", report.fragments_added),
        ("removed", report.fragments_removed),
        ("changed", report.fragments_changed),
    ):
        if numbers:
            print_line(console, f"fragments {verb}: {', '.join(map(str, numbers))}")
    for name, type_ in report.columns_added.items():
        print_line(console, f"column added: {name} ({type_})")
    for name, type_ in report.columns_removed.items():
        print_line(console, f"column removed: {name} ({type_})")
    for name, (before, after) in report.columns_changed.items():
        print_line(console, f"column changed: {name} ({before} -> {after})")
    for key, (old, new) in report.config_changed.items():
        print_line(console, f"config {key}: {old if old is not None else '-'} -> {new if new is not None else '-'}")


@write_report.register
def _(report: CompactReport, console: Console) -> None:
    if report.new_version == report.old_version:
        said = "no fragment was rewritten" if report.kept_out else "nothing is worth compacting"
        print_line(console, f"{report.path}: {said} in {count(report.old_fragments, 'fragment')}")
    else:
        print_line(
            console,
            f"{report.path}: {report.old_fragments:,} fragments became {report.new_fragments:,}, "
            f"{report.num_rows:,} rows, version {report.new_version}",
        )
    if report.carried_indices:
        print_line(console, f"indices carried along: {', '.join(report.carried_indices)}")
    if report.dropped_indices:
        print_line(console, f"indices dropped: {', '.join(report.dropped_indices)}")
    for name, ids in report.kept_out.items():
        print_line(
            console,
            f"index {name} kept {count(len(ids), 'fragment')} out: {listed(ids)} (--drop-indices drops it)",
        )


@write_report.register
def _(report: CleanReport, console: Console) -> None:
    found = report.report
    print_line(console, f"{report.path}: {found}")
    if found.versions:
        print_line(console, f"versions: {', '.join(map(str, found.versions))}")
    if found.files:
        print_line(console)
        rows = [[one.path, number_text(one.size_bytes), one.reason] for one in found.files]
        print_table(console, ["file", "bytes", "named by"], rows, right={1})
    if found.is_dry_run and found.files:
        print_line(console)
        print_line(console, "nothing was removed; add --execute to remove these files")


def _said(version: VersionReport) -> str:
    tags = f" ({', '.join(version.tags)})" if version.tags else ""
    return f"version {version.version}{tags}, {number_text(version.num_rows)} rows"
