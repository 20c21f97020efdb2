"""Opening files: what is found, what it costs, and what is refused."""

import os
import struct
import threading

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceFile
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import (
    CorruptFileError,
    InvalidArgumentError,
    LanceError,
    ResourceLimitError,
    TruncatedReadError,
    UnsupportedError,
)
from lance_arrow.io import BufferSource, LocalSource, MeteredSource
from lance_arrow.settings import Limits

VERSIONS = ["2.0", "2.1", "2.2", "2.3"]
LAYOUT = "lance.encodings21.PageLayout"


def _everything(source):
    """All that the container tells, comparable."""
    reader = LanceFileReader(source)
    metas = reader.columns(range(reader.footer.num_columns))
    pages = [
        (
            page.number,
            page.num_rows,
            page.first_row,
            page.facts,
            page.buffer_offsets.tolist(),
            page.message,
            page.description,
        )
        for meta in metas
        for page in meta.pages
    ]
    return reader.num_rows, reader.fields, reader.metadata, pages, [(meta.message, meta.description) for meta in metas]


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_reference_wrote(written, version):
    reader = LanceFileReader(LocalSource(written / f"three-{version}.lance"))
    assert reader.num_rows == 3
    assert [leaf.path for leaf in reader.leaves] == ["a", "b"]
    for meta in reader.columns([1, 0]):
        assert meta.num_rows == 3
        assert meta.page_starts.tolist() == [0, 3]
        assert (meta.message, meta.description) == ("lance.encodings.ColumnEncoding", b"\n\x00")
        assert meta.pages[0].facts.buffer_sizes == tuple(meta.pages[0].buffer_sizes)
    families = {"2.0": "lance.encodings.ArrayEncoding", "2.3": "lance.encodings23.PlanarLayout"}
    assert meta.pages[0].message == families.get(version, LAYOUT)


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_every_type_opens_with_all_its_columns(written, version):
    reader = LanceFileReader(LocalSource(written / f"types-{version}.lance"))
    metas = reader.columns(range(reader.footer.num_columns))
    assert {meta.num_rows for meta in metas} == {0}


@pytest.mark.interop
def test_schemas_of_equal_content_are_built_once_but_by_version(written):
    readers = [LanceFileReader(LocalSource(written / f"three-{version}.lance")) for version in ("2.1", "2.1", "2.0")]
    assert readers[0].schema is readers[1].schema
    assert readers[0].leaves is readers[1].leaves
    assert readers[2].leaves is not readers[1].leaves
    assert readers[2].schema.equals(readers[1].schema)


class Registered(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.int64(), "lance_arrow.tests.registered_later")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


@pytest.mark.interop
def test_an_extension_type_registered_between_two_opens_is_noticed(witness, tmp_path):
    metadata = {"ARROW:extension:name": "lance_arrow.tests.registered_later", "ARROW:extension:metadata": ""}
    schema = pa.schema([pa.field("x", pa.int64(), metadata=metadata)])
    path = witness.write(pa.table([[1, 2]], schema=schema), tmp_path / "file.lance", "2.2")
    assert LanceFileReader(LocalSource(path)).schema.field("x").type == pa.int64()
    pa.register_extension_type(Registered())
    try:
        assert LanceFileReader(LocalSource(path)).schema.field("x").type == Registered()
    finally:
        pa.unregister_extension_type("lance_arrow.tests.registered_later")


@pytest.mark.interop
def test_many_pages_and_global_buffers(written):
    reader = LanceFileReader(LocalSource(written / "buffers-2.2.lance"))
    (meta,) = reader.columns([0])
    assert len(meta.pages) > 1
    assert meta.num_rows == reader.num_rows == 6_000_002
    assert [page.first_row for page in meta.pages] == meta.page_starts[:-1].tolist()
    low, high = meta.pages[1].byte_range
    assert high - low >= meta.pages[1].buffer_sizes.sum()
    assert len({id(page.description) for page in meta.pages}) < len(meta.pages) or len(meta.pages) == 2
    buffers = reader.global_buffers
    assert [buffers.read(index).tobytes() for index in range(1, len(buffers))] == [b"first", b"", b"second" * 100]
    for index in (-1, len(buffers)):
        with pytest.raises(InvalidArgumentError):
            buffers.read(index)


@pytest.mark.interop
def test_a_hundred_columns_open_in_two_reads_and_no_column_costs_more(written):
    source = MeteredSource(LocalSource(written / "wide-2.2.lance"))
    reader = LanceFileReader(source)
    # The tables lie before the last 16 KiB.
    assert (source.snapshot().requests, source.snapshot().bytes_fetched) == (2, 80 << 10)
    reader.columns([50])
    reader.columns(range(100))
    assert source.snapshot().requests == 2
    assert os.path.getsize(written / "wide-2.2.lance") > 64 << 10


