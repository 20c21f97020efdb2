"""Files of one column and one page made by hand, byte for byte: what no writer writes, readers may still be asked."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from lance_arrow.container.fields import fields_to_messages
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.proto import encodings_v21_pb2 as v21
from lance_arrow.proto import encodings_v23_pb2 as v23
from lance_arrow.proto import file_schema_pb2, file_v2_pb2

_PLAIN_COLUMN = b"\x0a\x00"


def chunked(
    codec: v21.CompressiveEncoding, buffers: Sequence[bytes], num_rows: int, version: str, num_chunks: int = 1
) -> tuple[Message, list[bytes]]:
    """Describe a mini-block page without levels, whose chunks are equal; return it with its page buffers.

    `num_rows` are those of all chunks; of more than one, each has a power of two.
    """
    wide = version != "2.1"
    head = struct.pack("<H", 0) + b"".join(struct.pack("<I" if wide else "<H", len(one)) for one in buffers)
    chunk = b"".join(one + b"\xfe" * (-len(one) % 8) for one in (head, *buffers))
    log = (num_rows // num_chunks).bit_length() - 1
    counts = [log] * (num_chunks - 1) + [0]
    word = b"".join(struct.pack("<I" if wide else "<H", (len(chunk) // 8 - 1) << 4 | count) for count in counts)
    chunk *= num_chunks
    if version == "2.3":
        values = v23.ChunkedValues(
            value_compression=codec, levels=v23.ChunkedLevels(), num_buffers=len(buffers), num_items=num_rows
        )
        return _planar(v23.ValuePlane(chunked=values)), [word, chunk]
    layout = v21.MiniBlockLayout(
        value_compression=codec,
        layers=[v21.ALL_VALID_ITEM],
        num_buffers=len(buffers),
        num_items=num_rows,
        has_large_chunk=wide,
    )
    return v21.PageLayout(mini_block_layout=layout), [word, chunk]


def zipped(
    codec: v21.CompressiveEncoding, values: Sequence[bytes], version: str, bits_per_value: int | None = None
) -> tuple[Message, list[bytes]]:
    """Describe a full-zip page without levels: values of one width, or each after a length of 32 bits."""
    entries = [one if bits_per_value is not None else struct.pack("<I", len(one)) + one for one in values]
    buffers = [b"".join(entries)]
    if bits_per_value is None:
        ends = [sum(map(len, entries[:stop])) for stop in range(len(entries) + 1)]
        buffers.append(struct.pack(f"<{len(ends)}I", *ends))
    facts = {"bits_per_offset": 32} if bits_per_value is None else {"bits_per_value": bits_per_value}
    facts |= {"num_items": len(values), "num_visible_items": len(values)}
    if version == "2.3":
        plane = v23.ZippedValues(value_compression=codec, levels=v23.ZippedLevels(), **facts)
        return _planar(v23.ValuePlane(zipped=plane)), buffers
    layout = v21.FullZipLayout(value_compression=codec, layers=[v21.ALL_VALID_ITEM], **facts)
    return v21.PageLayout(full_zip_layout=layout), buffers


def _planar(values: v23.ValuePlane) -> Message:
    dense = v23.DenseStructure(layers=[v21.ALL_VALID_ITEM])
    return v23.PlanarLayout(structure=v23.StructuralPlane(dense=dense), values=values)


def file_of(column: pa.Field, layout: Message, buffers: Sequence[bytes], num_rows: int, version: str) -> bytes:
    """Build a file whose only column has the one page."""
    out, places = bytearray(), []
    for buffer in buffers:
        places.append((len(out), len(buffer)))
        out += buffer + bytes(-len(buffer) % 64)
    page = file_v2_pb2.ColumnMetadata.Page(
        length=num_rows,
        buffer_offsets=[place for place, _ in places],
        buffer_sizes=[size for _, size in places],
        encoding=_described(layout.DESCRIPTOR.full_name, layout.SerializeToString()),
    )
    meta = file_v2_pb2.ColumnMetadata(
        encoding=_described("lance.encodings.ColumnEncoding", _PLAIN_COLUMN), pages=[page]
    )
    fields = fields_to_messages(fields_from_arrow(pa.schema([column])))
    descriptor = file_schema_pb2.FileDescriptor(schema=file_schema_pb2.Schema(fields=fields), length=num_rows)
    blocks = []
    for message in (descriptor, meta):
        blocks.append((len(out), message.ByteSize()))
        out += message.SerializeToString()
    tables = len(out)
    out += struct.pack("<QQQQ", *blocks[1], *blocks[0])
    major, minor = map(int, version.split("."))
    out += struct.pack("<QQQIIHH4s", blocks[1][0], tables, tables + 16, 1, 1, major, minor, b"LANC")
    return bytes(out)


def _described(message: str, value: bytes) -> file_v2_pb2.Encoding:
    wrapped = AnyMessage(type_url="/" + message, value=value).SerializeToString()
    return file_v2_pb2.Encoding(direct=file_v2_pb2.DirectEncoding(encoding=wrapped))
