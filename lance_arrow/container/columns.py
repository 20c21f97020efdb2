"""Column metadata on demand: only requested blocks are read, and parsed natively.

Source: lance.file.v2.ColumnMetadata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cached_property, partial
from typing import Any

import numpy as np

from lance_arrow.container.buffer_places import check_places, parse_table, required_alignment
from lance_arrow.container.descriptions import Description
from lance_arrow.container.file_checks import FileChecks
from lance_arrow.container.footer import FileFooter
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.container.pages import PageTable, fits_version
from lance_arrow.engine import CHECKSUM_FAULT, read_column_metadata, read_columns_at_hand
from lance_arrow.errors import CorruptFileError, LanceError, located
from lance_arrow.io import Bytes, Positions
from lance_arrow.settings import Limits

_STAGE = "reading the metadata of a column"


class _Fault(IntEnum):
    """Kinds of faults that the engine finds in metadata, with the numbers of its ``MetadataFault``."""

    MALFORMED = 1
    UNPAIRED = 2
    OUTSIDE = 3
    MISALIGNED = 4
    TOO_MANY_ROWS = 5
    NO_DESCRIPTION = 6
    CHECKSUM = CHECKSUM_FAULT


class ColumnMeta:
    """One physical column.

    Parameters
    ----------
    column
        Number of the column.
    message, description
        Full name and bytes of the description of the column as a whole (plain values, a zone index, blobs).
    buffer_offsets, buffer_sizes
        ``(num_buffers,) int64``: places of the buffers of the column as a whole, inside the file.
    byte_range
        Half-open byte range of its metadata.
    pages
        Pages in row order, or a function that returns them. It is called at their first use, because zone maps exclude
        most files before.

    Attributes
    ----------
    pages
        Pages in row order. Raises no error for columns from `LanceFileReader.columns`.
    """

    __slots__ = (
        "_open_pages",
        "buffer_offsets",
        "buffer_sizes",
        "byte_range",
        "column",
        "description",
        "message",
        "pages",
    )
    pages: PageTable

    def __init__(
        self,
        *,
        column: int,
        message: str,
        description: bytes,
        buffer_offsets: Positions,
        buffer_sizes: Positions,
        byte_range: tuple[int, int],
        pages: PageTable | Callable[[], PageTable],
    ) -> None:
        self.column = column
        self.message = message
        self.description = description
        self.buffer_offsets = buffer_offsets
        self.buffer_sizes = buffer_sizes
        self.byte_range = byte_range
        if isinstance(pages, PageTable):
            self.pages = pages
        else:
            self._open_pages = pages

    def __getattr__(self, name: str) -> PageTable:
        """Open the pages, which are not there yet."""
        if name != "pages":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        opened = self.pages = self._open_pages()
        # Release the memory of the parsed metadata.
        self._open_pages = lambda: opened
        return opened

    @property
    def page_starts(self) -> Positions:
        """First row of each page, then the number of rows, ``(num_pages + 1,) int64``; see `PageMeta.num_rows`."""
        return self.pages.row_starts

    @property
    def num_rows(self) -> int:
        """Rows of all pages, as the column counts them."""
        return int(self.page_starts[-1])

    @property
    def stored_bytes(self) -> int:
        """Bytes of the buffers of all pages."""
        return int(self.pages.sizes.sum())

    @property
    def page_bytes(self) -> Positions:
        """``(num_pages,) int64``: bytes of the buffers of each page."""
        return self.pages.page_bytes


def stored_bytes_of(metas: Sequence[ColumnMeta]) -> int:
    """Return the bytes of the buffers of all pages of some columns."""
    return int(np.concatenate([meta.pages.sizes for meta in metas]).sum()) if metas else 0


class ColumnTable:
    """Places of the metadata of each column, and their parser.

    Parameters
    ----------
    metadata
        Bytes of the file.
    footer
        Its footer.
    limits
        Ceilings for sizes.
    checks
        Checksums of the file, or None.
    sound
        Bytes of the table if the places in it were checked before, and of the checksums of columns, none if nothing is
        compared. Otherwise the table is read and checked now.

    Raises
    ------
    CorruptFileError
        A block lies outside the file.
    """

    def __init__(
        self,
        metadata: MetadataBytes,
        footer: FileFooter,
        limits: Limits,
        checks: FileChecks | None = None,
        *,
        sound: tuple[bytes, bytes] | None = None,
    ) -> None:
        self._metadata = metadata
        self._footer = footer
        self._limits = limits
        self._checks = checks
        self._sound = sound
        if sound is None:
            self._places = self._read_places()

    @cached_property
    def _places(self) -> Positions:
        """Offset and size of each block, ``(n, 2) int64``."""
        assert self._sound is not None
        return np.frombuffer(self._sound[0], "<i8").reshape(-1, 2)

    def _read_places(self) -> Positions:
        footer = self._footer
        (table,) = self._metadata.read([footer.column_table])
        entries = parse_table(table)
        with located(byte_range=footer.column_table):
            places = check_places(
                entries[:, 0], entries[:, 1], file_size=footer.file_size, what="the metadata of column"
            )
        return np.stack([places.offsets, places.sizes], axis=1)

    def read(self, columns: Sequence[int], name_of: Callable[[int], str]) -> list[ColumnMeta]:
        """Read and parse the metadata of some columns, with at most one wave of requests.

        Parameters
        ----------
        columns
            Numbers of existing columns.
        name_of
            Returns the name of one of them, for messages.

        Raises
        ------
        CorruptFileError
            A block contradicts the format; column, page and byte range are named.
        TruncatedReadError, ResourceLimitError
            Errors of reading.
        """
        parsed, places = self._at_hand(columns) or self._fetched(columns, name_of)
        metas = []
        for column, place, facts in zip(columns, places, parsed, strict=True):
            # A `with` statement would take longer than the rest of this function.
            try:
                fault, own, starts, sizes, pages_fault, pages = facts
                if fault is not None or type(own) is not Description:
                    metas.append(self._column(column, name_of, place, facts))
                    continue
                described = pages[4]
                is_open = pages_fault is None and len(described) == 1 and type(described[0]) is Description
                opened = PageTable(*pages) if is_open else partial(self._pages, pages_fault, pages, name_of, column)
                metas.append(
                    ColumnMeta(
                        column=column,
                        message=own.message,
                        description=own.value,
                        buffer_offsets=starts,
                        buffer_sizes=sizes,
                        byte_range=place,
                        pages=opened,
                    )
                )
            except LanceError as error:
                located(column=name_of(column), byte_range=place, stage=_STAGE).fill(error)
                raise
        return metas

    def _at_hand(self, columns: Sequence[int]) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]] | None:
        """Parse the metadata of columns that lies in the end of the file; None if it does not, or is too large."""
        if self._sound is None:
            return None
        table, sums = self._sound
        footer, most_bytes = self._footer, self._limits.max_metadata_bytes
        alignment = required_alignment(footer.version)
        return read_columns_at_hand(
            self._metadata.tail, table, columns, most_bytes, footer.file_size, alignment, sums, self._usual
        )

    def _fetched(
        self, columns: Sequence[int], name_of: Callable[[int], str]
    ) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]]:
        """Read and parse the metadata of columns, which is compared with its checksums."""
        wanted = np.array(columns, np.intp)
        starts, sizes = self._places[wanted].T
        data, begins = self._metadata.read_together(starts, starts + sizes)
        most_bytes = self._limits.max_metadata_bytes
        if len(sizes) and sizes.max() > most_bytes:
            self._refuse_large(columns, name_of, most_bytes)
        alignment = required_alignment(self._footer.version)
        crcs = None if self._checks is None else self._checks.table.metadata.columns[wanted]
        parsed = read_column_metadata(
            data, begins, begins + sizes, self._footer.file_size, alignment, crcs, self._usual
        )
        return parsed, list(zip(starts.tolist(), (starts + sizes).tolist(), strict=True))

    def _refuse_large(self, columns: Sequence[int], name_of: Callable[[int], str], most_bytes: int) -> None:
        """Raise for the first column with more bytes of metadata than the limits allow."""
        for column in columns:
            start, stop = self.place(column)
            if stop - start > most_bytes:
                with located(column=name_of(column), byte_range=(start, stop), stage=_STAGE):
                    self._limits.check("max_metadata_bytes", stop - start)

    def _usual(self, data: bytes) -> Description | None:
        """Open a description; None if it is too large, malformed, or one of pages of another version."""
        if len(data) > self._limits.max_description_bytes:
            return None
        try:
            found = Description.of(data)
        except CorruptFileError:
            return None
        return found if fits_version(found.message, self._footer.version) else None

    def stored(self, column: int) -> Bytes:
        """Return the metadata of a column as stored, unchecked."""
        return self._metadata.read([self.place(column)])[0]

    def place(self, column: int) -> tuple[int, int]:
        """Return the half-open byte range of a column's metadata in the file."""
        start, size = self._places[column].tolist()
        return start, start + size

    def _column(
        self, column: int, name_of: Callable[[int], str], place: tuple[int, int], facts: tuple[Any, ...]
    ) -> ColumnMeta:
        """Open a column whose description is unusual."""
        fault, description, starts, sizes, pages_fault, pages = facts
        if fault is not None:
            raise self._refused("column buffer", fault)
        own = self._opened(description, None)
        return ColumnMeta(
            column=column,
            message=own.message,
            description=own.value,
            buffer_offsets=starts,
            buffer_sizes=sizes,
            byte_range=place,
            pages=partial(self._pages, pages_fault, pages, name_of, column),
        )

    def _pages(
        self, fault: tuple[int, ...] | None, pages: tuple[Any, ...], name_of: Callable[[int], str], column: int
    ) -> PageTable:
        try:
            if fault is not None:
                raise self._refused("buffer", fault)
            row_starts, borders, starts, sizes, descriptions, description_of = pages
            apart = [one for one in descriptions if isinstance(one, tuple)]
            if len(apart) > 1:
                # One wave for all of them; the code below reports those outside of the file.
                size = self._footer.file_size
                self._metadata.keep([(start, start + count) for start, count in apart if start + count <= size])
            opened = [
                self._opened(one, number if len(descriptions) == 1 else int(np.argmax(description_of == number)))
                for number, one in enumerate(descriptions)
            ]
            found = PageTable(row_starts, borders, starts, sizes, opened, description_of)
            found.check_descriptions(self._footer.version)
        except LanceError as error:
            located(column=name_of(column), byte_range=self.place(column), stage=_STAGE).fill(error)
            raise
        return found

    def _opened(self, description: Description | bytes | tuple[int, int], page: int | None) -> Description:
        """Open a description of the column or of a page; reads it if it is stored elsewhere."""
        if isinstance(description, Description):
            return description
        try:
            if isinstance(description, tuple):
                description = self._metadata.read([self._place_apart(*description)])[0].tobytes()
            if len(description) > self._limits.max_description_bytes:
                self._limits.check("max_description_bytes", len(description))
            return Description.of(description)
        except LanceError as error:
            located(page=page).fill(error)
            raise

    def _place_apart(self, start: int, size: int) -> tuple[int, int]:
        file_size = self._footer.file_size
        if start > file_size or size > file_size - start:
            raise CorruptFileError(f"a description of {size} bytes lies at {start}, but the file has {file_size}")
        self._limits.check("max_description_bytes", size)
        return start, start + size

    def _refused(self, buffer: str, fault: tuple[int, ...]) -> CorruptFileError:
        """Return the error for bad metadata; `engine/tables/column_metadata.hpp` explains the faults."""
        kind, number, first, second, third = fault
        page = None if number < 0 else number
        match kind:
            case _Fault.MALFORMED:
                said = f"not a valid lance.file.v2.ColumnMetadata: malformed at its byte {first}"
                return CorruptFileError(said, detail=first)
            case _Fault.CHECKSUM:
                return CorruptFileError("the metadata of a column contradicts its checksum")
            case _Fault.UNPAIRED:
                return CorruptFileError(f"{first} {buffer} offsets but {second} {buffer} sizes", page=page)
            case _Fault.OUTSIDE:
                said = f"{buffer} {first} has {third} bytes at {second}, but the file has {self._footer.file_size}"
                return CorruptFileError(said, page=page, detail=first)
            case _Fault.MISALIGNED:
                said = f"{buffer} {first} begins at {second}, which is not a multiple of"
                alignment = required_alignment(self._footer.version)
                place = second, second + third
                return CorruptFileError(f"{said} {alignment}", page=page, byte_range=place, detail=first)
            case _Fault.TOO_MANY_ROWS:
                rows = first + second
                return CorruptFileError(f"the pages up to here have {rows} rows, more than 63 bits hold", page=page)
        case = {0: "None", 3: "none"}.get(first, f"#{first}")
        what = "a column" if page is None else "a page"
        return CorruptFileError(f"{what} has no description (its case is {case})", page=page)
