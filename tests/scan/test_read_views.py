"""Strings read as views: the values, by every door, of any pages; no byte of a repeated value is copied for a row."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from stores import CountingStore
from string_columns import FILTERS, MODES, assert_values, decoded, rows

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceTable, engine, write_table
from lance_arrow.arrays.view_arrays import as_views, filtered, taken
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.runtime import Runtime
from lance_arrow.scan import native_take, row_reader
from lance_arrow.settings import Settings

VIEW = pa.string_view()
LONG = [f"item number {number}, longer than a view" for number in range(5)]


def behind(array: pa.Array) -> int:
    """Bytes that views point to."""
    return sum(buffer.size for buffer in array.buffers()[2:])


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
@pytest.mark.parametrize("page_bytes", [20_000, None])
def test_values_are_the_same_in_every_version(tmp_path: Path, version: Any, page_bytes: int | None) -> None:
    table, path = rows(3000), tmp_path / "a.lance"
    write_table(table, path, file_version=version, **({} if page_bytes is None else {"page_bytes": page_bytes}))
    with LanceFile(path, strings="view") as file:
        types = {field.name: field.type for field in file.schema}
        assert types["mode"] == types["none"] == types["text"] == VIEW
        assert types["raw"] == pa.binary_view()
        assert types["st"] == pa.struct({"mode": VIEW})
        assert types["tags"].value_type == VIEW
        assert_values(table, file.read())
        wanted = [2999, 0, 0, 17, 1500, 17]
        assert_values(table.take(pa.array(wanted)), file.take(wanted))
        assert_values(table, pa.Table.from_batches(list(file.to_batches(batch_size=700)), file.schema))
        assert file.take([]).schema == file.schema
        found = file.read(["st.mode", "tags", "raw"])
        assert found.schema.types[0] == VIEW
        assert found["mode"].to_pylist() == [value["mode"] for value in table["st"].to_pylist()]


def test_far_files_have_the_same_values(tmp_path: Path) -> None:
    """The reader of far files decodes by layouts in Python."""
    table, path = rows(3000), tmp_path / "a.lance"
    write_table(table, path, page_bytes=20_000)
    store = CountingStore({"a.lance": path.read_bytes()})
    with LanceFile("a.lance", filesystem=store, strings="view") as file:
        assert_values(table, file.read())
        assert_values(table.take(pa.array([7, 2, 7])), file.take([7, 2, 7]))
        assert_values(table.filter(pc.field("mode") == "AIR"), file.read(filter="mode = 'AIR'"))


def test_short_values_and_repeated_ones_copy_nothing(tmp_path: Path) -> None:
    count = 20_000
    table = pa.table(
        {
            "short": [f"s{number}" for number in range(count)],
            "mode": [MODES[number % 7] for number in range(count)],
            "item": [LONG[number % 5] for number in range(count)],
            "holes": [None if number % 3 else LONG[number % 5] for number in range(count)],
            "text": [f"text number {number} of some length" for number in range(count)],
        }
    )
    write_table(table, tmp_path / "a.lance")
    with LanceFile(tmp_path / "a.lance", strings="view") as file:
        found = file.take(np.arange(count))
        assert found.equals(pa.table({name: as_views(table[name].chunk(0)) for name in table.column_names}))
        columns = {name: found[name].chunk(0) for name in found.column_names}
        assert behind(columns["short"]) == behind(columns["mode"]) == 0
        assert behind(columns["item"]) == behind(columns["holes"]) == sum(map(len, LONG))
        assert behind(columns["text"]) == sum(map(len, table["text"].to_pylist()))


def test_the_engine_makes_the_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("strings were made")

    monkeypatch.setattr(engine, "views_of_values", never)
    table = rows(5000).drop_columns(["none"])
    write_table(table, tmp_path / "a.lance")
    with LanceFile(tmp_path / "a.lance", strings="view") as file:
        assert_values(table, file.read())


def test_pages_with_and_without_a_dictionary(tmp_path: Path) -> None:
    parts = [rows(4000, 1), rows(4000, 2, LONG), rows(40, 3), rows(4000, 4).slice(0, 0), rows(3000, 5, [""])]
    table, path = pa.concat_tables(parts), tmp_path / "a.lance"
    with lance_arrow.LanceWriter(path, table.schema, page_bytes=8_000) as writer:
        for part in parts:
            writer.write(part)
    with LanceFile(path, strings="view") as file:
        assert_values(table, file.read())
        assert_values(table.slice(3990, 4100), file.read(rows=(3990, 8090)))


@pytest.mark.parametrize("items", [1500, 40_000])
def test_large_dictionaries(tmp_path: Path, items: int) -> None:
    """Of many items, those that rows have are looked up; of few rows each copies its own."""
    names = pa.array([f"name {number} of a large dictionary" for number in range(items)])
    codes = np.random.default_rng(3).integers(0, items, 6 * items)
    table = pa.table({"s": names.take(pa.array(codes))})
    write_table(table, tmp_path / "a.lance", column_options={"s": {"codec": "dictionary"}})
    with LanceFile(tmp_path / "a.lance", strings="view") as file:
        assert_values(table, file.read())
        assert_values(table.take(pa.array([5, 3, 5])), file.take([5, 3, 5]))
        assert_values(table.slice(7, 900), file.read(rows=(7, 907)))


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters_find_the_same_rows(tmp_path: Path, number: int) -> None:
    table, path, expression = rows(3000), tmp_path / "a.lance", FILTERS[number]
    write_table(table, path, rows_per_zone=500)
    expected = table.filter(expression)
    with LanceFile(path, strings="view") as file:
        found = file.read(filter=expression)
        assert found.schema == file.schema
        assert_values(expected, found)
        assert file.count_rows(expression) == expected.num_rows
        assert_values(expected.select(["raw", "st"]), file.read(["raw", "st"], filter=expression))
    dataset = lance_arrow.dataset(path, strings="view")
    assert_values(expected, dataset.to_table(filter=expression))
    assert dataset.count_rows(expression) == expected.num_rows
    assert_values(expected.slice(0, 3), dataset.head(3, filter=expression))


@pytest.fixture
def table_of_fragments(tmp_path: Path) -> tuple[pa.Table, str]:
    parts = [rows(6000, 1), rows(5000, 2, ["x", "AIR", LONG[0]]), rows(3, 3), rows(5000, 4).slice(0, 0)]
    where = str(tmp_path / "t.lance")
    table = LanceTable.create(where, parts[0])
    for part in parts[1:]:
        table.append(part)
    table.delete("id = 17")
    return pa.concat_tables(parts).filter(pc.field("id") != 17), where


def test_tables(table_of_fragments: tuple[pa.Table, str]) -> None:
    expected, where = table_of_fragments
    opened = LanceTable.open(where, strings="view")
    assert opened.schema.field("mode").type == VIEW
    filtered_rows = expected.filter(pc.field("mode") == "AIR")
    wanted = [0, 10_997, 6_000, 10_999, 0]
    for source in (opened, lance_arrow.dataset(where, strings="view")):
        assert_values(expected, source.to_table())
        assert_values(expected.take(pa.array(wanted)), source.take(wanted))
        assert_values(filtered_rows, source.to_table(filter="mode = 'AIR'"))
        assert_values(filtered_rows.select(["raw"]), source.to_table(["raw"], filter=pc.field("mode") == "AIR"))
        assert source.count_rows("mode = 'AIR'") == filtered_rows.num_rows
    dataset = lance_arrow.dataset(where, strings="view")
    assert_values(expected.slice(0, 5), dataset.head(5))
    again = pickle.loads(pickle.dumps(dataset.filter(pc.field("id") < 90)))
    assert again.schema.equals(dataset.schema)
    kept = filtered_rows.filter(pc.field("id") < 90)
    assert_values(kept, again.to_table(filter=pc.field("mode") == "AIR"))
    assert again.count_rows() == expected.filter(pc.field("id") < 90).num_rows
    assert_values(kept.take(pa.array([1, 0])), again.take([1, 0], filter=pc.field("mode") == "AIR"))
    assert "mode" in str(dataset.explain("mode = 'AIR'"))


def test_columns_that_were_renamed_or_added_later(table_of_fragments: tuple[pa.Table, str]) -> None:
    _, where = table_of_fragments
    table = LanceTable.open(where)
    table.alter_columns({"path": "mode", "name": "how"})
    table.alter_columns({"path": "text", "name": "mode"})
    table.add_columns({"late": "'a'"})
    table.append(rows(10).rename_columns({"mode": "how", "text": "mode"}).select(["id", "how"]))
    found = LanceTable.open(where).to_table()
    assert_values(found, LanceTable.open(where, strings="view").to_table())
    assert_values(found, lance_arrow.dataset(where, strings="view").to_table())
    opened = LanceTable.open(where, strings="view", read_dictionary=["how"])
    assert opened.schema.field("how").type == pa.dictionary(pa.int32(), pa.string())
    assert opened.schema.field("mode").type == VIEW
    assert_values(found, opened.to_table())


def test_a_table_that_reads_views_is_changed_as_any(table_of_fragments: tuple[pa.Table, str]) -> None:
    expected, where = table_of_fragments
    table = LanceTable.open(where, strings="view")
    table.delete("mode = 'x'")
    table.update({"mode": "'CHANGED'"}, where="id = 5")
    table.compact()
    plain = LanceTable.open(where)
    assert plain.schema.equals(expected.schema)
    assert plain.count_rows("mode = 'CHANGED'") > 0
    assert_values(plain.to_table(), table.to_table())


def test_directories_partitions_and_many_files(tmp_path: Path) -> None:
    parts = [rows(500, 1), rows(500, 2, ["q", "AIR"]), rows(4, 5), *(rows(30, seed, LONG) for seed in range(6, 30))]
    for number, part in enumerate(parts):
        where = tmp_path / f"key={number % 3}"
        where.mkdir(exist_ok=True)
        write_table(part, where / f"{number:02}.lance")
    dataset = lance_arrow.dataset(tmp_path, strings="view", partitioning="hive")
    plain = lance_arrow.dataset(tmp_path, partitioning="hive")
    assert dataset.schema.field("mode").type == VIEW
    assert_values(plain.to_table(), dataset.to_table())
    for expression in (pc.field("key") == 1, (pc.field("key") == 1) & pc.field("mode").isin(["AIR", LONG[1]])):
        assert_values(plain.to_table(filter=expression), dataset.to_table(filter=expression))
        assert dataset.count_rows(expression) == plain.count_rows(expression)
        renamed = {"how": pc.field("mode"), "double": pc.field("id") * 2}
        found = dataset.to_table(renamed, filter=expression)
        assert found.schema.types == [VIEW, pa.int64()]
        assert_values(plain.to_table(renamed, filter=expression), found)
    assert_values(plain.take([700, 3, 3]), dataset.take([700, 3, 3]))


def test_datasets_of_pyarrow_say_what_to_do(tmp_path: Path) -> None:
    table = rows(3000)
    write_table(table, tmp_path / "a.lance")
    dataset = pads.dataset(tmp_path / "a.lance", format=LanceFormat(strings="view"))
    assert_values(table, dataset.to_table())
    assert_values(table.slice(0, 4), dataset.head(4))
    assert dataset.to_table(["id"], filter=pc.field("id") < 5).num_rows == 5
    with pytest.raises(UnsupportedError, match=r"cannot filter columns of views: mode; .*lance_arrow.dataset"):
        dataset.to_table(["id", "mode"], filter=pc.field("id") < 5)
    assert LanceFormat(strings="view") != LanceFormat()
    assert LanceFormat(strings="view").strings == "view"
    with pytest.raises(InvalidArgumentError, match="strings is 'dictionary', expected 'plain' or 'view'"):
        LanceFormat(strings="dictionary")  # type: ignore[arg-type]


@pytest.mark.parametrize("largest", [63, 200])
def test_bytes_in_several_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """Positions within a buffer have 32 bits: with fewer, as if there were more bytes."""
    texts = pa.array([f"{'t' * (13 + number % 40)}{number}" if number % 4 else None for number in range(300)])
    table = pa.table({"text": texts, "item": [LONG[number % 5] for number in range(300)]})
    write_table(table, tmp_path / "a.lance", page_bytes=2000)
    monkeypatch.setattr(row_reader, "_INT32_MAX", largest)
    with LanceFile(tmp_path / "a.lance", strings="view") as file:
        found = file.take(np.arange(300))
        assert len(found["text"].chunk(0).buffers()) > 4
        assert_values(table, found)
        assert_values(table.take(pa.array([299, 4, 4])), file.take([299, 4, 4]))


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    """Bytes that pages hold as text: in a dictionary, and as values."""
    for number, values in enumerate(([b"ok", b"\xff"] * 500, [b"%d\xff" % one for one in range(1000)])):
        path = tmp_path / f"{number}.lance"
        table = pa.table({"s": pa.array(values, pa.binary())})
        write_table(table, path)
        data = path.read_bytes()
        text = data.replace(b"binary", b"string")
        assert text != data
        path.write_bytes(text)
        for strings in ("plain", "view"):
            with LanceFile(path, strings=strings, verify="off") as file, pytest.raises(lance_arrow.errors.LanceError):
                file.read()


def test_filters_and_takes_of_views_keep_their_bytes() -> None:
    table = rows(400)
    schema = pa.schema([field.with_type(_viewed(field.type)) for field in table.schema])
    views = pa.table([pa.array(table[field.name].to_pylist(), field.type) for field in schema], schema=schema)
    mask = pa.array(np.random.default_rng(4).random(400) < 0.5)
    (batch,) = views.combine_chunks().to_batches()
    assert_values(table.filter(mask), pa.Table.from_batches([filtered(batch, mask)]))
    assert_values(
        table.slice(100, 200).filter(mask.slice(3, 200)),
        pa.Table.from_batches([filtered(batch.slice(100, 200), mask.slice(3, 200))]),
    )
    positions = pa.array([399, 0, 0, 17])
    assert_values(table.take(positions), taken(views, positions))
    assert_values(table.slice(50).take(positions.slice(1)), taken(views.slice(50), positions.slice(1)))
    assert decoded(taken(views, positions.slice(0, 0)), table.schema).num_rows == 0


def _viewed(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_viewed(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_viewed(type_.value_type)))
    return (
        pa.string_view()
        if pa.types.is_string(type_)
        else pa.binary_view()
        if pa.types.is_large_binary(type_)
        else type_
    )


def test_threads_of_a_take_share_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows(20_000)
    write_table(table, tmp_path / "a.lance")
    parts = []
    take_parts = native_take._take_parts
    monkeypatch.setattr(native_take, "_take_parts", lambda *given: parts.append(1) or take_parts(*given))
    wanted = np.arange(0, 20_000, 3)
    runtime = Runtime(Settings(num_threads=4))
    for strings, is_divided in (("view", False), ("plain", True)):
        with LanceFile(tmp_path / "a.lance", strings=strings, runtime=runtime) as file:
            assert_values(table.take(pa.array(wanted)), file.take(wanted))
        assert bool(parts) == is_divided
