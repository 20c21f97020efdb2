"""What a reader must check of the container: each clause with a file that breaks it, refused at every door."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from craft import Craft, described
from forge import Bad, Forged, assert_refused, bad_container, ids
from forged import INTS, SPARSE_SCALAR, TWO_PAGES
from google.protobuf.any_pb2 import Any

from lance_arrow.errors import (
    CorruptFileError,
    UnknownEncodingError,
    UnsupportedError,
)
from lance_arrow.proto import file_schema_pb2, file_v2_pb2
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding, General

FAR = 2**64 - 64
WHOLE, COLUMN, PAGE = ("byte_range",), ("column", "byte_range"), ("column", "page", "byte_range")
LAYOUT = "lance.encodings21.PageLayout"


def crafted(change: Callable[[Craft], None], file: Forged = INTS) -> Callable[[], bytes]:
    """The good file, with something of its container set."""

    def make() -> bytes:
        craft = file.craft()
        change(craft)
        return craft.build()

    return make


def footer(**fields: object) -> Callable[[], bytes]:
    return crafted(lambda craft: craft.footer.update(fields))


def version(major: int, minor: int, file: Forged = INTS) -> Callable[[], bytes]:
    def make() -> bytes:
        content = bytearray(file.build())
        struct.pack_into("<HH", content, len(content) - 8, major, minor)
        return bytes(content)

    return make


def table(which: str, number: int, position: int, size: int) -> Callable[[], bytes]:
    """One entry of the column or buffer table replaced."""

    def make() -> bytes:
        content = bytearray(INTS.build())
        start = struct.unpack_from("<Q", content, len(content) - {"columns": 32, "buffers": 24}[which])[0]
        struct.pack_into("<QQ", content, start + 16 * number, position, size)
        return bytes(content)

    return make


def meta(change: Callable[[file_v2_pb2.ColumnMetadata], None], file: Forged = INTS) -> Callable[[], bytes]:
    """The first column's metadata changed."""
    return crafted(lambda craft: change(craft.columns[0]), file)


def first_page(change: Callable[[file_v2_pb2.ColumnMetadata.Page], None]) -> Callable[[], bytes]:
    return meta(lambda one: change(one.pages[0]))


def field(name: str = "c", id_: int = 0, parent: int = -1, type_: str = "int32") -> file_schema_pb2.Field:
    return file_schema_pb2.Field(name=name, id=id_, parent_id=parent, logical_type=type_, nullable=True)


def schema(*fields: file_schema_pb2.Field) -> Callable[[], bytes]:
    def change(craft: Craft) -> None:
        craft.fields = list(fields)

    return crafted(change)


def deep_schema(depth: int) -> Callable[[], bytes]:
    structs = [field(f"f{n}", n, n - 1, "struct") for n in range(depth)]
    return schema(*structs, field("leaf", depth, depth - 1))


def described_page(message: str, value: bytes = b"") -> Callable[[], bytes]:
    return first_page(lambda one: one.encoding.CopyFrom(described(message, value)))


def nested_general(depth: int) -> bytes:
    """A mini-block description whose value codec is `depth` layers of general compression."""
    codec = CompressiveEncoding(flat={"bits_per_value": 32})
    for _ in range(depth):
        codec = CompressiveEncoding(general=General(compression={"scheme": 2}, values=codec))
    page_ = INTS.page.with_layout("mini_block_layout.value_compression", codec)
    return page_.layout.SerializeToString()


def groups(depth: int) -> bytes:
    """Messages nested by hand, deeper than any serializer would build them: field 10 of field 3 of ..."""
    # From the inside out: each head has the size of all that is inside.
    heads, size = [], 0
    for field in (*(b"\x1a", b"\x52") * depth, b"\x1a", b"\x0a"):
        heads.append(field + varint(size))
        size += len(heads[-1])
    return b"".join(reversed(heads))


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def shared_buffers(one: file_v2_pb2.ColumnMetadata.Page) -> None:
    one.buffer_offsets[1] = one.buffer_offsets[0]


def tables_in_each_other(craft: Craft) -> None:
    # The offsets table is its own first entry: the metadata of column 0 is the table.
    content = craft.build()
    start = struct.unpack_from("<Q", content, len(content) - 32)[0]
    craft.column_table = [(start, 16)]


