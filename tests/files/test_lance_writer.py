"""`LanceWriter` and `write_table`: what comes in, what comes out, what never appears."""

from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import fsspec
import numpy as np
import polars
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs
import pytest

import lance_arrow
from lance_arrow import LanceFile, LanceWriter, read_table, write_table
from lance_arrow.container.fields import MAX_DEPTH
from lance_arrow.errors import InvalidArgumentError, LanceError, UnsupportedError

VERSIONS = ("2.1", "2.2", "2.3")
TABLE = pa.table(
    {
        "i": pa.array([3, None, -1, 7, 7], pa.int64()),
        "s": ["a", "", None, "long enough to be no short string", "ü"],
        "l": pa.array([[1.5, None], None, [], [2.0], [3.0, 4.0, 5.0]], pa.list_(pa.float32())),
        "st": pa.array([{"x": 1, "y": "p"}, None, {"x": None, "y": None}, {"x": 4, "y": ""}, {"x": 5, "y": "q"}]),
        "d": pa.array(["u", "v", None, "u", "v"]).dictionary_encode(),
    },
    metadata={"who": "us"},
)


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_come_back(tmp_path: Path, version: str) -> None:
    path = tmp_path / "t.lance"
    write_table(TABLE, path, file_version=version)
    assert sorted(os.listdir(tmp_path)) == ["t.lance"]
    with LanceFile(path) as file:
        assert file.version == version
        assert file.schema.equals(TABLE.schema, check_metadata=True)
        assert file.read().to_pydict() == TABLE.to_pydict()
        assert file.take([4, 0, 4]).to_pydict() == TABLE.take([4, 0, 4]).to_pydict()


@pytest.mark.parametrize("version", VERSIONS)
def test_many_batches_make_the_same_rows(tmp_path: Path, version: str) -> None:
    big = pa.table({"i": np.arange(50_000), "s": [str(i) * (i % 7) for i in range(50_000)]})
    path = tmp_path / "t.lance"
    with LanceWriter(path, big.schema, file_version=version, page_bytes=60_000) as writer:
        for start in range(0, 50_000, 777):
            writer.write(big.slice(start, 777))
        assert writer.num_rows == 50_000
    assert read_table(path).equals(big)
    assert writer.num_bytes == path.stat().st_size
    with LanceFile(path) as file:
        rows = [0, 49_999, 25_000, 0, 12_345]
        assert file.take(rows).equals(big.take(rows))


def same_bytes(folder: Path, **options: object) -> bool:
    names = [folder / "a.lance", folder / "b.lance"]
    for name in names:
        write_table(TABLE, name, **options)
    return names[0].read_bytes() == names[1].read_bytes()


@pytest.mark.parametrize("preset", ["fast", "default", "compact"])
def test_the_same_rows_make_the_same_bytes(tmp_path: Path, preset: str) -> None:
    assert same_bytes(tmp_path, preset=preset)


def inputs() -> Iterator[tuple[str, object]]:
    plain = pa.table({"i": [1, 2, 3], "s": ["a", None, "c"]})
    yield "table", plain
    yield "batch", plain.to_batches()[0]
    yield "reader", plain.to_reader()
    yield "list of batches", plain.to_batches()
    yield "generator", (plain.slice(i, 1) for i in range(3))
    yield "pandas", plain.to_pandas()
    yield "polars", polars.from_arrow(plain)
    yield "duckdb", duckdb.from_arrow(plain)
    yield "dataset", pads.dataset(plain)
    yield "scanner", pads.dataset(plain).scanner()


@pytest.mark.parametrize(("name", "data"), inputs(), ids=[name for name, _ in inputs()])
def test_what_may_be_written(tmp_path: Path, name: str, data: object) -> None:
    write_table(data, tmp_path / "t.lance")
    found = read_table(tmp_path / "t.lance").to_pydict()
    assert {key: found[key] for key in ("i", "s")} == {"i": [1, 2, 3], "s": ["a", None, "c"]}


def test_lance_files_are_inputs_too(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "a.lance")
    with LanceFile(tmp_path / "a.lance") as file:
        write_table(file, tmp_path / "b.lance", file_version="2.1")
    assert read_table(tmp_path / "b.lance").to_pydict() == TABLE.to_pydict()


@pytest.mark.parametrize("data", ["x", {"a": 1}, 3, [3], []])
def test_what_may_not_be_written(tmp_path: Path, data: object) -> None:
    with pytest.raises(InvalidArgumentError):
        write_table(data, tmp_path / "t.lance")
    assert not os.listdir(tmp_path)


