"""`ChecksumWriter`: computes checksums of a file's buffers as they are written, and their table at the end."""

from __future__ import annotations

import numpy as np

from lance_arrow.container.checksums import (
    BLOCK_BYTES,
    NO_COLUMN,
    BufferKind,
    ChecksumTable,
    MetadataSums,
    table_bytes,
)
from lance_arrow.container.written_bytes import FileTail, TailBlock
from lance_arrow.engine import BlockSums
from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.io import Bytes
from lance_arrow.kernels import crc32c, crc32c_of
from lance_arrow.proto import file_schema_pb2


class ChecksumWriter:
    """Observes every buffer of a file, in the order of the file, and builds its table of checksums.

    The table must become the last global buffer, and the footer must follow the table of global buffers without a gap.
    Readers look for it there.

    Parameters
    ----------
    block_bytes
        Bytes per checksum: the smallest unit of a first read.

    Attributes
    ----------
    sums
        Checksums so far. What is placed natively is added there by its writer.

    Raises
    ------
    InvalidArgumentError
        `block_bytes` is below 64.
    """

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        if not 64 <= block_bytes < 1 << 32:
            raise InvalidArgumentError(f"blocks of {block_bytes} bytes: expected at least 64", detail=block_bytes)
        self._block_bytes = block_bytes
        self.sums = BlockSums(block_bytes)

    def page_buffer(self, column: int, position: int, data: Bytes) -> None:
        """Add a buffer of a page."""
        self._cover(BufferKind.PAGE, column, position, data)

    def column_buffer(self, column: int, position: int, data: Bytes) -> None:
        """Add a buffer of a column as a whole."""
        self._cover(BufferKind.COLUMN, column, position, data)

    def global_buffer(self, index: int, position: int, data: Bytes) -> None:
        """Add a global buffer, except the descriptor and the table itself."""
        self._cover(BufferKind.GLOBAL, NO_COLUMN, position, data)

    def placed(self, position: int, data: Bytes) -> None:
        """Add bytes outside of pages, such as those of blobs."""
        self._cover(BufferKind.PLACED, NO_COLUMN, position, data)

    def mark(self, descriptor: file_schema_pb2.FileDescriptor, buffer_index: int) -> None:
        """Record in the descriptor that the table exists: from then on, a missing table is damage.

        Source: FileDescriptor.checksums.
        """
        descriptor.checksums.global_buffer = buffer_index

    def num_bytes(self, tail: FileTail) -> int:
        """Return the size of the table."""
        return table_bytes(self.sums.num_buffers, self.sums.num_blocks, len(tail.columns.sizes))

    def encode(self, tail: FileTail) -> bytes:
        """Return the table of a file that ends with `tail`."""
        starts, sizes, columns, kinds, crcs = self.sums.arrays()
        blocks = tail.columns
        of_columns = np.empty(len(blocks.sizes), np.uint32)
        if len(of_columns):
            firsts = blocks.starts
            crc32c_of(np.frombuffer(blocks.data, np.uint8), firsts, firsts + blocks.sizes, of_columns)
        table = ChecksumTable(
            block_bytes=self._block_bytes,
            starts=starts,
            sizes=sizes,
            columns=columns,
            kinds=kinds,
            crcs=crcs,
            metadata=MetadataSums(
                footer=_sum(tail.footer),
                descriptor=_sum(tail.descriptor),
                column_table=_sum(tail.column_table),
                buffer_table=_sum(tail.buffer_table),
                columns=of_columns,
            ),
        )
        return table.pack()

    def _cover(self, kind: BufferKind, column: int, position: int, data: Bytes) -> None:
        if data.nbytes and not self.sums.cover(kind, column, position, np.frombuffer(data, np.uint8)):
            raise InternalError(f"a buffer at {position} follows one that ends at {self.sums.stop}")


def _sum(block: TailBlock) -> int:
    return crc32c(np.frombuffer(block.data, np.uint8))
