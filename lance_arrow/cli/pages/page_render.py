"""Text for pages: the page itself, or where it is."""

from __future__ import annotations

from lance_arrow.cli.pages.page_command import PageReport
from lance_arrow.cli.printing import Console, count, print_line, size
from lance_arrow.cli.render import write_report


@write_report.register
def _(report: PageReport, console: Console) -> None:
    if report.html is not None:
        console.write(report.html.splitlines())
        return
    wrong = f", {count(len(report.problems), 'problem')}" if report.problems else ""
    print_line(console, f"{report.path} -> {report.output}: {size(report.size_bytes)}{wrong}")