def test_metadata_before_the_tail_comes_in_three_waves_and_only_what_is_wanted(craft):
    names = [f"column_{number}" for number in range(3000)]
    crafted = craft(
        schema=pa.schema([(name, pa.int64()) for name in names]),
        columns=[craft.column(craft.page()) for _ in names],
        extra_buffers=[b"x" * 1000],
    )
    data = crafted.build()
    source = MeteredSource(BufferSource(data))
    reader = LanceFileReader(source)
    opened = source.snapshot()
    assert opened.waves <= 3
    block = reader.footer.column_table_position - reader.footer.first_column_position
    assert opened.bytes_fetched < len(data) - block + (64 << 10)
    first, last = reader.columns([0, 2])
    spent = source.snapshot() - opened
    assert (spent.waves, spent.requests) == (1, 1)
    assert spent.bytes_fetched == last.byte_range[1] - first.byte_range[0]
    assert reader.columns([0])[0] is first
    assert reader.global_buffers.read(1).tobytes() == b"x" * 1000


def test_small_files_are_read_once(craft):
    source = MeteredSource(BufferSource(craft().build()))
    LanceFileReader(source).columns([0])
    assert source.snapshot().bytes_fetched == source.size()


def test_threads_share_a_reader(craft):
    names = [f"c{number}" for number in range(200)]
    reader = craft(
        schema=pa.schema([(name, pa.int64()) for name in names]), columns=[craft.column(craft.page()) for _ in names]
    ).open()
    found = []

    def work(seed):
        order = np.random.default_rng(seed).permutation(200)
        found.append({int(column): reader.columns([int(column)])[0] for column in order})

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for column in range(200):
        assert {each[column].column for each in found} == {column}
        assert len({id(each[column]) for each in found}) == 1


def test_closing(craft):
    with craft().open() as reader:
        assert reader.num_rows == 3
    with pytest.raises(InvalidArgumentError, match="closed"):
        reader.source.read(np.array([0]), np.array([1]))


def test_no_such_column(craft):
    for column in (-1, 1):
        with pytest.raises(InvalidArgumentError, match="no physical column"):
            craft().open().columns([column])


def test_a_file_without_a_schema(craft):
    with pytest.raises(UnsupportedError, match="no schema"):
        craft(buffer_table=[]).open()


