"""`FileSalvage`: the rows of a damaged file that can be read, each at its place, and a report of the others.

A first pass reads every column to find what is lost, so that the report is known before a row is returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, storage_type
from lance_arrow.choices import Lost, check_choice, names
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import (
    CorruptFileError,
    InvalidArgumentError,
    LanceError,
    ResourceLimitError,
    TruncatedReadError,
    UnsupportedError,
    located,
)
from lance_arrow.files.salvaging.column_salvage import ColumnSalvage, chunked, open_pages
from lance_arrow.files.salvaging.rebuilt_end import rebuild_end
from lance_arrow.files.salvaging.reports import SalvageReport
from lance_arrow.files.salvaging.row_runs import Run, as_mask, gaps, num_rows, shared, union
from lance_arrow.io import AnyFileSystem, RangeSource, VerifiedSource, locate, open_source
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.scan.open_file import OpenFile, row_reader
from lance_arrow.scan.row_weights import check_expansion
from lance_arrow.scan.windows import Windows
from lance_arrow.spi import RowRanges


class FileSalvage:
    """Rows of one damaged file. A context manager that closes the file.

    Parameters
    ----------
    source, filesystem, storage_options, runtime
        As for `LanceFile`.
    lost
        ``"null"``: lost values are null; rows are left out where the column allows no nulls, and where nothing of
        them is left. ``"skip"``: rows with a lost value are left out.
    allow_unchecked
        Whether to return values that no checksum proves. They do not contradict the format, but may differ from the
        original ones.

    Attributes
    ----------
    report
        What is lost; complete from the start.
    schema
        Schema of the rows. A column that cannot be read at all is left out, unless it may be null.

    Raises
    ------
    CorruptFileError
        `source` is not a Lance file, or its schema or footer is damaged.
    InvalidArgumentError
        The file has no checksums, and `allow_unchecked` is False.
    UnsupportedError
        The file has version 0.1, or one that is not known.
    FileNotFoundError
        There is no file at this path.
    """

    def __init__(
        self,
        source: Any,
        *,
        lost: Lost = "null",
        allow_unchecked: bool = False,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        check_choice("lost", names(Lost), lost)
        self._runtime = runtime if runtime is not None else default_runtime()
        place = locate(source, filesystem=filesystem, storage_options=storage_options)
        opened = open_source(source if place is None else place)
        with ExitStack() as on_failure, located(path=opened.name):
            on_failure.callback(opened.close)
            verified, file, repaired = _opened(opened, self._runtime, allow_unchecked=allow_unchecked)
            self._file = OpenFile(verified, row_reader(file, self._runtime), place)
            self.report = SalvageReport(
                path=opened.name,
                version=str(file.version),
                is_proven=file.checks is not None,
                num_rows=file.num_rows,
                repaired=repaired,
            )
            self._survey(lost)
            on_failure.pop_all()

    def _survey(self, lost: Lost) -> None:
        """Read everything once, and decide which rows are left out."""
        file, report = self._file, self.report
        everything = [(0, report.num_rows)] if report.num_rows else []
        columns = [ColumnSalvage(file, node, is_proven=report.is_proven) for node in file.rows.roots]
        self._alive = [column for column in columns if self._opens(column)]
        self._read_until_stable()
        left_out: list[Run] = []
        everything_lost = everything
        self._columns = []
        for column in columns:
            may_be_null = lost == "null" and _may_be_null(column.node, file.rows.file.version)
            if everything and column.lost == everything and not may_be_null:
                report.columns_left_out.append(column.node.path)
                continue
            self._columns.append(column)
            if not may_be_null:
                left_out += column.lost
        # Nothing is left of rows that are lost in all columns.
        for column in columns:
            everything_lost = shared(everything_lost, column.lost)
        left_out += everything_lost
        report.left_out = union(left_out)
        kept = gaps(report.left_out, (0, report.num_rows))
        with_nulls = union(run for column in self._columns for run in shared(column.lost, kept))
        report.rows_saved, report.rows_with_nulls = num_rows(kept), num_rows(with_nulls)
        report.lost = [cause for column in columns for cause in column.causes]
        self.schema = pa.schema([column.field for column in self._columns], file.rows.schema.metadata)

    def _read_until_stable(self) -> None:
        """Read all rows; again while more are lost, where a lost page takes rows out of what was read before."""
        known = -1
        while known < (known := sum(len(column.causes) for column in self._alive)):
            for window in self._windows():
                for column in self._alive:
                    for _ in column.read(window):
                        pass
            if self.report.is_proven:
                return

    def _opens(self, column: ColumnSalvage) -> bool:
        """Whether the metadata of a column can be read, and its size be believed."""
        rows, limits = self._file.rows, self._runtime.settings.limits
        try:
            open_pages(self._file, column.node)
            check_expansion([column.node], rows.num_rows, self._file.source.size(), limits)
            rows.weights([column.node])
        except LanceError as error:
            column.give_up(error, rows.num_rows)
            return False
        return True

    def _windows(self) -> Iterator[Run]:
        """Cut the rows of the readable columns."""
        rows = self._file.rows
        if not self._alive:
            return
        nodes = [column.node for column in self._alive]
        windows = Windows(
            RowRanges.one(0, rows.num_rows),
            None,
            weights=rows.weights(nodes),
            max_bytes=self._runtime.settings.window_bytes(2),
        )
        for window in windows:
            yield int(window.rows.starts[0]), int(window.rows.stops[-1])

    def tables(self) -> Iterator[pa.Table]:
        """Yield the saved rows in order, some MiB at a time.

        Raises
        ------
        CorruptFileError
            A row that could be read before cannot be read any more: the file changes.
        """
        for window in self._windows():
            kept = ~as_mask(self.report.left_out, window)
            if kept.any():
                yield pa.table([self._values(column, window, kept) for column in self._columns], schema=self.schema)

    def _values(self, column: ColumnSalvage, window: Run, kept: np.ndarray) -> pa.ChunkedArray:
        before = len(column.causes)
        parts = list(column.read(window))
        if len(column.causes) > before:
            raise CorruptFileError(f"the file changes: {column.causes[-1]}", path=self.report.path)
        return chunked(column.field, parts, window, kept)

    def read(self) -> pa.Table:
        """Return the saved rows.

        Raises
        ------
        CorruptFileError
            As `tables`.
        """
        return pa.concat_tables([self.schema.empty_table(), *self.tables()])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> FileSalvage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _opened(
    source: RangeSource, runtime: Runtime, *, allow_unchecked: bool
) -> tuple[VerifiedSource, LanceFileReader, list[str]]:
    """Open a file; returns its bytes as they are read, its metadata, and what of its end was rebuilt."""
    limits = runtime.settings.limits
    repaired: list[str] = []
    verified = VerifiedSource(source)
    try:
        file = LanceFileReader(verified, limits)
    except (CorruptFileError, UnsupportedError, TruncatedReadError, ResourceLimitError):
        # Damage in the footer may look like another version, or like impossible sizes.
        rebuilt = rebuild_end(source, limits)
        if rebuilt is not None:
            source, repaired = rebuilt
        elif not allow_unchecked:
            raise
        verified = VerifiedSource(source)
        # Where a checksum contradicts the metadata, this is not used. Without checksums there is no such evidence.
        file = LanceFileReader(verified, limits, verify="off" if rebuilt is None else "touched")
    if file.version is FileVersion.V0_1:
        raise UnsupportedError("files of version 0.1 cannot be salvaged", path=source.name)
    if file.checks is None and not allow_unchecked:
        raise InvalidArgumentError(
            "the file has no checksums, so that no value can be proven; allow_unchecked=True saves the pages that do "
            "not contradict themselves",
            path=source.name,
        )
    return verified, file, repaired


def _may_be_null(node: ColumnNode, version: FileVersion) -> bool:
    """Whether a lost value of a column can be written as null; structs of 2.0 cannot."""
    is_struct = isinstance(storage_type(node.field.type), pa.StructType)
    return node.field.nullable and not (is_struct and version is FileVersion.V2_0)
