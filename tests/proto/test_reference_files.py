"""Every message in files written by the reference package parses, holds nothing unknown and is written back alike."""

from __future__ import annotations

import struct
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.message import Message

from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding, ColumnEncoding
from lance_arrow.proto.encodings_v21_pb2 import PageLayout
from lance_arrow.proto.encodings_v23_pb2 import PlanarLayout
from lance_arrow.proto.file_schema_pb2 import FileDescriptor
from lance_arrow.proto.file_v2_pb2 import ColumnMetadata
from lance_arrow.proto.reading import iter_unknown, parse, set_case, unpack_any

pytestmark = pytest.mark.interop

ROWS = 3000
WRITER = f"""
    import random, sys
    import pyarrow as pa
    from lance.file import LanceFileWriter

    folder, rows = sys.argv[1], {ROWS}
    random.seed(7)
    noise = [random.random() for _ in range(rows)]
    texts = [f"some longer text {{k}} {{x}}" for k, x in enumerate(noise)]
    pairs = pa.list_(pa.float32(), 2)
    columns = {{
        "small": (pa.array([None if k % 10 == 0 else k % 100 for k in range(rows)]), {{}}),
        "zipped": (pa.array([k * 7919 % 100003 for k in range(rows)]), {{"structural-encoding": "fullzip"}}),
        "counting": (pa.array(range(rows)), {{}}),
        "runs": (pa.array([k // 300 for k in range(rows)]), {{}}),
        "same": (pa.array([7] * rows), {{}}),
        "nothing": (pa.nulls(rows), {{}}),
        "few_texts": (pa.array([f"value {{k % 50}}" for k in range(rows)]), {{}}),
        "texts": (pa.array(texts), {{}}),
        "texts_fsst": (pa.array(texts), {{"compression": "fsst"}}),
        "texts_zstd": (pa.array(texts), {{"compression": "zstd"}}),
        "floats": (pa.array(noise), {{"compression": "lz4", "bss": "on"}}),
        "lists": (pa.array([list(range(k % 5)) if k % 7 else None for k in range(rows)]), {{}}),
        "pairs": (pa.array([[x, None] if k % 4 else None for k, x in enumerate(noise)], pairs), {{}}),
        "packed": (pa.array([{{"x": k, "y": 1.0}} for k in range(rows)]), {{"packed": "true"}}),
        "dictionary": (pa.array(["a", "b", "c"] * (rows // 3)).dictionary_encode(), {{}}),
    }}
    structs = pa.array([{{"a": k, "b": None if k % 3 else "x"}} if k % 5 else None for k in range(rows)])
    maps = pa.array([[("a", 1)] if k % 2 else [] for k in range(rows)], pa.map_(pa.string(), pa.int32()))
    words = pa.array([{{"x": k, "y": "a" * (k % 9)}} for k in range(rows)])
    blobs = pa.array([b"abc" * (k % 4) if k % 3 else None for k in range(rows)], pa.large_binary())
    for version in ["2.0", "2.1", "2.2", "2.3"]:
        chosen = dict(columns)
        if version != "2.0":
            chosen["structs"] = (structs, {{}})
        if version in ("2.2", "2.3"):
            chosen |= {{"maps": (maps, {{}}), "packed_words": (words, {{"packed": "true"}})}}
        if version == "2.3":
            names = ["small", "lists", "structs", "pairs", "few_texts"]
            chosen |= {{"sparse_" + name: (chosen[name][0], {{"structural-encoding": "sparse"}}) for name in names}}
        else:
            chosen["blobs"] = (blobs, {{"blob": "true"}})
        schema = pa.schema([
            pa.field(name, values.type, metadata={{"lance-encoding:" + key: text for key, text in keys.items()}})
            for name, (values, keys) in chosen.items()
        ])
        with LanceFileWriter(f"{{folder}}/{{version}}.lance", schema, version=version) as writer:
            writer.write_batch(pa.table([values for values, _ in chosen.values()], schema=schema))
"""

FOOTERS = {"2.0": (0, 3), "2.1": (2, 1), "2.2": (2, 2), "2.3": (2, 3)}
PAGE_TYPES = {"2.0": ArrayEncoding, "2.1": PageLayout, "2.2": PageLayout, "2.3": PlanarLayout}


def named(message: str, names: str) -> set[str]:
    return {f"{message}.{name}" for name in names.split()}


