"""Containers made by hand, byte for byte: footer, tables, descriptor, column metadata; sound until something is set."""

import struct
from dataclasses import dataclass, field

import pyarrow as pa
from google.protobuf.any_pb2 import Any

from lance_arrow.container.fields import fields_to_messages
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.io import BufferSource
from lance_arrow.proto import file_schema_pb2, file_v2_pb2

PLAIN = b"\x0a\x00"


def described(message, value=b"", **where):
    """An `Encoding` that holds an Any of a full message name."""
    if where:
        return file_v2_pb2.Encoding(**where)
    wrapped = Any(type_url="/" + message, value=value).SerializeToString()
    return file_v2_pb2.Encoding(direct=file_v2_pb2.DirectEncoding(encoding=wrapped))


def page(length=3, offsets=(0,), sizes=(10,), encoding=None):
    return file_v2_pb2.ColumnMetadata.Page(
        length=length,
        buffer_offsets=offsets,
        buffer_sizes=sizes,
        encoding=described("lance.encodings21.PageLayout", b"abc") if encoding is None else encoding,
    )


def column(*pages, encoding=None, offsets=(), sizes=()):
    own = described("lance.encodings.ColumnEncoding", PLAIN) if encoding is None else encoding
    return file_v2_pb2.ColumnMetadata(encoding=own, pages=pages, buffer_offsets=offsets, buffer_sizes=sizes)


@dataclass
class Craft:
    """A file made by hand: sound as it stands, damaged by whoever sets something wrong."""

    schema: pa.Schema = field(default_factory=lambda: pa.schema([("a", pa.int64())]))
    columns: list = field(default_factory=lambda: [column(page())])
    num_rows: int = 3
    data: bytes = bytes(128)
    version: tuple = (2, 2)
    fields: list | None = None
    extra_buffers: list = field(default_factory=list)
    column_table: list | None = None
    buffer_table: list | None = None
    footer: dict = field(default_factory=dict)

    page = staticmethod(page)
    column = staticmethod(column)
    described = staticmethod(described)

    def build(self):
        fields = fields_to_messages(fields_from_arrow(self.schema)) if self.fields is None else self.fields
        descriptor = file_schema_pb2.FileDescriptor(
            schema=file_schema_pb2.Schema(fields=fields), length=self.num_rows
        ).SerializeToString()
        out = bytearray(self.data)
        buffers = []
        for buffer in self.extra_buffers:
            buffers.append((len(out), len(buffer)))
            out += buffer + bytes(-len(buffer) % 64)
        buffers.insert(0, (len(out), len(descriptor)))
        out += descriptor
        first, places = len(out), []
        for meta in self.columns:
            block = meta if isinstance(meta, bytes) else meta.SerializeToString()
            places.append((len(out), len(block)))
            out += block
        places = places if self.column_table is None else self.column_table
        buffers = buffers if self.buffer_table is None else self.buffer_table
        facts = {"first": first, "columns": len(out), "num_columns": len(places), "num_buffers": len(buffers)}
        for place in places:
            out += struct.pack("<QQ", *place)
        facts["buffers"] = len(out)
        for place in buffers:
            out += struct.pack("<QQ", *place)
        facts |= {"magic": b"LANC"} | self.footer
        names = ("first", "columns", "buffers", "num_buffers", "num_columns")
        out += struct.pack("<QQQIIHH4s", *(facts[name] for name in names), *self.version, facts["magic"])
        return bytes(out)

    def open(self, **options):
        return LanceFileReader(BufferSource(self.build(), name="crafted"), **options)

    def read_all(self, **options):
        """Open, and parse every column."""
        reader = self.open(**options)
        return reader.columns(range(reader.footer.num_columns))
