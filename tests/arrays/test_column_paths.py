"""Paths find what they name, and pruning keeps that and no more."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_arrow.arrays.column_paths import Reach, node_at, parse_path, project, reach
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi import LeafType
from lance_arrow.spi.layouts import NodeKind

POINT = pa.struct([("x", pa.int32()), ("y", pa.struct([("u", pa.int8()), ("v", pa.int16())]))])


def tree(field: pa.Field, path: str = "") -> ColumnNode:
    """A tree with leaves that belong to no file."""
    path = f"{path}.{field.name}" if path else field.name
    type_ = field.type
    fields = [type_.field(i) for i in range(type_.num_fields)]
    if isinstance(type_, pa.MapType):
        fields = [pa.field("entries", pa.struct([type_.key_field, type_.item_field]), nullable=False)]
    if fields:
        return ColumnNode(field, path, tuple(tree(child, path) for child in fields))
    leaf = LeafType(None, (NodeKind.ITEM,))
    return LeafNode(
        field, path, column=0, leaf=leaf, offset_bits=(0,), dimensions=(0,), nullable=(True,), lengths_per_row=1
    )


ROOTS = tuple(
    map(
        tree,
        [
            pa.field("point", POINT),
            pa.field("list", pa.list_(POINT)),
            pa.field("named", pa.list_(pa.field("x", POINT))),
            pa.field("lists", pa.large_list(pa.list_(POINT, 3))),
            pa.field("map", pa.map_(pa.string(), POINT)),
            pa.field("deep", pa.struct([("list", pa.list_(POINT)), ("n", pa.int8())])),
        ],
    )
)


@pytest.mark.parametrize(
    ("path", "fields", "steps"),
    [
        ("point", (), ()),
        ("point.y.v", ("y", "v"), (1, 1)),
        ("list", (), ()),
        ("list.item", (), (0,)),
        ("list.x", (), (0, 0)),
        ("list.item.y.u", (), (0, 1, 0)),
        ("list.list.element.x", (), (0, 0)),
        ("named.x", (), (0,)),
        ("named.x.x", (), (0, 0)),
        ("named.y", (), (0, 1)),
        ("lists.x", (), (0, 0, 0)),
        ("lists.item.x", (), (0, 0, 0)),
        ("lists.item.item.x", (), (0, 0, 0)),
        ("map.key", (), (0, 0)),
        ("map.entries.value.x", (), (0, 1, 0)),
        ("map.key_value.key", (), (0, 0)),
        ("deep.list.x", ("list",), (0, 0, 0)),
        ("deep.n", ("n",), (1,)),
    ],
)
def test_paths_find_their_node(path: str, fields: tuple[str, ...], steps: tuple[int, ...]) -> None:
    names = parse_path(path, ())
    found = reach(ROOTS, names)
    assert found == Reach(names[0], fields, steps)
    root = next(root for root in ROOTS if root.field.name == names[0])
    assert node_at(root, found.steps).field.name in (names[-1], "x", "list")


@pytest.mark.parametrize(
    "path", ["z", "point.z", "list.z", "point.x.y", "list.element", "map.x", "deep.item", "list.item.item"]
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    names = parse_path(path, ())
    assert reach(ROOTS, names) is None
    assert project(ROOTS, [names], missing_ok=True) == ()
    with pytest.raises(InvalidArgumentError, match="there is no column"):
        project(ROOTS, [names])


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["point.y.v", "point.x"], "struct<x: int32, y: struct<v: int16>>"),
        (["point.y.v", "point"], str(POINT)),
        (["list.y.u"], "list<item: struct<y: struct<u: int8>>>"),
        (["named.y.u"], "list<x: struct<y: struct<u: int8>>>"),
        (["lists.x"], "large_list<item: fixed_size_list<item: struct<x: int32>>[3]>"),
        (["map.key", "map.value.x"], "map<string, struct<x: int32>>"),
        (["map.value.x"], "list<entries: struct<value: struct<x: int32>> not null>"),
        (["deep.list.x"], "struct<list: list<item: struct<x: int32>>>"),
    ],
)
def test_pruning_keeps_what_is_named(paths: list[str], expected: str) -> None:
    (node,) = project(ROOTS, [parse_path(path, ()) for path in paths])
    assert str(node.field.type) == expected
    assert node.storage == node.field.type


def test_whole_names_win_over_paths() -> None:
    assert parse_path("a.b", {"a.b"}) == ("a.b",)
    assert parse_path("a.b", {"a"}) == ("a", "b")
