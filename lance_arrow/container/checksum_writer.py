"""`ChecksumWriter`: computes checksums of a file's buffers as they are written, and their table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from lance_arrow.container.checksums import (
    BLOCK_BYTES,
    NO_COLUMN,
    BufferKind,
    Checksums,
    ChecksumTable,
    MetadataSums,
    table_bytes,
)
from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.io import Bytes
from lance_arrow.kernels import crc32c, crc32c_blocks
from lance_arrow.proto import file_schema_pb2


class _Block(Protocol):
    @property
    def data(self) -> bytes: ...


class _Tail(Protocol):
    """Everything behind the data region, from `file_writer`."""

    @property
    def descriptor(self) -> _Block: ...
    @property
    def columns(self) -> Sequence[_Block]: ...
    @property
    def column_table(self) -> _Block: ...
    @property
    def buffer_table(self) -> _Block: ...
    @property
    def footer(self) -> _Block: ...


class ChecksumWriter:
    """Observes every buffer of a file, in the order of the file, and builds its table of checksums.

    The table must become the last global buffer, and the footer must follow the table of global buffers without a gap.
    Readers look for it there.

    Parameters
    ----------
    block_bytes
        Bytes per checksum: the smallest unit of a first read.

    Raises
    ------
    InvalidArgumentError
        `block_bytes` is below 64.
    """

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        if not 64 <= block_bytes < 1 << 32:
            raise InvalidArgumentError(f"blocks of {block_bytes} bytes: expected at least 64", detail=block_bytes)
        self._block_bytes = block_bytes
        self._stop = 0
        self._num_blocks = 0
        self._buffers: list[tuple[int, int, int, int]] = []
        self._crcs: list[Checksums] = []

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

    def num_bytes(self, tail: _Tail) -> int:
        """Return the size of the table."""
        return table_bytes(len(self._buffers), self._num_blocks, len(tail.columns))

    def encode(self, tail: _Tail) -> bytes:
        """Return the table of a file that ends with `tail`."""
        buffers = np.array(self._buffers, np.int64).reshape(-1, 4)
        table = ChecksumTable(
            block_bytes=self._block_bytes,
            starts=buffers[:, 0],
            sizes=buffers[:, 1],
            columns=buffers[:, 2].astype(np.uint32),
            kinds=buffers[:, 3].astype(np.uint32),
            crcs=np.concatenate([np.empty(0, np.uint32), *self._crcs]),
            metadata=MetadataSums(
                footer=_sum(tail.footer),
                descriptor=_sum(tail.descriptor),
                column_table=_sum(tail.column_table),
                buffer_table=_sum(tail.buffer_table),
                columns=np.array([_sum(column) for column in tail.columns], np.uint32),
            ),
        )
        return table.pack()

    def _cover(self, kind: BufferKind, column: int, position: int, data: Bytes) -> None:
        size = data.nbytes
        if not size:
            return
        if position < self._stop:
            raise InternalError(f"a buffer at {position} follows one that ends at {self._stop}")
        crcs = np.empty(-(-size // self._block_bytes), np.uint32)
        crc32c_blocks(np.frombuffer(data, np.uint8), self._block_bytes, crcs)
        self._stop = position + size
        self._num_blocks += len(crcs)
        self._buffers.append((position, size, column, int(kind)))
        self._crcs.append(crcs)


def _sum(block: _Block) -> int:
    return crc32c(np.frombuffer(block.data, np.uint8))
