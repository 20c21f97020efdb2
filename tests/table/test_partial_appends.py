"""Appends of some of the columns: the others are null where they may be, else an error names them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError

INNER = pa.struct([("deep", pa.int8()), ("low", pa.int8())])
STRUCT = pa.struct([("number", pa.int64()), ("text", pa.string()), ("inner", INNER)])
MORE = pa.struct([("low", pa.int8()), ("new", pa.int8())])
PART = pa.struct([("inner", pa.struct([("low", pa.int8())])), ("number", pa.int64())])
WHOLE_VALUE = {"number": 1, "text": "a", "inner": {"deep": 2, "low": 3}}
PART_VALUE = {"inner": {"low": 5}, "number": 7}
COMPLETED = {"number": 7, "text": None, "inner": {"deep": None, "low": 5}}


def twice(type_: pa.DataType, kind: str) -> pa.DataType:
    """A list of two structs, or the struct itself."""
    return {"struct": type_, "list": pa.list_(type_), "large": pa.large_list(type_), "fixed": pa.list_(type_, 2)}[kind]


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
@pytest.mark.parametrize("kind", ["struct", "list", "large", "fixed"])
def test_fields_of_structs(tmp_path: Path, kind: str, version: str) -> None:
    if kind == "fixed" and version == "2.1":
        pytest.skip("fixed-size lists of structs exist since 2.2")

    def value(one: object) -> object:
        return one if kind == "struct" else [one, one]

    given = pa.table({"id": [1], "nested": pa.array([value(WHOLE_VALUE)], twice(STRUCT, kind))})
    table = LanceTable.create(tmp_path / "t", given, file_version=version)
    rows = [value(PART_VALUE), None, value(PART_VALUE)]
    # A slice: what lies before it is not to be seen.
    part = pa.table({"nested": pa.array([value(PART_VALUE), *rows], twice(PART, kind))}).slice(1)
    table.append(part)
    assert table.schema.equals(given.schema)
    completed = [None if one is None else value(COMPLETED) for one in rows]
    assert table.to_table().to_pylist() == [
        {"id": 1, "nested": value(WHOLE_VALUE)},
        *({"id": None, "nested": one} for one in completed),
    ]


def test_fields_of_structs_in_any_order(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"nested": pa.array([WHOLE_VALUE], STRUCT)}))
    names = ["text", "inner", "number"]
    turned = pa.struct([STRUCT.field(name) for name in names])
    table.append(pa.table({"nested": pa.array([WHOLE_VALUE, None], turned)}))
    assert table.to_table()["nested"].to_pylist() == [WHOLE_VALUE, WHOLE_VALUE, None]


def test_all_columns_that_may_not_be_null_are_named(tmp_path: Path) -> None:
    firm = pa.struct([pa.field("a", pa.int64()), pa.field("b", pa.int64(), nullable=False)])
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("x", pa.int64(), nullable=False),
            pa.field("nested", firm),
            pa.field("y", pa.string(), nullable=False),
        ]
    )
    first = pa.table({"id": [1], "x": [2], "nested": pa.array([{"a": 3, "b": 4}], firm), "y": ["z"]}, schema=schema)
    table = LanceTable.create(tmp_path / "t", first)
    with pytest.raises(InvalidArgumentError, match=r"columns \['x', 'y', 'nested\.b'\] are not given, but may not"):
        table.append(pa.table({"id": [1], "nested": [{"a": 3}]}))
    with pytest.raises(InvalidArgumentError, match="the column is not given, but may not be null") as found:
        table.append(pa.table({"x": [1], "nested": [{"a": 3}], "y": ["z"]}))
    assert found.value.column == "nested.b"
    table.append(pa.table({"x": [5], "y": ["w"]}))
    assert table.to_table().to_pylist()[1] == {"id": None, "x": 5, "nested": None, "y": "w"}
    assert table.version == 2


@pytest.mark.parametrize(
    "wrong",
    [
        pa.array([{"number": 1, "other": 2}]),
        pa.array([{"number": 1}], pa.struct([("number", pa.int32())])),
        pa.array([{"inner": [1]}]),
        pa.array([[PART_VALUE]]),
        pa.array([{"inner": {"low": 5, "new": 1}}], pa.struct([("inner", MORE)])),
    ],
)
def test_other_structs_are_refused(tmp_path: Path, wrong: pa.Array) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"nested": pa.array([WHOLE_VALUE], STRUCT)}))
    with pytest.raises(InvalidArgumentError, match=r"rows have the type .* the table has .*: cast them"):
        table.append(pa.table({"nested": wrong}))
    assert (table.version, len(list((tmp_path / "t" / "data").iterdir()))) == (1, 1)


def test_merges_fill_no_fields_of_structs(tmp_path: Path) -> None:
    """An update would replace what is there by nulls."""
    first = pa.table({"id": [1], "nested": pa.array([WHOLE_VALUE], STRUCT)})
    table = LanceTable.create(tmp_path / "t", first)
    part = pa.table({"id": [1, 2], "nested": pa.array([PART_VALUE, PART_VALUE], PART)})
    merge = table.merge(part, on="id").when_matched_update_all().when_not_matched_insert_all()
    with pytest.raises(InvalidArgumentError, match="cast them"):
        merge.execute()
    table.merge(pa.table({"id": [2]}), on="id").when_not_matched_insert_all().execute()
    assert table.to_table().to_pylist() == [*first.to_pylist(), {"id": 2, "nested": None}]


def test_what_was_left_out_is_null_for_every_change(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"id": [1], "x": [10], "s": ["a"]}))
    table.append(pa.table({"id": [2]}))
    table.append(pa.table({"s": ["c"], "id": [3]}))
    assert table.count_rows("x IS NULL") == 2
    table.update({"x": "id * 10"}, where="x IS NULL AND id = 2")
    table.delete("s IS NULL AND id = 2")
    table.compact()
    assert table.to_table().sort_by("id").to_pylist() == [{"id": 1, "x": 10, "s": "a"}, {"id": 3, "x": None, "s": "c"}]


def test_json_below_structs_is_found_by_name(tmp_path: Path) -> None:
    text = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}']))
    whole = pa.StructArray.from_arrays([text, pa.array([b"x"], pa.large_binary())], ["j", "b"])
    table = LanceTable.create(tmp_path / "t.lance", pa.table({"s": whole}))
    turned = pa.StructArray.from_arrays([pa.array([b"y"], pa.large_binary()), text], ["b", "j"])
    table.append(pa.table({"s": turned}))
    table.append(pa.table({"s": pa.StructArray.from_arrays([pa.array([b"z"], pa.large_binary())], ["b"])}))
    assert table.to_table()["s"].to_pylist() == [
        {"j": '{"a":1}', "b": b"x"},
        {"j": '{"a":1}', "b": b"y"},
        {"j": None, "b": b"z"},
    ]
    bytes_alone = pa.StructArray.from_arrays([pa.array([b"{}"], pa.large_binary())], ["j"])
    with pytest.raises(InvalidArgumentError, match="binary JSON"):
        table.append(pa.table({"s": bytes_alone}))
    assert table.count_rows() == 3