PLACES = {
    "behind the end": (10**6, 1),
    "too long": (0, 10**6),
    "wrapping": (64, 2**64 - 64),
    "far": (2**64 - 64, 0),
    "far and long": (2**64 - 64, 2**64 - 1),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_places_outside_the_file(craft, place):
    inside = [place[0]], [place[1]]
    for bad in (
        craft(column_table=[place]),
        craft(buffer_table=[place]),
        craft(columns=[craft.column(craft.page(3, *inside))]),
        craft(columns=[craft.column(craft.page(), offsets=inside[0], sizes=inside[1])]),
    ):
        with pytest.raises(CorruptFileError, match="but the file has") as caught:
            bad.read_all()
        assert caught.value.path == "crafted"
        assert caught.value.byte_range is not None


def test_the_bad_page_is_named(craft):
    pages = [craft.page(1), craft.page(1, (0, 64), (1, 1)), craft.page(1, (0, 10**9), (1, 1))]
    with pytest.raises(CorruptFileError) as caught:
        craft(columns=[craft.column(*pages)]).read_all()
    assert (caught.value.column, caught.value.page) == ("a", 2)


def test_an_empty_buffer_at_the_very_end_is_inside(craft):
    size = len(craft(columns=[craft.column(craft.page(3, [0], [0]))], version=(2, 0)).build())
    encoding = craft.described("lance.encodings.ArrayEncoding", b"abc")
    columns = [craft.column(craft.page(3, [0], [0], encoding))]
    size = len(craft(columns=columns, version=(2, 0)).build())
    for _ in range(3):
        columns = [craft.column(craft.page(3, [size], [0], encoding))]
        size = len(craft(columns=columns, version=(2, 0)).build())
    (meta,) = craft(columns=columns, version=(2, 0)).read_all()
    assert meta.pages[0].buffer_offsets.tolist() == [size]


def test_alignment_is_mandatory_since_2_1(craft):
    old = craft.described("lance.encodings.ArrayEncoding")
    craft(columns=[craft.column(craft.page(3, [7], [1], old))], version=(2, 0)).read_all()
    craft(columns=[craft.column(craft.page(), offsets=[7], sizes=[1])]).read_all()
    with pytest.raises(CorruptFileError, match="multiple of 64") as caught:
        craft(columns=[craft.column(craft.page(3, [7], [1]))]).read_all()
    assert caught.value.byte_range == (7, 8)
    with pytest.raises(CorruptFileError, match="multiple of 64"):
        craft(data=bytes(100)).open()
    craft(data=bytes(100), version=(2, 0)).open()


@pytest.mark.parametrize("num_columns", [0, 2])
def test_columns_and_schema_must_agree(craft, num_columns):
    with pytest.raises(CorruptFileError, match="requires 1 columns"):
        craft(columns=[craft.column(craft.page())] * num_columns).open()


def test_offsets_and_sizes_must_pair(craft):
    with pytest.raises(CorruptFileError, match="1 buffer offsets but 2 buffer sizes") as caught:
        craft(columns=[craft.column(craft.page(3, [0], [1, 1]))]).read_all()
    assert caught.value.page == 0
    with pytest.raises(CorruptFileError, match="column buffer offsets"):
        craft(columns=[craft.column(craft.page(), offsets=[0], sizes=[])]).read_all()


@pytest.mark.parametrize("lengths", [[], [2], [4], [1, 1], [2**63], [2**63 - 1, 1], [2**64 - 1, 4]])
def test_pages_must_add_up_to_the_rows(craft, lengths):
    with pytest.raises(CorruptFileError, match="rows") as caught:
        craft(columns=[craft.column(*(craft.page(length) for length in lengths))]).read_all()
    assert caught.value.column == "a"


def test_more_rows_than_63_bits(craft):
    with pytest.raises(CorruptFileError, match="63 bits"):
        craft(num_rows=2**63).open()


def test_fixed_size_lists_of_structs_count_elements(craft):
    schema = pa.schema([("c", pa.list_(pa.struct([("x", pa.int8())]), 4))])
    craft(schema=schema, columns=[craft.column(craft.page(12))]).read_all()
    with pytest.raises(CorruptFileError, match="expected 12"):
        craft(schema=schema, columns=[craft.column(craft.page(3))]).read_all()
    wide = pa.schema([("c", pa.list_(pa.struct([("x", pa.int8())]), 2**31 - 1))])
    with pytest.raises(CorruptFileError, match=f"expected {(2**62) * (2**31 - 1)}"):
        craft(schema=wide, num_rows=2**62, columns=[craft.column(craft.page(0))]).read_all()


def test_items_of_2_0_lists_count_themselves(craft):
    old = craft.described("lance.encodings.ArrayEncoding")
    lists = craft.column(craft.page(3, encoding=old))
    items = craft.column(craft.page(17, encoding=old))
    crafted = craft(schema=pa.schema([("c", pa.list_(pa.int8()))]), columns=[lists, items], version=(2, 0))
    assert [meta.num_rows for meta in crafted.read_all()] == [3, 17]
    crafted.columns = [items, lists]
    with pytest.raises(CorruptFileError, match="expected 3"):
        crafted.read_all()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ((2, 0), LAYOUT),
        ((2, 2), "lance.encodings.ArrayEncoding"),
        ((2, 2), "lance.encodings23.PlanarLayout"),
        ((2, 3), "lance.encodings.ArrayEncoding"),
    ],
)
def test_descriptions_of_another_version(craft, version, message):
    pages = [craft.page(encoding=craft.described(message))]
    with pytest.raises(CorruptFileError, match=f"described by {message}") as caught:
        craft(columns=[craft.column(*pages)], version=version).read_all()
    assert caught.value.page == 0


def test_pages_of_2_0_in_files_of_2_1_are_named(craft, tmp_path):
    message = "lance.encodings.ArrayEncoding"
    pages = [craft.page(encoding=craft.described(message))]
    path = tmp_path / "draft.lance"
    path.write_bytes(craft(columns=[craft.column(*pages)], version=(2, 1)).build())
    with pytest.raises(UnsupportedError, match=r"draft of 2\.1") as caught, LanceFile(path) as file:
        file.read()
    assert message in str(caught.value)
    assert caught.value.page == 0


def test_2_3_may_hold_the_older_grammar(craft):
    pages = [craft.page(encoding=craft.described(LAYOUT, b"draft"))]
    (meta,) = craft(columns=[craft.column(*pages)], version=(2, 3)).read_all()
    assert (meta.pages[0].message, meta.pages[0].description) == (LAYOUT, b"draft")


