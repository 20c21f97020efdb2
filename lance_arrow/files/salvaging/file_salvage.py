"""`FileSalvage`: the rows of a damaged file that can be read, each at its place, and a report of the others.

A first pass reads every column to find what is lost, so that the report is known before a row is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, storage_type
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.choices import Lost, check_choice, names
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import (
    CorruptFileError,
    InvalidArgumentError,
    ResourceLimitError,
    TruncatedReadError,
    UnsupportedError,
    located,
)
from lance_arrow.files.salvaging.guessed_end import guess_end
from lance_arrow.files.salvaging.rebuilt_end import rebuild_end
from lance_arrow.files.salvaging.reports import SalvageReport
from lance_arrow.files.salvaging.row_runs import num_rows
from lance_arrow.files.salvaging.rows_salvage import RowCount, RowsSalvage, SavedRows, whole_columns
from lance_arrow.io import AnyFileSystem, RangeSource, VerifiedSource, locate, open_source
from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.scan.open_file import OpenFile, row_reader


class FileSalvage(SavedRows):
    """Rows of one damaged file. A context manager that closes the file.

    Parameters
    ----------
    source, filesystem, storage_options, runtime, allow_external_blobs
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
        allow_external_blobs: bool = False,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        runtime: Runtime | None = None,
        on_rows: Callable[[int, int | None], None] | None = None,
    ) -> None:
        check_choice("lost", names(Lost), lost)
        self._runtime = runtime if runtime is not None else default_runtime()
        place = locate(source, filesystem=filesystem, storage_options=storage_options)
        opened = open_source(source if place is None else place)
        with ExitStack() as on_failure, located(path=opened.name):
            on_failure.callback(opened.close)
            verified, file, repaired = opened_file(opened, self._runtime, allow_unchecked=allow_unchecked)
            options = ReadOptions(allow_external_blobs=allow_external_blobs)
            self._file = OpenFile(verified, row_reader(file, self._runtime, options), place)
            self.report = SalvageReport(
                path=opened.name,
                version=str(file.version),
                is_proven=file.checks is not None,
                num_rows=file.num_rows,
                repaired=repaired,
            )
            self._survey(lost, RowCount(file.num_rows, on_rows))
            on_failure.pop_all()

    def _survey(self, lost: Lost, count: RowCount) -> None:
        """Read everything once, and decide which rows are left out."""
        file, report = self._file, self.report
        self._saved = rows = RowsSalvage(file, whole_columns(file.roots))
        rows.survey(count)
        version = file.rows.file.version
        numbers = range(len(rows.columns))
        nullable = [number for number in numbers if lost == "null" and may_be_null(file.roots[number], version)]
        kept = [number for number in numbers if number in nullable or not rows.is_gone(number)]
        rows.decide(kept, nullable)
        report.left_out, report.lost = rows.left_out, rows.causes
        report.ok = not report.lost
        report.columns_left_out = [file.roots[number].path for number in numbers if number not in kept]
        report.rows_saved, report.rows_with_nulls = num_rows(rows.saved), rows.num_with_nulls
        self.schema = pa.schema([rows.columns[number].field for number in kept], file.rows.schema.metadata)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> FileSalvage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def opened_file(
    source: RangeSource, runtime: Runtime, *, allow_unchecked: bool
) -> tuple[VerifiedSource, LanceFileReader, list[str]]:
    """Open a damaged file.

    Parameters
    ----------
    source
        The file; the caller closes it if this fails.
    runtime
        Limits of metadata.
    allow_unchecked
        As for `FileSalvage`.

    Returns
    -------
    tuple
        Its bytes as they are read, its metadata, and what of its end was rebuilt.

    Raises
    ------
    CorruptFileError, UnsupportedError, InvalidArgumentError
        As `FileSalvage`.
    """
    limits = runtime.settings.limits
    verified = VerifiedSource(source)
    try:
        file = LanceFileReader(verified, limits)
    except (CorruptFileError, UnsupportedError, TruncatedReadError, ResourceLimitError):
        # Damage in the footer may look like another version, or like impossible sizes.
        proven = rebuild_end(source, limits)
        if proven is not None:
            # `rebuild_end` has raised if a checksum contradicts the metadata: no option uses such metadata.
            verified = VerifiedSource(proven[0])
            return verified, LanceFileReader(verified, limits), proven[1]
        if not allow_unchecked:
            raise
    else:
        if file.version is FileVersion.V0_1:
            raise UnsupportedError("files of version 0.1 cannot be salvaged", path=source.name)
        if file.checks is not None:
            return verified, file, []
        if not allow_unchecked:
            raise InvalidArgumentError(
                "the file has no checksums, so that no value can be proven; allow_unchecked=True saves the pages that "
                "do not contradict themselves",
                path=source.name,
            )
    guessed = guess_end(source, limits)
    verified = VerifiedSource(source if guessed is None else guessed[0])
    return verified, LanceFileReader(verified, limits, verify="off"), [] if guessed is None else guessed[1]


def may_be_null(node: ColumnNode, version: FileVersion) -> bool:
    """Whether a lost value of a column can be written as null; structs of 2.0 cannot."""
    is_struct = isinstance(storage_type(node.shown.type), pa.StructType)
    return node.field.nullable and not (is_struct and version is FileVersion.V2_0)