def test_no_batches_but_a_schema(tmp_path: Path) -> None:
    write_table(iter(()), tmp_path / "t.lance", schema=TABLE.schema)
    assert read_table(tmp_path / "t.lance").equals(TABLE.schema.empty_table())


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_without_rows_or_columns(tmp_path: Path, version: str) -> None:
    write_table(TABLE.slice(0, 0), tmp_path / "t.lance", file_version=version)
    with LanceFile(tmp_path / "t.lance") as file:
        assert (file.num_rows, file.schema) == (0, TABLE.schema)
        assert file.read().num_rows == 0


def test_sinks(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    write_table(TABLE, "memory://sinks/a.lance")
    assert read_table("memory://sinks/a.lance").equals(TABLE)
    write_table(TABLE, "sinks/b.lance", filesystem=memory)
    assert read_table("sinks/b.lance", filesystem=memory).equals(TABLE)
    write_table(TABLE, pathlib.PurePath(tmp_path / "c.lance"), filesystem=pyarrow.fs.LocalFileSystem())
    assert read_table(tmp_path / "c.lance").equals(TABLE)
    write_table(TABLE, f"file://{tmp_path}/d.lance")
    assert read_table(tmp_path / "d.lance").equals(TABLE)
    stream = io.BytesIO()
    write_table(TABLE, stream)
    assert read_table(stream.getvalue()).equals(TABLE)
    buffer = pa.BufferOutputStream()
    write_table(TABLE, buffer)
    assert read_table(buffer.getvalue()).equals(TABLE)


def failing() -> Iterator[pa.RecordBatch]:
    yield from TABLE.to_batches()
    raise RuntimeError("the source broke")


@pytest.mark.parametrize("url", ["{}/t.lance", "memory://failing/t.lance"])
def test_nothing_appears_when_the_source_breaks(tmp_path: Path, url: str) -> None:
    url = url.format(tmp_path)
    with pytest.raises(RuntimeError, match="the source broke"):
        write_table(failing(), url, schema=TABLE.schema)
    with pytest.raises(FileNotFoundError):
        read_table(url)
    assert not os.listdir(tmp_path)


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    write_table(TABLE, path)
    with pytest.raises(RuntimeError):
        write_table(failing(), path, schema=TABLE.schema)
    assert read_table(path).equals(TABLE)
    write_table(TABLE.slice(1), path)
    assert read_table(path).equals(TABLE.slice(1))


def test_a_refused_batch_leaves_the_writer_usable(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    with LanceWriter(path, TABLE.schema) as writer:
        writer.write(TABLE)
        with pytest.raises(InvalidArgumentError):
            writer.write(TABLE.select(["i"]))
        writer.write(TABLE)
    assert read_table(path).num_rows == 10


def test_writers_say_when_they_are_closed(tmp_path: Path) -> None:
    writer = LanceWriter(tmp_path / "t.lance", TABLE.schema)
    writer.close()
    writer.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        writer.write(TABLE)
    forgotten = LanceWriter(tmp_path / "u.lance", TABLE.schema)
    forgotten.write(TABLE)
    del forgotten
    assert os.listdir(tmp_path) == ["t.lance"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"file_version": "0.1"}, InvalidArgumentError),
        ({"file_version": "9"}, InvalidArgumentError),
        ({"preset": "tiny"}, InvalidArgumentError),
        ({"rows_per_zone": -1}, InvalidArgumentError),
        ({"checksums": "yes"}, InvalidArgumentError),
        ({"page_bytes": 0}, InvalidArgumentError),
        ({"column_options": {"nowhere": {"codec": "flat"}}}, InvalidArgumentError),
        ({"column_options": {"i": {"codecs": "flat"}}}, InvalidArgumentError),
        ({"column_options": {"i": {"codec": "no_such_codec"}}}, LanceError),
        ({"column_options": {"i": {"codec": "fsst"}}}, UnsupportedError),
    ],
    ids=str,
)
def test_options_that_are_refused(tmp_path: Path, options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        write_table(TABLE, tmp_path / "t.lance", **options)
    assert not os.listdir(tmp_path)


def test_blobs_of_the_first_kind_are_refused_in_2_3(tmp_path: Path) -> None:
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table([pa.array([b"x"], pa.large_binary())], schema=pa.schema([field]))
    with pytest.raises(UnsupportedError, match=r"2\.2") as caught:
        LanceWriter(tmp_path / "t.lance", table.schema, file_version="2.3")
    assert caught.value.column == "b"
    assert not os.listdir(tmp_path)
    write_table(table, tmp_path / "t.lance", file_version="2.2")
    assert read_table(tmp_path / "t.lance").to_pydict() == {"b": [b"x"]}


STRING = pa.string()


def no_text(type_: pa.DataType = STRING, validity: bytes | None = None) -> pa.Array:
    """Three strings, of which the second is no UTF-8."""
    raw = pa.array([b"a", b"\xff\xfe", b"z"], pa.large_binary() if pa.types.is_large_string(type_) else pa.binary())
    first = None if validity is None else pa.py_buffer(validity)
    return pa.Array.from_buffers(type_, 3, [first, *raw.buffers()[1:]])


@pytest.mark.parametrize(
    "column",
    [
        no_text(),
        no_text(pa.large_string()),
        pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), no_text()),
        pa.StructArray.from_arrays([no_text()], ["x"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1], pa.int8()), no_text()),
        pa.chunked_array([["a", "b"], no_text()]),
    ],
    ids=["strings", "large strings", "in lists", "in structs", "in dictionaries", "in the second chunk"],
)
def test_strings_that_are_no_text_are_refused(tmp_path: Path, column: pa.Array) -> None:
    with pytest.raises(InvalidArgumentError, match="UTF-8") as caught:
        write_table(pa.table({"s": column}), tmp_path / "t.lance")
    assert caught.value.column.split(".")[0] == "s"
    assert not os.listdir(tmp_path)


