"""What a file writer tells an observer of the bytes it writes, and how that adds a buffer that covers the file's end.

The buffer lies before the bytes it speaks of, so it is asked for its size first: places of everything behind it follow
from that, then it is filled.

    | pages, column buffers, global buffers | the observer's buffer | descriptor, columns, tables, footer |
                                              num_bytes(), encode()   mark(), FileTail
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lance_arrow.io import Bytes
from lance_arrow.proto import file_schema_pb2


class TailBlock(NamedTuple):
    """Bytes of the file's end and where they begin."""

    position: int
    data: bytes

    @property
    def stop(self) -> int:
        """Where they end."""
        return self.position + len(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTail:
    """Everything behind the data region, complete and in the order of the file; nothing lies between the blocks.

    Parameters
    ----------
    descriptor
        ``FileDescriptor``, global buffer 0.
    columns
        ``ColumnMetadata`` of each column.
    column_table, buffer_table, footer
        As `lance_arrow.container.footer` describes them.
    """

    descriptor: TailBlock
    columns: tuple[TailBlock, ...]
    column_table: TailBlock
    buffer_table: TailBlock
    footer: TailBlock

    def blocks(self) -> Iterator[TailBlock]:
        """Yield all blocks."""
        yield self.descriptor
        yield from self.columns
        yield self.column_table
        yield self.buffer_table
        yield self.footer


class WrittenBytes(Protocol):
    """An observer of a file being written, which adds a global buffer of its own.

    Ranges are told in the order of the file, after their bytes went out, padding left aside. Empty ones are told too.
    """

    def page_buffer(self, column: int, position: int, data: Bytes) -> None:
        """Hear of a buffer of a page."""

    def column_buffer(self, column: int, position: int, data: Bytes) -> None:
        """Hear of a buffer of a column as a whole."""

    def global_buffer(self, index: int, position: int, data: Bytes) -> None:
        """Hear of a global buffer; neither the descriptor nor the observer's own."""

    def placed(self, position: int, data: Bytes) -> None:
        """Hear of bytes that lie outside of pages, as those of blobs do."""

    def mark(self, descriptor: file_schema_pb2.FileDescriptor, buffer_index: int) -> None:
        """Note in the descriptor that the global buffer `buffer_index`, the last one, is the observer's."""

    def num_bytes(self, tail: FileTail) -> int:
        """Return the size of the buffer. Sizes in `tail` are those of the file, positions are not yet."""

    def encode(self, tail: FileTail) -> bytes:
        """Return the buffer, as large as was said; `tail` is what will be written behind it."""
