"""Text of `explain`."""

from __future__ import annotations

from lance_arrow.cli.pages.explain_view import ExplainReport
from lance_arrow.cli.printing import Console, count, print_line, size, to_printable
from lance_arrow.cli.render import write_report


@write_report.register
def _(report: ExplainReport, console: Console) -> None:
    print_line(console, to_printable(report.path))
    for line in str(report.plan).splitlines():
        print_line(console, to_printable(line))
    read = report.read
    if read is None:
        return
    print_line(console, f"read: {count(read.rows, 'row')} in {read.seconds * 1000:,.0f} ms")
    print_line(
        console,
        f"read: {count(read.files, 'file')}, {count(read.zones_read, 'zone')} ({read.zones_pruned:,} pruned), "
        f"{count(read.pages, 'page')}, {count(read.requests, 'request')}, {size(read.fetched_bytes)}",
    )
    decoded = ", ".join(f"{name} {rows:,}" for name, rows in read.decoded_rows.items())
    print_line(console, to_printable(f"rows decoded: {decoded or 'none'}"))
