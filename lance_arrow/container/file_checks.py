"""`FileChecks` and `ByteOwners`: the checksums of one open file, and the places of bytes that contradict them.

The checks of metadata are here; `io` checks the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lance_arrow.choices import Verify, check_choice, names
from lance_arrow.container.checksums import ChecksumTable, find_table
from lance_arrow.container.footer import FOOTER_BYTES, FileFooter
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.io import ByteRange, Bytes, Positions, RangeSource, fetch
from lance_arrow.kernels import BlockChecks, crc32c

if TYPE_CHECKING:
    from lance_arrow.container.columns import ColumnMeta

check_verify = partial(check_choice, "verify", names(Verify))
"""Check the name of a mode of verification; raises `InvalidArgumentError` for others."""


class FileChecks:
    """Checksums of one open file.

    Parameters
    ----------
    table
        The table, or a function that returns it at its first use.
    blocks
        State of the blocks: which were checked.
    """

    __slots__ = ("_table", "blocks")

    def __init__(self, table: ChecksumTable | Callable[[], ChecksumTable], blocks: BlockChecks) -> None:
        self._table = table
        self.blocks = blocks

    @property
    def table(self) -> ChecksumTable:
        """The file's table."""
        if not isinstance(self._table, ChecksumTable):
            self._table = self._table()
        return self._table

    @classmethod
    def find(cls, metadata: MetadataBytes) -> FileChecks | None:
        """Find the file's checksums and check its footer; None if it has none.

        Raises
        ------
        CorruptFileError, UnsupportedError, TruncatedReadError, ResourceLimitError
            As `find_table`. Also `CorruptFileError` if the footer contradicts its checksum.
        """
        table = find_table(metadata)
        if table is None:
            return None
        size = metadata.file_size
        compare(metadata.tail[-FOOTER_BYTES:], table.metadata.footer, "the footer", (size - FOOTER_BYTES, size))
        return cls(table, table.checks())

    def tables(self, metadata: MetadataBytes, footer: FileFooter) -> None:
        """Check the tables of columns and of global buffers.

        Raises
        ------
        CorruptFileError
            A table contradicts its checksum, or the table of checksums has another number of columns.
        """
        sums = self.table.metadata
        for what, place, crc in (
            ("the table of columns", footer.column_table, sums.column_table),
            ("the table of global buffers", footer.buffer_table, sums.buffer_table),
        ):
            compare(metadata.read([place])[0], crc, what, place)
        if footer.num_columns != len(sums.columns):
            raise CorruptFileError(f"{len(sums.columns)} columns have checksums, the file has {footer.num_columns}")

    def descriptor(self, data: Bytes, place: ByteRange) -> None:
        """Check the file descriptor; raises `CorruptFileError`."""
        compare(data, self.table.metadata.descriptor, "the file descriptor", (place.start, place.stop))

    def buffer(self, data: Bytes, place: ByteRange, metadata: MetadataBytes) -> None:
        """Check a buffer that was read completely; raises `CorruptFileError`."""
        starts, stops = np.array([place.start]), np.array([place.stop])
        if wrong_block(self.blocks, data, np.zeros(1, np.int64), starts, stops, metadata.read) >= 0:
            raise CorruptFileError(
                "a buffer of the file contradicts its checksum", byte_range=(place.start, place.stop)
            )

    def read_everything(self, source: RangeSource) -> None:
        """Read all blocks from a source that checks them."""
        for starts, stops in self.table.waves():
            fetch(source, starts, stops)


def wrong_block(
    blocks: BlockChecks,
    data: Bytes,
    positions: Positions,
    starts: Positions,
    stops: Positions,
    read: Callable[[Sequence[tuple[int, int]]], Sequence[Bytes]],
) -> int:
    """Compare what was read of a file with its checksums, after those of them are read that are late.

    Parameters
    ----------
    blocks
        What is compared.
    data, positions, starts, stops
        As for `BlockChecks.check`.
    read
        Reads half-open ranges of the file.

    Returns
    -------
    int
        The number of the first wrong block, or -1.
    """
    absent = blocks.absent(starts, stops)
    if absent is not None:
        places = list(zip(absent[0].tolist(), absent[1].tolist(), strict=True))
        for (first, _), sums in zip(places, read(places), strict=True):
            blocks.take(first, sums)
    return blocks.check(data, positions, starts, stops)


def compare(data: Bytes, crc: int, what: str, place: tuple[int, int] | None) -> None:
    """Compare bytes with their checksum.

    Raises
    ------
    CorruptFileError
        The checksum differs.
    """
    if crc32c(data) != crc:
        raise CorruptFileError(f"{what} contradicts its checksum", byte_range=place)


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
