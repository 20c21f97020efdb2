"""Text for the history of a table; importing it teaches `render` about it."""

from __future__ import annotations

import datetime

from lance_arrow.cli.log_view import LogReport, VersionReport
from lance_arrow.cli.printing import Console, count, print_line, print_table
from lance_arrow.cli.render import write_report

VERSION_COLUMNS = ("version", "time", "operation", "rows", "fragments", "tags", "message")
_MAX_MESSAGE_CHARACTERS = 60


@write_report.register
def _(report: LogReport, console: Console) -> None:
    print_line(console, f"{report.path}: {count(len(report.versions), 'version')} of {report.branch}")
    if report.branches:
        print_line(console, f"branches: {', '.join(report.branches)}")
    print_line(console)
    print_table(
        console,
        VERSION_COLUMNS,
        [version_cells(one) for one in report.versions],
        right={0, 3, 4},
    )


def version_cells(one: VersionReport) -> list[str]:
    """Return the text of `VERSION_COLUMNS`."""
    return [
        str(one.version),
        time_text(one.timestamp),
        one.operation or "unknown",
        number_text(one.num_rows),
        f"{one.num_fragments:,}",
        ", ".join(one.tags),
        cut_text(one.message or ""),
    ]


def time_text(moment: datetime.datetime | None) -> str:
    return "" if moment is None else moment.isoformat(sep=" ", timespec="seconds")


def number_text(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def cut_text(text: str) -> str:
    first = text.split("\n", 1)[0]
    return first if len(first) <= _MAX_MESSAGE_CHARACTERS else first[: _MAX_MESSAGE_CHARACTERS - 1] + "…"
