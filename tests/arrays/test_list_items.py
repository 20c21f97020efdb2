"""`list_items` returns what the rows show, whatever slices, nulls and garbage the array has."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_arrow.arrays.list_items import list_items

_ITEM = pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.list_(pa.string(), 2))])
_TYPES = (
    pa.list_(_ITEM),
    pa.large_list(pa.string()),
    pa.list_(_ITEM, 3),
    pa.map_(pa.string(), _ITEM),
    pa.list_(pa.null()),
)


@st.composite
def lists(draw: st.DrawFn) -> pa.Array:
    type_ = draw(st.sampled_from(_TYPES))
    rows = [draw(_rows(type_)) for _ in range(draw(st.integers(0, 8)))]
    array = pa.array(rows, type_)
    if pa.types.is_list(type_) and draw(st.booleans()):
        # Nulls that hide items.
        mask = pa.array(draw(st.lists(st.booleans(), min_size=len(array), max_size=len(array))), pa.bool_())
        array = pa.ListArray.from_arrays(array.offsets, array.values, type=type_, mask=mask)
    start = draw(st.integers(0, len(array)))
    return array.slice(start, draw(st.integers(0, len(array) - start)))


def _rows(type_: pa.DataType) -> st.SearchStrategy[object]:
    item = st.one_of(st.none(), st.builds(lambda a: {"a": a, "b": ["x", None]}, st.integers(0, 9)))
    if pa.types.is_fixed_size_list(type_):
        return st.one_of(st.none(), st.lists(item, min_size=3, max_size=3))
    if pa.types.is_map(type_):
        return st.one_of(st.none(), st.lists(st.tuples(st.sampled_from("abc"), item), max_size=3))
    if pa.types.is_large_list(type_):
        return st.one_of(st.none(), st.lists(st.sampled_from(["", "x", None]), max_size=3))
    if pa.types.is_null(type_.value_type):
        return st.one_of(st.none(), st.lists(st.none(), max_size=3))
    return st.one_of(st.none(), st.lists(item, max_size=3))


@settings(max_examples=2 * settings.default.max_examples, deadline=None)
@given(array=lists())
def test_items_of_rows_one_after_another(array: pa.Array) -> None:
    items, counts = list_items(array)
    items.validate(full=True)
    rows = array.to_pylist()
    assert counts.tolist() == [0 if row is None else len(row) for row in rows]
    shown = [item for row in rows if row is not None for item in row]
    found = items.to_pylist()
    if pa.types.is_map(array.type):
        found = [(entry["key"], entry["value"]) for entry in found]
    assert found == shown


@pytest.mark.parametrize("type_", _TYPES, ids=str)
def test_nothing_has_no_items(type_: pa.DataType) -> None:
    items, counts = list_items(pa.array([], type_))
    assert len(items) == 0
    assert counts.tolist() == []
