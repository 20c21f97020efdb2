"""Reports about the rows of a folder of Lance files, read as `lance_arrow.dataset` reads it."""

from __future__ import annotations

from collections.abc import Sequence

import lance_arrow
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.cli.file_view import HeadReport, SchemaReport, schema_report
from lance_arrow.cli.row_values import plain_rows
from lance_arrow.io import Location
from lance_arrow.manifests.path_kinds import files_in


def view_folder_schema(folder: Location) -> SchemaReport:
    """Report on the schema of the files together; errors as `lance_arrow.dataset`."""
    dataset = _open(folder)
    return schema_report(dataset.schema, path=folder.name, version=None, num_rows=dataset.count_rows())


def view_folder_head(folder: Location, *, num_rows: int, columns: Sequence[str] | None = None) -> HeadReport:
    """Read the first `num_rows` rows, files in the order of their names; errors as `lance_arrow.dataset`."""
    dataset = _open(folder)
    rows = dataset.head(num_rows, columns=columns)
    return HeadReport(path=folder.name, num_rows=dataset.count_rows(), columns=rows.column_names, rows=plain_rows(rows))


def _open(folder: Location) -> LanceDataset:
    # An empty folder would be a dataset without columns.
    files_in(folder)
    return lance_arrow.dataset(folder.path, filesystem=folder.filesystem)
