"""Pages as our layouts write them, one column each, read by the reference: scanned, and taken from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from same import assert_same, taken
from witness import Witness
from written_pages import MakeValue, content_of, random_rows
from written_pages import Path as LevelPath

import lance_arrow
from lance_arrow.container.file_form import FileForm
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.io import open_sink
from lance_arrow.proto.encodings_v20_pb2 import ColumnEncoding
from lance_arrow.spi import BlockShape, EncodeOptions, FixedSizeList, FixedWidth, LeafType, PackedStruct, VariableWidth
from lance_arrow.spi.encoders import PageContent, PendingPage
from lance_arrow.spi.layouts import LayerKind
from lance_arrow.testing.layout_suite import Entry
from lance_arrow.testing.round_trip import encode_scope

pytestmark = pytest.mark.interop
VERSIONS = ("2.1", "2.2", "2.3")
NUM_ROWS = 1500
# Of the columns, one in so many is read every day: a third of them as each version.
SHARE = 3
VALID, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
LIST, EMPTYABLE, FULL_LIST = LayerKind.NULL_AND_EMPTY_LIST, LayerKind.EMPTYABLE_LIST, LayerKind.ALL_VALID_LIST
PLAIN = LevelPath((VALID,))
WITH_NULLS = LevelPath((NULLABLE,))
LISTS = LevelPath((NULLABLE, LIST))
PATHS = {
    "plain": PLAIN,
    "nulls": WITH_NULLS,
    "struct": LevelPath((NULLABLE, NULLABLE)),
    "lists": LISTS,
    "nested": LevelPath((NULLABLE, LIST, NULLABLE, LIST)),
    "full": LevelPath((VALID, FULL_LIST, VALID, EMPTYABLE)),
}
TUPLES = {
    "tuples": LevelPath((NULLABLE, NULLABLE, NULLABLE), (0, 0, 3)),
    "tuples_of_structs": LevelPath((NULLABLE, NULLABLE, VALID, NULLABLE), (0, 0, 0, 2)),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one page."""

    name: str
    path: LevelPath
    leaf: pa.DataType
    make: MakeValue
    options: EncodeOptions = field(default_factory=EncodeOptions)
    all_null: bool = False

    @property
    def type_(self) -> pa.DataType:
        """The leaf within what its layers say."""
        found = self.leaf
        for layer, size in zip(self.path.layers[1:], self.path.sizes[1:], strict=True):
            found = pa.list_(found) if layer.is_list else pa.list_(found, size) if size else pa.struct([("f", found)])
        return found

    def rows(self) -> tuple[tuple[Entry, ...], ...]:
        rows = random_rows(self.path, NUM_ROWS, random.Random(self.name), self.make)
        if not self.all_null:
            return rows
        return tuple(tuple(Entry(entry.rep, entry.def_ or 1) for entry in row) for row in rows)


def shape_of(leaf: pa.DataType) -> BlockShape | None:
    if pa.types.is_null(leaf):
        return None
    if isinstance(leaf, pa.FixedSizeListType):
        return FixedSizeList(FixedWidth(leaf.value_type.bit_width), leaf.list_size)
    if pa.types.is_large_binary(leaf) or pa.types.is_large_string(leaf):
        return VariableWidth(64)
    if pa.types.is_binary(leaf) or pa.types.is_string(leaf):
        return VariableWidth(32)
    return FixedWidth(8 * leaf.byte_width if pa.types.is_fixed_size_binary(leaf) else leaf.bit_width)


def small(num_bytes: int) -> MakeValue:
    return lambda chance: chance.randrange(50).to_bytes(num_bytes, "little")


def large(num_bytes: int) -> MakeValue:
    return lambda chance: chance.randbytes(num_bytes)


def text(longest: int) -> MakeValue:
    return lambda chance: bytes(chance.choice(b"abcdefgh") for _ in range(chance.randrange(longest)))


def among(*values: bytes) -> MakeValue:
    return lambda chance: chance.choice(values)


def columns(version: str) -> Iterator[Column]:
    leaves: dict[str, tuple[pa.DataType, MakeValue]] = {
        "bool": (pa.bool_(), lambda chance: bytes([chance.randrange(2)])),
        "int8": (pa.int8(), small(1)),
        "int32": (pa.int32(), small(4)),
        "int64": (pa.int64(), large(8)),
        "decimal": (pa.decimal128(38, 0), small(16)),
        "string": (pa.string(), text(30)),
        "binary": (pa.large_binary(), large(9)),
        "vector": (pa.list_(pa.float32(), 4), small(16)),
        "long": (pa.string(), text(600)),
        "wide": (pa.list_(pa.int64(), 40), small(320)),
        "few": (pa.string(), among(b"red", b"green", b"blue" * 80)),
    }
    layouts = (None, "mini_block", "full_zip", *(["sparse"] if version == "2.3" else []))
    for name, (leaf, make) in leaves.items():
        for path_name, path in PATHS.items():
            for layout in layouts if path_name in ("nulls", "lists", "nested") else (None,):
                yield Column(f"{name}_{path_name}_{layout}", path, leaf, make, EncodeOptions(layout=layout))
    for preset in ("fast", "compact"):
        for name in ("int32", "string", "long", "few", "vector"):
            leaf, make = leaves[name]
            yield Column(f"{name}_{preset}", LISTS, leaf, make, EncodeOptions(preset=preset))
    for path_name, path in PATHS.items():
        yield Column(f"same_int_{path_name}", path, pa.int32(), among(b"\7\0\0\0"))
        yield Column(f"same_bool_{path_name}", path, pa.bool_(), among(b"\1"))
        yield Column(f"same_text_{path_name}", path, pa.string(), among(b"hello"))
        yield Column(f"same_wide_{path_name}", path, pa.binary(50), among(bytes(range(50))))
        if path.layers[0] is NULLABLE:
            for name in ("int32", "string", "vector", "bool"):
                leaf, make = leaves[name]
                yield Column(f"null_{name}_{path_name}", path, leaf, make, all_null=True)


