"""Put checksums into a file that somebody else wrote: its end is written anew, every value stays where it is."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lance_arrow.container.checksum_writer import ChecksumWriter
from lance_arrow.container.checksums import BLOCK_BYTES
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.written_bytes import ColumnBlocks, FileTail, TailBlock
from lance_arrow.io import BufferSource
from lance_arrow.proto import file_schema_pb2

ENTRY = struct.Struct("<QQ")
PADDING = b"\x48"


@dataclass(frozen=True)
class Block:
    """Bytes, and where they begin."""

    position: int
    data: bytes

    @property
    def stop(self) -> int:
        return self.position + len(self.data)


@dataclass(frozen=True)
class Tail:
    """What lies behind the data region."""

    descriptor: Block
    columns: tuple[Block, ...]
    column_table: Block
    buffer_table: Block
    footer: Block
    table: Block | None = None

    @property
    def told(self) -> FileTail:
        """The same, as writers of checksums get it."""
        first = self.columns[0].position if self.columns else self.column_table.position
        data = b"".join(one.data for one in self.columns)
        return FileTail(
            descriptor=TailBlock(self.descriptor.position, self.descriptor.data),
            columns=ColumnBlocks(first, data, np.array([len(one.data) for one in self.columns], np.int64)),
            column_table=TailBlock(self.column_table.position, self.column_table.data),
            buffer_table=TailBlock(self.buffer_table.position, self.buffer_table.data),
            footer=TailBlock(self.footer.position, self.footer.data),
        )

    def blocks(self) -> list[Block]:
        parts = [self.descriptor, *self.columns, self.column_table, self.buffer_table, self.footer]
        return parts if self.table is None else [self.table, *parts]


def with_checksums(whole: bytes, block_bytes: int = BLOCK_BYTES, *, mark: bool = True) -> tuple[bytes, Tail]:
    """Return the file with a table of checksums (told of in its descriptor), and its end by parts."""
    file = LanceFileReader(BufferSource(whole), verify="off")
    columns = file.columns(range(file.footer.num_columns))
    places = [file.global_buffers.place(index) for index in range(len(file.global_buffers))]
    writer = ChecksumWriter(block_bytes)
    _tell(writer, np.frombuffer(whole, np.uint8), columns, places)
    descriptor = file_schema_pb2.FileDescriptor.FromString(whole[places[0].start : places[0].stop])
    if mark:
        writer.mark(descriptor, len(places))
    packed = descriptor.SerializeToString(deterministic=True)
    metas = [whole[column.byte_range[0] : column.byte_range[1]] for column in columns]
    start = _aligned(places[0].start)
    others = [(place.start, place.size) for place in places[1:]]
    size = writer.num_bytes(_tail(whole, packed, metas, others, Block(start, b"")).told)
    tail = _tail(whole, packed, metas, others, Block(start, bytes(size)))
    tail = Tail(**{**tail.__dict__, "table": Block(start, writer.encode(tail.told))})
    result = bytearray(whole[:start])
    for part in tail.blocks():
        result += PADDING * (part.position - len(result)) + part.data
    return bytes(result), tail


def _tell(writer: ChecksumWriter, data: np.ndarray, columns: Sequence, places: Sequence) -> None:
    told = []
    for column in columns:
        for page in column.pages:
            pairs = zip(page.buffer_offsets.tolist(), page.buffer_sizes.tolist(), strict=True)
            told += [(*pair, writer.page_buffer, column.column) for pair in pairs]
        pairs = zip(column.buffer_offsets.tolist(), column.buffer_sizes.tolist(), strict=True)
        told += [(*pair, writer.column_buffer, column.column) for pair in pairs]
    told += [(place.start, place.size, writer.global_buffer, index) for index, place in enumerate(places) if index]
    for start, size, tell, number in sorted(told, key=lambda one: one[:2]):
        tell(number, start, data[start : start + size])


def _tail(whole: bytes, descriptor: bytes, metas: Sequence[bytes], others: Sequence, table: Block) -> Tail:
    first = Block(_aligned(table.stop), descriptor)
    columns, position = [], first.stop
    for meta in metas:
        columns.append(Block(position, meta))
        position += len(meta)
    column_table = Block(position, b"".join(ENTRY.pack(one.position, len(one.data)) for one in columns))
    entries = [(first.position, len(descriptor)), *others, (table.position, len(table.data))]
    buffer_table = Block(column_table.stop, b"".join(ENTRY.pack(*entry) for entry in entries))
    places = first.stop, column_table.position, buffer_table.position
    footer = struct.pack("<QQQII", *places, len(entries), len(metas)) + whole[-8:]
    return Tail(first, tuple(columns), column_table, buffer_table, Block(buffer_table.stop, footer))


def _aligned(position: int) -> int:
    return position + -position % 64
