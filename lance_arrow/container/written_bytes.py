"""Protocol between a file writer and an observer of its bytes, which may add a buffer that covers the file's end.

The buffer lies before the bytes that it covers. So the writer first asks for its size, from which all later places
follow. Then the buffer is filled.


    | pages, column buffers, global buffers | the observer's buffer | descriptor, columns, tables, footer |
                                              num_bytes(), encode()   mark(), FileTail
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lance_arrow.engine import BlockSums
from lance_arrow.io import Bytes
from lance_arrow.proto import file_schema_pb2


class TailBlock(NamedTuple):
    """A block of the file's end, and its position."""

    position: int
    data: bytes

    @property
    def stop(self) -> int:
        """End of the block."""
        return self.position + len(self.data)


class ColumnBlocks(NamedTuple):
    """The metadata of all columns, one after another: its position, its bytes, and ``(num_columns,)`` sizes."""

    position: int
    data: bytes
    sizes: NDArray[np.int64]

    @property
    def stop(self) -> int:
        """End of the last block."""
        return self.position + len(self.data)

    @property
    def starts(self) -> NDArray[np.int64]:
        """``(num_columns,)`` offsets of the blocks in `data`."""
        starts: NDArray[np.int64] = np.cumsum(self.sizes) - self.sizes
        return starts

    def table(self) -> bytes:
        """Return the table of the blocks: position and size of each."""
        found = np.empty((len(self.sizes), 2), "<u8")
        found[:, 0] = self.position + self.starts
        found[:, 1] = self.sizes
        return found.tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTail:
    """Everything behind the data region, complete and in the order of the file, without gaps between the blocks.

    Parameters
    ----------
    descriptor
        ``FileDescriptor``, global buffer 0.
    columns
        ``ColumnMetadata`` of each column.
    column_table, buffer_table, footer
        As described in `lance_arrow.container.footer`.
    """

    descriptor: TailBlock
    columns: ColumnBlocks
    column_table: TailBlock
    buffer_table: TailBlock
    footer: TailBlock

    def blocks(self) -> Iterator[TailBlock]:
        """Yield all blocks."""
        yield self.descriptor
        yield TailBlock(self.columns.position, self.columns.data)
        yield self.column_table
        yield self.buffer_table
        yield self.footer


class WrittenBytes(Protocol):
    """An observer of a written file, which adds a global buffer.

    Buffers are reported in the order of the file, after their bytes were written, without padding. Empty ones are
    reported too.
    """

    @property
    def sums(self) -> BlockSums:
        """Checksums of all buffers so far; what is placed natively is added there."""

    def page_buffer(self, column: int, position: int, data: Bytes) -> None:
        """Observe a buffer of a page."""

    def column_buffer(self, column: int, position: int, data: Bytes) -> None:
        """Observe a buffer of a column as a whole, or (`NO_COLUMN`) the buffers of several columns."""

    def global_buffer(self, index: int, position: int, data: Bytes) -> None:
        """Observe a global buffer, except the descriptor and the observer's own."""

    def placed(self, position: int, data: Bytes) -> None:
        """Observe bytes outside of pages, such as those of blobs."""

    def mark(self, descriptor: file_schema_pb2.FileDescriptor, buffer_index: int) -> None:
        """Record in the descriptor that the global buffer `buffer_index`, the last one, is the observer's."""

    def num_bytes(self, tail: FileTail) -> int:
        """Return the size of the buffer. Sizes in `tail` are final, positions are not."""

    def encode(self, tail: FileTail) -> bytes:
        """Return the buffer, with the size from `num_bytes`; `tail` is written behind it."""
