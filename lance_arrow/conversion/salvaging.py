"""`salvage`: write what can be saved of a damaged file or table to a new one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from lance_arrow.choices import Lost
from lance_arrow.conversion.converting import Progress
from lance_arrow.conversion.targets import (
    check_file_target,
    check_lance_name,
    check_not_a_source,
    check_table_target,
)
from lance_arrow.conversion.writing import write_file, write_table
from lance_arrow.errors import InvalidArgumentError, TableNotFoundError
from lance_arrow.files.salvaging.file_salvage import FileSalvage
from lance_arrow.files.salvaging.reports import SalvageReport
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.io import AnyFileSystem, Location, locate
from lance_arrow.manifests.path_kinds import PathKind, kind_of
from lance_arrow.manifests.versions import table_location
from lance_arrow.table.salvaging.reports import TableSalvageReport
from lance_arrow.table.salvaging.table_salvage import TableSalvage


def salvage(
    source: Any,
    target: str | os.PathLike[str] | None = None,
    *,
    version: int | None = None,
    branch: str | None = None,
    lost: Lost = "null",
    allow_unchecked: bool = False,
    with_deleted: bool = False,
    allow_external_bases: bool = False,
    allow_external_blobs: bool = False,
    filesystem: AnyFileSystem | None = None,
    target_filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: Progress | None = None,
) -> SalvageReport | TableSalvageReport:
    """Write the rows of a damaged file or table that can be saved to a new file or table.

    A row is saved if its bytes match their checksums. The damaged file or table is not changed.

    Parameters
    ----------
    source
        A file as for `LanceFile`, or the folder of a table.
    target
        Path or URL of the new file or table. None writes nothing: the report tells what can be saved.
    version, branch
        Version of a table by number, on a branch. When None, the newest one that can be read, of the main branch.
    lost
        ``"null"``: lost values become null. Rows are left out where their column allows no nulls, and where nothing of
        them is left. ``"skip"``: rows with a lost value are left out. Columns that cannot be read at all are left out.
    allow_unchecked
        Whether to use files without checksums. Pages that contradict themselves are lost. A changed value in another
        page cannot be told from the original one.
    with_deleted
        Whether rows are saved although the file that tells which of them are deleted is lost.
    allow_external_bases, allow_external_blobs
        Whether to read files outside of the table's folder, and blobs at addresses that a file names. What is there
        counts as lost otherwise.
    filesystem, target_filesystem
        fsspec or pyarrow filesystems of the paths, or stores of obstore.
    storage_options
        Options for the filesystems of URLs, source and target alike.
    on_progress
        Called with rows that are done, and rows in all. With a target, rows count twice: they are read to find what is
        lost, and read again to be written.

    Returns
    -------
    SalvageReport or TableSalvageReport
        Saved and lost rows, with columns, pages, byte ranges and causes. Its `target` is None if there was no row to
        write.

    Raises
    ------
    CorruptFileError
        `source` is not a Lance file, or its schema is damaged, or no manifest of the table can be read.
    InvalidArgumentError
        The file or the manifest has no checksum, and `allow_unchecked` is False. The target is the source. A version is
        asked of a file.
    VersionNotFoundError
        The table has no manifest of this version, or no such branch.
    TargetExistsError, TableExistsError
        There is something at the target.
    FileNotFoundError, TableNotFoundError
        There is no source.

    Examples
    --------
    >>> report = lance_arrow.salvage("flights.lance", "saved.lance")
    >>> report.ok, report.rows_saved, report.left_out
    (True, 100, [])
    """
    place = locate(source, filesystem=filesystem, storage_options=storage_options)
    kind = PathKind.FILE if place is None else kind_of(place)
    if kind is PathKind.FOLDER:
        raise TableNotFoundError(
            "this folder is no table: it has no manifest in _versions; salvage its files one by one",
            path=None if place is None else place.name,
        )
    new = None
    if target is not None:
        new = table_location(target, target_filesystem, None if target_filesystem is not None else storage_options)
        check_lance_name(new)
        check_not_a_source(new, [] if place is None else [place])
    shown = _Progress(1 if new is None else 2, on_progress)
    if kind is PathKind.FILE:
        if version is not None or branch is not None:
            raise InvalidArgumentError("version and branch choose a version of a table; this is a file")
        if new is not None:
            check_file_target(new, overwrite=False)
        file = FileSalvage(
            source if place is None else place,
            lost=lost,
            allow_unchecked=allow_unchecked,
            allow_external_blobs=allow_external_blobs,
            on_rows=shown.read,
        )
        return _write_file(file, new, shown)
    if new is not None:
        check_table_target(new, overwrite=False, append=False)
    assert place is not None
    table = TableSalvage(
        place.path,
        version=version,
        branch=branch,
        lost=lost,
        allow_unchecked=allow_unchecked,
        with_deleted=with_deleted,
        allow_external_bases=allow_external_bases,
        allow_external_blobs=allow_external_blobs,
        filesystem=place.filesystem,
        on_rows=shown.read,
    )
    return _write_table(table, new, shown)


def _write_file(found: FileSalvage, target: Location | None, shown: _Progress) -> SalvageReport:
    with found:
        report = found.report
        if target is not None and _is_worth_writing(report):
            options = WriteOptions(file_version=report.version)
            write_file(_Rows(found, shown), target, options, overwrite=False)
            report.target = target.name
        return report


def _write_table(found: TableSalvage, target: Location | None, shown: _Progress) -> TableSalvageReport:
    report = found.report
    if target is not None and _is_worth_writing(report):
        rows = _Rows(found, shown)
        write_table(rows, target, append=False, overwrite=False, version=found.file_version, preset="default")
        report.target = target.name
    return report


def _is_worth_writing(report: SalvageReport | TableSalvageReport) -> bool:
    """Whether there are rows, or there were none to lose."""
    return report.rows_saved > 0 or report.ok


class _Progress:
    """Progress of the passes over all rows."""

    def __init__(self, num_passes: int, on_progress: Progress | None) -> None:
        self._num_passes, self._on_progress = num_passes, on_progress
        self._num_read = 0

    def read(self, done: int, total: int | None) -> None:
        """Note how many rows the first pass has read."""
        self._num_read = done
        self._show(done, total)

    def written(self, done: int) -> None:
        """Note how many rows the second pass has written; the first one is over."""
        self._show(self._num_read + done, self._num_read)

    def _show(self, done: int, total: int | None) -> None:
        if self._on_progress is not None:
            self._on_progress(done, None if total is None else total * self._num_passes)


class _Rows:
    """The saved rows, counted; an iterable of batches."""

    def __init__(self, found: FileSalvage | TableSalvage, shown: _Progress) -> None:
        self._found = found
        self._shown = shown
        self.num_rows = 0

    @property
    def schema(self) -> pa.Schema:
        """Schema of each batch."""
        return self._found.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for table in self._found.tables():
            yield from table.to_batches()
            self.num_rows += table.num_rows
            self._shown.written(self.num_rows)