def _rows(count: int) -> bytes:
    craft = INTS.craft()
    craft.num_rows = count
    return craft.build()


def _buffer_table(craft: Craft, place: tuple[int, int]) -> None:
    craft.buffer_table = [place]


def _set_any(one: file_v2_pb2.ColumnMetadata.Page, wrapped: Any) -> None:
    one.encoding.direct.encoding = wrapped.SerializeToString()


CASES: list[Bad] = [
    # 1. length, magic, version
    Bad("footer-short", lambda: INTS.build()[-39:], CorruptFileError, ()),
    Bad("footer-empty", lambda: b"", CorruptFileError, ()),
    bad_container("footer-magic", footer(magic=b"LANX"), CorruptFileError, *WHOLE),
    bad_container("footer-version-unknown", version(2, 4), UnsupportedError, *WHOLE),
    bad_container("footer-version-legacy", version(0, 2), CorruptFileError),
    # 2. tables
    bad_container("tables-columns-position", footer(columns=10**6), CorruptFileError, *WHOLE),
    bad_container("tables-columns-wrap", footer(columns=FAR), CorruptFileError, *WHOLE),
    bad_container("tables-columns-count", footer(num_columns=2**32 - 1), CorruptFileError, *WHOLE),
    bad_container("tables-buffers-position", footer(buffers=FAR), CorruptFileError, *WHOLE),
    bad_container("tables-buffers-count", footer(num_buffers=2**32 - 1), CorruptFileError, *WHOLE),
    bad_container("tables-in-each-other", crafted(tables_in_each_other), CorruptFileError, *COLUMN),
    # 3. positions and sizes
    bad_container("places-column-outside", table("columns", 0, 10**6, 1), CorruptFileError, *WHOLE),
    bad_container("places-column-wrap", table("columns", 0, 64, FAR), CorruptFileError, *WHOLE),
    bad_container("places-global-outside", table("buffers", 0, 64, 10**6), CorruptFileError, *WHOLE),
    bad_container("places-global-wrap", table("buffers", 0, FAR, 128), CorruptFileError, *WHOLE),
    bad_container(
        "places-page-outside",
        first_page(lambda one: one.buffer_offsets.__setitem__(1, 64 * 10**6)),
        CorruptFileError,
        *PAGE,
    ),
    bad_container(
        "places-page-wrap", first_page(lambda one: one.buffer_sizes.__setitem__(1, FAR)), CorruptFileError, *PAGE
    ),
    bad_container(
        "places-column-buffer",
        meta(lambda one: (one.buffer_offsets.append(64), one.buffer_sizes.append(10**6))),
        CorruptFileError,
        *COLUMN,
    ),
    bad_container(
        "places-page-misaligned", first_page(lambda one: one.buffer_offsets.__setitem__(1, 65)), CorruptFileError, *PAGE
    ),
    bad_container("places-global-misaligned", table("buffers", 0, 1, 8), CorruptFileError, *WHOLE),
    # 4. columns of the schema
    bad_container("columns-fewer", crafted(lambda craft: craft.columns.clear()), CorruptFileError, *WHOLE),
    bad_container(
        "columns-more", crafted(lambda craft: craft.columns.append(craft.columns[0])), CorruptFileError, *WHOLE
    ),
    # 5. field tree
    bad_container("fields-id-twice", schema(field(), field("d")), CorruptFileError, *WHOLE),
    bad_container("fields-parent-later", schema(field(parent=1), field("d", 1)), CorruptFileError, *WHOLE),
    bad_container("fields-parent-itself", schema(field(parent=0)), CorruptFileError, *WHOLE),
    bad_container("fields-depth", deep_schema(63), CorruptFileError, *WHOLE),
    bad_container("fields-depth-10000", deep_schema(10_000), CorruptFileError, *WHOLE),
    bad_container("fields-name-twice", schema(field(), field(id_=1)), CorruptFileError, *COLUMN),
    bad_container(
        "fields-name-twice-inside",
        schema(field(type_="struct"), field("d", 1, 0), field("d", 2, 0)),
        CorruptFileError,
        *COLUMN,
    ),
    bad_container("fields-type-parameters", schema(field(type_="timestamp:h:-")), CorruptFileError, *COLUMN),
    bad_container("fields-type-unknown", schema(field(type_="int33")), UnsupportedError, *COLUMN),
    bad_container(
        "fields-type-nested-text",
        schema(field(type_="fixed_size_list:" * 9000 + "int8" + ":2" * 9000)),
        CorruptFileError,
        *COLUMN,
    ),
    bad_container("fields-children", schema(field(), field("d", 1, 0)), CorruptFileError, *COLUMN),
    # 6. buffers of a page
    bad_container(
        "buffers-unpaired", first_page(lambda one: one.buffer_sizes.append(0)), CorruptFileError, *COLUMN, "page"
    ),
    bad_container("buffers-unpaired-column", meta(lambda one: one.buffer_sizes.append(0)), CorruptFileError, *COLUMN),
    bad_container(
        "buffers-too-many",
        first_page(lambda one: (one.buffer_sizes.append(0), one.buffer_offsets.append(0))),
        CorruptFileError,
        *PAGE,
    ),
    bad_container(
        "buffers-too-few",
        first_page(lambda one: (one.buffer_sizes.pop(), one.buffer_offsets.pop())),
        CorruptFileError,
        *PAGE,
    ),
    # 7. rows
    bad_container("rows-descriptor", lambda: _rows(24), CorruptFileError, *COLUMN),
    bad_container("rows-descriptor-63-bits", lambda: _rows(2**63), CorruptFileError, *WHOLE),
    bad_container(
        "rows-pages-63-bits", first_page(lambda one: setattr(one, "length", 2**64 - 1)), CorruptFileError, *COLUMN
    ),
    bad_container("rows-page-missing", meta(lambda one: one.pages.pop(), TWO_PAGES), CorruptFileError, *COLUMN),
    # 8. type URLs and cases
    bad_container("types-family", described_page("lance.encodings23.PlanarLayout"), CorruptFileError, *COLUMN, "page"),
    bad_container("types-version", version(2, 2, SPARSE_SCALAR), CorruptFileError, *COLUMN, "page"),
    bad_container("types-unknown-layout", described_page("vendor.Layout", b"own"), UnknownEncodingError, *PAGE),
    bad_container("types-unknown-case", described_page(LAYOUT, b"\xfa\x3e\x02\x08\x01"), UnknownEncodingError, *PAGE),
    bad_container("types-no-case", described_page(LAYOUT), CorruptFileError, *PAGE),
    bad_container(
        "types-no-url", first_page(lambda one: _set_any(one, Any(value=b"abc"))), CorruptFileError, *COLUMN, "page"
    ),
    bad_container(
        "types-no-description", first_page(lambda one: one.ClearField("encoding")), CorruptFileError, *COLUMN, "page"
    ),
    bad_container("types-column-none", meta(lambda one: one.ClearField("encoding")), CorruptFileError, *COLUMN),
    bad_container(
        "types-column-unknown",
        meta(lambda one: one.encoding.CopyFrom(described("lance.encodings.ColumnEncoding", b"\xfa\x3e\x00"))),
        UnknownEncodingError,
        "column",
    ),
    bad_container(
        "types-column-family",
        meta(lambda one: one.encoding.CopyFrom(described("vendor.Column", b""))),
        UnknownEncodingError,
        "column",
    ),
    # 10. protobuf
    bad_container(
        "protobuf-descriptor", crafted(lambda craft: _buffer_table(craft, (0, 100))), CorruptFileError, *WHOLE
    ),
    bad_container(
        "protobuf-metadata", crafted(lambda craft: craft.columns.__setitem__(0, b"\xff" * 9)), CorruptFileError, *COLUMN
    ),
    bad_container("protobuf-page", described_page(LAYOUT, b"\x0a\xff"), CorruptFileError, *PAGE),
    bad_container("protobuf-depth", described_page(LAYOUT, nested_general(40)), CorruptFileError, *PAGE),
    bad_container("protobuf-depth-100000", described_page(LAYOUT, groups(50_000)), CorruptFileError, *PAGE),
    # 11. overlapping buffers
    bad_container("overlap-buffers", first_page(shared_buffers), CorruptFileError, *PAGE),
]


@pytest.mark.parametrize("case", CASES, ids=ids(CASES))
def test_refused(case: Bad, tmp_path: Path) -> None:
    assert_refused(case, tmp_path)
