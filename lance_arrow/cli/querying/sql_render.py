"""Text for results of queries; importing it teaches `render` about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lance_arrow.cli.plain_values import plain
from lance_arrow.cli.printing import Console, count, print_line
from lance_arrow.cli.querying.sql_view import SqlReport
from lance_arrow.cli.render import write_report
from lance_arrow.cli.row_text import print_rows

_QUOTED = frozenset(',"\r\n')


@write_report.register
def _(report: SqlReport, console: Console) -> None:
    if report.format == "csv":
        console.write(_csv_lines(report))
    elif report.format == "jsonl":
        console.write(map(_json, report.rows))
    elif report.format == "json":
        console.write(_array_lines(report))
    elif report.columns:
        print_rows(console, list(report.columns), report.rows)
        more = "first " if report.has_more else ""
        print_line(console, f"({more}{count(len(report.rows), 'row')}{'; --limit shows more' if more else ''})")


def _json(row: dict[str, Any]) -> str:
    return json.dumps(plain(row), allow_nan=False)


def _array_lines(report: SqlReport) -> Iterator[str]:
    if not report.rows:
        yield "[]"
        return
    last = len(report.rows) - 1
    for at, row in enumerate(report.rows):
        yield f"{'[' if at == 0 else ' '}{_json(row)}{']' if at == last else ','}"


def _csv_lines(report: SqlReport) -> Iterator[str]:
    """Make CSV with a header; lists and structs are JSON."""
    if not report.columns:
        return
    for cells in (report.columns, *(row.values() for row in report.rows)):
        yield ",".join(map(_cell, cells))


def _cell(value: Any) -> str:
    """Return a value as it stands in CSV; only a null is an empty cell without quotes."""
    if value is None:
        return ""
    if isinstance(value, (bool, dict, list)):
        value = json.dumps(plain(value))
    text = str(value)
    return text if text and not _QUOTED & set(text) else '"' + text.replace('"', '""') + '"'
