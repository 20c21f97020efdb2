"""Field trees, Arrow schemas, and columns of leaves."""

import pyarrow as pa
import pytest

from lance_arrow.container.fields import MAX_DEPTH, SchemaField, fields_from_messages, fields_to_messages
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import arrow_schema, column_mapping, count_columns, fields_from_arrow
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError
from lance_arrow.io import LocalSource
from lance_arrow.proto.file_schema_pb2 import DICTIONARY, NONE, PLAIN, VAR_BINARY, Field

VERSIONS = ["2.0", "2.1", "2.2", "2.3"]
PAIR = pa.struct([("x", pa.int32()), ("y", pa.string())])


def _messages(*rows):
    return [Field(id=id_, parent_id=parent, name=name, logical_type=type_) for id_, parent, name, type_ in rows]


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_sees_the_same_schema(written, version):
    path = written / f"types-{version}.lance"
    with LanceFileReader(LocalSource(path)) as reader:
        expected = pa.ipc.read_schema(pa.py_buffer(path.with_name(path.name + ".schema").read_bytes()))
        for ours, theirs in zip(reader.schema, expected, strict=True):
            assert ours.equals(theirs, check_metadata=True), (ours, theirs)
        assert reader.schema.equals(expected, check_metadata=True)
        assert reader.metadata == {"of": b"schema"}
        assert str(reader.version) == version


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_written_fields_survive_both_directions(written, version):
    reader = LanceFileReader(LocalSource(written / f"types-{version}.lance"))
    messages = fields_to_messages(reader.fields)
    assert fields_from_messages(messages) == reader.fields
    again = fields_from_arrow(reader.schema)
    assert arrow_schema(again, reader.metadata).equals(reader.schema, check_metadata=True)
    names = [(node.name, node.id, node.parent_id, node.logical_type) for top in again for node in top.walk()]
    assert names == [(message.name, message.id, message.parent_id, message.logical_type) for message in messages]


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_every_way_to_say_packed(written, version):
    """Opening compares the number of columns that the schema wants with that of the file."""
    reader = LanceFileReader(LocalSource(written / f"packed-{version}.lance"))
    packed = {leaf.path for leaf in reader.leaves if leaf.is_packed}
    assert len(reader.fields) == 22
    assert len(packed) == (9 + 5 + 2 if version == "2.0" else 5 + 5 + 3)


@pytest.mark.interop
def test_blob_and_json(written):
    reader = LanceFileReader(LocalSource(written / "blob-2.1.lance"))
    assert [(leaf.path, leaf.is_blob, leaf.is_packed) for leaf in reader.leaves] == [
        ("b", True, False),
        ("a", False, False),
    ]
    reader = LanceFileReader(LocalSource(written / "json-2.2.lance"))
    assert reader.schema.field("j").type == pa.large_binary()
    assert reader.schema.field("j").metadata[b"ARROW:extension:name"] == b"lance.json"
    json = fields_from_arrow(pa.schema([("j", pa.json_())]))
    assert json == reader.fields


def test_the_hint_of_old_readers():
    types = {
        NONE: [pa.null(), pa.struct([])],
        PLAIN: [pa.int8(), pa.list_(pa.int8()), pa.list_(pa.int8(), 2), pa.map_(pa.string(), pa.int8())],
        VAR_BINARY: [pa.string(), pa.large_binary(), pa.json_()],
        DICTIONARY: [pa.dictionary(pa.int8(), pa.string())],
    }
    for hint, of_hint in types.items():
        for type_ in of_hint:
            assert fields_to_messages(fields_from_arrow(pa.schema([("c", type_)])))[0].encoding == hint


def test_key_marks_follow_the_metadata():
    metadata = {
        "lance-schema:unenforced-primary-key": "true",
        "lance-schema:unenforced-primary-key:position": "2",
        "lance-schema:unenforced-clustering-key:position": "x",
    }
    (message,) = fields_to_messages(fields_from_arrow(pa.schema([pa.field("c", pa.int8(), metadata=metadata)])))
    assert message.unenforced_primary_key
    assert message.unenforced_primary_key_position == 2
    assert message.unenforced_clustering_key_position == 0


