"""Files for these tests: written by the reference package, and made by hand byte for byte."""

import subprocess
import sys
import textwrap

import pytest
from craft import Craft

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


@pytest.fixture
def craft():
    """The class of files made by hand."""
    return Craft
