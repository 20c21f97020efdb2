"""`FragmentsSalvage`: the rows of damaged fragments that can be read, by all wanted columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.files.salvaging.reports import LostRows
from lance_arrow.files.salvaging.row_runs import Run, gaps, num_rows
from lance_arrow.files.salvaging.rows_salvage import RowCount, RowsSalvage
from lance_arrow.io import Location
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.projection import Projection
from lance_arrow.table.salvaging.proofs import has_deletion_checksum
from lance_arrow.table.salvaging.reports import FragmentReport, TableSalvageReport
from lance_arrow.table.salvaging.salvaged_files import SalvagedFiles


class FragmentsSalvage:
    """Rows of the fragments of one version. `survey` comes first, then `decide`, then `tables`.

    Parameters
    ----------
    root
        Folder of the table.
    columns
        Its columns.
    wanted
        The wanted ones, one for each projection.
    files
        Where data files are opened.
    report
        Gets what is lost.
    allow_unchecked, with_deleted
        As for `TableSalvage`.
    """

    def __init__(
        self,
        root: Location,
        columns: TableColumns,
        wanted: Sequence[Projection],
        files: SalvagedFiles,
        report: TableSalvageReport,
        *,
        allow_unchecked: bool,
        with_deleted: bool,
    ) -> None:
        self._root, self._columns, self._wanted, self._files = root, columns, wanted, files
        self._report = report
        self._allow_unchecked, self._with_deleted = allow_unchecked, with_deleted
        self._surveyed: list[tuple[FragmentReport, RowsSalvage | None]] = []

    def survey(self, fragments: Sequence[FragmentMeta], count: RowCount) -> None:
        """Read all fragments once, to find what is lost, and count their rows."""
        self._surveyed = [self._survey(fragment, count) for fragment in fragments]
        self._report.repaired = [f"{path}: {', '.join(parts)}" for path, parts in self._files.repaired.items()]

    def gone(self) -> list[int]:
        """Return the numbers of the columns that cannot be read at all."""
        parts = [part for _, part in self._surveyed if part is not None and part.live]
        return [number for number in range(len(self._wanted)) if parts and all(part.is_gone(number) for part in parts)]

    def decide(self, kept: Sequence[int], nullable: Sequence[int]) -> None:
        """Decide which rows are left out; parameters are those of `RowsSalvage.decide`."""
        report = self._report
        for one, part in self._surveyed:
            if part is None:
                report.fragments.append(one)
                continue
            part.decide(kept, nullable)
            saved, with_nulls = num_rows(part.saved), part.num_with_nulls
            report.fragments.append(replace(one, rows_saved=saved, rows_with_nulls=with_nulls, left_out=part.left_out))
        counts = [one.num_rows for one in report.fragments]
        report.num_rows = None if None in counts else sum(count or 0 for count in counts)
        report.ok = not report.lost and not report.unreadable
        report.rows_saved = sum(one.rows_saved for one in report.fragments)
        report.rows_with_nulls = sum(one.rows_with_nulls for one in report.fragments)

    def tables(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the saved rows in order, some MiB at a time.

        Raises
        ------
        CorruptFileError
            A row that could be read before cannot be read any more: a file changes.
        """
        for _, part in self._surveyed:
            if part is not None:
                yield from part.tables(schema)
                part.release()

    def _survey(self, fragment: FragmentMeta, rows_read: RowCount) -> tuple[FragmentReport, RowsSalvage | None]:
        """Find what is lost of a fragment; None if all of it is."""
        rows = FragmentRows(self._columns, replace(fragment, deletion=None), self._files, self._root.filesystem)
        try:
            count = rows.num_physical
        except LanceError as error:
            self._lose(fragment, error, (0, 0))
            return FragmentReport(id=fragment.id, num_rows=None, deleted=None), None
        deleted = self._deleted(fragment, count)
        if deleted is None and not self._with_deleted:
            known = fragment.num_rows
            return FragmentReport(id=fragment.id, num_rows=known, left_out=[(0, count)], deleted=None), None
        # Whether a row is the table's is not known without its deletion file.
        self._report.is_proven &= deleted is not None
        part = RowsSalvage(rows, self._wanted, deleted or ())
        part.survey(rows_read)
        part.release()
        self._report.is_proven &= part.is_proven
        self._report.lost += [replace(cause, fragment=fragment.id) for cause in part.causes]
        return FragmentReport(id=fragment.id, num_rows=num_rows(part.live), deleted=deleted), part

    def _deleted(self, fragment: FragmentMeta, count: int) -> list[Run] | None:
        """Return the deleted rows of a fragment; None if it is not known which these are."""
        if fragment.deletion is None:
            return []
        facts = self._columns.facts
        try:
            live = FragmentRows(self._columns, fragment, self._files, self._root.filesystem).live
            external = self._columns.options.allow_external_bases
            path = facts.deletion_path(fragment.deletion, allow_external_bases=external)
            place = Location(self._root.given, path)
            if not has_deletion_checksum(place, is_bitmap=fragment.deletion.is_bitmap):
                self._check_unproven(place)
        except LanceError as error:
            self._lose(fragment, error, (0, count))
            return None
        return gaps(list(zip(live.starts.tolist(), live.stops.tolist(), strict=True)), (0, count))

    def _check_unproven(self, place: Location) -> None:
        if not self._allow_unchecked:
            raise InvalidArgumentError(
                "the deletion file has no checksum; allow_unchecked=True uses it", path=place.name
            )
        self._report.is_proven = False

    def _lose(self, fragment: FragmentMeta, error: LanceError, rows: Run) -> None:
        self._report.lost.append(replace(LostRows.of(error, None, rows), fragment=fragment.id))
