"""`leaf_arrays`: narrow columns hold the rows of each leaf, for slices, nulls and all kinds of nesting."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_arrow.arrays.column_tree import column_tree
from lance_arrow.arrays.leaf_arrays import StructFields, leaf_arrays
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import column_mapping, fields_from_arrow

POINT = pa.struct([("x", pa.int64()), ("y", pa.string()), ("in", pa.struct([("a", pa.int8()), ("b", pa.bool_())]))])
POINTS = [
    None if number % 5 == 3 else {"x": number, "y": str(number), "in": None if number % 3 else {"a": number, "b": None}}
    for number in range(20)
]
COLUMNS = {
    "struct": pa.array(POINTS, POINT),
    "list": pa.array([None if at % 4 == 2 else POINTS[at : at + at % 3] for at in range(20)], pa.list_(POINT)),
    "large list": pa.array([POINTS[at : at + at % 3] for at in range(20)], pa.large_list(POINT)),
    "fixed": pa.array([None if at == 7 else POINTS[at : at + 2] for at in range(18)], pa.list_(POINT, 2)),
    "map": pa.array(
        [None if at == 5 else [(f"k{at}", POINTS[at])] * (at % 3) for at in range(20)], pa.map_(pa.string(), POINT)
    ),
    "inside": pa.array([{"l": POINTS[at : at + 2]} for at in range(18)], pa.struct([("l", pa.list_(POINT))])),
}


def picked(value: object, path: list[str]) -> object:
    """Return the value with nothing but the fields on a path; entries of maps are dictionaries."""
    if value is None:
        return None
    if isinstance(value, list):
        return [picked(one, path[1:]) for one in value]
    if isinstance(value, tuple):
        value = dict(zip(("key", "value"), value, strict=True))
    assert isinstance(value, dict)
    return {path[0]: picked(value[path[0]], path[1:]) if len(path) > 1 else value[path[0]]}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(("start", "length"), [(0, None), (3, None), (2, 9), (5, 0)])
def test_rows_of_each_leaf(name: str, start: int, length: int | None) -> None:
    array = COLUMNS[name].slice(start, length)
    schema = pa.schema([("c", array.type)])
    (root,) = column_tree(schema, column_mapping(fields_from_arrow(schema), FileVersion.V2_2))
    leaves, narrow = list(root.leaves()), leaf_arrays(root, array)
    assert len(leaves) == len(narrow)
    for leaf, own in zip(leaves, narrow, strict=True):
        own.validate(full=True)
        path = leaf.path.split(".")[1:]
        assert own.to_pylist() == [picked(value, path) for value in array.to_pylist()]


@pytest.mark.parametrize("start", [0, 3, 9])
def test_fields_of_a_struct_are_null_where_it_is(start: int) -> None:
    array = COLUMNS["struct"].slice(start)
    fields = StructFields(array)
    expected = [None if value is None else value["x"] for value in array.to_pylist()]
    assert fields.named("x").to_pylist() == expected
    assert StructFields(fields.named("in")).named("a").to_pylist() == [
        None if value is None or value["in"] is None else value["in"]["a"] for value in array.to_pylist()
    ]