CODECS = named(
    "CompressiveEncoding",
    "flat variable out_of_line_bitpacking inline_bitpacking fsst rle byte_stream_split general fixed_size_list",
) | named("CompressiveEncoding", "packed_struct")
LAYOUTS = named("PageLayout", "mini_block_layout constant_layout full_zip_layout blob_layout")
EXPECTED_CASES = {
    "2.0": named("ColumnEncoding", "values blob")
    | named("ArrayEncoding", "flat nullable list fixed_size_list binary dictionary fsst packed_struct")
    | named("Nullable", "no_nulls some_nulls all_nulls"),
    "2.1": CODECS | LAYOUTS,
    "2.2": CODECS
    | LAYOUTS
    | named("CompressiveEncoding", "variable_packed_struct")
    | named("FullZipLayout", "bits_per_value bits_per_offset"),
    "2.3": CODECS
    | named("CompressiveEncoding", "constant range delta")
    | named("ValuePlane", "chunked zipped constant none")
    | named("StructuralPlane", "dense sparse")
    | named("SparseLayer", "validity list"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reference")
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return path


class Container:
    """The tables of a 2.x file, found by hand."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        _, columns, buffers, num_buffers, num_columns, major, minor, magic = struct.unpack("<QQQIIHH4s", data[-40:])
        assert magic == b"LANC"
        self.version = (major, minor)
        self.buffers = self._table(buffers, num_buffers)
        self.columns = self._table(columns, num_columns)

    def _table(self, position: int, count: int) -> list[bytes]:
        entries = struct.iter_unpack("<QQ", self.data[position : position + 16 * count])
        return [self.data[start : start + size] for start, size in entries]


def typed(message_type: type[Message], data: bytes) -> tuple[Message, bytes]:
    name, value, authority = unpack_any(data)
    assert authority == ""
    assert name == message_type.DESCRIPTOR.full_name
    return parse(message_type, value, what=name), value


def messages(container: Container, page_type: type[Message]) -> Iterator[tuple[Message, bytes]]:
    yield parse(FileDescriptor, container.buffers[0], what="descriptor"), container.buffers[0]
    for data in container.columns:
        column = parse(ColumnMetadata, data, what="column")
        yield column, data
        yield typed(ColumnEncoding, column.encoding.direct.encoding)
        for page in column.pages:
            assert set_case(page.encoding) == "direct"
            yield typed(page_type, page.encoding.direct.encoding)


def cases(message: Message) -> Iterator[str]:
    for oneof in message.DESCRIPTOR.oneofs:
        if not oneof.name.startswith("_") and message.WhichOneof(oneof.name) is not None:
            yield f"{message.DESCRIPTOR.name}.{message.WhichOneof(oneof.name)}"
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for child in [value] if isinstance(value, Message) else value:
                yield from cases(child)


@pytest.mark.parametrize("version", FOOTERS)
def test_every_message_of_a_file_is_known(folder, version):
    container = Container((folder / f"{version}.lance").read_bytes())
    assert container.version == FOOTERS[version]
    descriptor = parse(FileDescriptor, container.buffers[0], what="descriptor")
    assert descriptor.length == ROWS
    assert descriptor.schema.fields[0].name == "small"

    seen: set[str] = set()
    for message, data in messages(container, PAGE_TYPES[version]):
        assert list(iter_unknown(message)) == []
        if not isinstance(message, FileDescriptor):  # the order of maps is free
            assert message.SerializeToString() == data
        seen.update(cases(message))
    assert EXPECTED_CASES[version] <= seen


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_levels_and_counts_are_read(folder, version):
    container = Container((folder / f"{version}.lance").read_bytes())
    column = parse(ColumnMetadata, container.columns[0], what="column")
    layout = typed(PageLayout, column.pages[0].encoding.direct.encoding)[0].mini_block_layout
    assert column.pages[0].length == ROWS
    assert layout.num_items == ROWS
    assert list(layout.layers) == [3]
    assert layout.has_large_chunk == (version == "2.2")


IMPORTS = {
    "reference first": "import lance, lance.file, lance_namespace; {ours}; import google.protobuf.any_pb2",
    "ours first": "{ours}; import lance, lance.file, lance_namespace",
}


@pytest.mark.parametrize("order", IMPORTS)
def test_modules_share_a_process_with_the_reference(order):
    stems = sorted(path.stem for path in Path(parse.__code__.co_filename).parent.glob("*_pb2.py"))
    assert len(stems) == 10
    code = IMPORTS[order].format(ours="from lance_arrow.proto import " + ", ".join(stems))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
