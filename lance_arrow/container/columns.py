"""Column metadata on demand: only the blocks asked for are read and parsed.

Source: lance.file.v2.ColumnMetadata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from lance_arrow.container.buffer_places import check_places, parse_table
from lance_arrow.container.descriptions import DescriptionReader
from lance_arrow.container.file_checks import FileChecks
from lance_arrow.container.footer import FileFooter
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.container.pages import PageMeta, parse_pages
from lance_arrow.errors import CorruptFileError, located
from lance_arrow.io import Bytes, Positions
from lance_arrow.proto import file_v2_pb2
from lance_arrow.proto.reading import parse
from lance_arrow.settings import Limits


class ColumnMeta:
    """One physical column.

    Parameters
    ----------
    column
        Its number.
    message, description
        Full name and bytes of what describes the column as a whole (plain values, a zone index, blobs).
    buffer_offsets, buffer_sizes
        ``(num_buffers,) int64``: buffers of the column as a whole; inside the file.
    byte_range
        Half-open bytes of its metadata.
    open_pages
        Makes `pages`; called when these are first wanted, since zone maps leave out most files before.
    """

    __slots__ = (
        "_open_pages",
        "_opened",
        "_stored_bytes",
        "buffer_offsets",
        "buffer_sizes",
        "byte_range",
        "column",
        "description",
        "message",
    )

    def __init__(
        self,
        *,
        column: int,
        message: str,
        description: bytes,
        buffer_offsets: Positions,
        buffer_sizes: Positions,
        byte_range: tuple[int, int],
        open_pages: Callable[[], tuple[PageMeta, ...]],
    ) -> None:
        self.column = column
        self.message = message
        self.description = description
        self.buffer_offsets = buffer_offsets
        self.buffer_sizes = buffer_sizes
        self.byte_range = byte_range
        self._open_pages = open_pages
        self._opened: tuple[tuple[PageMeta, ...], Positions] | None = None
        self._stored_bytes: int | None = None

    @property
    def pages(self) -> tuple[PageMeta, ...]:
        """Pages in row order; those who got the column from `LanceFileReader.columns` meet no error here."""
        return self._pages()[0]

    @property
    def page_starts(self) -> Positions:
        """First row of each page, and the number of rows, ``(num_pages + 1,) int64``; as `PageMeta.num_rows` counts."""
        return self._pages()[1]

    @property
    def num_rows(self) -> int:
        """Rows of all pages, as the column counts them."""
        return int(self.page_starts[-1])

    @property
    def stored_bytes(self) -> int:
        """Bytes that the buffers of all pages take."""
        if self._stored_bytes is None:
            self._stored_bytes = sum(self.page_bytes)
        return self._stored_bytes

    @property
    def page_bytes(self) -> list[int]:
        """Bytes that the buffers of each page take."""
        return [sum(page.facts.buffer_sizes) for page in self.pages]

    def page_at(self, position: int) -> int | None:
        """Return the page that has a buffer with this byte of the file."""
        for page in self.pages:
            if bool(((page.buffer_offsets <= position) & (position < page.buffer_offsets + page.buffer_sizes)).any()):
                return page.number
        return None

    def _pages(self) -> tuple[tuple[PageMeta, ...], Positions]:
        opened = self._opened
        if opened is None:
            pages = self._open_pages()
            starts = np.zeros(len(pages) + 1, np.int64)
            np.cumsum([page.num_rows for page in pages], out=starts[1:])
            starts.setflags(write=False)
            opened = self._opened = pages, starts
            # What they were made of takes as much memory again.
            self._open_pages = lambda: pages
        return opened


class ColumnTable:
    """Where the metadata of each column is, and how it is parsed.

    Parameters
    ----------
    metadata
        Bytes of the file.
    footer
        Its footer.
    limits
        Ceilings for sizes.
    checks
        Checksums of the file, if it has any.
    is_sound
        Whether the places of the blocks are known to be right; else they are checked now.

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
        is_sound: bool = False,
    ) -> None:
        self._metadata = metadata
        self._footer = footer
        self._limits = limits
        self._checks = checks
        self._descriptions = DescriptionReader(metadata, limits)
        self._places: list[tuple[int, int]] | None = None if is_sound else self._read_places()

    def _read_places(self) -> list[tuple[int, int]]:
        footer = self._footer
        (table,) = self._metadata.read([footer.column_table])
        entries = parse_table(table)
        with located(byte_range=footer.column_table):
            places = check_places(
                entries[:, 0], entries[:, 1], file_size=footer.file_size, what="the metadata of column"
            )
        return list(zip(places.offsets.tolist(), (places.offsets + places.sizes).tolist(), strict=True))

    def read(self, columns: Sequence[int], names: Sequence[str]) -> list[ColumnMeta]:
        """Read and parse the metadata of some columns, at most one wave of requests for all.

        Parameters
        ----------
        columns
            Their numbers, which exist.
        names
            Their names, for messages.

        Raises
        ------
        CorruptFileError
            A block contradicts the format; column, page and byte range are named.
        TruncatedReadError, ResourceLimitError
            As reading goes.
        """
        places = [self.place(column) for column in columns]
        blocks = self._metadata.read(places)
        metas = []
        for column, name, place, block in zip(columns, names, places, blocks, strict=True):
            with located(column=name, byte_range=place, stage="reading the metadata of a column"):
                if self._checks is not None:
                    self._checks.column(column, block)
                metas.append(self._parse(column, name, place, block))
        return metas

    def stored(self, column: int) -> Bytes:
        """Return the metadata of a column as it is stored, unchecked."""
        return self._metadata.read([self.place(column)])[0]

    def place(self, column: int) -> tuple[int, int]:
        """Return the half-open bytes of the file that the metadata of a column has."""
        if self._places is None:
            self._places = self._read_places()
        return self._places[column]

    def _parse(self, column: int, name: str, place: tuple[int, int], block: Bytes) -> ColumnMeta:
        message = parse(
            file_v2_pb2.ColumnMetadata,
            block.data,
            what=f"the metadata of column {column}",
            byte_range=place,
            max_bytes=self._limits.max_metadata_bytes,
        )
        if len(message.buffer_offsets) != len(message.buffer_sizes):
            raise CorruptFileError(
                f"{len(message.buffer_offsets)} column buffer offsets but {len(message.buffer_sizes)} sizes"
            )
        buffers = check_places(
            np.array(message.buffer_offsets, np.uint64),
            np.array(message.buffer_sizes, np.uint64),
            file_size=self._footer.file_size,
            what="column buffer",
        )
        (own,) = self._descriptions.read([message.encoding], first_page=None)
        for array in (buffers.offsets, buffers.sizes):
            array.setflags(write=False)
        return ColumnMeta(
            column=column,
            message=own.message,
            description=own.value,
            buffer_offsets=buffers.offsets,
            buffer_sizes=buffers.sizes,
            byte_range=place,
            open_pages=partial(self._pages, message.pages, name, place),
        )

    def _pages(
        self, messages: Sequence[file_v2_pb2.ColumnMetadata.Page], name: str, place: tuple[int, int]
    ) -> tuple[PageMeta, ...]:
        with located(column=name, byte_range=place, stage="reading the metadata of a column"):
            return parse_pages(
                messages,
                self._descriptions.read([page.encoding for page in messages], first_page=0),
                version=self._footer.version,
                file_size=self._footer.file_size,
            )
