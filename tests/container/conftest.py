"""Files for these tests: written by the reference package, and made by hand byte for byte."""

import struct
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from google.protobuf.any_pb2 import Any

from lance_arrow.container.fields import fields_to_messages
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.io import BufferSource
from lance_arrow.proto import file_schema_pb2, file_v2_pb2

WRITER = """
    import sys
    import pyarrow as pa
    from lance.file import LanceFileReader, LanceFileWriter

    folder = sys.argv[1]
    pair = pa.struct([("x", pa.int32()), pa.field("y", pa.string(), nullable=False)])
    leaf_types = [
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.large_binary(),
        pa.binary(5), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
        pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "+01:00"), pa.timestamp("ns", "Europe/Berlin"),
        pa.duration("s"), pa.duration("ms"), pa.duration("us"), pa.duration("ns"),
        pa.decimal128(10, 2), pa.decimal128(38, -3), pa.decimal256(76, 0), pa.dictionary(pa.int8(), pa.string()),
        pa.list_(pa.float32(), 4), pa.list_(pa.list_(pa.int8(), 2), 3), pa.list_(pa.timestamp("us", "+01:00"), 2),
        pa.uuid(), pa.fixed_shape_tensor(pa.float32(), [2, 2]), pa.list_(pa.int32()), pa.large_list(pa.string()),
        pa.list_(pair), pa.large_list(pair), pair, pa.struct([]),
        pa.struct([("in", pair), ("l", pa.list_(pa.list_(pair)))]),
    ]
    newer = [
        pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pair), pa.list_(pair, 3),
        pa.struct([("f", pa.list_(pa.struct([("g", pa.list_(pair, 3))]), 2))]), pa.list_(pa.list_(pair, 2)),
    ]
    two = pa.struct([("x", pa.int32()), ("y", pa.int32())])
    packed = [pa.field(word, two, metadata={"lance-encoding:packed": word}) for word in ("true", "Yes", "1", "false")]
    values = ("true", "Yes", "1", "on", "y", "false", "0", "t", "")
    packed_keys = [{key: value} for value in values for key in ("lance-encoding:packed", "packed")]
    packed_keys += [{"lance-encoding:packed": a, "packed": b} for a in ("true", "no") for b in ("true", "no")]
    packed.append(pa.field("nothing", pa.null()))

    def write(name, schema, version, rows=0):
        path = f"{folder}/{name}-{version}.lance"
        with LanceFileWriter(path, schema, version=version) as writer:
            if rows:
                writer.write_batch(pa.table([pa.array(range(rows), field.type) for field in schema], schema=schema))
        with open(path + ".schema", "wb") as file:
            file.write(LanceFileReader(path).metadata().schema.serialize())

    for version in ("2.0", "2.1", "2.2", "2.3"):
        types = leaf_types + (newer if version in ("2.2", "2.3") else [])
        fields = [pa.field(f"c{k}", type_, nullable=k % 3 > 0, metadata={"key": f"{k}"} if k % 2 else None)
                  for k, type_ in enumerate(types)]
        ways = [pa.field(f"c{k}", two, metadata=keys) for k, keys in enumerate(packed_keys)]
        write("packed", pa.schema(ways), version)
        write("types", pa.schema(fields + packed, metadata={"of": "schema"}), version)
        write("three", pa.schema([("a", pa.int64()), ("b", pa.int32())], metadata={"k": "v"}), version, 3)
    write("wide", pa.schema([(f"column_{k}", pa.int64()) for k in range(100)]), "2.2", 1000)
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "false"})
    write("blob", pa.schema([blob, ("a", pa.int32())]), "2.1")
    write("json", pa.schema([("j", pa.json_())]), "2.2")
    with LanceFileWriter(f"{folder}/buffers-2.2.lance", pa.schema([("a", pa.int64())]), version="2.2") as writer:
        writer.write_batch(pa.table({"a": [1, 2]}))
        for extra in (b"first", b"", b"second" * 100):
            writer.add_global_buffer(extra)
        for _ in range(3):
            writer.write_batch(pa.table({"a": list(range(2_000_000))}))
"""


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A folder of files of the reference package; beside each the schema it reads back, as Arrow IPC."""
    folder = tmp_path_factory.mktemp("written")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


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


@pytest.fixture
def craft():
    """The class of files made by hand."""
    return Craft
