"""Text for reports of catalogs; importing it teaches `render` about them."""

from __future__ import annotations

from lance_arrow.cli.catalog_view import CatalogReport
from lance_arrow.cli.log_render import number_text
from lance_arrow.cli.printing import Console, count, print_line, print_table
from lance_arrow.cli.render import write_report


@write_report.register
def _(report: CatalogReport, console: Console) -> None:
    print_line(console, f"{report.path}: {count(len(report.tables), 'table')}")
    opened = [one for one in report.tables if one.error is None]
    if opened:
        print_line(console)
        rows = [
            [one.name, number_text(one.version), number_text(one.num_rows), number_text(one.num_columns)]
            for one in opened
        ]
        print_table(console, ["table", "version", "rows", "columns"], rows, right={1, 2, 3})
    for one in report.tables:
        if one.error is not None:
            print_line(console, f"{one.name}: {one.error}")
