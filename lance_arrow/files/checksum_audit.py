"""`ChecksumAudit`: compares a whole file with its checksums, and goes on after what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lance_arrow.container.checksums import ChecksumTable, find_table
from lance_arrow.container.columns import ColumnTable
from lance_arrow.container.file_checks import compare
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FOOTER_BYTES, read_footer
from lance_arrow.container.global_buffers import GlobalBuffers
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.io import Bytes, RangeSource, fetch
from lance_arrow.kernels import crc32c_of
from lance_arrow.settings import Limits


class ChecksumAudit:
    """The checksums of one file.

    Parameters
    ----------
    source
        The file.
    limits
        Ceilings for declared sizes.

    Attributes
    ----------
    has_table
        Whether the file has checksums that can be believed.
    errors
        What is wrong with the checksums themselves.
    num_blocks, num_bytes
        What was compared.
    """

    def __init__(self, source: RangeSource, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._metadata = MetadataBytes(source, limits)
        self.errors: list[LanceError] = []
        self.num_blocks = self.num_bytes = 0
        self._table: ChecksumTable | None = None
        try:
            self._table = find_table(self._metadata)
        except LanceError as error:
            self.errors.append(error)

    @property
    def has_table(self) -> bool:
        return self._table is not None

    def run(self, file: LanceFileReader | None) -> Iterator[LanceError]:
        """Yield everything that contradicts its checksum.

        Parameters
        ----------
        file
            The file, opened without comparing anything; None where it cannot be opened.
        """
        yield from self.errors
        if self._table is None:
            if file is not None and file.promises_checksums and not self.errors:
                yield CorruptFileError("the file was written with a table of checksums, which is missing")
            return
        yield from self._metadata_of(self._table)
        yield from self._blocks(file, self._table)

    def _metadata_of(self, table: ChecksumTable) -> Iterator[LanceError]:
        """Compare what describes the file, as far as it can be found through what is right."""
        metadata, sums, size = self._metadata, table.metadata, self._metadata.file_size
        place = size - FOOTER_BYTES, size
        if wrong := _wrong(metadata.tail[-FOOTER_BYTES:], sums.footer, "the footer", place):
            yield wrong
            return
        footer = read_footer(metadata.tail, size)
        buffers, columns = metadata.read([footer.buffer_table, footer.column_table])
        if wrong := _wrong(buffers, sums.buffer_table, "the table of global buffers", footer.buffer_table):
            yield wrong
        else:
            descriptor = GlobalBuffers(metadata, footer)
            where = descriptor.place(0)
            if wrong := _wrong(descriptor.read(0), sums.descriptor, "the file descriptor", (where.start, where.stop)):
                yield wrong
        if wrong := _wrong(columns, sums.column_table, "the table of columns", footer.column_table):
            yield wrong
            return
        stored = ColumnTable(metadata, footer, self._limits)
        for column, crc in enumerate(sums.columns.tolist()[: footer.num_columns]):
            if wrong := _wrong(stored.stored(column), crc, "the metadata of a column", stored.place(column)):
                yield wrong

    def _blocks(self, file: LanceFileReader | None, table: ChecksumTable) -> Iterator[LanceError]:
        """Compare all blocks; neighbours that are wrong are one finding."""
        first_block = 0
        for starts, stops in table.waves():
            data, positions = fetch(self._source, starts, stops)
            counts = -(-(stops - starts) // table.block_bytes)
            piece = np.repeat(np.arange(len(counts)), counts)
            within = (np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)) * table.block_bytes
            sizes = np.minimum((stops - starts)[piece] - within, table.block_bytes)
            crcs = np.empty(len(piece), np.uint32)
            crc32c_of(data, positions[piece] + within, positions[piece] + within + sizes, crcs)
            wrong = np.flatnonzero(crcs != table.crcs[first_block : first_block + len(crcs)])
            block_starts = starts[piece] + within
            for group in np.split(wrong, np.flatnonzero(np.diff(wrong) > 1) + 1):
                for piece_blocks in _by_piece(group, piece):
                    start = int(block_starts[piece_blocks[0]])
                    stop = int(block_starts[piece_blocks[-1]] + sizes[piece_blocks[-1]])
                    yield _contradiction(file, table, start, stop)
            first_block += len(crcs)
            self.num_blocks += len(crcs)
            self.num_bytes += int((stops - starts).sum())


def _by_piece(blocks: np.ndarray, piece: np.ndarray) -> list[np.ndarray]:
    """Split neighbouring blocks where one buffer ends and another begins."""
    if not len(blocks):
        return []
    return np.split(blocks, np.flatnonzero(np.diff(piece[blocks])) + 1)


def _contradiction(file: LanceFileReader | None, table: ChecksumTable, start: int, stop: int) -> LanceError:
    if file is None:
        return CorruptFileError("bytes of the file contradict their checksum", byte_range=(start, stop))
    return file.owners.contradiction(table, start, stop)


def _wrong(data: Bytes, crc: int, what: str, place: tuple[int, int]) -> LanceError | None:
    try:
        compare(data, crc, what, place)
    except CorruptFileError as error:
        return error
    return None
