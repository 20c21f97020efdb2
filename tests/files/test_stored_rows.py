"""`StoredRows`: what is stored as it is, what is widened exactly, what is refused before anything is written."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.files.stored_rows import StoredRows

INTS = pa.list_(pa.int32())


def stored(type_: pa.DataType, version: FileVersion = FileVersion.V2_2) -> pa.DataType:
    return StoredRows(pa.schema([("a", type_)]), version).schema.field(0).type


@pytest.mark.parametrize(
    "type_",
    [
        pa.int8(),
        pa.float16(),
        pa.string(),
        pa.large_binary(),
        pa.decimal256(70, 3),
        pa.timestamp("ns", "+01:00"),
        pa.list_(pa.struct([("x", pa.large_list(pa.date64()))])),
        pa.map_(pa.string(), INTS),
        pa.list_(pa.list_(pa.bool_(), 3), 2),
        pa.dictionary(pa.int8(), pa.string()),
        pa.null(),
        pa.struct([]),
        pa.bool8(),
        pa.uuid(),
        pa.list_(pa.struct([("u", pa.uuid())])),
        pa.fixed_shape_tensor(pa.float32(), [2, 3]),
    ],
    ids=str,
)
def test_types_that_are_stored_as_they_are(type_: pa.DataType) -> None:
    assert stored(type_) == type_


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pa.string_view(), pa.string()),
        (pa.binary_view(), pa.binary()),
        (pa.decimal32(5, 2), pa.decimal128(5, 2)),
        (pa.list_(pa.decimal64(12, -1)), pa.list_(pa.decimal128(12, -1))),
        (pa.struct([("s", pa.string_view())]), pa.struct([("s", pa.string())])),
        (pa.map_(pa.string_view(), pa.int8()), pa.map_(pa.string(), pa.int8())),
        (pa.dictionary(pa.int8(), pa.string_view()), pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=str,
)
def test_types_that_are_widened(given: pa.DataType, expected: pa.DataType) -> None:
    assert stored(given) == expected


def test_widened_values_are_exact() -> None:
    views = pa.array([["a" * 40, None], None, []], pa.list_(pa.string_view()))
    decimals = pa.array([decimal.Decimal("-999.99"), None, decimal.Decimal("0.01")], pa.decimal32(5, 2))
    table = pa.table({"v": views, "d": decimals})
    ((lists,), (numbers,)) = StoredRows(table.schema, FileVersion.V2_2).columns(table)
    assert lists.to_pylist() == views.to_pylist()
    assert numbers.to_pylist() == decimals.to_pylist()


@pytest.mark.parametrize(
    ("type_", "path", "word"),
    [
        (pa.month_day_nano_interval(), "a", "duration"),
        (pa.struct([("u", pa.dense_union([pa.field("x", pa.int8())]))]), "a.u", "struct"),
        (pa.list_(pa.list_view(pa.int8())), "a.item", "list"),
        (pa.run_end_encoded(pa.int32(), pa.int8()), "a", "run_end_decode"),
        (pa.dictionary(pa.int8(), pa.string(), ordered=True), "a", "ordered"),
        (pa.map_(pa.string(), pa.int8(), keys_sorted=True), "a", "sorted"),
        (pa.list_(pa.struct([])), "a.item", "field"),
        (pa.list_(pa.struct([("x", pa.int8())]), 0), "a", "no items"),
        (pa.list_(pa.list_(pa.struct([("x", pa.int8())]), 2)), "a.item", "lists"),
        (pa.map_(pa.string(), pa.json_()), "a.entries.value", "string"),
        (pa.list_(pa.struct([("j", pa.json_())]), 2), "a.item.j", "string"),
    ],
    ids=str,
)
def test_types_that_are_refused(type_: pa.DataType, path: str, word: str) -> None:
    with pytest.raises(UnsupportedError, match=word) as caught:
        stored(type_)
    assert caught.value.column == path


@pytest.mark.parametrize(
    "type_", [pa.map_(pa.string(), pa.int8()), pa.list_(pa.struct([("x", pa.int8())]), 2)], ids=str
)
def test_types_that_came_with_2_2(type_: pa.DataType) -> None:
    assert stored(type_, FileVersion.V2_2) == type_
    with pytest.raises(UnsupportedError, match=r"2\.2"):
        stored(type_, FileVersion.V2_1)


@pytest.mark.parametrize("names", [["a", "a"], ["a.b"], [""]])
def test_names_that_are_refused(names: list[str]) -> None:
    with pytest.raises(InvalidArgumentError):
        StoredRows(pa.schema([pa.field(name, pa.int8()) for name in names]), FileVersion.V2_2)
    with pytest.raises(InvalidArgumentError) as caught:
        stored(pa.struct([pa.field(name, pa.int8()) for name in names]))
    assert caught.value.column == "a"


def required(type_: pa.DataType) -> pa.Field:
    return pa.field("item", type_, nullable=False)


STRUCT = pa.struct([required(pa.int32()), pa.field("free", pa.int32())])
MAP = pa.map_(pa.string(), required(pa.int8()))


@pytest.mark.parametrize(
    ("field", "values", "path"),
    [
        (pa.field("a", pa.int32(), nullable=False), [1, None], "a"),
        (pa.field("a", STRUCT), [{"item": 1, "free": None}, {"item": None, "free": 1}], "a.item"),
        (pa.field("a", pa.list_(required(pa.int32()))), [[1], None, [None]], "a.item"),
        (pa.field("a", pa.list_(pa.field("item", STRUCT))), [[None, {"item": None, "free": 3}]], "a.item.item"),
        (pa.field("a", pa.list_(required(pa.int32()), 2)), [[1, 2], [1, None]], "a.item"),
    ],
    ids=str,
)
def test_nulls_where_none_are_allowed(field: pa.Field, values: list[object], path: str) -> None:
    loose = pa.schema([field])
    # pyarrow itself makes such arrays without a word.
    table = pa.Table.from_arrays([pa.array(values, field.type)], schema=loose)
    with pytest.raises(InvalidArgumentError, match="null") as caught:
        StoredRows(loose, FileVersion.V2_2).columns(table)
    assert caught.value.column == path


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (STRUCT, [None, {"item": 1, "free": None}]),
        (pa.list_(required(pa.int32())), [None, [], [1]]),
        (pa.list_(pa.field("item", STRUCT)), [[None], None, [{"item": 3, "free": None}]]),
        (MAP, [None, [("k", 1)], []]),
    ],
    ids=str,
)
def test_nulls_above_required_fields_are_no_nulls_of_theirs(type_: pa.DataType, values: list[object]) -> None:
    table = pa.table({"a": pa.array(values, type_)})
    ((array,),) = StoredRows(table.schema, FileVersion.V2_2).columns(table)
    assert array.to_pylist() == values
    assert StoredRows(table.schema, FileVersion.V2_2).columns(table.slice(1))[0][0].to_pylist() == values[1:]


def test_a_null_item_of_a_dictionary_is_a_null() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["x", None]))
    schema = pa.schema([pa.field("a", array.type, nullable=False)])
    with pytest.raises(InvalidArgumentError, match="null"):
        StoredRows(schema, FileVersion.V2_2).columns(pa.Table.from_arrays([array], schema=schema))


def test_rows_of_another_schema_are_refused() -> None:
    rows = StoredRows(pa.schema([("a", pa.int8()), ("b", pa.string())]), FileVersion.V2_2)
    for other in (
        pa.table({"a": pa.array([1], pa.int8())}),
        pa.table({"b": ["x"], "a": pa.array([1], pa.int8())}),
        pa.table({"a": pa.array([1], pa.int16()), "b": ["x"]}),
    ):
        with pytest.raises(InvalidArgumentError):
            rows.columns(other)


def strings(*offsets: int) -> pa.Array:
    """An array of two bytes, made sound, since pyarrow makes no other, and turned wrong afterwards."""
    memory = np.zeros(len(offsets), np.int32)
    array = pa.Array.from_buffers(pa.string(), len(offsets) - 1, [None, pa.py_buffer(memory), pa.py_buffer(b"ab")])
    memory[:] = offsets
    return array


def lists(*offsets: int) -> pa.Array:
    memory = np.zeros(len(offsets), np.int32)
    items = pa.array([1, 2], pa.int16())
    array = pa.Array.from_buffers(
        pa.list_(pa.int16()), len(offsets) - 1, [None, pa.py_buffer(memory)], children=[items]
    )
    memory[:] = offsets
    return array


def within(array: pa.Array) -> pa.Array:
    """The array as the field of structs."""
    return pa.StructArray.from_arrays([array], ["x"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: strings(0, 2, 5),
        lambda: strings(0, 5, 2),
        lambda: strings(1, 0, 2),
        lambda: lists(0, 3, 3),
        lambda: lists(0, 2, 1),
        lambda: within(lists(0, 2, 1)),
        lambda: pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), strings(0, 2, 1)),
    ],
    ids=["too far", "there and back", "begins late", "lists too far", "lists back", "in structs", "in lists"],
)
def test_an_array_that_contradicts_itself_is_refused(make: Callable[[], pa.Array]) -> None:
    array = make()
    sound = pa.RecordBatch.from_arrays([pa.nulls(len(array), array.type)], ["a"])
    with pytest.raises(InvalidArgumentError, match="contradicts") as caught:
        StoredRows(sound.schema, FileVersion.V2_2).columns(Rows(sound.schema, array))
    assert caught.value.column == "a"


@dataclass(frozen=True)
class Rows:
    """A batch that nobody validated, as one that came over the C interface."""

    schema: pa.Schema
    array: pa.Array
    num_columns: int = 1

    def column(self, number: int) -> pa.Array:
        return self.array


@pytest.mark.parametrize("wrap", [pa.list_, lambda field: pa.struct([("x", pa.list_(field))])])
def test_items_of_lists_may_have_another_name(wrap: Callable[[pa.Field], pa.DataType], tmp_path: Path) -> None:
    given, wanted = (wrap(pa.field(name, pa.int32())) for name in ("element", "item"))
    values = [[1, None], None, []] if pa.types.is_list(given) else [{"x": [1]}, None, {"x": None}]
    with lance_arrow.LanceWriter(tmp_path / "named.lance", pa.schema([("a", wanted)])) as writer:
        writer.write(pa.record_batch([pa.array(values, given)], names=["a"]))
    found = lance_arrow.read_table(tmp_path / "named.lance")
    assert found["a"].type.equals(wanted, check_metadata=True)
    assert found["a"].to_pylist() == values
