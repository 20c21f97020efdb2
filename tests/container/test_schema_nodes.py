"""`SchemaNodes` tells of a schema what `fields_from_messages` and `column_mapping` tell, or nothing."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from lance_arrow.container.fields import MAX_DEPTH, fields_from_messages, fields_to_messages
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import arrow_schema, column_mapping, count_columns, fields_from_arrow
from lance_arrow.container.schema_facts import SchemaFacts, _lengths, known_schemas
from lance_arrow.container.schema_messages import serialized
from lance_arrow.container.schema_nodes import SchemaNodes
from lance_arrow.errors import CorruptFileError, LanceError, UnsupportedError
from lance_arrow.proto import file_schema_pb2
from lance_arrow.proto.reading import parse

VERSIONS = [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3]
BLOB, PACKED = {"lance-encoding:blob": "true"}, {"lance-encoding:packed": "Yes"}

FLAT = pa.schema(
    [
        pa.field("n", pa.int64(), nullable=False),
        pa.field("s", pa.string(), metadata={"b": "2", "a": "1"}),
        pa.field("t", pa.timestamp("us", "+01:00")),
        pa.field("d", pa.dictionary(pa.int16(), pa.string())),
        pa.field("v", pa.list_(pa.float32(), 4)),
        pa.field("none", pa.null()),
        pa.field("blob", pa.large_binary(), metadata=BLOB),
    ],
    metadata={"z": "last", "a": "first"},
)
NESTED = pa.schema(
    [
        pa.field("a", pa.struct([pa.field("x", pa.int8()), pa.field("y", pa.list_(pa.struct([("z", pa.string())])))])),
        pa.field("l", pa.large_list(pa.list_(pa.int32()))),
        pa.field("empty", pa.struct([])),
        pa.field("packed", pa.struct([("p", pa.int32()), ("q", pa.float64())]), metadata=PACKED),
        pa.field("packed", pa.struct([("p", pa.int32())]), metadata={"packed": "no"}).with_name("unpacked"),
    ]
)
LATER = pa.schema(
    [
        pa.field("m", pa.map_(pa.string(), pa.struct([("v", pa.int64())]))),
        pa.field("f", pa.list_(pa.struct([("c", pa.int16()), ("d", pa.list_(pa.int8()))]), 3)),
    ]
)
EXTENDED = pa.schema([pa.field("plain", pa.int32()), pa.field("id", pa.uuid()), pa.field("j", pa.json_())])


def message_of(schema: pa.Schema) -> bytes:
    metadata = {key.decode(): value for key, value in (schema.metadata or {}).items()}
    return serialized(file_schema_pb2.Schema(fields=fields_to_messages(fields_from_arrow(schema)), metadata=metadata))


def told(message: bytes, version: FileVersion) -> tuple[Any, ...] | None:
    """What the native walk tells, column by column and of all; None where it leaves the schema to Python."""
    nodes = SchemaNodes.read(message, version)
    if nodes is None:
        return None
    schema, leaves = nodes.schema(), nodes.all_leaves()
    tops = range(len(nodes.names))
    assert [nodes.field(top) for top in tops] == list(schema)
    assert [leaf for top in tops for leaf in nodes.leaves(top)] == leaves
    assert nodes.names == schema.names
    assert (nodes.metadata or None) == schema.metadata
    lengths = {column: nodes.lengths(column) for column in range(nodes.num_columns)}
    if nodes.counts_rows_once:
        assert {per_row for _, per_row in lengths.values()} <= {1}
    return schema, tuple(leaves), nodes.num_columns, lengths


def told_patiently(message: bytes, version: FileVersion) -> tuple[Any, ...]:
    parsed = parse(file_schema_pb2.Schema, message, what="the schema")
    fields = fields_from_messages(parsed.fields)
    schema, leaves = arrow_schema(fields, parsed.metadata), column_mapping(fields, version)
    return schema, leaves, count_columns(leaves), dict(_lengths(leaves, version))


def same(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return left[0].equals(right[0], check_metadata=True) and left[1:] == right[1:]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("schema", [FLAT, NESTED, LATER, EXTENDED, pa.schema([])])
def test_sound_schemas(schema: pa.Schema, version: FileVersion) -> None:
    message = message_of(schema)
    found = told(message, version)
    if schema is LATER and version in (FileVersion.V2_0, FileVersion.V2_1):
        assert found is None
        with pytest.raises(UnsupportedError, match=r"require file version 2\.2"):
            told_patiently(message, version)
        return
    assert found is not None
    assert same(found, told_patiently(message, version))


def agrees(message: bytes, version: FileVersion) -> bool:
    """Check that a schema is told alike, or left to Python; returns whether it was told."""
    found = told(message, version)
    if found is None:
        return False
    try:
        patiently = told_patiently(message, version)
    except LanceError as error:
        raise AssertionError("the native walk takes what Python rejects") from error
    assert same(found, patiently)
    return True


@pytest.mark.cover(1)
@pytest.mark.parametrize("schema", [FLAT, NESTED, LATER, EXTENDED])
@pytest.mark.parametrize("version", [FileVersion.V2_0, FileVersion.V2_2])
def test_every_flipped_bit(schema: pa.Schema, version: FileVersion) -> None:
    message = message_of(schema)
    taken = 0
    for at in range(len(message)):
        for bit in (0, 1, 2, 4, 7):
            damaged = bytearray(message)
            damaged[at] ^= 1 << bit
            taken += agrees(bytes(damaged), version)
    # Flipped letters of names are sound; the walk does not just refuse everything.
    assert taken or told(message, version) is None


@pytest.mark.parametrize("schema", [FLAT, NESTED, LATER])
def test_fields_in_any_order(schema: pa.Schema) -> None:
    """Lists that are not in pre-order, ids that repeat or are absent, parents that come later."""
    generator = random.Random(7)
    fields = fields_to_messages(fields_from_arrow(schema))
    taken = 0
    for _ in range(400):
        own = [file_schema_pb2.Field.FromString(field.SerializeToString()) for field in fields]
        for _ in range(generator.randrange(3)):
            one, other = generator.choice(own), generator.choice(own)
            match generator.randrange(5):
                case 0:
                    one.parent_id = other.id
                case 1:
                    one.id = generator.choice([-1, -2, other.id, 99])
                case 2:
                    one.name = other.name
                case 3:
                    one.logical_type = other.logical_type
                case 4:
                    own.remove(one)
                    own.insert(generator.randrange(len(own) + 1), one)
        message = serialized(file_schema_pb2.Schema(fields=own))
        taken += agrees(message, FileVersion.V2_2)
    assert taken > 50


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_depth(depth: int) -> None:
    types = ["struct"] * (depth - 1) + ["int8"]
    fields = [
        file_schema_pb2.Field(name="f", id=number, parent_id=number - 1, logical_type=text, nullable=True)
        for number, text in enumerate(types)
    ]
    message = serialized(file_schema_pb2.Schema(fields=fields))
    assert (told(message, FileVersion.V2_2) is None) == (depth > MAX_DEPTH)
    if depth > MAX_DEPTH:
        with pytest.raises(CorruptFileError, match=f"deeper than {MAX_DEPTH}"):
            told_patiently(message, FileVersion.V2_2)


def test_unusual_schemas_are_read_all_the_same() -> None:
    """An unknown field is passed over by protobuf; the walk leaves it to Python."""
    message = message_of(NESTED) + b"\x98\x06\x01"
    assert told(message, FileVersion.V2_2) is None
    facts = SchemaFacts(message, FileVersion.V2_2)
    assert facts.schema.equals(NESTED, check_metadata=True)
    usual = SchemaFacts(message_of(NESTED), FileVersion.V2_2)
    for one in (facts, usual):
        assert [(field, list(leaves)) for field, leaves in one.tops()] == [
            (field, list(leaves)) for field, leaves in map(one.top, range(len(NESTED)))
        ]
    for top in range(len(NESTED)):
        field, leaves = facts.top(top)
        assert field.equals(usual.top(top)[0], check_metadata=True)
        assert list(leaves) == list(usual.top(top)[1])
    columns = range(-1, usual.num_columns + 1)
    assert list(map(facts.top_with, columns)) == list(map(usual.top_with, columns))
    assert usual.top_with(-1) is usual.top_with(usual.num_columns) is None
    assert usual.top_with(0) == 0
    assert usual.top_with(usual.num_columns - 1) == len(NESTED) - 1
    assert facts.names == usual.names
    assert dict(facts.lengths) == dict(usual.lengths)


def test_known_schemas_are_limited_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    known_schemas.clear()
    messages = [message_of(pa.schema([(f"column_{number}", pa.int8())])) for number in range(6)]
    monkeypatch.setattr(known_schemas, "max_bytes", 3 * len(messages[0]))
    for message in messages:
        known_schemas.get(message, FileVersion.V2_1)
    held = [known_schemas.held(message, FileVersion.V2_1) is not None for message in messages]
    assert held == [False] * 3 + [True] * 3
    assert known_schemas.get(messages[-1], FileVersion.V2_1) is known_schemas.held(messages[-1], FileVersion.V2_1)
    # One larger than all of it is not kept, and drops no other.
    known_schemas.get(message_of(FLAT), FileVersion.V2_1)
    assert known_schemas.held(messages[-1], FileVersion.V2_1) is not None
    known_schemas.clear()
