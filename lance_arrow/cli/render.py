"""Reports to text or to one JSON document.

The text of each kind of report is in a `*_render` module, which registers itself with `write_report` when it is
imported. `_TEXTS` names the module of each report, so that a command imports only the one it needs.

Text on a terminal is laid out in its width, with bold headings unless ``NO_COLOR`` is set. In a file or a pipe, it has
plain aligned columns without wrapping, except for summaries (`print_summary`). ``--wide`` never wraps. Control
characters in names and values of a file are escaped.
"""

from __future__ import annotations

import functools
import importlib
import json
from dataclasses import dataclass
from typing import Any, TextIO

from lance_arrow.cli.plain_values import plain
from lance_arrow.cli.printing import Console, count, print_line, size, write_pieces
from lance_arrow.cli.row_text import print_rows
from lance_arrow.errors import LanceError

# Module that defines a report -> module with its text.
_TEXTS = {
    "lance_arrow.cli.advising.advice": "lance_arrow.cli.advising.advise_render",
    "lance_arrow.cli.authors.new_project": "lance_arrow.cli.authors.new_project_render",
    "lance_arrow.cli.catalog_view": "lance_arrow.cli.catalog_render",
    "lance_arrow.cli.editing.row_edits": "lance_arrow.cli.editing.edit_render",
    "lance_arrow.cli.editing.tag_edits": "lance_arrow.cli.editing.edit_render",
    "lance_arrow.cli.file_view": "lance_arrow.cli.file_render",
    "lance_arrow.cli.pages.explain_view": "lance_arrow.cli.pages.explain_render",
    "lance_arrow.cli.pages.page_command": "lance_arrow.cli.pages.page_render",
    "lance_arrow.cli.plugin_view": "lance_arrow.cli.plugin_render",
    "lance_arrow.cli.querying.sql_view": "lance_arrow.cli.querying.sql_render",
    "lance_arrow.cli.stats_view": "lance_arrow.cli.stats_render",
    "lance_arrow.cli.log_view": "lance_arrow.cli.log_render",
    "lance_arrow.cli.table_view": "lance_arrow.cli.table_render",
    "lance_arrow.cli.version_view": "lance_arrow.cli.version_render",
    "lance_arrow.cli.zone_commands": "lance_arrow.cli.zone_render",
    "lance_arrow.conversion.reports": "lance_arrow.cli.convert_render",
    "lance_arrow.files.salvaging.reports": "lance_arrow.cli.salvage_render",
    "lance_arrow.files.verification": "lance_arrow.cli.verify_render",
    "lance_arrow.table.salvaging.reports": "lance_arrow.cli.salvage_render",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """A failure: its type and message, and its place as far as it is known (byte ranges are half-open)."""

    type: str
    message: str
    path: str | None = None
    column: str | None = None
    page: int | None = None
    byte_range: tuple[int, int] | None = None
    text: str | None = None

    def __str__(self) -> str:
        return self.message if self.text is None else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpReport:
    """Help as it would have been printed."""

    help: str


def error_report(error: Exception) -> ErrorReport:
    """Describe an exception of any origin."""
    kind = type(error).__name__
    if isinstance(error, LanceError):
        return ErrorReport(
            type=kind,
            message=error.message,
            path=error.path,
            column=error.column,
            page=error.page,
            byte_range=error.byte_range,
            text=str(error),
        )
    if isinstance(error, OSError) and error.strerror:
        path = None if error.filename is None else str(error.filename)
        where = "" if path is None else f" [file {path!r}]"
        return ErrorReport(type=kind, message=error.strerror, path=path, text=f"{error.strerror}{where}")
    message = str(error) or kind
    return ErrorReport(type=kind, message=message, text=f"{kind}: {message}")


def print_json(report: Any, out: TextIO) -> None:
    """Print a report as one JSON document; NaN and infinity become null."""
    document = plain(report)
    if isinstance(report, ErrorReport):
        del document["text"]
        document = {"error": document}
    encoder = json.JSONEncoder(allow_nan=False, indent=2)
    write_pieces(out, encoder.iterencode(document))
    out.write("\n")


def print_text(report: Any, out: TextIO, *, is_wide: bool = False) -> None:
    """Print a report for eyes; `is_wide` is that of `Console`.

    Raises
    ------
    TypeError
        There is no text for a report of this kind.
    """
    write_report(report, Console(out, is_wide=is_wide))


@functools.singledispatch
def write_report(report: Any, console: Console) -> None:
    texts = _TEXTS.get(type(report).__module__)
    if texts is not None:
        importlib.import_module(texts)
        write = write_report.dispatch(type(report))
        if write is not write_report.dispatch(object):
            write(report, console)
            return
    # The demo's report is known by its fields: this module does not depend on the demo, which needs the native bridge.
    if not hasattr(report, "steps"):
        raise TypeError(f"no text for {type(report).__name__}")
    _write_demo(report, console)


@write_report.register
def _(report: HelpReport, console: Console) -> None:
    print_line(console, report.help.rstrip("\n"))


def _write_demo(report: Any, console: Console) -> None:
    print_line(
        console,
        f"flights.csv.bz2, {size(report.source_bytes)}: {report.num_rows:,} rows ingested by {report.engine} into "
        f"{count(len(report.files), 'Lance file')}, {size(report.num_bytes)}, in {report.convert_seconds:.2f} s",
    )
    for step in report.steps:
        print_line(console)
        print_line(console, step.title)
        print_line(console, f"  {step.asked}")
        print_rows(console, list(step.rows[0]) if step.rows else [], step.rows)
        receipt = ", ".join(
            f"{name} {_receipt_value(value)}" for name, value in step.receipt.items() if value not in ([], None)
        )
        print_line(console, f"  read receipt: {receipt}")
    if report.kept is not None:
        print_line(console)
        print_line(console, f"kept in {report.kept}: see the table trips.lance and the file flights.lance")


def _receipt_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(str, value)) + "]"
    return f"{value:,}" if isinstance(value, int) else str(value)
