"""Put checksums into a file that somebody else wrote: its end is written anew, every value stays where it is."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from lance_arrow.container.checksum_writer import ChecksumWriter
from lance_arrow.container.checksums import BLOCK_BYTES
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.io import BufferSource
from lance_arrow.proto import file_schema_pb2

ENTRY = struct.Struct("<QQ")


@dataclass(frozen=True)
class Block:
    position: int
    data: bytes


@dataclass(frozen=True)
class Tail:
    descriptor: Block
    columns: tuple[Block, ...]
    column_table: Block
    buffer_table: Block
    footer: Block
    table: Block | None = None


def with_checksums(whole: bytes, block_bytes: int = BLOCK_BYTES) -> tuple[bytes, Tail]:
    """Return the file with a table of checksums, and where everything behind its data region lies."""
    data = np.frombuffer(whole, np.uint8)
    file = LanceFileReader(BufferSource(whole))
    footer = file.footer
    columns = file.columns(range(footer.num_columns))
    writer = ChecksumWriter(block_bytes)
    buffers = [
        (o, s, "page", c.column)
        for c in columns
        for p in c.pages
        for o, s in zip(p.buffer_offsets.tolist(), p.buffer_sizes.tolist(), strict=True)
    ]
    buffers += [
        (o, s, "column", c.column)
        for c in columns
        for o, s in zip(c.buffer_offsets.tolist(), c.buffer_sizes.tolist(), strict=True)
    ]
    places = [file.global_buffers.place(index) for index in range(len(file.global_buffers))]
    buffers += [(place.start, place.size, "global", index + 1) for index, place in enumerate(places[1:])]
    for start, size, kind, number in sorted(buffers):
        getattr(writer, f"{kind}_buffer")(number, start, data[start : start + size])
    descriptor = file_schema_pb2.FileDescriptor.FromString(whole[places[0].start : places[0].stop])
    writer.mark(descriptor, len(places))
    packed = descriptor.SerializeToString(deterministic=True)
    metas = [whole[c.byte_range[0] : c.byte_range[1]] for c in columns]
    region = places[0].start + -places[0].start % 64
    size = writer.num_bytes(_tail(whole, packed, metas, places, region, 0))
    tail = _tail(whole, packed, metas, places, region, size)
    table = writer.encode(tail)
    assert len(table) == size
    parts = [Block(region, table), tail.descriptor, *tail.columns, tail.column_table, tail.buffer_table, tail.footer]
    result = bytearray(whole[:region])
    for part in parts:
        result += b"\x48" * (part.position - len(result)) + part.data
    return bytes(result), Tail(
        *(getattr(tail, name) for name in ("descriptor", "columns", "column_table", "buffer_table", "footer")), parts[0]
    )


def _tail(whole, descriptor, metas, places, region, table_bytes):
    start = region + table_bytes + -(region + table_bytes) % 64
    position = start + len(descriptor)
    first = position
    columns = []
    for meta in metas:
        columns.append(Block(position, meta))
        position += len(meta)
    column_table = Block(position, b"".join(ENTRY.pack(c.position, len(c.data)) for c in columns))
    entries = [(start, len(descriptor)), *((p.start, p.size) for p in places[1:]), (region, table_bytes)]
    buffer_table = Block(position + len(column_table.data), b"".join(ENTRY.pack(*entry) for entry in entries))
    end = buffer_table.position + len(buffer_table.data)
    footer = struct.pack("<QQQII", first, column_table.position, buffer_table.position, len(entries), len(metas))
    return Tail(Block(start, descriptor), tuple(columns), column_table, buffer_table, Block(end, footer + whole[-8:]))
