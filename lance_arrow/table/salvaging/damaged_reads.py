"""Reads of an open table that go on after damage: `LanceTable.to_table(on_corruption=...)`."""

from __future__ import annotations

from collections.abc import Sequence

from lance_arrow.choices import OnCorruption
from lance_arrow.files.salvaging.damaged_reads import nullable_columns, wanted_columns
from lance_arrow.files.salvaging.rows_salvage import RowCount, SavedRows
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.table.salvaging.fragments_salvage import FragmentsSalvage
from lance_arrow.table.salvaging.reports import TableSalvageReport
from lance_arrow.table.salvaging.salvaged_files import SalvagedFiles


class DamagedTableRead(SavedRows):
    """Live rows of an open table, as far as they can be read.

    Parameters
    ----------
    root
        Folder of the table.
    manifest
        The version.
    table
        Its columns.
    columns, on_corruption
        As for `LanceTable.to_table`.

    Attributes
    ----------
    schema
        Schema of the rows.
    report
        What cannot be read.

    Raises
    ------
    InvalidArgumentError
        A column does not exist, or several paths lead into one list.
    """

    def __init__(
        self,
        root: Location,
        manifest: ManifestMeta,
        table: TableColumns,
        columns: Sequence[str] | None,
        on_corruption: OnCorruption,
    ) -> None:
        self.report = TableSalvageReport(path=root.name, version=manifest.version)
        roots = table.roots if columns is None else table.all_roots
        self.schema, projections = wanted_columns(roots, table.schema.metadata, columns)
        # As other reads, which check what has checksums.
        files = SalvagedFiles(table.options, allow_unchecked=True)
        self._saved = FragmentsSalvage(
            root, table, projections, files, self.report, allow_unchecked=True, with_deleted=False
        )
        self._saved.survey(manifest.fragments, RowCount())
        nullable = nullable_columns(projections, on_corruption)
        self._saved.decide(range(len(projections)), nullable)
