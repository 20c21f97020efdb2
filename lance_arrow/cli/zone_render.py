"""Text for zone maps that were built."""

from __future__ import annotations

from lance_arrow.cli.printing import Console, count, print_line, size
from lance_arrow.cli.render import write_report
from lance_arrow.cli.zone_commands import BuiltReport


@write_report.register
def _(report: BuiltReport, console: Console) -> None:
    for one in report.files:
        if one.sidecar is None:
            print_line(console, f"{one.path}: nothing to build, {count(len(one.present), 'column')} with a zone map")
        else:
            columns = ", ".join(one.columns)
            print_line(
                console, f"{one.path} -> {one.sidecar}: {columns} ({one.num_rows:,} rows, {size(one.size_bytes)})"
            )
        if one.unbounded:
            print_line(console, f"  without: {', '.join(one.unbounded)}")
