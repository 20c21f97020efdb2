"""Columns of dictionaries by the engine: index and item types, pages with other dictionaries, damage, far files."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from forge_pages import flat
from forged import KEPT
from native_only import without_layouts
from second_reader import read_twice
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFile, LanceWriter, Runtime
from lance_arrow.errors import CorruptPageError, UnsupportedError

NUM_ROWS = 900
ITEMS = {
    "text": pa.array(["AIR", "", "a text of more than twelve bytes"]),
    "large binary": pa.array([b"\x00\xff", b"x", b""], pa.large_binary()),
    "real": pa.array([0.5, -1.25, 1e300]),
    "decimal": pa.array([1, 2, 3], pa.decimal128(20, 2)),
}


def _column(items: pa.Array, index_type: pa.DataType, word: str) -> pa.Array:
    rng = seeded(word)
    indices = pa.array(rng.integers(0, len(items), NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.2).cast(index_type)
    return pa.DictionaryArray.from_arrays(indices, items)


def _write(path: Path, batches: list[pa.RecordBatch], version: str, page_bytes: int = 500) -> None:
    with LanceWriter(path, batches[0].schema, file_version=version, page_bytes=page_bytes) as writer:
        for batch in batches:
            writer.write(batch)


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("index_type", [pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64()], ids=str)
def test_dictionaries_are_read_without_layouts(version: str, index_type: pa.DataType, tmp_path: Path) -> None:
    columns = {name: _column(items, index_type, name) for name, items in ITEMS.items()}
    columns["lists"] = pa.ListArray.from_arrays(np.arange(0, NUM_ROWS + 1, 3, np.int32), columns["text"])
    columns["structs"] = pa.StructArray.from_arrays(
        [columns["text"]], ["s"], mask=pa.array(np.arange(NUM_ROWS) % 7 == 0)
    )
    num_rows = NUM_ROWS // 3
    batch = pa.record_batch({name: column[:num_rows] for name, column in columns.items()})
    path = tmp_path / "f.lance"
    _write(path, [batch, batch], version)
    expected = pa.Table.from_batches([batch, batch])
    rows = np.array([0, 5, num_rows - 1, num_rows, num_rows + 3, 2 * num_rows - 1])
    store = CountingStore({"f.lance": path.read_bytes()})
    with without_layouts():
        for source, filesystem in ((path, None), ("f.lance", store)):
            with LanceFile(source, filesystem=filesystem) as file:
                found, taken = file.read(), file.take(rows)
            found.validate(full=True)
            taken.validate(full=True)
            assert found.schema.equals(expected.schema)
            assert found.to_pylist() == expected.to_pylist()
            assert taken.to_pylist() == expected.take(pa.array(rows)).to_pylist()


def test_pages_with_other_dictionaries_are_unified(tmp_path: Path) -> None:
    batches = [
        pa.record_batch({"d": pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), pa.array(items))})
        for items in (["a", "b"], ["b", "c"])
    ]
    nulls = pa.record_batch({"d": pa.nulls(3, batches[0].schema.field("d").type)})
    path = tmp_path / "f.lance"
    # Each row is a page.
    _write(path, [*batches, nulls], "2.2", 1)
    with without_layouts(), LanceFile(path) as file:
        (chunk,) = file.read().column("d").chunks
    chunk.validate(full=True)
    assert chunk.dictionary.to_pylist() == ["a", "b", "c"]
    assert chunk.to_pylist() == ["a", None, "b", "b", None, "c", None, None, None]


def test_indices_outside_a_dictionary_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.lance"
    indices = bytes(seeded("indices").integers(0, 200, 600).tolist())
    items = pa.array([f"item {number}" for number in range(200)])
    column = pa.DictionaryArray.from_arrays(pa.array(list(indices), pa.uint8()), items)
    with LanceWriter(path, pa.schema([pa.field("d", column.type)]), checksums=False) as writer:
        writer.write(pa.table({"d": column}))
    content = path.read_bytes()
    assert content.count(indices) == 1
    damaged = content.replace(indices, indices[:-2] + bytes([250]) + indices[-1:])
    for read in (lambda file: file.read(), lambda file: file.take([598])):
        with LanceFile(damaged) as file, pytest.raises(CorruptPageError) as caught:
            read(file)
        assert caught.value.column == "d"
    with LanceFile(damaged) as file:
        rows = [0, 5]
        assert file.take(rows).column("d").to_pylist() == [f"item {indices[row]}" for row in rows]


def test_what_is_wrong_with_items_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "f.lance"
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 100, pa.int8()), pa.array(["one item", "two", "3"]))
    with LanceWriter(path, pa.schema([pa.field("d", column.type)]), checksums=False) as writer:
        writer.write(pa.table({"d": column}))
    content = path.read_bytes().replace(b"one item", b"one \xfftem")
    path.write_bytes(content)
    store = CountingStore({"f.lance": content})
    for source, filesystem in ((path, None), ("f.lance", store)):
        for read in (lambda file: file.read(), lambda file: file.take([1])):
            with LanceFile(source, filesystem=filesystem) as file, pytest.raises(CorruptPageError) as caught:
                read(file)
            error = caught.value
            assert (error.column, error.page) == ("d", 0)
            assert str(error.path).endswith(str(source))
            assert error.byte_range is not None


def test_items_of_another_type_are_damage(tmp_path: Path) -> None:
    wrong = copy.deepcopy(KEPT.page)
    wrong.layout.mini_block_layout.dictionary.CopyFrom(flat(32))
    path = tmp_path / "f.lance"
    path.write_bytes(KEPT.with_page(wrong).build())
    for read in (lambda one: one.read(), lambda one: one.take([1])):
        with LanceFile(path) as opened, pytest.raises(CorruptPageError, match="not what its type says") as caught:
            read(opened)
        assert caught.value.column == "c"


def test_too_many_items_together_are_told_with_their_column(tmp_path: Path) -> None:
    indices = pa.array(range(100), pa.int8())
    batches = [
        pa.record_batch({"d": pa.DictionaryArray.from_arrays(indices, pa.array([f"{word}{n}" for n in range(100)]))})
        for word in "ab"
    ]
    path = tmp_path / "f.lance"
    _write(path, batches, "2.2", 1)
    with LanceFile(path) as file, pytest.raises(UnsupportedError, match="more items together") as caught:
        file.read()
    assert (caught.value.path, caught.value.column) == (str(path), "d")


def test_the_second_reader_reads_the_same(tmp_path: Path) -> None:
    batch = pa.record_batch({name: _column(items, pa.int16(), name) for name, items in ITEMS.items()})
    path = tmp_path / "f.lance"
    _write(path, [batch, batch], "2.2")
    with LanceFile(path) as file:
        by_engine = file.read()
    with LanceFile(path, runtime=read_twice(Runtime())) as file:
        by_second_reader = file.read()
    assert by_engine.equals(by_second_reader)
