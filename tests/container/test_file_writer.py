"""Files of pages made by hand: read by us and by the reference, the same bytes every time, all or nothing."""

from __future__ import annotations

import io
import signal
import struct
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from handmade import chunked, zipped
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_arrow
from lance_arrow.container.file_form import FileForm
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.container.written_bytes import FileTail
from lance_arrow.errors import InternalError, InvalidArgumentError, UnsupportedError
from lance_arrow.io import BufferSource, open_sink
from lance_arrow.proto import encodings_v20_pb2 as v20
from lance_arrow.proto import encodings_v21_pb2 as v21
from lance_arrow.proto import file_schema_pb2

VERSIONS = ["2.1", "2.2", "2.3"]
PLAIN = v20.ColumnEncoding(values={})
FLAT = v21.CompressiveEncoding(flat=v21.Flat(bits_per_value=64))
WORDS = v21.CompressiveEncoding(variable=v21.Variable(offsets=v21.CompressiveEncoding(flat={"bits_per_value": 32})))
PAGE_ROWS = 500


def raw(*parts: bytes) -> list[np.ndarray]:
    return [np.frombuffer(part, np.uint8) for part in parts]


def number_page(numbers: np.ndarray, version: str):
    layout, buffers = chunked(FLAT, [numbers.astype("<i8").tobytes()], len(numbers), version)
    return layout, raw(*buffers)


def word_page(words: list[bytes], version: str):
    layout, buffers = zipped(WORDS, words, version)
    return layout, raw(*buffers)


def numbers_and_words(num_rows: int) -> pa.Table:
    schema = pa.schema(
        [pa.field("number", pa.int64(), nullable=False), pa.field("word", pa.binary(), metadata={"b": "2", "a": "1"})],
        metadata={"z": "last", "about": "the file"},
    )
    words = [b"w" * (row % 7) + str(row).encode() for row in range(num_rows)]
    return pa.table([pa.array(range(num_rows), pa.int64()), pa.array(words, pa.binary())], schema=schema)


def write(sink, table: pa.Table, version: str, *, block_sums=None, global_buffers=(), column_buffers=()) -> None:
    """Write two columns in pages of 500 rows, by turns."""
    metadata = {key.decode(): value for key, value in table.schema.metadata.items()}
    writer = FileWriter(
        sink, FileForm(FileVersion(version), fields_from_arrow(table.schema), metadata), block_sums=block_sums
    )
    for start in range(0, table.num_rows, PAGE_ROWS):
        part = table.slice(start, PAGE_ROWS)
        pages = number_page(part["number"].to_numpy(), version), word_page(part["word"].to_pylist(), version)
        for column, page in enumerate(pages):
            writer.add_page(column, *page, length=part.num_rows, priority=start)
    for data in raw(*global_buffers):
        writer.add_global_buffer(data)
    for column in range(writer.num_columns):
        writer.set_column(column, PLAIN, raw(*column_buffers))
    writer.finish(table.num_rows)


def content_of(table: pa.Table, version: str, **options) -> bytes:
    out = io.BytesIO()
    with open_sink(out) as sink:
        write(sink, table, version, **options)
    assert sink.position == len(out.getvalue())
    return out.getvalue()


