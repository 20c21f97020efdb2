"""Strings read as dictionaries: the values, by every door, of any pages; what lies as a dictionary is not expanded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from stores import CountingStore
from string_columns import FILTERS, MODES, assert_values, rows

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceTable, write_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.filters import item_filters

CODED = pa.dictionary(pa.int32(), pa.string())
ALL = ["mode", "hole", "text", "empty", "none", "raw", "st.mode", "tags.item"]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_values_are_the_same_in_every_version(tmp_path: Path, version: Any) -> None:
    table, path = rows(3000), tmp_path / "a.lance"
    names = [name for name in ALL if version != "2.0" or name not in ("st.mode", "tags.item")]
    write_table(table, path, file_version=version, page_bytes=20_000)
    with LanceFile(path, read_dictionary=names) as file:
        assert file.schema.field("mode").type == CODED
        assert file.schema.field("raw").type == pa.dictionary(pa.int32(), pa.large_binary())
        assert_values(table, file.read())
        wanted = [2999, 0, 0, 17, 1500, 17]
        assert_values(table.take(pa.array(wanted)), file.take(wanted))
        assert_values(table, pa.Table.from_batches(list(file.to_batches(batch_size=700)), file.schema))
        assert file.take([]).schema == file.schema


def test_nested_strings(tmp_path: Path) -> None:
    table, path = rows(2000), tmp_path / "a.lance"
    write_table(table, path)
    with LanceFile(path, read_dictionary=["st.mode", "tags.item"]) as file:
        assert file.schema.field("st").type == pa.struct({"mode": CODED})
        assert file.schema.field("tags").type.value_type == CODED
        assert_values(table, file.read())
        assert_values(table.take(pa.array([5, 1999, 5])), file.take([5, 1999, 5]))


def test_far_files_have_the_same_values(tmp_path: Path) -> None:
    """The reader of far files decodes by layouts in Python."""
    table, path = rows(3000), tmp_path / "a.lance"
    write_table(table, path, page_bytes=20_000)
    store = CountingStore({"a.lance": path.read_bytes()})
    with LanceFile("a.lance", filesystem=store, read_dictionary=ALL) as file:
        assert_values(table, file.read())
        assert_values(table.take(pa.array([7, 2, 7])), file.take([7, 2, 7]))
        assert_values(table.filter(pc.field("mode") == "AIR"), file.read(filter="mode = 'AIR'"))
    assert store.waves


def test_dictionaries_of_pages_are_not_expanded(tmp_path: Path) -> None:
    """One row has all items of its page: they were never compared with values of rows."""
    path = tmp_path / "a.lance"
    write_table(rows(), path)
    with LanceFile(path, strings="dictionary") as file:
        assert file.schema.field("mode").type == file.schema.field("hole").type == CODED
        assert file.schema.field("text").type == pa.string()
        found = file.take([3], ["mode"])["mode"].chunk(0)
        assert sorted(found.dictionary.to_pylist()) == sorted(MODES)


def test_batches_of_a_page_have_equal_dictionaries_without_a_null(tmp_path: Path) -> None:
    path = tmp_path / "a.lance"
    write_table(rows(), path)
    with LanceFile(path, read_dictionary=["hole", "empty"]) as file:
        batches = list(file.to_batches(["hole", "empty"], batch_size=1000))
    for name in ("hole", "empty"):
        items = [batch.column(name).dictionary for batch in batches]
        assert all(one.equals(items[0]) for one in items)
        assert items[0].null_count == 0
        assert len(items[0]) == len(items[0].unique())


def test_pages_of_different_dictionaries_share_one(tmp_path: Path) -> None:
    """Two pages of the same items in another order, and one that is plain: no item twice."""
    parts = [rows(4000, 1), rows(4000, 2, MODES[::-1]), rows(40, 3)]
    table, path = pa.concat_tables(parts), tmp_path / "a.lance"
    with lance_arrow.LanceWriter(path, table.schema, page_bytes=8_000) as writer:
        for part in parts:
            writer.write(part)
    with LanceFile(path, read_dictionary=["mode"]) as file:
        found = file.read(["mode"])
        assert_values(table.select(["mode"]), found)
        for chunk in found["mode"].chunks:
            assert len(chunk.dictionary) == len(chunk.dictionary.unique()) == len(MODES)


@pytest.fixture
def table_of_fragments(tmp_path: Path) -> tuple[pa.Table, str]:
    parts = [rows(6000, 1), rows(5000, 2, ["x", "AIR", "y"]), rows(3, 3), rows(5000, 4).slice(0, 0)]
    where = str(tmp_path / "t.lance")
    table = LanceTable.create(where, parts[0])
    for part in parts[1:]:
        table.append(part)
    return pa.concat_tables(parts), where


def test_fragments_of_different_dictionaries(table_of_fragments: tuple[pa.Table, str]) -> None:
    expected, where = table_of_fragments
    opened = LanceTable.open(where, strings="dictionary")
    assert opened.schema.field("mode").type == CODED
    assert opened.schema.field("text").type == pa.string()
    assert_values(expected, opened.to_table())
    wanted = [0, 10_999, 6_000, 11_001, 0]
    assert_values(expected.take(pa.array(wanted)), opened.take(wanted))
    filtered = expected.filter(pc.field("mode") == "AIR")
    assert_values(filtered, opened.to_table(filter="mode = 'AIR'"))
    assert opened.count_rows("mode = 'AIR'") == filtered.num_rows
    dataset = lance_arrow.dataset(where, strings="dictionary")
    assert dataset.schema.equals(opened.schema)
    assert_values(expected, dataset.to_table())
    assert_values(filtered, dataset.to_table(filter=pc.field("mode") == "AIR"))
    assert_values(expected.take(pa.array(wanted)), dataset.take(wanted))
    assert_values(expected.slice(0, 5), dataset.head(5))
    again = pickle.loads(pickle.dumps(dataset))
    assert again.schema.equals(dataset.schema)
    assert_values(filtered, again.to_table(filter=pc.field("mode") == "AIR"))


def test_columns_that_were_renamed_or_added_later(table_of_fragments: tuple[pa.Table, str]) -> None:
    """Files know the old name of one column, have another column of that name by now, and lack a third one."""
    expected, where = table_of_fragments
    table = LanceTable.open(where)
    table.alter_columns({"path": "mode", "name": "how"})
    table.alter_columns({"path": "text", "name": "mode"})
    table.add_columns({"late": "'a'"})
    names = ["how", "mode", "late"]
    expected = expected.rename_columns({"mode": "how", "text": "mode"})
    expected = expected.append_column("late", pa.array(["a"] * len(expected)))
    for wanted in (["how"], ["mode"], ["late"], names):
        opened = LanceTable.open(where, read_dictionary=wanted)
        types = {name: opened.schema.field(name).type for name in names}
        assert types == {name: CODED if name in wanted else pa.string() for name in names}
        assert_values(expected.select(names), opened.to_table(names))
        dataset = lance_arrow.dataset(where, read_dictionary=wanted)
        assert_values(expected.select(names), dataset.to_table(names))


def test_a_table_that_reads_dictionaries_is_changed_as_any(table_of_fragments: tuple[pa.Table, str]) -> None:
    expected, where = table_of_fragments
    table = LanceTable.open(where, strings="dictionary")
    table.delete("mode = 'x'")
    table.update({"mode": "'CHANGED'"}, where="id = 5")
    table.compact()
    plain = LanceTable.open(where)
    assert plain.schema.equals(expected.schema)
    assert (
        plain.count_rows("mode = 'CHANGED'")
        == expected.filter((pc.field("id") == 5) & (pc.field("mode") != "x")).num_rows
    )
    assert_values(plain.to_table(), table.to_table())


def test_directories_of_files(tmp_path: Path) -> None:
    parts = [rows(5000, 1), rows(5000, 2, ["q", "AIR"]), rows(4, 5)]
    for number, part in enumerate(parts):
        write_table(part, tmp_path / f"{number}.lance")
    expected = pa.concat_tables(parts)
    for dataset in (
        lance_arrow.dataset(tmp_path, strings="dictionary"),
        pads.dataset(tmp_path, format=LanceFormat(read_dictionary=["mode", "hole", "raw", "empty"])),
    ):
        assert dataset.schema.field("mode").type == CODED
        assert_values(expected, dataset.to_table())
        found = dataset.to_table(filter=pc.field("mode").isin(["AIR", "q"]))
        assert_values(expected.filter(pc.field("mode").isin(["AIR", "q"])), found)
        assert dataset.count_rows(filter=pc.field("hole").is_null()) == expected["hole"].null_count


def test_many_small_files_are_read_together(tmp_path: Path) -> None:
    parts = [rows(50, seed, ["a", f"b{seed}"]) for seed in range(40)]
    table = LanceTable.create(tmp_path / "t.lance", parts[0])
    for part in parts[1:]:
        table.append(part)
    expected = pa.concat_tables(parts)
    found = lance_arrow.dataset(tmp_path / "t.lance", read_dictionary=["mode", "text"])
    assert_values(expected, found.to_table())
    assert_values(expected, LanceTable.open(tmp_path / "t.lance", read_dictionary=["mode", "text"]).to_table())


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters_find_the_same_rows(tmp_path: Path, number: int) -> None:
    table, path, expression = rows(3000), tmp_path / "a.lance", FILTERS[number]
    write_table(table, path, rows_per_zone=500)
    expected = table.filter(expression)
    with LanceFile(path, read_dictionary=["mode", "hole", "empty"]) as file:
        assert_values(expected, file.read(filter=expression))
        assert file.count_rows(expression) == expected.num_rows


def test_conditions_on_a_dictionary_are_evaluated_once_for_each_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    rows_with = item_filters.ItemFilters._rows_with

    def watched(self: Any, column: Any, *rest: Any) -> Any:
        seen.append(len(column.dictionary))
        return rows_with(self, column, *rest)

    monkeypatch.setattr(item_filters.ItemFilters, "_rows_with", watched)
    path = tmp_path / "a.lance"
    write_table(rows(), path, rows_per_zone=None)
    with LanceFile(path, strings="dictionary") as file:
        # Where the values are not wanted, flags come in place of them.
        file.read(["mode", "hole"], filter="mode = 'AIR' AND hole IN ('AIR', 'MAIL') AND id < 100000")
    assert seen
    assert set(seen) == {len(MODES)}


def test_a_condition_that_fails_for_an_item_of_no_row(tmp_path: Path) -> None:
    """All items of the page are looked at; only rows decide whether the filter fails."""
    table = pa.table({"s": ["1", "2"] * 5000 + ["no number"], "id": range(10_001)})
    write_table(table, tmp_path / "a.lance")
    expression = pc.field("s").cast(pa.int64()) == 2
    with LanceFile(tmp_path / "a.lance", read_dictionary=["s"]) as file:
        found = file.read(filter=expression, rows=(0, 10_000))
        with pytest.raises(InvalidArgumentError):
            file.read(filter=expression)
    assert found["s"].to_pylist() == ["2"] * 5000


def test_wrong_names_and_types(tmp_path: Path) -> None:
    path, where = tmp_path / "a.lance", tmp_path / "t.lance"
    write_table(rows(100), path)
    LanceTable.create(where, rows(100))
    doors: list[Callable[..., Any]] = [
        lambda **how: LanceFile(path, **how).schema,
        lambda **how: lance_arrow.dataset(path, **how),
        lambda **how: LanceTable.open(where, **how),
        lambda **how: lance_arrow.dataset(where, **how),
        lambda **how: lance_arrow.read_table(path, **how),
    ]
    for door in doors:
        for wrong, message in (
            ({"read_dictionary": ["id"]}, "'id', which is int64"),
            ({"read_dictionary": ["st"]}, "'st', which is struct"),
            ({"read_dictionary": ["moed"]}, "no such column; did you mean 'mode'"),
            ({"read_dictionary": "mode"}, "expected a list"),
            ({"read_dictionary": [1]}, "expected names"),
            ({"strings": "dictionaries"}, "strings is 'dictionaries'"),
        ):
            with pytest.raises(InvalidArgumentError, match=message):
                door(**wrong)


def test_options_are_compared_by_their_columns() -> None:
    one, other = LanceFormat(read_dictionary=["b", "a", "b"]), LanceFormat(read_dictionary=("a", "b"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != LanceFormat()
    assert one.read_dictionary == ("a", "b")
    assert pickle.loads(pickle.dumps(one)) == one
    assert "read_dictionary=('a', 'b')" in repr(one)


def test_stored_dictionary_columns_stay_as_they_are(tmp_path: Path) -> None:
    type_ = pa.dictionary(pa.int8(), pa.string())
    table = pa.table({"d": pa.array(["a", "b", None]).cast(type_), "s": ["x", "y", "z"]})
    write_table(table, tmp_path / "a.lance")
    with LanceFile(tmp_path / "a.lance", read_dictionary=["d", "s"]) as file:
        assert file.schema.types == [type_, CODED]
        assert_values(table, file.read())
    with LanceFile(tmp_path / "a.lance", read_dictionary=["d"], dictionaries="decode") as file:
        assert file.schema.types == [CODED, pa.string()]
        assert file.read()["d"].to_pylist() == ["a", "b", None]
