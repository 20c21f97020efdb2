"""`unravel . shred` is the identity over random nested columns; and what pages hold, case by case."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from canonical import difference
from file_leaves import file_column, file_leaves, rebuilt
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tables import build, plan

from lance_arrow.arrays.page_split import LeafPages
from lance_arrow.arrays.shred import shred
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.spi import FixedSizeList, FixedWidth, PackedStruct, VariableWidth
from lance_arrow.spi.layouts import LayerKind


def content(array, *more, metadata=None):
    """The page of a column with one leaf."""
    (leaf,) = file_leaves(array.type, metadata)
    return shred(leaf, [array, *more])


def u16(levels):
    return None if levels is None else levels.tolist()


def numbers(page, dtype):
    return page.values.values.view(dtype).tolist()


def everything(page):
    """All that a page holds, comparable."""
    levels = page.levels
    return levels.layers, levels.num_entries, u16(levels.rep), u16(levels.def_), page.num_nulls, memory(page.values)


def memory(block):
    if block is None:
        return None
    bitmaps = [(one.values.tobytes(), one.bit_offset, one.num_bits) for one in block.validity]
    parts = (block.values.tobytes(), block.bit_offset, block.offsets.tobytes(), bitmaps)
    return block.shape, block.num_values, parts, [memory(field) for field in block.fields]


def texts(block):
    ends = block.offsets.view(f"i{block.shape.offset_bits // 8}").tolist()
    assert ends[0] == 0
    return [block.values[start:stop].tobytes() for start, stop in pairwise(ends)]


REFUSALS = re.compile("packed struct|around fixed-size lists|can count|columns of type struct<")
"""What random columns hold that the format has no place for."""


def pages_of(root, chunks, page_bytes):
    """Pages of each leaf, or None where the column is refused."""
    pages = []
    try:
        for leaf in root.leaves():
            collect = LeafPages(leaf, page_bytes)
            groups = [page for chunk in chunks for page in collect.add(chunk)]
            groups = [group for group in (*groups, collect.rest()) if group]
            pages.append([shred(leaf, group) for group in groups or [[]]])
    except UnsupportedError as error:
        if not REFUSALS.search(str(error)):
            raise
        return None
    return pages


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([0, 7, 60, 300]), st.data())
def test_unravel_is_the_inverse(seed, num_chunks, num_rows, data):
    rng = np.random.default_rng(seed)
    node = plan(rng, "2.2", data.draw(st.integers(0, 3)))
    chunks = []
    for _ in range(num_chunks):
        whole = build(rng, node, num_rows)
        start = data.draw(st.integers(0, num_rows))
        chunks.append(whole.slice(start, data.draw(st.integers(0, num_rows - start))))
    root = file_column(node.field("c"))
    page_bytes = data.draw(st.sampled_from([1, 300, 8 << 20]))
    pages = pages_of(root, chunks, page_bytes)
    if pages is None:
        return
    expected = pa.chunked_array(chunks, node.type)
    try:
        actual = rebuilt(root, pages)
    except UnsupportedError as error:
        # Dictionaries of several pages, in indices of 8 bits.
        assert "can count" in str(error)  # noqa: PT017
        return
    actual.validate(full=True)
    assert difference(expected, pa.chunked_array([actual]), types=False) is None
    for leaf, contents in zip(root.leaves(), pages, strict=True):
        if len(contents) == 1 and contents[0].items is None:
            # Garbage, slices and chunks leave no trace: rows that are the same are the same page.
            assert everything(shred(leaf, [actual])) == everything(contents[0])
    for contents in pages:
        assert sum(page.num_rows for page in contents) == len(expected)


def test_worked_example():
    """Spec 2, word by word."""
    type_ = pa.list_(pa.struct([("v", pa.list_(pa.int32()))]))
    rows = [[{"v": [1, 2]}, {"v": []}, None], None, [], [{"v": None}, {"v": [None, 3]}], [{"v": [4]}]]
    page = content(pa.array(rows, type_))
    assert page.levels.layers == (3, 6, 3, 6)
    assert u16(page.levels.rep) == [2, 0, 1, 1, 2, 2, 2, 1, 0, 2]
    assert u16(page.levels.def_) == [0, 0, 3, 4, 5, 6, 2, 1, 0, 0]
    assert (page.levels.max_visible_def, page.num_rows, page.num_values, page.num_nulls) == (1, 5, 5, 1)
    assert numbers(page, np.int32) == [1, 2, 0, 3, 4]


def test_levels_are_numbered_by_what_occurs():
    """Items have a bitmap and no null among them, and no list is null: the empty one is level 1."""
    items = pa.array([1, None, 3]).slice(2)
    array = pa.ListArray.from_arrays(pa.array([0, 1, 1]), items)
    page = content(array)
    assert page.levels.layers == (LayerKind.ALL_VALID_ITEM, LayerKind.EMPTYABLE_LIST)
    assert u16(page.levels.def_) == [0, 1]
    page = content(pa.array([[1], None, [None]]))
    assert page.levels.layers == (LayerKind.NULLABLE_ITEM, LayerKind.NULLABLE_LIST)
    assert u16(page.levels.def_) == [0, 2, 1]
    page = content(pa.array([[1, 2], [3]]))
    assert page.levels.layers == (LayerKind.ALL_VALID_ITEM, LayerKind.ALL_VALID_LIST)
    assert (page.levels.def_, u16(page.levels.rep)) == (None, [1, 0, 1])


def test_an_unused_level_below_a_used_one_is_numbered_away():
    """Items within nulls alone: their own null level never occurs, though their bitmap has one."""
    items = pa.array([None, 2, 3])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), items, mask=pa.array([True, False, False]))
    page = content(pa.StructArray.from_arrays([lists], ["v"]))
    assert page.levels.layers == (LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_LIST, LayerKind.NULLABLE_ITEM)
    assert u16(page.levels.def_) == [1, 0, 0]


def test_lists_in_null_structs_are_nullable_themselves():
    """Readers of the reference take the nulls of the struct for items else."""
    for lists in (pa.array([[1], None, []]), pa.array([[1], [], []])):
        array = pa.StructArray.from_arrays([lists], ["v"], mask=pa.array([False, True, False]))
        page = content(array)
        layers = (LayerKind.ALL_VALID_ITEM, LayerKind.NULL_AND_EMPTY_LIST, LayerKind.NULLABLE_ITEM)
        assert page.levels.layers == layers
        assert u16(page.levels.def_) == [0, 3, 2]


def test_structs_around_lists_are_nullable_where_the_schema_lets_them():
    """All pages then agree; without lists inside, each page tells what occurs in it."""
    mask = pa.array([True, False, False])
    for nulls in (None, mask):
        page = content(pa.StructArray.from_arrays([pa.array([[1], [2], [3]])], ["v"], mask=nulls).slice(1))
        assert page.levels.layers == (LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_LIST, LayerKind.NULLABLE_ITEM)
        assert u16(page.levels.def_) == [0, 0]
    page = content(pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["v"], mask=mask).slice(1))
    assert page.levels.layers == (LayerKind.ALL_VALID_ITEM, LayerKind.ALL_VALID_ITEM)
    assert page.levels.def_ is None


def test_structs_around_lists_that_the_schema_holds_valid_have_no_level():
    """Entries of maps too: releases 4.0.0 and 8.0.0 die of a level that the schema does not announce."""
    struct = pa.struct([pa.field("v", pa.list_(pa.int32()))])
    array = pa.array([[{"v": [1]}], [{"v": [2]}]], pa.list_(pa.field("item", struct, nullable=False)))
    page = content(array)
    valid_item, emptyable_list = LayerKind.ALL_VALID_ITEM, LayerKind.EMPTYABLE_LIST
    assert page.levels.layers == (valid_item, emptyable_list, valid_item, emptyable_list)
    entries = pa.array([[(1, [(2, 3)])]], pa.map_(pa.int32(), pa.map_(pa.int32(), pa.int32())))
    root = file_column(pa.field("c", entries.type))
    page = shred(list(root.leaves())[-1], [entries])
    assert page.levels.layers == (valid_item, valid_item, emptyable_list, valid_item, emptyable_list)


def address(view):
    return view.__array_interface__["data"][0]


def test_flat_columns_without_nulls_are_not_copied():
    array = pa.array(np.arange(100)).slice(10, 50)
    page = content(array)
    assert (page.levels.rep, page.levels.def_, page.levels.num_entries) == (None, None, 50)
    assert address(page.values.values) == array.buffers()[1].address + 80
    assert len(page.values.values) == 400


def test_items_of_lists_and_strings_are_not_copied():
    array = pa.array([["ab", "c"], [], ["", "def"]]).slice(0, 3)
    page = content(array)
    assert address(page.values.values) == array.values.buffers()[2].address
    assert texts(page.values) == [b"ab", b"c", b"", b"def"]


def test_bytes_under_nulls_are_dropped():
    buffers = [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, 2, 5, 6], np.int32)), pa.py_buffer(b"aaXXXb")]
    page = content(pa.Array.from_buffers(pa.string(), 3, buffers))
    assert texts(page.values) == [b"aa", b"", b"b"]
    assert page.values.values.tobytes() == b"aab"
    buffers = [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([7, 8, 9], np.int16))]
    assert numbers(content(pa.Array.from_buffers(pa.int16(), 3, buffers)), np.int16) == [7, 0, 9]


def test_children_of_null_structs_are_cleared():
    array = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3], pa.int8()), pa.array(["x", "y", "z"]), pa.array([True] * 3)],
        ["a", "b", "c"],
        mask=pa.array([False, True, False]),
    )
    pages = [shred(leaf, [array]) for leaf in file_leaves(array.type)]
    assert [page.num_nulls for page in pages] == [1, 1, 1]
    assert [u16(page.levels.def_) for page in pages] == [[0, 1, 0]] * 3
    assert numbers(pages[0], np.int8) == [1, 0, 3]
    assert texts(pages[1].values) == [b"x", b"", b"z"]
    assert pages[2].values.values.tolist() == [0b101]


def test_bits_after_the_last_are_zero():
    page = content(pa.array([True] * 20).slice(3, 11))
    assert (page.values.bit_offset, page.values.values.tolist()) == (0, [255, 7])


def test_chunks_of_strings_are_joined():
    page = content(pa.array(["a", None, "bc"]).slice(1), pa.array(["", "def"]))
    assert texts(page.values) == [b"", b"bc", b"", b"def"]
    assert u16(page.levels.def_) == [1, 0, 0, 0]


@pytest.mark.parametrize("type_", [pa.large_string(), pa.large_binary()])
def test_large_offsets_stay_large(type_):
    page = content(pa.array(["a", None], type_))
    assert page.values.shape == VariableWidth(64)
    assert texts(page.values) == [b"a", b""]


@pytest.mark.parametrize("type_", [pa.string_view(), pa.binary_view()])
def test_views_are_converted(type_):
    array = pa.array([["long enough to lie in a buffer", None], None, ["short"]], pa.list_(type_)).slice(0, 3)
    (leaf,) = file_leaves(array.type)
    page = shred(leaf, [array])
    assert texts(page.values) == [b"long enough to lie in a buffer", b"", b"short"]


def test_dictionary_keeps_items_as_they_are():
    array = pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int8()), pa.array(["b", "unused", "b", "a"]))
    page = content(array)
    assert texts(page.items) == [b"b", b"unused", b"b", b"a"]
    assert numbers(page, np.int8) == [2, 0, 0]
    assert page.num_nulls == 1


def test_null_items_of_a_dictionary_become_null_rows():
    array = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int16()), pa.array(["x", None]))
    page = content(array)
    assert texts(page.items) == [b"x", b""]
    assert u16(page.levels.def_) == [1, 0, 1]
    assert numbers(page, np.int16) == [0, 0, 0]


def test_dictionaries_of_chunks_are_unified():
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(items))
        for indices, items in (([0, 1], ["x", None]), ([0, None, 1], ["y", "x"]))
    ]
    page = content(*chunks)
    items = texts(page.items)
    assert u16(page.levels.def_) == [0, 1, 0, 1, 0]
    assert [items[i] for i in numbers(page, np.int8)] == [b"x", b"x", b"y", b"x", b"x"]


def test_indices_without_an_item_are_refused():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 2], pa.int8()), pa.array(["a", "b"]), safe=False)
    with pytest.raises(InvalidArgumentError, match=r"index 2 .* 2 items .*'c'"):
        content(array)


def test_items_of_null_lists_are_valid_and_zero():
    items = pa.array([1, None, 3, 4, None, 6], pa.int16())
    array = pa.FixedSizeListArray.from_arrays(items, 2, mask=pa.array([False, False, True]))
    page = content(array)
    assert page.values.shape == FixedSizeList(FixedWidth(16), 2, has_validity=True)
    assert page.values.validity[0].values.tolist() == [0b111101]
    assert numbers(page, np.int16) == [1, 0, 3, 4, 0, 0]
    nulls_hidden = content(array.slice(1))
    assert nulls_hidden.values.shape == FixedSizeList(FixedWidth(16), 2)
    assert nulls_hidden.values.validity == ()


def test_nested_fixed_size_lists_have_bitmaps_where_needed():
    inner = pa.FixedSizeListArray.from_arrays(pa.array([True, None, True, None]), 2, mask=pa.array([False, True]))
    array = pa.FixedSizeListArray.from_arrays(inner, 2)
    page = content(array)
    assert page.values.shape == FixedSizeList(FixedSizeList(FixedWidth(1), 2, True), 2, True)
    assert [bitmap.values.tolist() for bitmap in page.values.validity] == [[0b01], [0b1101]]
    assert page.values.values.tolist() == [0b0001]


def test_fixed_size_lists_of_nulls_are_their_bitmap():
    array = pa.FixedSizeListArray.from_arrays(pa.nulls(6), 3, mask=pa.array([False, True]))
    page = content(array)
    assert page.values.shape == FixedSizeList(FixedWidth(1), 3, has_validity=True)
    assert page.values.validity[0].values.tolist() == [0]
    assert u16(page.levels.def_) == [0, 1]


def test_null_columns_have_levels_alone():
    page = content(pa.array([[None, None], [], None], pa.list_(pa.null())))
    assert (page.values, page.num_nulls) == (None, 2)
    assert page.levels.layers == (LayerKind.NULLABLE_ITEM, LayerKind.NULL_AND_EMPTY_LIST)
    assert u16(page.levels.def_) == [1, 1, 3, 2]


def test_structs_without_fields_have_levels_alone():
    page = content(pa.array([{}, None], pa.struct([])))
    assert (page.values, page.levels.layers, u16(page.levels.def_)) == (None, (LayerKind.NULLABLE_ITEM,), [0, 1])


def test_packed_struct():
    fields = [pa.field("a", pa.int16(), False), pa.field("b", pa.string(), False)]
    children = [pa.array([1, 2, 3], pa.int16()), pa.array(["x", "yy", "z"])]
    array = pa.StructArray.from_arrays(children, fields=fields, mask=pa.array([False, True, False]))
    page = content(array, metadata={"lance-encoding:packed": "true"})
    assert page.values.shape == PackedStruct((FixedWidth(16), VariableWidth(32)))
    assert page.values.fields[0].values.view(np.int16).tolist() == [1, 0, 3]
    assert texts(page.values.fields[1]) == [b"x", b"", b"z"]
    assert u16(page.levels.def_) == [0, 1, 0]


def test_null_fields_of_a_packed_struct_are_refused_by_name():
    metadata = {"lance-encoding:packed": "true"}
    children = [pa.array([1, None], pa.int16())]
    hidden = pa.StructArray.from_arrays(children, ["a"], mask=pa.array([False, True]))
    assert content(hidden, metadata=metadata).num_nulls == 1
    with pytest.raises(UnsupportedError, match=r"packed struct .*'c\.a'"):
        content(pa.StructArray.from_arrays(children, ["a"]), metadata=metadata)


def test_blobs_are_their_bytes():
    array = pa.array([b"abc", None, b""], pa.large_binary())
    page = content(array, metadata={"lance-encoding:blob": "true"})
    assert texts(page.values) == [b"abc", b"", b""]
    assert page.leaf.shape == PackedStruct((FixedWidth(64), FixedWidth(64)))
    assert u16(page.levels.def_) == [0, 1, 0]


def test_extension_types_are_their_storage():
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None], pa.binary(16)))
    page = content(array)
    assert page.values.values.tobytes() == b"0" * 16 + bytes(16)


def test_decimals_are_their_bytes():
    page = content(pa.array([Decimal("1.5"), None], pa.decimal128(5, 1)))
    assert page.values.values.tobytes() == (15).to_bytes(16, "little") + bytes(16)


def test_json_text_is_refused():
    array = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}"]))
    with pytest.raises(UnsupportedError, match="JSON"):
        content(array)


def test_arrays_of_another_type_are_refused():
    (leaf,) = file_leaves(pa.list_(pa.int32()))
    with pytest.raises(InvalidArgumentError, match="'c"):
        shred(leaf, [pa.array([[1]], pa.list_(pa.int64()))])
    with pytest.raises(InvalidArgumentError, match="'c"):
        shred(leaf, [pa.array([1], pa.int32())])


def test_no_rows_make_an_empty_page():
    for type_ in (pa.int32(), pa.string(), pa.list_(pa.bool_()), pa.list_(pa.float32(), 3), pa.null()):
        page = content(pa.array([], type_))
        assert (page.num_rows, page.levels.num_entries, page.num_values, page.num_nulls) == (0, 0, 0, 0)


ITEMS = pa.array([1, 2, 3, 4], pa.int8())


@pytest.mark.parametrize("offsets", [[0, 3, 1, 4], [0, 9, 4, 4], [0, 1, 2, 9], [-4, 1, 2, 4], [2, 0, 3, 4]])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_arrays_that_contradict_themselves_are_refused(offsets, dtype):
    """The offsets are overwritten afterwards: Arrow itself refuses some of them."""
    for is_list in (True, False):
        memory = np.array([0, 1, 2, 4], dtype)
        types = (pa.list_, pa.large_list) if is_list else (pa.string, pa.large_string)
        make = types[dtype == np.int64]
        buffers = [None, pa.py_buffer(memory)]
        if is_list:
            array = pa.Array.from_buffers(make(pa.int8()), 3, buffers, children=[ITEMS])
        else:
            array = pa.Array.from_buffers(make(), 3, [*buffers, pa.py_buffer(b"abcd")])
        memory[:] = offsets
        with pytest.raises(InvalidArgumentError, match=r"offsets descend|leave its"):
            content(array)
