"""Reads of an open file that go on after damage: `LanceFile.read(on_corruption=...)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_arrow.choices import OnCorruption
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.salvaging.file_salvage import may_be_null
from lance_arrow.files.salvaging.reports import LostRows
from lance_arrow.files.salvaging.row_runs import gaps
from lance_arrow.files.salvaging.rows_salvage import RowsSalvage, whole_columns
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.projection import Projection
from lance_arrow.spi import RowRanges


class DamagedRead:
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
        metadata = file.rows.metadata
        wanted = Projection.of(file.roots, metadata, columns)
        if columns is None:
            projections = whole_columns(file.roots)
        else:
            projections = [Projection.of(file.roots, metadata, [column]) for column in columns]
            if len(wanted.schema) != len(projections):
                raise InvalidArgumentError(
                    "several columns are parts of one list; name the list, or read them one by one", path=file.name
                )
        self.schema = wanted.schema
        runs = list(zip(rows.starts.tolist(), rows.stops.tolist(), strict=True))
        self._rows = RowsSalvage(file, projections, gaps(runs, (0, file.num_physical)))
        self._rows.survey()
        numbers = range(len(projections))
        is_null = on_corruption == "null"
        version = file.rows.file.version
        nullable = [
            number
            for number in numbers
            if is_null and may_be_null(projections[number].nodes[0], version) and self.schema.field(number).nullable
        ]
        self._rows.decide(numbers, nullable)
        self.lost: list[LostRows] = self._rows.causes

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows in order, some MiB at a time.

        Raises
        ------
        CorruptFileError
            The file changes.
        """
        return self._rows.tables(self.schema)
