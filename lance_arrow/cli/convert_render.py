"""Text for what was converted."""

from __future__ import annotations

from lance_arrow.cli.printing import Console, print_line, size
from lance_arrow.cli.render import write_report
from lance_arrow.datasets.converting import ConvertReport


@write_report.register
def _(report: ConvertReport, console: Console) -> None:
    before = "" if report.source_bytes is None else f", {size(report.source_bytes)}"
    print_line(console, f"{report.source} ({report.kind}{before}) -> {report.target} (Lance {report.file_version})")
    verified = "verified" if report.verified else "not verified"
    print_line(console, f"{report.num_rows:,} rows, {size(report.num_bytes)}, {verified}, in {report.seconds:.2f} s")
