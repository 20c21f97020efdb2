"""Bytes to messages: what parses, and the error and place of what does not."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_arrow.errors import CorruptFileError, CorruptManifestError, InternalError, ResourceLimitError
from lance_arrow.proto.encodings_v20_pb2 import ColumnEncoding, Nullable
from lance_arrow.proto.encodings_v21_pb2 import (
    ALL_VALID_ITEM,
    ZSTD,
    CompressiveEncoding,
    ConstantLayout,
    FullZipLayout,
    MiniBlockLayout,
    PageLayout,
)
from lance_arrow.proto.file_schema_pb2 import Field, FileDescriptor, Schema
from lance_arrow.proto.reading import has_unknown, iter_unknown, parse, set_case, unknown_numbers, unpack_any
from lance_arrow.proto.table_pb2 import DataFragment, Manifest


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def nested_general(levels: int) -> bytes:
    """`levels` times General in CompressiveEncoding: 2 * levels + 1 messages, built inside out."""
    pieces, size = [], 0
    for _ in range(levels):
        for tag in (b"\x1a", b"\x52"):
            head = tag + varint(size)
            pieces.append(head)
            size += len(head)
    return b"".join(reversed(pieces))


def page() -> PageLayout:
    values = CompressiveEncoding()
    values.general.compression.scheme = ZSTD
    values.general.compression.level = -3
    values.general.values.variable.offsets.flat.bits_per_value = 32
    layout = MiniBlockLayout(value_compression=values, layers=[ALL_VALID_ITEM], num_buffers=1, num_items=70_000)
    return PageLayout(mini_block_layout=layout)


def descriptor() -> FileDescriptor:
    fields = [Field(name="ü", id=1, parent_id=-1, logical_type="int32", metadata={"k": b"\xff"}), Field(name="b", id=2)]
    return FileDescriptor(schema=Schema(fields=fields, metadata={"m": b""}), length=5)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_parses_any_bytes_like(wrap):
    assert parse(PageLayout, wrap(page().SerializeToString()), what="a page") == page()


def test_parses_the_empty_message():
    assert parse(PageLayout, b"", what="a page") == PageLayout()


def attempt(message_type, data, **options) -> Message | CorruptFileError:
    try:
        return parse(message_type, data, what="it", **options)
    except CorruptFileError as error:
        return error


@pytest.mark.parametrize("message", [page(), descriptor()], ids=["page", "descriptor"])
def test_every_truncation_parses_or_is_corrupt(message):
    data = message.SerializeToString()
    results = [attempt(type(message), data[:stop], byte_range=(100, 100 + stop)) for stop in range(len(data))]
    errors = [(stop, result) for stop, result in enumerate(results) if isinstance(result, CorruptFileError)]
    assert len(errors) > len(data) // 2
    for stop, error in errors:
        assert error.byte_range == (100, 100 + stop)
        assert isinstance(error.__cause__, DecodeError)
        assert 0 <= error.detail < stop


def test_error_names_the_message_its_place_and_the_offset():
    data = page().SerializeToString() + b"\x12\x09\x00"
    with pytest.raises(CorruptFileError) as caught:
        parse(PageLayout, data, what="layout of page 3", byte_range=(10, 10 + len(data)))
    assert caught.value.detail == len(data) - 3
    assert str(caught.value) == (
        "layout of page 3 is not a valid lance.encodings21.PageLayout: malformed at its byte "
        f"{len(data) - 3} [bytes 10..{10 + len(data)}]"
    )


def test_offset_points_into_nested_messages():
    data = bytearray(page().SerializeToString())
    position = bytes(data).index(b"\x08\x20", len(data) - 14)
    data[position] = 0x0F
    with pytest.raises(CorruptFileError) as caught:
        parse(PageLayout, data, what="a page")
    assert caught.value.detail == position


def test_text_that_is_not_utf8_is_corrupt():
    data = bytearray(descriptor().SerializeToString())
    position = bytes(data).index("ü".encode())
    data[position] = 0xFF
    with pytest.raises(CorruptFileError) as caught:
        parse(FileDescriptor, data, what="the schema")
    assert caught.value.detail == position


def test_caller_may_narrow_the_error():
    with pytest.raises(CorruptManifestError):
        parse(Manifest, b"\x0a", what="a manifest", error=CorruptManifestError)


def test_size_limit_names_itself():
    with pytest.raises(ResourceLimitError, match="max_bytes of 4"):
        parse(PageLayout, page().SerializeToString(), what="a page", max_bytes=4)


@pytest.mark.parametrize(
    ("levels", "max_depth", "fits"), [(31, 64, True), (32, 64, False), (3, 7, True), (3, 6, False)]
)
def test_depth_counts_messages(levels, max_depth, fits):
    data = nested_general(levels)
    if fits:
        assert parse(CompressiveEncoding, data, what="it", max_depth=max_depth).ByteSize() == len(data)
    else:
        with pytest.raises(CorruptFileError, match=f"deeper than {max_depth} messages"):
            parse(CompressiveEncoding, data, what="it", max_depth=max_depth)


def test_depth_limit_also_holds_for_types_that_cannot_recurse():
    with pytest.raises(CorruptFileError, match="deeper than 2 messages"):
        parse(FileDescriptor, descriptor().SerializeToString(), what="it", max_depth=2)


def blob_bomb(levels: int) -> bytes:
    pieces, size = [], 0
    for _ in range(levels):
        for tag in (b"\x0a", b"\x22"):
            pieces.append(tag + varint(size))
            size += len(pieces[-1])
    return b"".join(reversed(pieces))


@pytest.mark.parametrize(
    ("message_type", "data"),
    [
        (CompressiveEncoding, nested_general(100_000)),
        (PageLayout, blob_bomb(100_000)),
        (CompressiveEncoding, b"\x52\xff\xff\xff\x7f" * 100_000),
        (PageLayout, b"\x0b" * 100_000),
        (PageLayout, b"\x9b\x01" * 100_000 + b"\x9c\x01" * 100_000),
        (ColumnEncoding, b"\x12\x80\x80\x04\x1a\x80\x80\x04" * 100_000),
        (Nullable, b"\x0a" * 100_000),
    ],
    ids=["general", "blob", "lying-lengths", "groups", "closed-groups", "zones", "tags"],
)
def test_nesting_bombs_are_corrupt(message_type, data):
    with pytest.raises(CorruptFileError) as caught:
        parse(message_type, data, what="a bomb")
    assert caught.value.__cause__ is not None


@settings(max_examples=300, deadline=None)
@given(
    data=st.binary(max_size=80), message_type=st.sampled_from([PageLayout, FileDescriptor, Manifest, ColumnEncoding])
)
def test_any_bytes_parse_or_are_corrupt(data, message_type):
    result = attempt(message_type, data)
    if isinstance(result, CorruptFileError):
        assert result.detail is None or 0 <= result.detail < len(data)
    else:
        assert message_type.FromString(result.SerializeToString()) == result


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_bytes_parse_or_are_corrupt_at_a_place(data):
    held = bytearray(descriptor().SerializeToString())
    position = data.draw(st.integers(0, len(held) - 1))
    held[position] ^= data.draw(st.integers(1, 255))
    result = attempt(FileDescriptor, held)
    if isinstance(result, CorruptFileError):
        assert 0 <= result.detail < len(held)


@pytest.mark.parametrize(
    ("url", "authority"),
    [("/lance.a.B", ""), ("lance.a.B", ""), ("type.googleapis.com/lance.a.B", ""), ("a/b/lance.a.B", "a/b")],
)
def test_unpack_any_splits_the_type_url(url, authority):
    assert unpack_any(AnyMessage(type_url=url, value=b"\x01").SerializeToString()) == ("lance.a.B", b"\x01", authority)


def test_unpack_any_allows_an_empty_value():
    assert unpack_any(b"\x0a\x03/x.") == ("x.", b"", "")


@pytest.mark.parametrize("data", [b"", b"\x0a\x01/", b"\x12\x01\x00", b"\x0a\x05/x", b"\x0a\x02/\xff"])
def test_unpack_any_refuses_what_has_no_type(data):
    with pytest.raises(CorruptFileError) as caught:
        unpack_any(data, what="page 2's description", byte_range=(7, 7 + len(data)))
    assert caught.value.byte_range == (7, 7 + len(data))
    assert caught.value.message.startswith("page 2's description")


def test_set_case_names_the_field():
    assert set_case(page()) == "mini_block_layout"
    assert set_case(page().mini_block_layout.value_compression) == "general"
    assert set_case(ColumnEncoding.FromString(b"\x0a\x00")) == "values"
    assert set_case(FullZipLayout(bits_per_value=0)) == "bits_per_value"
    private = CompressiveEncoding()
    private.private_codec.id = "vendor.name/1"
    assert set_case(private) == "private_codec"


def test_set_case_of_nothing_is_none():
    assert set_case(PageLayout()) is None
    assert set_case(FullZipLayout(bits_rep=3)) is None


@pytest.mark.parametrize(
    ("data", "case"),
    [(b"\x2a\x00", "#5"), (b"\xfa\x3e\x02ab", "#1007"), (b"\x98\x06\x01", "#99"), (b"\x2a\x00\x98\x06\x01", "#99")],
)
def test_set_case_tells_unknown_from_empty(data, case):
    assert set_case(parse(PageLayout, data, what="a page")) == case


def test_set_case_prefers_a_known_case():
    assert (
        set_case(parse(PageLayout, page().SerializeToString() + b"\x98\x06\x01", what="a page")) == "mini_block_layout"
    )


@pytest.mark.parametrize("message", [DataFragment(), MiniBlockLayout(), ConstantLayout(inline_value=b"")])
def test_set_case_needs_exactly_one_oneof(message):
    with pytest.raises(InternalError, match="oneofs"):
        set_case(message)


def test_unknown_fields_are_found_at_every_depth():
    inner = parse(CompressiveEncoding, b"\x98\x06\x01\x9a\x06\x00", what="it")
    assert unknown_numbers(inner) == (99, 99)
    layout = page()
    layout.mini_block_layout.dictionary.variable_packed_struct.fields.add()
    layout.mini_block_layout.dictionary.variable_packed_struct.fields.add().value.CopyFrom(inner)
    path = "mini_block_layout.dictionary.variable_packed_struct.fields[1].value"
    assert list(iter_unknown(layout)) == [(path, 99), (path, 99)]
    assert list(iter_unknown(page())) == []
    # Told without a walk; the message keeps what is unknown.
    assert not has_unknown(page())
    assert has_unknown(layout)
    assert list(iter_unknown(layout)) == [(path, 99), (path, 99)]


def test_unknown_fields_survive_a_round_trip():
    data = descriptor().SerializeToString() + b"\x98\x06\x01"
    assert parse(FileDescriptor, data, what="it").SerializeToString().endswith(b"\x98\x06\x01")


PURE_PYTHON = """
    from google.protobuf.internal import api_implementation
    assert api_implementation.Type() == "python"
    from lance_arrow.errors import CorruptFileError
    from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, PageLayout
    from lance_arrow.proto.reading import parse, set_case
    bomb = b"\\x52\\x04\\x1a\\x02" * 20
    pieces, size = [], 0
    for _ in range(2000):
        for tag in (0x1a, 0x52):
            head, rest = bytearray([tag]), size
            while rest >= 0x80:
                head.append(rest & 0x7F | 0x80)
                rest >>= 7
            head.append(rest)
            pieces.append(bytes(head))
            size += len(head)
    for message_type, data in [
        (CompressiveEncoding, b"".join(reversed(pieces))), (PageLayout, b"\\x0a"), (PageLayout, b"\\x0b" * 5000),
        (CompressiveEncoding, bomb),
    ]:
        try:
            parse(message_type, data, what="it")
        except CorruptFileError as error:
            assert error.__cause__ is not None
        else:
            raise SystemExit(f"{data[:8]!r} parsed")
    assert set_case(parse(PageLayout, b"\\x98\\x06\\x01", what="it")) == "#99"
"""


def test_parser_without_native_code_fails_alike():
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    command = [sys.executable, "-c", textwrap.dedent(PURE_PYTHON)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
