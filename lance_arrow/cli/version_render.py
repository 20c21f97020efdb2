"""Text for what is installed."""

from __future__ import annotations

from lance_arrow.cli.printing import Console, print_line
from lance_arrow.cli.render import write_report
from lance_arrow.cli.version_view import VersionsReport


@write_report.register
def _(report: VersionsReport, console: Console) -> None:
    print_line(console, f"lance-arrow {report.lance_arrow}")
    bridge = "native bridge fits" if report.bridge_fits else f"native bridge does not fit: {report.bridge_problem}"
    print_line(console, f"Python {report.python}, pyarrow {report.pyarrow}, {bridge}")
