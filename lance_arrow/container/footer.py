"""The last 40 bytes of a file: its version, and the places of its tables.

-40 u64 position of the first column's metadata        -16 u32 number of global buffers
-32 u64 position of the column table                   -12 u32 number of columns
-24 u64 position of the global buffer table             -8 u16 major, -6 u16 minor, -4 "LANC"
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.io import Bytes

FOOTER_BYTES = 40
TABLE_ENTRY_BYTES = 16
MAGIC = b"LANC"
NOT_LANCE = "magic"
"""Detail of the error for files of another format, as opposed to damaged ones."""
_LAYOUT = struct.Struct("<QQQIIHH4s")


class FileVersion(enum.Enum):
    """A version of the data file; numbers in footers are names, not ordered capabilities."""

    V0_1 = "0.1"
    V2_0 = "2.0"
    V2_1 = "2.1"
    V2_2 = "2.2"
    V2_3 = "2.3"

    def __str__(self) -> str:
        return self.value


# 2.0 writers store (0, 3); writers of embedded batches store (2, 0).
_VERSION_OF = {
    (0, 1): FileVersion.V0_1,
    (0, 2): FileVersion.V0_1,
    (0, 3): FileVersion.V2_0,
    (2, 0): FileVersion.V2_0,
    (2, 1): FileVersion.V2_1,
    (2, 2): FileVersion.V2_2,
    (2, 3): FileVersion.V2_3,
}
_WRITTEN_AS = {
    FileVersion.V2_0: (0, 3),
    FileVersion.V2_1: (2, 1),
    FileVersion.V2_2: (2, 2),
    FileVersion.V2_3: (2, 3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFooter:
    """Version, counts, and places of the tables.

    Parameters
    ----------
    version
        Generation of the file.
    file_size
        Bytes of the whole file.
    first_column_position, column_table_position, buffer_table_position
        Bytes from the start of the file; meaningless in a 0.1 file.
    num_columns, num_global_buffers
        Entries in the two tables, 16 bytes each.
    """

    version: FileVersion
    file_size: int
    first_column_position: int
    column_table_position: int
    buffer_table_position: int
    num_columns: int
    num_global_buffers: int

    @classmethod
    def known(
        cls, file_size: int, minor: int, first: int, columns: int, buffers: int, num_columns: int, num_buffers: int
    ) -> FileFooter:
        """Return the footer of a file of version 2 that was read before, with its positions and counts."""
        return cls(
            version=_VERSION_OF[2, minor],
            file_size=file_size,
            first_column_position=first,
            column_table_position=columns,
            buffer_table_position=buffers,
            num_columns=num_columns,
            num_global_buffers=num_buffers,
        )

    @property
    def data_stop(self) -> int:
        """Start of the metadata, so the end of the values."""
        return min(
            self.first_column_position,
            self.column_table_position,
            self.buffer_table_position,
            self.file_size - FOOTER_BYTES,
        )

    @property
    def column_table(self) -> tuple[int, int]:
        """Half-open byte range of the table of column metadata blocks."""
        return self.column_table_position, self.column_table_position + TABLE_ENTRY_BYTES * self.num_columns

    @property
    def buffer_table(self) -> tuple[int, int]:
        """Half-open byte range of the table of global buffers."""
        return self.buffer_table_position, self.buffer_table_position + TABLE_ENTRY_BYTES * self.num_global_buffers


def read_footer(tail: Bytes, file_size: int) -> FileFooter:
    """Read and check the footer.

    Parameters
    ----------
    tail
        Last bytes of the file, at least 40 if the file has as many.
    file_size
        Bytes of the whole file.

    Returns
    -------
    FileFooter
        Its tables lie inside the file; for a 0.1 file only the version is meaningful.

    Raises
    ------
    CorruptFileError
        The file is empty, too short, or not a Lance file, or a table does not fit.
    UnsupportedError
        An unknown version.
    """
    if file_size < FOOTER_BYTES or len(tail) < FOOTER_BYTES:
        what = "is empty" if file_size == 0 else f"has {file_size} bytes"
        raise CorruptFileError(
            _not_lance(tail, file_size, f"it {what}, the footer alone takes {FOOTER_BYTES}"), detail=NOT_LANCE
        )
    place = (file_size - FOOTER_BYTES, file_size)
    first, columns, buffers, num_buffers, num_columns, major, minor, magic = _LAYOUT.unpack(
        tail[-FOOTER_BYTES:].tobytes()
    )
    if magic != MAGIC:
        raise CorruptFileError(
            _not_lance(tail, file_size, f"it does not end with {MAGIC!r}"), byte_range=place, detail=NOT_LANCE
        )
    version = _VERSION_OF.get((major, minor))
    if version is None:
        known = ", ".join(f"({a}, {b})" for a, b in _VERSION_OF)
        raise UnsupportedError(
            f"file version ({major}, {minor}) is not known, expected one of {known}",
            byte_range=place,
            detail=(major, minor),
        )
    footer = FileFooter(
        version=version,
        file_size=file_size,
        first_column_position=first,
        column_table_position=columns,
        buffer_table_position=buffers,
        num_columns=num_columns,
        num_global_buffers=num_buffers,
    )
    if version is not FileVersion.V0_1:
        _check_tables(footer)
    return footer


def _not_lance(tail: Bytes, file_size: int, reason: str) -> str:
    """Return the message for a file that is not a Lance file: its format, and how to convert it."""
    from lance_arrow.container.foreign_files import TEXT, foreign_kind  # noqa: PLC0415 - for messages alone

    kind = foreign_kind(tail, file_size)
    if kind is None:
        return f"not a Lance file: {reason}"
    hint = "" if kind == TEXT else "; convert it by: lance-arrow convert FILE NEW.lance"
    return f"not a Lance file but {kind}: {reason}{hint}"


def footer_bytes(footer: FileFooter) -> bytes:
    """Return the last 40 bytes of a file of version 2.0 or later."""
    return _LAYOUT.pack(
        footer.first_column_position,
        footer.column_table_position,
        footer.buffer_table_position,
        footer.num_global_buffers,
        footer.num_columns,
        *_WRITTEN_AS[footer.version],
        MAGIC,
    )


def _check_tables(footer: FileFooter) -> None:
    end = footer.file_size - FOOTER_BYTES
    for what, (start, stop) in (("column", footer.column_table), ("global buffer", footer.buffer_table)):
        if stop > end:
            raise CorruptFileError(
                f"the {what} table of {(stop - start) // TABLE_ENTRY_BYTES} entries at {start} ends at {stop}, "
                f"the footer begins at {end}",
                byte_range=(end, footer.file_size),
            )