def write_file(columns: list[Column], path: Path, version: str) -> None:
    schema = pa.schema([(column.name, column.type_) for column in columns])
    fields = fields_from_arrow(schema)
    major, minor = map(int, version.split("."))
    with open_sink(path) as sink:
        writer = FileWriter(sink, FileForm(FileVersion(f"{major}.{minor}"), fields))
        for number, column in enumerate(columns):
            page = content_of(column.rows(), column.path, shape_of(column.leaf))
            answer = encode_scope(page.leaf, file_version=version, options=column.options).layout(page)
            assert not isinstance(answer, PendingPage)
            length = NUM_ROWS * column.path.lengths_per_row
            writer.add_page(number, answer.description, answer.buffers, length=length, priority=0)
            writer.set_column(number, ColumnEncoding(values={}))
        writer.finish(NUM_ROWS)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_reference_reads_every_page(witness: Witness, tmp_path: Path, version: str, whole_run: bool) -> None:
    wanted = list(columns(version))
    wanted = wanted if whole_run else wanted[VERSIONS.index(version) :: SHARE]
    path = tmp_path / "pages.lance"
    write_file(wanted, path, version)
    ours = lance_arrow.read_table(path)
    assert_same(witness.read(path), ours)
    indices = sorted(random.Random(version).sample(range(NUM_ROWS), 40))
    assert_same(witness.take(path, indices), taken(ours, indices))


@pytest.mark.parametrize("name", TUPLES)
@pytest.mark.parametrize("version", ["2.2", "2.3"])
@pytest.mark.parametrize("layout", [None, "full_zip"])
def test_fixed_size_lists_of_structs(
    witness: Witness, tmp_path: Path, name: str, version: str, layout: str | None
) -> None:
    """Alone in their file: the reference refuses to read them together with columns of other lengths."""
    column = Column(name, TUPLES[name], pa.int32(), small(4), EncodeOptions(layout=layout))
    path = tmp_path / "tuples.lance"
    write_file([column], path, version)
    ours = lance_arrow.read_table(path)
    assert_same(witness.read(path), ours)
    indices = sorted(random.Random(version).sample(range(NUM_ROWS), 40))
    assert_same(witness.take(path, indices), taken(ours, indices))


@pytest.mark.parametrize("version", VERSIONS)
def test_bits_with_nulls_among_them_are_in_chunks(witness: Witness, tmp_path: Path, version: str) -> None:
    """The reference panics where rows of a zipped page have bitmaps before single bits."""
    metadata = {"lance-encoding:structural-encoding": "fullzip"}
    field = pa.field("bits", pa.list_(pa.list_(pa.bool_(), 8)), metadata=metadata)
    lists = [None, [], [None, [True, None] * 4], [[False] * 8]] * 50
    rows = pa.table([pa.array(lists, field.type)], schema=pa.schema([field]))
    lance_arrow.write_table(rows, tmp_path / "f.lance", file_version=version)
    assert_same(witness.read(tmp_path / "f.lance"), lance_arrow.read_table(tmp_path / "f.lance"))
    assert lance_arrow.read_table(tmp_path / "f.lance").equals(rows)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_blobs_lie_beside_their_pages(witness: Witness, tmp_path: Path, version: str) -> None:
    chance = random.Random(4)
    values = [None if chance.random() < 0.2 else chance.randbytes(chance.choice([0, 1, 5000])) for _ in range(60)]
    type_ = pa.large_binary()
    schema = pa.schema([pa.field("b", type_, metadata={"lance-encoding:blob": "true"})])
    rows = tuple((Entry(0, int(value is None), value),) for value in values)
    content = content_of(rows, WITH_NULLS, VariableWidth(64), LeafType(PackedStruct((FixedWidth(64), FixedWidth(64)))))
    path = tmp_path / "blobs.lance"
    with open_sink(path) as sink:
        writer = FileWriter(sink, FileForm(FileVersion(version), fields_from_arrow(schema)))
        writer.set_column(0, ColumnEncoding(blob={"inner": ColumnEncoding(values={})}))
        pending = encode_scope(content.leaf, file_version=version).layout(content)
        assert isinstance(pending, PendingPage)
        page = pending.complete(np.array([writer.place(part) for part in pending.outside], np.int64))
        writer.add_page(0, page.description, page.buffers, length=len(values), priority=0)
        writer.finish(len(values))
    assert lance_arrow.read_table(path)["b"].to_pylist() == values
    assert witness.read(path)["b"].to_pylist() == values
    places = lance_arrow.LanceFile(path, blobs="descriptors").read()["b"].to_pylist()
    assert [place["size"] for value, place in zip(values, places, strict=True) if value] == [
        *map(len, filter(None, values))
    ]


def test_a_page_is_what_its_content_says() -> None:
    """The helper builds visible values only: two entries of three own one."""
    rows = ((Entry(1, 0, b"\1"), Entry(0, 1)), (Entry(1, 3),))
    page: PageContent = content_of(rows, LISTS, FixedWidth(8))
    assert page.num_values == 2
