"""The table of checksums in a file: its bytes, its rules, and its place.

The table is the last global buffer, and the table of global buffers ends where the footer begins. So its place
is stored 56 bytes before the end of the file, and is found even if the footer is damaged. Numbers are little-endian.

    0  "LANCECRC"                                20  u32 number of buffers n          36  u32 checksum of the footer
    8  u32 checksum of the bytes from 12 on      24  u64 number of blocks m           40  u32 of the file descriptor
    12 u16 version (1 or 2), u16 zero            32  u32 number of columns c          44  u32 of the column table
    16 u32 bytes of a block                                                           48  u32 of the buffer table
    64 u64[n] positions, u64[n] sizes, u32[n] columns, u32[n] kinds, u32[c] checksums of the columns' metadata,
       u32[m] checksums of blocks

Buffers are in ascending order of position and disjoint. The blocks of each are counted from its own start; the last
block is short.

In version 2, the table's own checksum is of what lies before the checksums of blocks. These are a 4,096th of a large
file, and are read when their blocks are. A wrong bit of them makes a right block look wrong, never the reverse.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.footer import FOOTER_BYTES, TABLE_ENTRY_BYTES
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.io import Bytes, Positions
from lance_arrow.kernels import BlockChecks, crc32c

BLOCK_BYTES = 16 << 10
NO_COLUMN = 0xFFFFFFFF
MAGIC = b"LANCECRC"
HEADER_BYTES = 64
_HEADER = struct.Struct("<8sIHHIIQIIIII12x")
_CHECKED_FROM = 12
_WHOLE, _LATE = 1, 2
LATE_BYTES = 256 << 10
"""If the checksums of blocks take more, the table has version 2."""
_BYTES_PER_BUFFER = 24
_READ_UNSEEN_BYTES = 1 << 20
"""Of larger buffers, which may have any content, the beginning is read first."""
_PIECE_BYTES = 8 << 20
_WAVE_BYTES = 32 << 20
_LAST_ENTRY = struct.Struct("<QQ")
_NUM_BUFFERS = struct.Struct("<I")

Checksums = NDArray[np.uint32]


class BufferKind(enum.IntEnum):
    """Kind of a covered buffer."""

    PAGE = 0
    COLUMN = 1
    GLOBAL = 2
    PLACED = 3
    """Bytes to which pages refer, such as blobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataSums:
    """Checksums of the metadata of a file.

    Parameters
    ----------
    footer, descriptor, column_table, buffer_table
        One checksum each.
    columns
        ``(num_columns,) uint32``, of each column's metadata.
    """

    footer: int
    descriptor: int
    column_table: int
    buffer_table: int
    columns: Checksums = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChecksumTable:
    """Checksums of all content of a file.

    Parameters
    ----------
    block_bytes
        Size of a block.
    starts, sizes
        ``(n,) int64``: places of the covered buffers.
    columns, kinds
        ``(n,) uint32``: number of the column of each buffer (`NO_COLUMN`: none), and its `BufferKind`.
    crcs
        ``(num_blocks,) uint32``; empty if they are `late`.
    metadata
        Checksums of the metadata.
    late
        Where the checksums of blocks begin in the file, if they were not read.
    """

    block_bytes: int
    starts: Positions
    sizes: Positions
    columns: Checksums
    kinds: Checksums
    crcs: Checksums
    metadata: MetadataSums
    late: int | None = None

    def pack(self) -> bytes:
        """Return the bytes of the table."""
        sums = self.metadata
        counts = self.block_bytes, len(self.starts), len(self.crcs), len(sums.columns)
        of_metadata = sums.footer, sums.descriptor, sums.column_table, sums.buffer_table
        arrays = (
            self.starts.astype("<u8"),
            self.sizes.astype("<u8"),
            self.columns.astype("<u4"),
            self.kinds.astype("<u4"),
            sums.columns.astype("<u4"),
            self.crcs.astype("<u4"),
        )
        is_late = self.crcs.nbytes > LATE_BYTES
        packed = bytearray(_HEADER.pack(MAGIC, 0, _LATE if is_late else _WHOLE, 0, *counts, *of_metadata))
        for array in arrays:
            packed += array.tobytes()
        checked = np.frombuffer(packed, np.uint8)[_CHECKED_FROM : len(packed) - (self.crcs.nbytes if is_late else 0)]
        own = crc32c(checked)
        del checked
        packed[8:12] = struct.pack("<I", own)
        return bytes(packed)

    @classmethod
    def parse(cls, data: Bytes, start: int, file_size: int) -> ChecksumTable:
        """Read a table at `start` that begins with its magic.

        Raises
        ------
        CorruptFileError
            Its own checksum is wrong, or it contradicts itself.
        UnsupportedError
            The table has a later version.
        """
        place = start, start + len(data)
        if len(data) < HEADER_BYTES:
            raise CorruptFileError(f"the table of checksums has {len(data)} bytes, too few", byte_range=place)
        (_, own, version, _, block_bytes, num_buffers, num_blocks, num_columns, *_) = _HEADER.unpack(
            data[:HEADER_BYTES].tobytes()
        )
        # In version 2, the checksum of the table ends where those of blocks begin.
        checked = data[_CHECKED_FROM : table_bytes(num_buffers, 0, num_columns) if version == _LATE else None]
        if crc32c(checked) != own:
            raise CorruptFileError("the table of checksums contradicts its own checksum", byte_range=place)
        if version not in (_WHOLE, _LATE):
            raise UnsupportedError(
                f"checksums of version {version} are not supported, expected {_WHOLE} or {_LATE}; "
                "verify='off' ignores them",
                byte_range=place,
            )
        if len(data) != table_bytes(num_buffers, num_blocks, num_columns) or block_bytes < 1:
            raise CorruptFileError("the size of the table of checksums contradicts its counts", byte_range=place)
        table = cls.of(data)
        if not table._is_sound(file_size):
            raise CorruptFileError("the table of checksums names impossible buffers", byte_range=place)
        return table

    @classmethod
    def of(cls, data: Bytes, late: int | None = None) -> ChecksumTable:
        """Read a table that was checked before; of one whose blocks are `late`, what lies before their checksums."""
        (_, _, _, _, block_bytes, num_buffers, _, num_columns, *of_metadata) = _HEADER.unpack(
            data[:HEADER_BYTES].tobytes()
        )
        rest = data[HEADER_BYTES:].tobytes()
        positions = np.frombuffer(rest, "<u8", 2 * num_buffers).reshape(2, -1)
        words = np.frombuffer(rest, "<u4", offset=16 * num_buffers)
        return cls(
            block_bytes=block_bytes,
            starts=positions[0].astype(np.int64),
            sizes=positions[1].astype(np.int64),
            columns=words[:num_buffers],
            kinds=words[num_buffers : 2 * num_buffers],
            crcs=words[2 * num_buffers + num_columns :].astype(np.uint32),
            metadata=MetadataSums(
                footer=of_metadata[0],
                descriptor=of_metadata[1],
                column_table=of_metadata[2],
                buffer_table=of_metadata[3],
                columns=words[2 * num_buffers : 2 * num_buffers + num_columns],
            ),
            late=late,
        )

    def _is_sound(self, file_size: int) -> bool:
        # Numbers above 63 bits are negative here.
        are_inside = (self.starts >= 0) & (self.sizes > 0) & (self.sizes <= file_size - self.starts)
        if not are_inside.all():
            return False
        are_apart = bool((self.starts[:-1] + self.sizes[:-1] <= self.starts[1:]).all())
        return are_apart and self.num_blocks == len(self.crcs)

    @property
    def num_blocks(self) -> int:
        """Blocks of all buffers."""
        return int((-(-self.sizes // self.block_bytes)).sum())

    @property
    def num_bytes(self) -> int:
        """Size of the table."""
        return table_bytes(len(self.starts), self.num_blocks, len(self.metadata.columns))

    def checks(self) -> BlockChecks:
        """Return the blocks, none of them checked yet."""
        if self.late is not None:
            return BlockChecks.late(self.starts, self.sizes, self.num_blocks, self.block_bytes, self.late)
        return BlockChecks(self.starts, self.sizes, self.crcs, self.block_bytes)

    def owner(self, position: int) -> int | None:
        """Return the column whose buffer holds a byte; None if it belongs to no column."""
        number = int(np.searchsorted(self.starts, position, side="right")) - 1
        if number < 0 or position >= self.starts[number] + self.sizes[number]:
            return None
        column = int(self.columns[number])
        return None if column == NO_COLUMN else column

    def waves(self) -> Iterator[tuple[Positions, Positions]]:
        """Yield all covered bytes as ranges of whole blocks, some MiB for each read."""
        piece_bytes = max(1, _PIECE_BYTES // self.block_bytes) * self.block_bytes
        counts = -(-self.sizes // piece_bytes)
        number = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = self.starts[number] + within * piece_bytes
        stops = np.minimum(starts + piece_bytes, (self.starts + self.sizes)[number])
        ends = np.cumsum(stops - starts)
        first = 0
        while first < len(starts):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + _WAVE_BYTES, side="right")))
            yield starts[first:last], stops[first:last]
            first = last


def table_bytes(num_buffers: int, num_blocks: int, num_columns: int) -> int:
    """Return the size of a table."""
    return HEADER_BYTES + _BYTES_PER_BUFFER * num_buffers + 4 * (num_columns + num_blocks)


def announced_bytes(header: bytes) -> int | None:
    """Return the size of a table that begins with these bytes, as it says itself; None if they are too few."""
    if len(header) < HEADER_BYTES:
        return None
    (_, _, _, _, _, num_buffers, num_blocks, num_columns, *_) = _HEADER.unpack(header[:HEADER_BYTES])
    return table_bytes(num_buffers, num_blocks, num_columns)


def find_table(metadata: MetadataBytes) -> ChecksumTable | None:
    """Find the table of checksums from the end of the file, without the footer and other metadata.

    Returns
    -------
    ChecksumTable or None
        None if there is nothing that begins like a table.

    Raises
    ------
    CorruptFileError, UnsupportedError
        As `ChecksumTable.parse`.
    TruncatedReadError, ResourceLimitError
        Errors of reading: one request if the table lies before the tail.
    """
    tail, file_size = metadata.tail, metadata.file_size
    if len(tail) < FOOTER_BYTES + TABLE_ENTRY_BYTES:
        return None
    footer = tail[-FOOTER_BYTES:].tobytes()
    # The descriptor is a global buffer too: a file with a single one has no table.
    if _NUM_BUFFERS.unpack_from(footer, 24)[0] == 1:
        return None
    entry = tail[-FOOTER_BYTES - TABLE_ENTRY_BYTES : -FOOTER_BYTES].tobytes()
    start, size = _LAST_ENTRY.unpack(entry)
    if not HEADER_BYTES <= size <= file_size - start:
        return None
    if (
        size > min(_READ_UNSEEN_BYTES, metadata.limits.max_metadata_bytes)
        and metadata.read([(start, start + len(MAGIC))])[0].tobytes() != MAGIC
    ):
        return None
    (data,) = metadata.read([(start, start + size)])
    return ChecksumTable.parse(data, start, file_size) if data[: len(MAGIC)].tobytes() == MAGIC else None