def test_descriptions_of_nobody_we_know_are_left_to_the_binder(craft):
    (meta,) = craft(columns=[craft.column(craft.page(encoding=craft.described("vendor.Layout", b"own")))]).read_all()
    assert (meta.pages[0].message, meta.pages[0].description) == ("vendor.Layout", b"own")


def test_descriptions_stored_apart(craft):
    wrapped = craft.described(LAYOUT, b"far away").direct.encoding
    place = {"indirect": {"buffer_location": 7, "buffer_length": len(wrapped)}}
    data = bytes(7) + wrapped + bytes(128 - 7 - len(wrapped))
    columns = [craft.column(craft.page(1), craft.page(1, encoding=craft.described("", **place)), craft.page(1))]
    crafted = craft(columns=columns, data=data)
    (meta,) = crafted.read_all()
    assert [page.description for page in meta.pages] == [b"abc", b"far away", b"abc"]
    with pytest.raises(ResourceLimitError, match="max_description_bytes"):
        crafted.read_all(limits=Limits(max_description_bytes=20))
    for location, length in ((10**6, 1), (2**64 - 1, 1), (0, 2**64 - 1)):
        place["indirect"] = {"buffer_location": location, "buffer_length": length}
        with pytest.raises(CorruptFileError, match="but the file has"):
            craft(columns=[craft.column(craft.page(encoding=craft.described("", **place)))]).read_all()


def test_descriptions_that_are_missing(craft):
    for encoding in (craft.described("", none={}), type(craft.described(""))()):
        with pytest.raises(CorruptFileError, match="a page has no description") as caught:
            craft(columns=[craft.column(craft.page(encoding=encoding))]).read_all()
        assert caught.value.page == 0
        with pytest.raises(CorruptFileError, match="a column has no description"):
            craft(columns=[craft.column(craft.page(), encoding=encoding)]).read_all()


def test_blocks_that_do_not_parse(craft):
    with pytest.raises(CorruptFileError) as caught:
        craft(columns=[b"\xff\xff\xff"]).read_all()
    assert caught.value.column == "a"
    crafted = craft()
    crafted.buffer_table = [(0, 10)]
    crafted.data = b"\xff" * 128
    with pytest.raises(CorruptFileError, match="file descriptor"):
        crafted.open()


def test_limits_come_before_reading(craft):
    crafted = craft(extra_buffers=[b"x" * 200_000])
    reader = crafted.open(limits=Limits(max_metadata_bytes=100_000))
    with pytest.raises(ResourceLimitError, match="max_metadata_bytes"):
        reader.global_buffers.read(1)


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_cut_anywhere(written, version):
    data = (written / f"three-{version}.lance").read_bytes()
    for size in range(len(data)):
        with pytest.raises(CorruptFileError):
            LanceFileReader(BufferSource(data[:size]))


@pytest.mark.interop
def test_cut_while_open(written, tmp_path):
    path = tmp_path / "wide.lance"
    path.write_bytes((written / "wide-2.2.lance").read_bytes())
    reader = LanceFileReader(LocalSource(path))
    os.truncate(path, 1000)
    (meta,) = reader.columns([99])
    low, high = meta.pages[0].byte_range
    with pytest.raises(TruncatedReadError):
        reader.source.read(np.array([low]), np.array([high]))


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_every_byte_of_the_footer_flipped(written, version):
    data = (written / f"three-{version}.lance").read_bytes()
    expected = _everything(BufferSource(data))
    outcomes = {"right": 0, "refused": 0}
    for at in range(len(data) - 40, len(data)):
        for flip in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            broken = bytearray(data)
            broken[at] ^= flip
            try:
                found = _everything(BufferSource(bytes(broken)))
            except LanceError:
                outcomes["refused"] += 1
            else:
                assert found == expected, (at - len(data), flip)
                outcomes["right"] += 1
    # Only the unused position and, within a family, the version may pass.
    assert outcomes["refused"] > 240


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_every_byte_of_the_metadata_flipped(written, version):
    """Without checksums damage may read as another sound file, but nothing else than a `LanceError` is ever raised."""
    data = (written / f"three-{version}.lance").read_bytes()
    position = struct.unpack_from("<Q", data, struct.unpack_from("<Q", data, len(data) - 24)[0])[0]
    refused = 0
    for at in range(position, len(data) - 40):
        for flip in (1, 128, 255):
            broken = bytearray(data)
            broken[at] ^= flip
            try:
                _everything(BufferSource(bytes(broken)))
            except LanceError:
                refused += 1
    assert refused > len(data) - 40 - position