def test_what_nulls_hide_need_not_be_text(tmp_path: Path) -> None:
    write_table(pa.table({"s": no_text(validity=b"\5")}), tmp_path / "t.lance")
    assert read_table(tmp_path / "t.lance").to_pydict() == {"s": ["a", None, "z"]}
    write_table(pa.table({"s": no_text().slice(2)}), tmp_path / "t.lance")
    assert read_table(tmp_path / "t.lance").to_pydict() == {"s": ["z"]}


def test_offsets_that_go_back_are_refused(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 5, 2], np.int32).tobytes())
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    with pytest.raises(InvalidArgumentError):
        write_table(pa.table({"s": wrong}), tmp_path / "t.lance")
    assert not os.listdir(tmp_path)


KILLED = """
import sys, pyarrow as pa, numpy as np, lance_arrow
table = pa.table({"i": np.arange(200_000)})
with lance_arrow.LanceWriter(sys.argv[1], table.schema, page_bytes=1 << 16) as writer:
    print("begun", flush=True)
    while True:
        writer.write(table)
"""


def test_a_killed_writer_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    assert not path.exists()
    assert not pads.dataset(tmp_path, format=lance_arrow.LanceFormat(), schema=pa.schema([("i", pa.int64())])).files


def nested_rows(kind: str, levels: int) -> pa.Table:
    """Rows of one column with so many levels, its values included; nulls where Arrow itself would recurse."""
    deep: pa.DataType = pa.int32()
    value: object = 7
    for level in range(levels - 1):
        is_list = kind == "lists" or (kind == "both" and level % 2 == 0)
        deep = pa.list_(deep) if is_list else pa.struct([("f", deep)])
        value = [value] if is_list else {"f": value}
    values = [value] * 2 if kind == "structs" else [value, None, value]
    return pa.table([pa.array(values, deep) if levels < 200 else pa.nulls(2, deep)], ["deep"])


@pytest.mark.parametrize("kind", ["lists", "structs", "both"])
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_the_deepest_column_is_read_again_and_a_deeper_one_is_refused(kind: str, version: str, tmp_path: Path) -> None:
    """Arrow's C interface takes no batch of more levels: a file of them could be written, but not read."""
    path = tmp_path / "deep.lance"
    rows = nested_rows(kind, MAX_DEPTH)
    lance_arrow.write_table(rows, path, file_version=version)
    assert lance_arrow.read_table(path).equals(rows)
    assert lance_arrow.dataset(path).to_table().equals(rows)
    path.unlink()
    for levels in (MAX_DEPTH + 1, 3 * MAX_DEPTH, 2000):
        with pytest.raises(UnsupportedError, match=f"nested deeper than {MAX_DEPTH} levels") as caught:
            lance_arrow.write_table(nested_rows(kind, levels), path, file_version=version)
        assert caught.value.column == "deep"
        assert not path.exists()


def test_deep_lists_of_2_0_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="nested deeper"):
        lance_arrow.write_table(nested_rows("lists", MAX_DEPTH + 2), tmp_path / "deep.lance", file_version="2.0")
