"""`ByteOwners`: names the column and the page of bytes of a file, for errors about checksums."""

from __future__ import annotations

from collections.abc import Mapping

from lance_arrow.container.checksums import ChecksumTable
from lance_arrow.container.columns import ColumnMeta
from lance_arrow.errors import CorruptFileError, CorruptPageError


class ByteOwners:
    """Columns and pages of one open file, by the position of their bytes.

    The source of a file keeps this object, and not the reader of the file. Otherwise each would keep the other, and a
    file would stay open until the garbage collector finds the cycle.

    Parameters
    ----------
    name
        Printable name of the file.
    paths
        Dotted paths of columns, and their values per row, by number of the physical column.
    columns
        Metadata of the columns whose pages were checked so far, by number. The reader adds to it. Other columns would
        refer to the file, because their pages are still to be opened.
    """

    __slots__ = ("_columns", "_name", "_paths")

    def __init__(
        self, name: str, paths: Mapping[int, tuple[str, int | None]], columns: Mapping[int, ColumnMeta]
    ) -> None:
        self._name = name
        self._paths = paths
        self._columns = columns

    def contradiction(self, table: ChecksumTable, start: int, stop: int) -> CorruptFileError:
        """Return the error for bytes that contradict their checksum.

        Parameters
        ----------
        table
            The file's table of checksums.
        start, stop
            Half-open byte range in the file.

        Returns
        -------
        CorruptFileError
            With the column if it is known; a `CorruptPageError` if the page is known too.
        """
        column, page = self._owner(table, start)
        error = CorruptFileError if page is None else CorruptPageError
        return error(
            "bytes of the file contradict their checksum",
            column=column,
            page=page,
            byte_range=(start, stop),
            path=self._name,
        )

    def _owner(self, table: ChecksumTable, position: int) -> tuple[str | None, int | None]:
        """Return path and page of a covered byte; the page only if the column's pages were checked."""
        column = table.owner(position)
        if column is None or column not in self._paths:
            return None, None
        meta = self._columns.get(column)
        return self._paths[column][0], None if meta is None else meta.pages.page_at(position)
