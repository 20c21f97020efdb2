"""Text for a project that was written."""

from __future__ import annotations

from lance_arrow.cli.authors.new_project import ProjectReport
from lance_arrow.cli.printing import Console, print_line
from lance_arrow.cli.render import write_report


@write_report.register
def _(report: ProjectReport, console: Console) -> None:
    print_line(console, f"{report.folder}: the codec {report.codec} of {report.name}")
    for path in report.files:
        print_line(console, f"  {path}")
    print_line(console)
    print_line(console, "next:")
    for line in report.next_steps:
        print_line(console, f"  {line}")
