"""The descriptor as it is written: field for field what the reference writes for the same schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_arrow.container.fields import fields_from_messages, fields_to_messages
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.schema import arrow_schema, fields_from_arrow
from lance_arrow.container.schema_messages import file_descriptor, serialized
from lance_arrow.io import LocalSource
from lance_arrow.proto.file_schema_pb2 import FileDescriptor, Schema

PAIR = pa.struct([("x", pa.int32()), pa.field("y", pa.string(), nullable=False)])
KEY = "lance-schema:unenforced-{}-key"
LEAVES = [
    pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.string(), pa.large_string(),
    pa.binary(), pa.large_binary(), pa.binary(5), pa.string_view(), pa.binary_view(), pa.date32(), pa.date64(),
    pa.time32("ms"), pa.time64("ns"), pa.timestamp("us", "+01:00"), pa.duration("s"), pa.decimal128(38, -3),
    pa.decimal256(76, 0), pa.dictionary(pa.int8(), pa.string(), ordered=True), pa.list_(pa.float32(), 4),
    pa.list_(pa.list_(pa.int8(), 2), 3), pa.uuid(), pa.fixed_shape_tensor(pa.float32(), [2, 2]), pa.struct([]),
]  # fmt: skip
NESTED = [
    PAIR, pa.list_(pa.int32()), pa.large_list(pa.field("element", pa.string(), nullable=False)), pa.list_(PAIR),
    pa.large_list(PAIR), pa.struct([("in", PAIR), ("l", pa.list_(pa.list_(PAIR)))]),
    pa.list_(pa.field("item", pa.uuid(), metadata={"deep": "down"})),
]  # fmt: skip
NEWER = [pa.map_(pa.string(), PAIR), pa.list_(PAIR, 3), pa.json_(), pa.list_(pa.json_())]


def schema_for(version: str) -> pa.Schema:
    types = LEAVES + NESTED + (NEWER if version != "2.1" else [])
    fields = [
        pa.field(
            f"c{number}", type_, nullable=number % 3 > 0, metadata={"n": f"{number}", "": "ß"} if number % 2 else None
        )
        for number, type_ in enumerate(types)
        if number % 3 or not pa.types.is_null(type_)
    ]
    steered = {"lance-encoding:compression": "zstd", "lance-encoding:compression-level": "3"}
    fields.append(pa.field("steered", pa.string(), metadata=steered))
    fields.append(pa.field("packed", PAIR, metadata={"lance-encoding:packed": "true"}))
    first = {KEY.format("primary"): "true", KEY.format("primary") + ":position": "2"}
    fields.append(pa.field("first", pa.int64(), nullable=False, metadata=first))
    fields.append(pa.field("second", pa.int64(), nullable=False, metadata={KEY.format("primary"): "true"}))
    return pa.schema(fields, metadata={"of": "schema", "a": "b"})


def descriptor_of(path) -> FileDescriptor:
    with LanceFileReader(LocalSource(path)) as reader:
        return FileDescriptor.FromString(reader.global_buffers.read(0).tobytes())


def described(schema: pa.Schema, num_rows: int = 0) -> FileDescriptor:
    metadata = {key.decode(): value for key, value in (schema.metadata or {}).items()}
    return file_descriptor(fields_from_arrow(schema), metadata, num_rows)


@pytest.mark.interop
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_field_for_field_as_the_reference(witness, tmp_path, version):
    schema = schema_for(version)
    theirs = descriptor_of(witness.write(pa.Table.from_batches([], schema), tmp_path / "a.lance", version))
    ours = described(schema)
    assert len(ours.schema.fields) == len(theirs.schema.fields)
    for mine, other in zip(ours.schema.fields, theirs.schema.fields, strict=True):
        assert mine == other
    assert ours == theirs
    assert serialized(ours) == serialized(theirs)


@pytest.mark.interop
@pytest.mark.parametrize("keys", ["clustering", "primary"])
def test_keys_by_metadata_alone(witness, tmp_path, keys):
    ways = [{"": value} for value in ("true", "TRUE", "1", "yes", "On", "y", "t", "false", "", " true")]
    positions = ("1", "007", "+3", "-1", "x", "", " 4", "0", "4294967295", "4294967296")
    ways += [{"": value, ":position": position} for position in positions for value in ("true", "false")]
    ways += [{":position": position} for position in positions]
    # One file for all: a name may not be told twice, a key may.
    fields = [
        pa.field(f"k{number}", pa.int64(), False, {KEY.format(keys) + end: value for end, value in way.items()})
        for number, way in enumerate(ways)
    ]
    theirs = descriptor_of(witness.write(pa.schema(fields).empty_table(), tmp_path / "a.lance", "2.2"))
    for way, mine, other in zip(ways, described(pa.schema(fields)).schema.fields, theirs.schema.fields, strict=True):
        assert mine == other, way


@pytest.mark.interop
def test_blobs_of_the_first_kind(witness, tmp_path):
    schema = pa.schema([pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    assert described(schema) == descriptor_of(witness.write(schema.empty_table(), tmp_path / "a.lance", "2.1"))


@pytest.mark.interop
def test_blobs_of_the_second_kind_list_their_descriptor_without_numbers(witness, tmp_path):
    """Fields of a real file are read and written again."""
    parts = pa.struct([("data", pa.large_binary()), ("uri", pa.string())])
    blob = pa.field("b", parts, metadata={"ARROW:extension:name": "lance.blob.v2"})
    table = pa.schema([("a", pa.int8()), blob, ("c", pa.int8())]).empty_table()
    table = table.append_column("d", pa.array([], pa.int8()))
    theirs = _first_data_file(witness, table.slice(0), tmp_path)
    fields = fields_from_messages(theirs.schema.fields)
    again = fields_to_messages(fields)
    assert again == list(theirs.schema.fields)
    (struct,) = (node for node in fields if node.name == "b")
    assert [(child.name, child.id) for child in struct.children] == [
        (name, -1) for name in ("kind", "position", "size", "blob_id", "blob_uri")
    ]
    # From the Arrow schema alone the numbers of later fields differ: the reference had counted the blob's own parts.
    alone = fields_to_messages(fields_from_arrow(arrow_schema(fields)))
    assert [(one.name, one.id, one.parent_id) for one in alone] == [
        ("a", 0, -1), ("b", 1, -1), *((child.name, -1, -1) for child in struct.children), ("c", 2, -1), ("d", 3, -1)
    ]  # fmt: skip
    assert fields_from_messages(alone) == fields_from_arrow(arrow_schema(fields))


def _first_data_file(witness, table, folder) -> FileDescriptor:
    rows = pa.table(
        [pa.array([1], field.type) if field.type == pa.int8() else pa.array([{"data": b"x"}], field.type)
         for field in table.schema],
        schema=table.schema,
    )  # fmt: skip
    root = witness.write_directory(rows, folder / "t.lance", "2.2")
    (path,) = (root / "data").glob("*.lance")
    return descriptor_of(path)


def test_equal_messages_have_equal_bytes():
    names = [f"key {number}" for number in range(50)]
    one, other = (Schema(metadata={name: name.encode() for name in order}) for order in (names, list(reversed(names))))
    assert serialized(one) == serialized(other)
    assert Schema.FromString(serialized(one)) == one


def test_rows_and_metadata():
    found = described(pa.schema([("a", pa.int8())], metadata={b"k": b"\xff"}), 7)
    assert found.length == 7
    assert dict(found.schema.metadata) == {"k": b"\xff"}
