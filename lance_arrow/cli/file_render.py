"""Text for reports of one file: its container and encodings, its schema, its first rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lance_arrow.cli.file_view import ColumnReport, FieldReport, FileReport, HeadReport, PageReport, SchemaReport
from lance_arrow.cli.printing import Console, count, print_line, print_table, size, subject, two_digits
from lance_arrow.cli.render import write_report
from lance_arrow.cli.row_text import print_rows
from lance_arrow.structure.description import EncodingReport


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
        leading=2,
    )
    for column in report.columns:
        _write_column(column, console)


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
    print_line(
        console,
        subject(report.path, report.num_rows, version=report.version, table_version=report.table_version),
    )
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
    print_rows(console, report.columns, report.rows)
    version = "" if report.table_version is None else f", version {report.table_version}"
    print_line(console, f"({len(report.rows):,} of {count(report.num_rows, 'row')}{version})")