def test_extension_types_that_are_not_registered_stay_storage():
    metadata = {"ARROW:extension:name": "nobody.knows", "ARROW:extension:metadata": "\xff"}
    field = SchemaField("c", 0, -1, "int8", metadata={key: value.encode() for key, value in metadata.items()})
    assert arrow_schema([field]).field("c").type == pa.int8()
    assert arrow_schema([field]).field("c").metadata[b"ARROW:extension:name"] == b"nobody.knows"


def test_an_extension_name_in_its_own_field_is_enough():
    messages = [Field(name="u", parent_id=-1, logical_type="fixed_size_binary:16", extension_name="arrow.uuid")]
    assert arrow_schema(fields_from_messages(messages)).field("u").type == pa.uuid()


def test_an_extension_on_the_wrong_storage():
    field = SchemaField("c", 0, -1, "int8", metadata={"ARROW:extension:name": b"arrow.uuid"})
    with pytest.raises(CorruptFileError, match="extension"):
        arrow_schema([field])


def test_metadata_keys_must_be_text():
    with pytest.raises(InvalidArgumentError) as caught:
        fields_from_arrow(pa.schema([pa.field("c", pa.int8(), metadata={b"\xff": b"x"})]))
    assert caught.value.column == "c"


def _bad_trees():
    deep = [(number, number - 1, f"d{number}", "struct") for number in range(65)]
    return {
        "an id twice": [(0, -1, "a", "int8"), (0, -1, "b", "int8")],
        "a parent that is absent": [(0, -1, "a", "struct"), (1, 7, "b", "int8")],
        "a parent that comes later": [(1, 0, "b", "int8"), (0, -1, "a", "struct")],
        "its own parent": [(0, 0, "a", "struct")],
        "too deep": deep,
        "a name twice at the top": [(0, -1, "a", "int8"), (1, -1, "a", "int8")],
        "a name twice below": [(0, -1, "a", "struct"), (1, 0, "b", "int8"), (2, 0, "b", "int8")],
        "a negative id": [(-2, -1, "a", "int8")],
        "a negative parent": [(0, -2, "a", "int8")],
        "children of a leaf": [(0, -1, "a", "int8"), (1, 0, "b", "int8")],
        "a list without items": [(0, -1, "a", "list")],
        "a bad type below": [(0, -1, "a", "struct"), (1, 0, "b", "decimal:128:99:0")],
        "no dimension": [(0, -1, "a", "fixed_size_list:float:0")],
    }


@pytest.mark.parametrize("what", _bad_trees())
def test_bad_trees(craft, what):
    with pytest.raises(CorruptFileError):
        craft(fields=_messages(*_bad_trees()[what])).open()


def test_a_bad_type_names_its_column(craft):
    with pytest.raises(CorruptFileError) as caught:
        craft(fields=_messages((0, -1, "a", "struct"), (1, 0, "b", "decimal:128:99:0"))).open()
    assert caught.value.column == "a.b"
    with pytest.raises(UnsupportedError, match="quaternion"):
        craft(fields=_messages((0, -1, "a", "quaternion"))).open()


def test_the_deepest_tree_allowed():
    last = MAX_DEPTH - 1
    rows = [(number, number - 1, f"d{number}", "struct") for number in range(last)]
    fields = fields_from_messages(_messages(*rows, (last, last - 1, "leaf", "int8")))
    assert [leaf.path.count(".") for leaf in column_mapping(fields, FileVersion.V2_1)] == [last]


