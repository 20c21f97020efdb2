"""Reports to text or to one JSON document.

Text on a terminal is laid out by rich in the terminal's width, styled unless ``NO_COLOR`` is set; into a file or a pipe
it goes as plain aligned columns, nothing wrapped. Whatever comes from a file (names, values) is printed with control
characters escaped.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal, TextIO

from rich.console import Console

from lance_arrow.cli.file_view import ColumnReport, FieldReport, FileReport, HeadReport, PageReport, SchemaReport
from lance_arrow.cli.plugin_view import MatrixCell, MatrixReport, PluginReport, PluginsReport
from lance_arrow.cli.printing import count, print_line, print_table, size, two_digits
from lance_arrow.cli.stats_view import StatsReport, ZonesReport
from lance_arrow.cli.zone_commands import BuiltReport
from lance_arrow.datasets.verifying import VerifyReport
from lance_arrow.errors import LanceError
from lance_arrow.spi import COMPRESSIVE, EncodingKey
from lance_arrow.structure.description import EncodingReport

_PLAIN_WIDTH = 1_000_000
_MAX_CELL_CHARACTERS = 60


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
    json.dump(document, out, allow_nan=False, indent=2)
    out.write("\n")


def plain(value: Any) -> Any:
    """Turn a report into what JSON can hold."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        # A lone surrogate (a file name that is no UTF-8) has no place in JSON.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if dataclasses.is_dataclass(value):
        return {field.name: _plain_field(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    return plain(str(value))


def _plain_field(name: str, value: Any) -> Any:
    if name == "children" and isinstance(value, tuple):
        # Of a tree of encodings: pairs of role and node.
        return [{"role": role, **plain(child)} for role, child in value]
    return plain(value)


def print_text(report: Any, out: TextIO) -> None:
    """Print a report for eyes.

    Raises
    ------
    TypeError
        There is no text for a report of this kind.
    """
    if out.isatty():
        # rich keeps bold without colours; whoever sets NO_COLOR gets no escape codes at all.
        colors: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
        write_report(report, Console(file=out, color_system=colors, highlight=False, markup=False, emoji=False))
        return
    held = StringIO()
    write_report(
        report, Console(file=held, width=_PLAIN_WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
    )
    # rich fills cells up to the column's width; spaces at the end of a line are noise in a file.
    text = "".join(f"{line.rstrip()}\n" for line in held.getvalue().splitlines())
    out.write(text.encode(out.encoding or "utf-8", "backslashreplace").decode(out.encoding or "utf-8"))


@functools.singledispatch
def write_report(report: Any, console: Console) -> None:
    # The demo's report is known by its fields: this module does not depend on the demo, which needs the native bridge.
    if not hasattr(report, "steps"):
        raise TypeError(f"no text for {type(report).__name__}")
    _write_demo(report, console)


@write_report.register
def _(report: FileReport, console: Console) -> None:
    footer = report.footer
    print_line(console, f"{report.path}: Lance {report.version}, {report.num_rows:,} rows, {size(report.size_bytes)}")
    print_line(
        console,
        f"footer: {count(footer.num_columns, 'column')} (table at {footer.column_table_position}), "
        f"{count(footer.num_global_buffers, 'global buffer')} (table at {footer.buffer_table_position}), "
        f"column metadata from {footer.first_column_position}",
    )
    for number, buffer in enumerate(report.global_buffers):
        role = f" ({buffer.role})" if buffer.role else ""
        print_line(console, f"global buffer {number}{role}: {buffer.size_bytes} B at {buffer.offset}")
    print_line(console)
    print_table(
        console,
        ["#", "column", "type", "pages", "rows", "bytes", "bytes/value", "ratio", "encodings"],
        [
            [
                str(column.column),
                column.path or "(structure)",
                column.type or "",
                f"{len(column.pages):,}",
                f"{column.num_rows:,}",
                f"{column.size_bytes:,}",
                two_digits(column.bytes_per_value),
                two_digits(column.compression_ratio),
                ", ".join(dict.fromkeys(_short(page.encoding) for page in column.pages)),
            ]
            for column in report.columns
        ],
        right={0, 3, 4, 5, 6, 7},
    )
    for column in report.columns:
        _write_column(column, console)


@write_report.register
def _(report: VerifyReport, console: Console) -> None:
    checked = report.checked
    print_line(console, f"{report.path}: {'in order' if report.ok else count(len(report.errors), 'fault')}")
    if report.has_checksums:
        print_line(
            console,
            f"compared with checksums: {count(checked.blocks, 'block')} of {size(checked.checked_bytes)} in all",
        )
    else:
        print_line(console, "compared with checksums: nothing, the file has none")
    print_line(
        console,
        f"decoded: {count(checked.columns, 'column')}, {count(checked.pages, 'page')}, {count(checked.rows, 'row')}",
    )
    for finding in report.errors:
        print_line(console, f"fault: {finding}")
    for finding in report.unchecked:
        print_line(console, f"not decoded: {finding}")


def _write_column(column: ColumnReport, console: Console) -> None:
    print_line(console)
    nullable = ", nullable" if column.nullable else ""
    kind = f": {column.type}{nullable}" if column.type else ""
    print_line(console, f"column {column.column} {column.path or '(structure)'}{kind}")
    for line in _tree("described as", column.encoding, 1):
        print_line(console, line)
    for number, buffer in enumerate(column.buffers):
        role = "" if buffer.role in (None, "column") else f" ({buffer.role})"
        print_line(console, f"  column buffer {number}{role}: {buffer.size_bytes} B at {buffer.offset}")
    before: PageReport | None = None
    for page in column.pages:
        rows = f"rows {page.first_row}..{page.first_row + page.num_rows}"
        codecs = f", {' + '.join(page.codecs)}" if page.codecs else ""
        print_line(console, f"  page {page.number}: {rows}, {count(page.size_bytes, 'byte')}{codecs}")
        for at, buffer in enumerate(page.buffers):
            print_line(
                console, f"    buffer {at} ({buffer.role or 'role unknown'}): {buffer.size_bytes} B at {buffer.offset}"
            )
        if page.problem is not None:
            print_line(console, f"    cannot be read: {page.problem}")
        if before is not None and before.encoding == page.encoding:
            print_line(console, f"    encoded as page {before.number}")
            continue
        before = page
        for line in _tree("encoded as", page.encoding, 2):
            print_line(console, line)


def _tree(role: str, node: EncodingReport, depth: int) -> Iterator[str]:
    parameters = "".join(f" {name}={_parameter(value)}" for name, value in node.parameters.items())
    provider = f" [{node.provider}]" if node.provider else ""
    detail = f"  ! {node.detail}" if node.detail else ""
    yield f"{'  ' * depth}{role}: {_short(node)}{parameters}{provider}{detail}"
    for child_role, child in node.children:
        yield from _tree(child_role, child, depth + 1)


def _short(node: EncodingReport) -> str:
    """The case of a key, or the last word of a message's name."""
    message, slash, case = node.key.partition("/")
    return case if slash else message.rpartition(".")[2]


def _parameter(value: Any) -> str:
    return "[" + ",".join(map(str, value)) + "]" if isinstance(value, list) else str(value)


@write_report.register
def _(report: SchemaReport, console: Console) -> None:
    print_line(console, f"{report.path}: Lance {report.version}, {report.num_rows:,} rows")
    print_line(console)
    rows = [row for field in report.fields for row in _field_rows(field, 0)]
    print_table(console, ["field", "type", "nullable", "metadata"], rows)
    if report.metadata:
        print_line(console)
        print_table(console, ["metadata", "value"], [[key, value] for key, value in report.metadata.items()])


def _field_rows(field: FieldReport, depth: int) -> Iterator[list[str]]:
    metadata = ", ".join(f"{key}={value}" for key, value in field.metadata.items())
    yield ["  " * depth + field.name, field.type, "yes" if field.nullable else "no", metadata]
    for child in field.children:
        yield from _field_rows(child, depth + 1)


@write_report.register
def _(report: HeadReport, console: Console) -> None:
    _print_rows(console, report.columns, report.rows)
    print_line(console, f"({len(report.rows):,} of {report.num_rows:,} rows)")


@write_report.register
def _(report: StatsReport, console: Console) -> None:
    print_line(console, f"{report.path}: Lance {report.version}, {report.num_rows:,} rows")
    print_line(console)
    print_table(
        console,
        ["column", "type", "values", "nulls", "NaN", "min", "max", "bytes", "codecs", "told by"],
        [
            [
                one.path,
                one.type,
                _known(one.num_values),
                _known(one.null_count),
                _known(one.nan_count),
                _bound(one.min, one.min_exact),
                _bound(one.max, one.max_exact),
                f"{one.size_bytes:,}",
                ", ".join(one.codecs),
                one.source,
            ]
            for one in report.columns
        ],
        right={2, 3, 4, 7},
    )


@write_report.register
def _(report: ZonesReport, console: Console) -> None:
    print_line(console, f"{report.path}: {report.num_rows:,} rows")
    for one in report.maps:
        print_line(
            console,
            f"{one.path}: {one.type}, {count(one.num_zones, 'zone')} of {one.rows_per_zone:,} rows ({one.source})",
        )
        if one.zones is not None:
            rows = [
                [
                    f"{zone.zone:,}",
                    f"{zone.first_row:,}",
                    f"{zone.num_rows:,}",
                    _bound(zone.min, zone.min_exact),
                    _bound(zone.max, zone.max_exact),
                    _known(zone.null_count),
                    _known(zone.nan_count),
                ]
                for zone in one.zones
            ]
            print_table(
                console, ["zone", "first row", "rows", "min", "max", "nulls", "NaN"], rows, right={0, 1, 2, 5, 6}
            )
    if report.without:
        print_line(console, f"without a zone map: {', '.join(report.without)}")


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


def _known(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _bound(value: Any, is_exact: bool | None) -> str:
    """A bound; one that is no value, since long ones are cut, is marked."""
    if value is None:
        return ""
    return _cell(value) if is_exact else f"{_cell(value)} (cut)"


@write_report.register
def _(report: PluginsReport, console: Console) -> None:
    if report.conflict is not None:
        print_line(console, f"conflict: {report.conflict}")
        print_line(console)
    rows = [row for plugin in report.plugins for row in _plugin_rows(plugin)]
    print_table(console, ["plugin", "distribution", "version", "kind", "provides", "contexts", "in use"], rows)
    for plugin in report.plugins:
        if plugin.error is not None:
            print_line(
                console,
                f"broken: {plugin.name} of {plugin.distribution} {plugin.version} ({plugin.target}): {plugin.error}",
            )


def _plugin_rows(plugin: PluginReport) -> Iterator[list[str]]:
    who = [plugin.name, plugin.distribution, plugin.version]
    for entry in plugin.encodings:
        contexts = ", ".join(entry.contexts)
        yield [*who, entry.kind, entry.key, contexts, "yes" if entry.is_in_use else "no"]
    if not plugin.encodings:
        yield [*who, "", "broken" if plugin.error else ", ".join(plugin.hooks), "", "no" if plugin.error else "yes"]


@write_report.register
def _(report: MatrixReport, console: Console) -> None:
    if report.conflict is not None:
        print_line(console, f"conflict: {report.conflict}")
        print_line(console)
    contexts = list(report.codecs[0].contexts) if report.codecs else []
    rows = [
        [_codec_name(row.key), *(_matrix_cell(row.contexts[name]) for name in contexts), row.plugin, row.distribution]
        for row in report.codecs
    ]
    print_table(console, ["codec", *contexts, "plugin", "distribution"], rows)


def _codec_name(key: str) -> str:
    """The format's own codecs by their case alone."""
    parsed = EncodingKey.parse(key)
    return parsed.case or key if parsed.message == COMPRESSIVE else key


def _matrix_cell(cell: MatrixCell) -> str:
    if not cell.is_read:
        return "refused"
    return "read" if cell.since is None else f"read, {cell.since}"


@write_report.register
def _(report: HelpReport, console: Console) -> None:
    print_line(console, report.help)


def _write_demo(report: Any, console: Console) -> None:
    print_line(
        console,
        f"flights.csv.gz, {size(report.source_bytes)}: {report.num_rows:,} rows ingested by {report.engine} into "
        f"{count(len(report.files), 'Lance file')}, {size(report.num_bytes)}, in {report.convert_seconds:.2f} s",
    )
    print_line(console, f"files: {', '.join(report.files)}")
    for step in report.steps:
        print_line(console)
        print_line(console, step.title)
        print_line(console, f"  {step.asked}")
        _print_rows(console, list(step.rows[0]) if step.rows else [], step.rows)
        receipt = ", ".join(
            f"{name} {_receipt_value(value)}" for name, value in step.receipt.items() if value not in ([], None)
        )
        print_line(console, f"  read receipt: {receipt}")
    for note in report.notes:
        print_line(console)
        print_line(console, f"note: {note}")


def _receipt_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(str, value)) + "]"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_rows(console: Console, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    right = {
        at
        for at, name in enumerate(columns)
        if all(isinstance(row[name], (int, float)) and not isinstance(row[name], bool) for row in rows)
    }
    print_table(console, columns, [[_cell(row[name]) for name in columns] for row in rows], right=right)


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    text = json.dumps(plain(value), ensure_ascii=False) if isinstance(value, (dict, list)) else _cell_text(value)
    return text if len(text) <= _MAX_CELL_CHARACTERS else text[: _MAX_CELL_CHARACTERS - 1] + "…"


def _cell_text(value: Any) -> str:
    # NaN is a value to eyes, only JSON lacks it.
    return str(value if isinstance(value, float) else plain(value))