@pytest.mark.interop
@pytest.mark.parametrize("num_rows", [0, 1, 3 * PAGE_ROWS + 20])
@pytest.mark.parametrize("version", VERSIONS)
def test_we_and_the_reference_read_what_was_written(witness, tmp_path, version, num_rows):
    table = numbers_and_words(num_rows)
    path = tmp_path / "a.lance"
    with open_sink(path) as sink:
        write(sink, table, version, global_buffers=[b"", b"mine"], column_buffers=[b"c" * 100])
    with lance_arrow.LanceFile(path) as file:
        assert file.version == version
        ours = file.read()
        assert ours.schema.equals(table.schema, check_metadata=True)
        assert ours.equals(table)
        rows = pa.array([num_rows - 1, 0] if num_rows else [], pa.int64())
        assert file.take(rows).equals(table.take(rows))
    theirs = witness.read(path)
    assert theirs.schema.equals(table.schema, check_metadata=True)
    assert theirs.equals(table)
    if num_rows:
        assert witness.take(path, [num_rows - 1]).equals(table.slice(num_rows - 1))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_lies_where(version):
    table = numbers_and_words(PAGE_ROWS + 1)
    content = content_of(table, version, global_buffers=[b"first", b"", b"third"], column_buffers=[b"a", b"bc"])
    reader = LanceFileReader(BufferSource(content))
    assert [reader.global_buffers.read(index).tobytes() for index in (1, 2, 3)] == [b"first", b"", b"third"]
    covered = np.zeros(len(content), bool)
    for meta in reader.columns(range(2)):
        assert [page.num_rows for page in meta.pages] == [PAGE_ROWS, 1]
        assert meta.message == "lance.encodings.ColumnEncoding"
        places = [(at, size) for page in meta.pages for at, size in zip(page.buffer_offsets, page.buffer_sizes)]  # noqa: B905
        places += zip(meta.buffer_offsets, meta.buffer_sizes, strict=True)
        for at, size in places:
            assert at % 64 == 0
            covered[at : at + size] = True
        assert [content[at : at + size] for at, size in places[-2:]] == [b"a", b"bc"]
        covered[slice(*meta.byte_range)] = True
    for index in range(len(reader.global_buffers)):
        place = reader.global_buffers.place(index)
        assert place.start % 64 == 0
        covered[place.start : place.stop] = True
    for table_place in (reader.footer.column_table, reader.footer.buffer_table, (len(content) - 40, len(content))):
        covered[slice(*table_place)] = True
    # All that nobody owns is padding, and lies before the metadata.
    gaps = np.flatnonzero(~covered)
    assert gaps.max() < reader.global_buffers.place(0).start
    assert set(np.frombuffer(content, np.uint8)[gaps].tolist()) == {0x48}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_content_gives_the_same_bytes(version):
    table = numbers_and_words(PAGE_ROWS + 3)
    turned = table.replace_schema_metadata(dict(reversed(table.schema.metadata.items())))
    field = turned.schema.field("word")
    turned = turned.cast(turned.schema.set(1, field.with_metadata(dict(reversed(field.metadata.items())))))
    assert list(turned.schema.metadata) != list(table.schema.metadata)
    assert content_of(table, version) == content_of(turned, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_file_is_metadata_only(version):
    """As the reference writes it: column metadata of 43 bytes behind the descriptor, nothing else."""
    content = content_of(numbers_and_words(0), version)
    reader = LanceFileReader(BufferSource(content))
    assert reader.global_buffers.place(0).start == 0
    assert [meta.byte_range[1] - meta.byte_range[0] for meta in reader.columns([0, 1])] == [43, 43]
    assert struct.unpack("<HH", content[-8:-4]) == tuple(map(int, version.split(".")))


@dataclass
class Listener:
    """Keeps what it is told, and writes as its buffer the places and bytes of the whole file."""

    heard: list = field(default_factory=list)
    told_bytes: int = 0
    too_long: bool = False

    def page_buffer(self, column, position, data):
        self.heard.append((f"page of {column}", position, bytes(data)))

    def column_buffer(self, column, position, data):
        self.heard.append((f"column {column}", position, bytes(data)))

    def global_buffer(self, index, position, data):
        self.heard.append((f"global {index}", position, bytes(data)))

    def placed(self, position, data):
        self.heard.append(("placed", position, bytes(data)))

    def mark(self, descriptor, buffer_index):
        descriptor.schema.metadata["sums"] = str(buffer_index).encode()

    def num_bytes(self, tail: FileTail) -> int:
        self.told_bytes = sum(len(block.data) for block in tail.blocks())
        # A table that covers the tail grows with it: here by one byte for every ten.
        return 8 * (len(self.heard) + len(list(tail.blocks()))) + self.told_bytes // 10

    def encode(self, tail: FileTail) -> bytes:
        assert sum(len(block.data) for block in tail.blocks()) == self.told_bytes
        self.heard += [("tail", block.position, block.data) for block in tail.blocks()]
        places = b"".join(struct.pack("<Q", position) for _, position, _ in self.heard)
        return places + bytes(self.told_bytes // 10 + self.too_long)


@pytest.mark.interop
@pytest.mark.parametrize("version", VERSIONS)
def test_an_observer_hears_of_every_byte_and_adds_a_buffer(witness, tmp_path, version):
    table = numbers_and_words(PAGE_ROWS + 1)
    listener = Listener()
    content = content_of(table, version, block_sums=listener, global_buffers=[b"x"], column_buffers=[b"y" * 65])
    reader = LanceFileReader(BufferSource(content))
    index = int(reader.metadata["sums"])
    assert index == len(reader.global_buffers) - 1 == 2
    own = reader.global_buffers.read(index)
    positions = own[: 8 * len(listener.heard)].view("<u8").tolist()
    assert positions == [position for _, position, _ in listener.heard]
    for what, position, data in listener.heard:
        assert content[position : position + len(data)] == data, what
    kinds = [what for what, _, _ in listener.heard]
    # Two pages of a chunk table and a chunk, two of values and index.
    assert kinds.count("page of 0") == kinds.count("page of 1") == 4
    assert kinds[8:11] == ["global 1", "column 0", "column 1"]
    # The tail reaches to the end without a hole.
    tail = listener.heard[11:]
    assert [position + len(data) for _, position, data in tail] == [
        *(position for _, position, _ in tail[1:]), len(content)
    ]  # fmt: skip
    path = tmp_path / "a.lance"
    path.write_bytes(content)
    assert witness.read(path).equals(table)


def test_an_observer_that_breaks_its_word():
    with pytest.raises(InternalError, match="announced"):
        content_of(numbers_and_words(1), "2.2", block_sums=Listener(too_long=True))


def _writer(version="2.2", type_=pa.int64(), sink=None) -> FileWriter:  # noqa: B008
    sink = open_sink(io.BytesIO()) if sink is None else sink
    return FileWriter(sink, FileForm(FileVersion(version), fields_from_arrow(pa.schema([("x", type_)]))))


def test_blobs_are_placed_by_themselves():
    out, listener = io.BytesIO(), Listener()
    with open_sink(out) as sink:
        fields = fields_from_arrow(pa.schema([("x", pa.int64())]))
        writer = FileWriter(sink, FileForm(FileVersion.V2_2, fields), block_sums=listener)
        places = [writer.place(part) for part in raw(b"blob", b"", b"b" * 64, b"last")]
        writer.set_column(0, PLAIN)
        writer.finish(0)
    assert places == [0, 64, 64, 128]
    assert out.getvalue()[:132] == b"blob" + b"\x48" * 60 + b"b" * 64 + b"last"
    assert [what for what, *_ in listener.heard[:4]] == ["placed"] * 4


def test_what_must_be_told_is_asked_for():
    with pytest.raises(InternalError, match="never described") as caught:
        _writer().finish(0)
    assert caught.value.column == "x"
    writer = _writer()
    writer.set_column(0, PLAIN)
    with pytest.raises(InternalError, match="before"):
        writer.set_column(0, PLAIN)
    for absent in (-1, 1):
        with pytest.raises(InternalError, match="no column"):
            writer.add_page(absent, *number_page(np.arange(3), "2.2"), length=3, priority=0)
    writer.add_page(0, *number_page(np.arange(3), "2.2"), length=3, priority=0)
    with pytest.raises(InternalError, match="3 rows, expected 4"):
        writer.finish(4)
    writer.finish(3)
    for late in (
        lambda: writer.place(*raw(b"")),
        lambda: writer.finish(3),
        lambda: writer.add_global_buffer(*raw(b"")),
    ):
        with pytest.raises(InvalidArgumentError, match="finished"):
            late()


def test_fixed_size_lists_of_structs_count_their_elements():
    writer = _writer(type_=pa.list_(pa.struct([("a", pa.int64())]), 2))
    writer.set_column(0, PLAIN)
    writer.add_page(0, *number_page(np.arange(6), "2.2"), length=6, priority=0)
    with pytest.raises(InternalError, match="6 rows, expected 12"):
        writer.finish(6)
    writer.finish(3)


def test_what_is_not_written():
    with pytest.raises(UnsupportedError, match=r"0\.1"):
        _writer("0.1")
    with pytest.raises(UnsupportedError) as caught:
        _writer("2.1", pa.map_(pa.string(), pa.int8()))
    assert caught.value.column == "x"
    sink = open_sink(io.BytesIO())
    sink.write(b"something")
    with pytest.raises(InvalidArgumentError, match="9 bytes"):
        _writer(sink=sink)


@given(st.lists(st.integers(0, 200), max_size=12))
@settings(max_examples=50, deadline=None)
def test_every_buffer_begins_at_a_multiple_of_64(sizes):
    writer = _writer()
    starts = [writer.place(np.full(size, 7, np.uint8)) for size in sizes]
    assert starts == np.cumsum([0, *(-(-size // 64) * 64 for size in sizes)])[:-1].tolist()


def test_a_writer_killed_half_way_leaves_no_file(tmp_path):
    script = """
        import os, signal, sys
        import numpy as np
        import pyarrow as pa
        from lance_arrow.container.file_form import FileForm
        from lance_arrow.container.file_writer import FileWriter
        from lance_arrow.container.footer import FileVersion
        from lance_arrow.container.schema import fields_from_arrow
        from lance_arrow.io import open_sink
        from lance_arrow.proto import encodings_v20_pb2, encodings_v21_pb2

        def write(path, dies):
            with open_sink(path) as sink:
                form = FileForm(FileVersion.V2_2, fields_from_arrow(pa.schema([("x", pa.int64())])))
                writer = FileWriter(sink, form)
                for _ in range(3):
                    writer.add_global_buffer(np.zeros(1 << 20, np.uint8))
                writer.set_column(0, encodings_v20_pb2.ColumnEncoding(values={}))
                writer.finish(0)
                if dies:
                    os.kill(os.getpid(), signal.SIGKILL)

        write(sys.argv[1], False)
        write(sys.argv[2], True)
    """
    whole, torn = tmp_path / "whole.lance", tmp_path / "torn.lance"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(whole), str(torn)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not torn.exists()
    assert LanceFileReader(BufferSource(whole.read_bytes())).num_rows == 0
    (rest,) = (one for one in tmp_path.iterdir() if one != whole)
    assert rest.name.startswith(".torn.lance.")


def test_an_exception_half_way_leaves_no_file(tmp_path):
    with pytest.raises(InternalError), open_sink(tmp_path / "a.lance") as sink:
        _writer(sink=sink).finish(0)
    assert list(tmp_path.iterdir()) == []


def test_many_pages_cost_their_metadata_only(tmp_path):
    """Every buffer is handed on at once, in at most one write for each mebibyte."""
    counted = io.BytesIO()
    sizes = []
    sink = open_sink(_Counted(counted, sizes))
    writer = _writer(sink=sink)
    page, buffers = number_page(np.arange(500), "2.2")
    for number in range(1000):
        writer.add_page(0, page, buffers, length=500, priority=500 * number)
    writer.set_column(0, PLAIN)
    writer.finish(500_000)
    sink.close()
    assert counted.tell() > 3 << 20
    assert len(sizes) <= (counted.tell() >> 20) + 4
    descriptor = file_schema_pb2.FileDescriptor()
    reader = LanceFileReader(BufferSource(counted.getvalue()))
    descriptor.ParseFromString(reader.global_buffers.read(0).tobytes())
    assert descriptor.length == reader.num_rows == 500_000


class _Counted:
    def __init__(self, out, sizes):
        self.out, self.sizes = out, sizes

    def write(self, data):
        self.sizes.append(len(data))
        return self.out.write(data)