def test_blob_descriptors_belong_to_the_column_before_them():
    blob = {"lance-encoding:blob": b"true", "lance-encoding:packed": b"true"}
    messages = [Field(id=0, parent_id=-1, name="b", logical_type="struct", metadata=blob)]
    messages += _messages(*((-1, -1, name, "uint64") for name in ("kind", "position", "size")))
    messages += _messages((9, -1, "after", "int8"))
    fields = fields_from_messages(messages)
    assert [(top.name, len(top.children)) for top in fields] == [("b", 3), ("after", 0)]
    leaves = column_mapping(fields, FileVersion.V2_2)
    assert [(leaf.path, leaf.column, leaf.is_blob, leaf.is_packed) for leaf in leaves] == [
        ("b", 0, True, True), ("after", 1, False, False)
    ]  # fmt: skip
    assert leaves[0].type.names == ["kind", "position", "size"]
    assert fields_from_messages(fields_to_messages(fields)) == fields


NESTED = pa.schema(
    [
        ("a", pa.int8()),
        ("s", pa.struct([("x", pa.int8()), ("e", pa.struct([])), ("l", pa.list_(PAIR))])),
        ("l", pa.large_list(pa.field("el", pa.int8(), nullable=False))),
        ("f", pa.list_(pa.float32(), 2)),
        pa.field("p", PAIR, metadata={"packed": "on"}),
        pa.field("q", PAIR, metadata={"packed": "t"}),
        pa.field("r", pa.list_(PAIR), metadata={"packed": "true"}),
    ]
)


def _numbers(schema, version):
    return [(leaf.path, leaf.column) for leaf in column_mapping(fields_from_arrow(schema), version)]


def test_numbers_since_2_1():
    paths = ["a", "s.x", "s.e", "s.l.item.x", "s.l.item.y", "l.el", "f", "p", "q.x", "q.y", "r.item.x", "r.item.y"]
    for version in (FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3):
        assert _numbers(NESTED, version) == [(path, number) for number, path in enumerate(paths)]
        assert count_columns(column_mapping(fields_from_arrow(NESTED), version)) == len(paths)


def test_numbers_of_2_0():
    expected = [
        ("a", 0), ("s.x", 2), ("s.e", 3), ("s.l.item.x", 6), ("s.l.item.y", 7), ("l.el", 9), ("f", 10), ("p", 11),
        ("q.x", 13), ("q.y", 14), ("r.item.x", 17), ("r.item.y", 18),
    ]  # fmt: skip
    assert _numbers(NESTED, FileVersion.V2_0) == expected
    assert count_columns(column_mapping(fields_from_arrow(NESTED), FileVersion.V2_0)) == 19
    leaf = column_mapping(fields_from_arrow(NESTED), FileVersion.V2_0)[3]
    assert [(above.kind.value, above.header_column) for above in leaf.ancestors] == [
        ("struct", 5), ("list", 4), ("struct", 1)
    ]  # fmt: skip


def test_ancestors():
    entry = pa.struct([pa.field("k", pa.string(), nullable=False), ("v", pa.list_(PAIR, 3))])
    schema = pa.schema([pa.field("m", pa.map_(entry.field(0), entry.field(1)), nullable=False)])
    leaves = column_mapping(fields_from_arrow(schema), FileVersion.V2_2)
    assert [leaf.path for leaf in leaves] == ["m.entries.k", "m.entries.v.item.x", "m.entries.v.item.y"]
    assert [(above.kind.value, above.nullable, above.list_size) for above in leaves[1].ancestors] == [
        ("struct", True, 1), ("fixed_size_list", True, 3), ("struct", False, 1), ("map", False, 1)
    ]  # fmt: skip
    assert (leaves[0].lengths_per_row, leaves[1].lengths_per_row) == (1, 3)
    assert (leaves[0].nullable, leaves[1].nullable) == (False, True)


@pytest.mark.parametrize("type_", [pa.map_(pa.string(), pa.int8()), pa.list_(PAIR, 2)], ids=str)
def test_types_newer_than_the_file(type_):
    fields = fields_from_arrow(pa.schema([("c", type_)]))
    for version in (FileVersion.V2_0, FileVersion.V2_1):
        with pytest.raises(UnsupportedError, match=r"2\.2"):
            column_mapping(fields, version)
