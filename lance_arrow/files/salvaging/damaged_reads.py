"""Reads of an open file that go on after damage: `LanceFile.read(on_corruption=...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.choices import OnCorruption
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.salvaging.reports import LostRows
from lance_arrow.files.salvaging.row_runs import gaps
from lance_arrow.files.salvaging.rows_salvage import RowCount, RowsSalvage, SavedRows, whole_columns
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.spi.rows import RowRanges


class DamagedRead(SavedRows):
    """Rows of an open file, as far as they can be read.

    Parameters
    ----------
    file
        The file.
    columns
        Dotted paths; all columns when None.
    rows
        Which rows.
    on_corruption
        ``"null"`` or ``"skip"``.

    Attributes
    ----------
    schema
        Schema of the rows.
    lost
        What cannot be read.

    Raises
    ------
    InvalidArgumentError
        A column does not exist, or several paths lead into one list.
    """

    def __init__(
        self, file: OpenFile, columns: Sequence[str] | None, rows: RowRanges, on_corruption: OnCorruption
    ) -> None:
        self.schema, projections = wanted_columns(file.roots, file.rows.metadata, columns)
        runs = list(zip(rows.starts.tolist(), rows.stops.tolist(), strict=True))
        self._saved = RowsSalvage(file, projections, gaps(runs, (0, file.num_physical)))
        self._saved.survey(RowCount())
        nullable = nullable_columns(projections, on_corruption)
        self._saved.decide(range(len(projections)), nullable)
        self.lost: list[LostRows] = self._saved.causes


def wanted_columns(
    roots: Sequence[ColumnNode], metadata: Mapping[bytes, bytes] | None, columns: Sequence[str] | None
) -> tuple[pa.Schema, list[Projection]]:
    """Return the schema of a read, and a projection for each of its columns.

    Parameters
    ----------
    roots, metadata
        Columns of a file or table, and metadata of its schema.
    columns
        Dotted paths; all columns when None.

    Raises
    ------
    InvalidArgumentError
        A column does not exist, or several paths lead into one list.
    """
    wanted = Projection.of(roots, metadata, columns)
    if columns is None:
        return wanted.schema, whole_columns(roots)
    projections = [Projection.of(roots, metadata, [column]) for column in columns]
    if len(wanted.schema) != len(projections):
        raise InvalidArgumentError("several columns are parts of one list: name the list, or read them one by one")
    return wanted.schema, projections


def nullable_columns(projections: Sequence[Projection], on_corruption: OnCorruption) -> list[int]:
    """Return the numbers of the columns whose lost values become null."""
    is_null = on_corruption == "null"
    return [number for number, one in enumerate(projections) if is_null and one.schema.field(0).nullable]
